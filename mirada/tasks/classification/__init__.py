"""Classification, many to one: a text, or a pair of texts, to one of a few labels."""
