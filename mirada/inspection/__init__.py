"""Inspection of models: traces, attention, alignments, attribution, embeddings and gradients."""
