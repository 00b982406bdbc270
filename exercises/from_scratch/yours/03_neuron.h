// Step 3: write here what docs/from_scratch/step_03_neuron.md shows.
