// Step 8: write here what docs/from_scratch/step_08_nn.md shows.
