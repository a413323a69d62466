"""Where a long sentence can be split in two: at a semicolon, a colon or a comma, or else between two words.

    I know there are cool things to do, | but because I'm not from here, I never know about them.

A weak model translates a sentence badly that is longer than most that it has learned from, but knows its clauses; a
strong one needs the whole to translate them. So such a sentence is translated both ways, and what the model itself
finds more likely is kept. No place is inside of what has to stay whole: an address, a placeholder, a tag, or what a
pair of tags encloses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from mirada.data.masking import Span
from mirada.tasks.translation.markup import pairs
from mirada.tasks.translation.pieces import Piece

MARKS = [re.compile(pattern) for pattern in (r"[;；]\s*", r":\s+|：\s*", r",\s+|[，、]\s*")]
"""Where clauses end, the best places first."""
SPACES = re.compile(r"\s+")
FEWEST = 3
"""Words in a clause that is worth a translation of its own."""


def between_clauses(sentence: str, found: Sequence[Span]) -> int | None:
    """Where to split a sentence into clauses; `found` are its spans to copy."""
    whole = unbroken(sentence, found)
    ends = [[place for place in _ends(sentence, mark, whole) if _worth(sentence, place)] for mark in MARKS]
    return _most_central(len(sentence), ends)


def anywhere(sentence: str, found: Sequence[Span]) -> int | None:
    """Where to split a sentence that the model cannot take."""
    whole = unbroken(sentence, found)
    apart = _most_central(len(sentence), [_ends(sentence, mark, whole) for mark in (*MARKS, SPACES)])
    return apart or _most_central(len(sentence), [_ends(sentence, mark, ()) for mark in (*MARKS, SPACES)])


def unbroken(sentence: str, found: Sequence[Span]) -> list[tuple[int, int]]:
    """The parts [start, end) of a sentence that stay whole."""
    tags = [span for span in found if sentence[span.start] == "<"]
    partners = pairs([sentence[span.start : span.end] for span in tags])
    enclosed = [(tag.start, tags[other].end) for tag, other in zip(tags, partners, strict=True) if other is not None]
    return [(span.start, span.end) for span in found] + [(start, end) for start, end in enclosed if start < end]


def _ends(sentence: str, mark: re.Pattern[str], whole: Sequence[tuple[int, int]]) -> list[int]:
    """Where marks end, neither at the end of the sentence nor in what stays whole."""
    ends = (place.end() for place in mark.finditer(sentence))
    return [end for end in ends if end < len(sentence) and not any(first < end < last for first, last in whole)]


def _worth(sentence: str, place: int) -> bool:
    return min(len(sentence[:place].split()), len(sentence[place:].split())) >= FEWEST


def _most_central(size: int, kinds: Sequence[Sequence[int]]) -> int | None:
    """The best kind of place, in the middle half if possible, and the one nearest to the middle."""
    for reach in (size / 4, size):
        for places in kinds:
            nearest = min(places, key=lambda place: abs(place - size // 2), default=None)
            if nearest is not None and abs(nearest - size // 2) <= reach:
                return nearest
    return None


def better(whole: list[Piece], parts: list[Piece]) -> list[Piece]:
    """A sentence or its parts: what has no fault that the other has, or else is more likely, token by token."""
    faulty = [any(piece.flags & {"repetition", "cut", "short"} for piece in pieces) for pieces in (whole, parts)]
    if faulty[0] != faulty[1]:
        return parts if faulty[0] else whole
    return parts if _mean_log_p(parts) > _mean_log_p(whole) else whole


def _mean_log_p(pieces: Sequence[Piece]) -> float:
    """The mean log probability of a token, EOS included."""
    lengths = [len(piece.tokens) + 1 for piece in pieces]
    logs = (length * math.log(max(piece.confidence, 1e-9)) for piece, length in zip(pieces, lengths, strict=True))
    return sum(logs) / sum(lengths)
