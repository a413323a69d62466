"""Which part of the corpus a meaning belongs to, decided by its words alone: never by seeds, sizes or directions.

The content words of a meaning, as a bag, put it into training or test: all its tenses, persons and wordings go the same
way, so no sentence can be on both sides in any language. Besides, some pairs of words are held out: a sentence in which
such a pair depends on one another (a verb and its object, a noun and its adjective) is never trained on.
"""

from collections.abc import Iterator

from mirada.data.builtin.meaning import Clause, Thing

HELD_OUT = 25  # one pair of words in this many never comes together in training
TEST_SHARE = 10  # one bag of words in this many is for the test


def is_held_out(one: int, other: int) -> bool:
    """Whether two words, by their marks, are kept apart in training."""
    return _scatter(one * 0x9E3779B1 ^ other * 0x85EBCA77) % HELD_OUT == 0


def part(clause: Clause) -> str:
    """ "train", "test", or "held" for a sentence with a held-out pair."""
    marks = 0
    held = False
    for one, other in dependencies(clause):
        marks += one
        if other and not held:
            held = is_held_out(one, other)
    if held:
        return "held"
    return "test" if _scatter(marks) % TEST_SHARE == 0 else "train"


def dependencies(clause: Clause) -> Iterator[tuple[int, int]]:
    """Each content word of a clause, by its mark, and the mark of the word it depends on (0 if none)."""
    verb = clause.verb.mark
    yield verb, 0
    if clause.question != "who":
        yield from _words(clause.subject, verb)
    if clause.object:
        yield from _words(clause.object, verb)
    if clause.trait:
        noun = clause.subject.noun
        yield clause.trait.adjective.mark, noun.mark if noun else 0
        if clause.trait.degree:
            yield clause.trait.degree.mark, 0
    for adjunct in (clause.frequency, *clause.adjuncts, clause.time):
        if adjunct:
            yield adjunct.phrase.mark, 0
            if adjunct.thing:
                yield from _words(adjunct.thing, verb)
    if clause.link:
        yield clause.link[0].phrase.mark, 0
        yield from dependencies(clause.link[1])


def _words(thing: Thing, verb: int) -> Iterator[tuple[int, int]]:
    for one in thing.joined:
        yield from _words(one, verb)
    if thing.noun and not thing.pronoun:
        yield thing.noun.mark, verb
        if thing.trait:
            yield thing.trait.adjective.mark, thing.noun.mark
    if thing.count:
        yield thing.count.mark, 0


def _scatter(number: int) -> int:
    number &= 0xFFFFFFFF
    return (number ^ number >> 15) * 0x2C1B3C6D % 0x100000000 >> 8
