// Step 9: write here what docs/from_scratch/step_09_attention.md shows.
