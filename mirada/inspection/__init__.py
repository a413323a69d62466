"""What a model looks at: attention as data and as images."""
