"""Tags before the source of a pair: which language to translate into, and that a model made the source.

A tag is an id that training puts before the ids of a source. Inference puts the tag of the direction there, if the
model has two, and never the tag of synthetic sources (tagged back-translation, Caswell et al. 2019): a model that can
tell synthetic sources from real ones does not take the one for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mirada.data.records import AnyRecord, Record
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import SYNTHETIC, tag_to

MADE = ("synthetic", "synthetic_target")
"""Marks of pairs of which a model made the source, or the target."""


class Row(NamedTuple):
    """Where a row of a corpus comes from, and the tags before its source."""

    record: Record
    tags: tuple[str, ...] = ()
    again: bool = False
    """Whether it is the row before, the other way round."""


def is_made(record: AnyRecord) -> bool:
    """Whether a model made a side of a pair."""
    return not set(MADE).isdisjoint(record.marks)


def rows(pairs: Iterable[tuple[str, str, Record]], languages: tuple[str, str] | None) -> Iterator[tuple[str, str, Row]]:
    """Every pair with the tags of its source; given its `languages`, also the other way round.

    What a model made is a source, never a target.
    """
    back, to = ((tag_to(code),) for code in languages) if languages else ((), ())
    for source, target, record in pairs:
        made = (SYNTHETIC,) if is_made(record) else ()
        forward = "synthetic_target" not in record.marks
        if forward:
            yield source, target, Row(record, (*to, *made))
        if languages and "synthetic" not in record.marks:
            yield target, source, Row(record, (*back, *made), again=forward)


def most_tags(tokenizer: Tokenizer) -> int:
    """The most tags that are put before a source of a tokenizer: one for the direction, one for what a model made."""
    return (SYNTHETIC in tokenizer.tags) + any(tag != SYNTHETIC for tag in tokenizer.tags)
