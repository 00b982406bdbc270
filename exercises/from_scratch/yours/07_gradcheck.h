// Step 7: write here what docs/from_scratch/step_07_gradcheck.md shows.
