"""The lexicon's tables, a topic a module, with the three languages side by side.

A line of nouns is `Spanish | English | Portuguese`. The article gives the gender, a second form after a comma is the
feminine of a person's noun, `/` gives a plural that the rules would get wrong, `f` a feminine that takes "el", and
`@at` the English preposition of a place whose preposition is not "in". The kind (the table's name) says what a noun
can do: people eat food, not tables. The other tables say at their top how they are read.
"""
