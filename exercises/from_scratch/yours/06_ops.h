// Step 6: write here what docs/from_scratch/step_06_ops.md shows.
