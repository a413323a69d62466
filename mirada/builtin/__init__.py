"""A small language made for translation: as many sentence pairs as you like, each with its exact word alignment.

A synchronous grammar makes up a meaning and says it in every language, so all right translations and the alignment of
their words are known. Nothing is downloaded. The same seed gives the same sentences on every machine, and no sentence
of the test set is in the training set, whatever the seeds, sizes and directions.

    for example in training("es", "en", pairs=3):
        print(example.source, "→", example.targets[0])
"""

from mirada.builtin.corpus import Example, notes, test, training
from mirada.builtin.export import choose, write
from mirada.builtin.lexicon import LANGUAGES
from mirada.builtin.speech import words

__all__ = ["LANGUAGES", "Example", "choose", "notes", "test", "training", "words", "write"]
