"""A task: how many vowels does a word have? Its files have a word and the answer on every line: `casa 2`."""
