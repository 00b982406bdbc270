// Step 5: write here what docs/from_scratch/step_05_tensor.md shows.
