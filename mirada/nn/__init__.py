"""What models are built from: attention, recurrent cells, positions, activations and Transformer blocks."""
