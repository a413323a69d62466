"""Masked modelling: fill the gaps of a text; what BERT is pre-trained with, and where sentence vectors come from."""
