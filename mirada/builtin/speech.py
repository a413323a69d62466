"""Words on their way to text: choices between right wordings, punctuation, capitals and alignments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from math import prod
from random import Random

from mirada.builtin.lexicon import Phrase

Word = tuple[str, tuple[int, ...]]  # a word or punctuation mark and the numbers of what it says


class Choice:
    """Several right wordings for the same stretch of a sentence, the preferred one first.

    Only the first `clear` of them may stand in a source sentence: the others are right, but could mean something else.
    """

    __slots__ = ("clear", "options")

    def __init__(self, *options: list[Item], clear: int = 0) -> None:
        self.options = options
        self.clear = clear or len(options)


Item = Word | Choice

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def words(text: str) -> list[str]:
    """The words and punctuation marks of a text, as alignments count them."""
    return _WORD.findall(text)


def put(out: list[Item], text: str, *nodes: int) -> None:
    """Append a text; each of its words says the same nodes."""
    if " " in text:
        out.extend([(word, nodes) for word in text.split()])
    elif text:
        out.append((text, nodes))


def put_any(out: list[Item], texts: tuple[str, ...], *nodes: int) -> None:
    """Append one of several texts."""
    if len(texts) == 1:
        put(out, texts[0], *nodes)
        return
    options: list[list[Item]] = [[(word, nodes) for word in text.split()] for text in texts]
    out.append(Choice(*options))


def put_phrase(out: list[Item], phrase: Phrase, language: str, node: int) -> None:
    """Append a fixed phrase; where it has two words in every language, these go together one by one."""
    texts = phrase.texts[language]
    if not phrase.paired:
        put_any(out, texts, node)
        return
    options: list[list[Item]] = []
    for text in texts:
        words = text.split()
        pair = len(words) == 2
        options.append([(word, (node + place,) if pair else (node, node + 1)) for place, word in enumerate(words)])
    if len(options) == 1:
        out.extend(options[0])
    else:
        out.append(Choice(*options))


def preferred(items: Iterable[Item]) -> list[Word]:
    chosen: list[Word] = []
    for item in items:
        if isinstance(item, tuple):
            chosen.append(item)
        else:
            chosen += preferred(item.options[0])
    return chosen


def sampled(items: Iterable[Item], rng: Random) -> list[Word]:
    """One wording: at each choice mostly the preferred one."""
    chosen: list[Word] = []
    for item in items:
        if isinstance(item, tuple):
            chosen.append(item)
        else:
            chance = rng.random() * 3
            option = 0 if chance >= 1 else int(chance * item.clear)
            chosen += sampled(item.options[option], rng)
    return chosen


def ways(items: Iterable[Item]) -> int:
    """How many wordings there are."""
    return prod(sum(map(ways, item.options)) for item in items if not isinstance(item, tuple))


def every(items: Iterable[Item]) -> list[list[Word]]:
    """Every wording, the preferred one first. A long sentence may have thousands: ask `ways` before."""
    found: list[list[Word]] = [[]]
    for item in items:
        if isinstance(item, tuple):
            for wording in found:
                wording.append(item)
        else:
            endings = [ending for option in item.options for ending in every(option)]
            found = [wording + ending for wording, ending in product(found, endings)]
    return found


_NO_SPACE_BEFORE = frozenset(".,?!;:")
_NO_SPACE_AFTER = frozenset("¿¡")


def text_of(sentence: list[Word]) -> str:
    """The sentence as it is written, with a capital at its beginning."""
    pieces: list[str] = []
    glue = True
    for word, _ in sentence:
        if not glue and word not in _NO_SPACE_BEFORE:
            pieces.append(" ")
        pieces.append(word)
        glue = word in _NO_SPACE_AFTER
    first = 1 if pieces[0] in _NO_SPACE_AFTER else 0
    pieces[first] = pieces[first][0].upper() + pieces[first][1:]
    return "".join(pieces)


def align(source: list[Word], target: list[Word]) -> tuple[tuple[int, int], ...]:
    """The pairs of words that say something in common."""
    where: dict[int, list[int]] = {}
    for position, (_, nodes) in enumerate(target):
        for node in nodes:
            where.setdefault(node, []).append(position)
    return tuple(
        (position, found)
        for position, (_, nodes) in enumerate(source)
        for found in sorted({found for node in nodes for found in where.get(node, ())})
    )
