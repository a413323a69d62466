"""Language modelling: predicting the next token of a text, and so continuing it."""
