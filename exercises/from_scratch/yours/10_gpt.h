// Step 10: write here what docs/from_scratch/step_10_gpt.md shows.
