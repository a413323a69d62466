"""The built-in corpus as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from mirada.builtin.corpus import Example, test, training
from mirada.builtin.lexicon import LANGUAGES
from mirada.errors import UsageError


def choose(languages: str, part: str, pairs: int, seed: int) -> Iterator[Example]:
    """The examples of a direction such as "es-en", of the training or the test set."""
    source, dash, target = languages.partition("-")
    if not dash or source not in LANGUAGES or target not in LANGUAGES or source == target:
        directions = ", ".join(f"{one}-{other}" for one in LANGUAGES for other in LANGUAGES if one != other)
        raise UsageError(f"{languages}: the built-in language has the directions {directions}")
    if part not in ("training", "test"):
        raise UsageError(f"--part {part}: there are training and test")
    return training(source, target, pairs, seed) if part == "training" else iter(test(source, target, pairs, seed))


def write(examples: Iterable[Example], out: TextIO, alignments: TextIO | None = None) -> int:
    """Write TSV lines (source, every listed translation) and, if wanted, alignments with the first translation.

    An alignment is a line of i-j, word i of the source with word j of the target, both counted from 0; a word ends at
    a space or before punctuation, as in `words`. Returns how many were written.
    """
    written = 0
    for example in examples:
        out.write("\t".join([example.source, *example.targets]) + "\n")
        if alignments is not None:
            alignments.write(" ".join(f"{one}-{other}" for one, other in example.alignment) + "\n")
        written += 1
    return written
