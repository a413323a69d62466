"""Building blocks of models: attention, recurrent cells, positions, activations and Transformer blocks."""
