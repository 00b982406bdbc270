// Step 4: write here what docs/from_scratch/step_04_array.md shows.
