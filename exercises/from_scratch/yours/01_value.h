// Step 1: write here what docs/from_scratch/step_01_value.md shows.
