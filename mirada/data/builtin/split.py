"""Which part of the corpus a meaning belongs to, decided by its words alone: never by seeds, sizes or directions.

The content words of a meaning, as a bag, put it into training or test: all its tenses, persons and wordings go the same
way, so no sentence can be on both sides in any language. Besides, some pairs of words are held out: a sentence in which
such a pair depends on one another (a verb and its object, a noun and its adjective) is never trained on.
"""

from collections.abc import Iterator

from mirada.data.builtin.meaning import Adjunct, Clause, Greeting, Thing, Trait

HELD_OUT = 40  # one pair of words in this many never comes together in training
TEST_SHARE = 10  # one bag of words in this many is for the test


def is_held_out(one: int, other: int) -> bool:
    """Whether two words, by their marks, are kept apart in training."""
    return _scatter(one * 0x9E3779B1 ^ other * 0x85EBCA77) % HELD_OUT == 0


def part(root: Clause | Greeting) -> str:
    """The part a meaning belongs to: "train", "test", or "held" if it has a held-out pair."""
    marks = 0
    held = False
    for one, other in dependencies(root):
        marks += one
        if other and not held:
            held = is_held_out(one, other)
    if held:
        return "held"
    return "test" if _scatter(marks) % TEST_SHARE == 0 else "train"


def dependencies(root: Clause | Greeting) -> Iterator[tuple[int, int]]:
    """Each content word, by its mark, and the mark of the word it depends on (0 if none)."""
    if isinstance(root, Greeting):
        yield root.phrase.mark, 0
        if root.adjunct:
            yield from _adjunct(root.adjunct, 0)
        if root.name:
            yield from _thing(root.name, 0)
        return
    verb = root.verb.mark
    yield verb, 0
    if root.control:
        yield root.control.verb.mark, 0
    if root.subject and root.gap != "subject":
        yield from _thing(root.subject, verb)
    if root.object:
        yield from _thing(root.object, verb)
    if root.recipient:
        yield from _thing(root.recipient, 0)
    if root.trait:
        noun = root.subject.noun if root.subject else None
        yield from _trait(root.trait, noun.mark if noun else 0)
    for adjunct in (root.frequency, *root.adjuncts, root.time):
        if adjunct:
            yield from _adjunct(adjunct, verb)
    if root.that:
        yield from dependencies(root.that)
    if root.link:
        yield root.link.phrase.mark, 0
        yield from dependencies(root.link.clause)


def _adjunct(adjunct: Adjunct, verb: int) -> Iterator[tuple[int, int]]:
    yield adjunct.phrase.mark, 0
    if adjunct.thing:
        yield from _thing(adjunct.thing, verb)


def _thing(thing: Thing, verb: int) -> Iterator[tuple[int, int]]:
    for one in thing.joined:
        yield from _thing(one, verb)
    if thing.noun is None or thing.pronoun:
        return
    yield thing.noun.mark, verb
    for trait in (thing.front, thing.trait):
        if trait:
            yield from _trait(trait, thing.noun.mark)
    if thing.count:
        yield thing.count.mark, 0
    if thing.owner and thing.det == "of":
        yield from _thing(thing.owner, 0)
    if thing.relative:
        yield from dependencies(thing.relative)


def _trait(trait: Trait, noun: int) -> Iterator[tuple[int, int]]:
    yield trait.adjective.mark, noun
    if trait.degree:
        yield trait.degree.mark, 0
    if trait.also:
        yield from _trait(trait.also, noun)
    if trait.than:
        yield from _adjunct(trait.than, 0)


def _scatter(number: int) -> int:
    number &= 0xFFFFFFFF
    return (number ^ number >> 15) * 0x2C1B3C6D % 0x100000000 >> 8
