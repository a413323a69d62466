"""What models are built from: attention, recurrent cells, activations and Transformer blocks."""
