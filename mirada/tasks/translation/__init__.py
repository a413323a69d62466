"""Translation, many to many: sentences in one language to sentences in another."""
