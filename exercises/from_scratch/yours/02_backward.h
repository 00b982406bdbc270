// Step 2: write here what docs/from_scratch/step_02_backward.md shows.
