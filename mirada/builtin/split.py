"""Which part of the corpus a meaning belongs to, decided by the meaning alone: never by seeds, sizes or directions.

The content words of a meaning, as a bag, put it into training or test: all its tenses, persons and wordings go the same
way, so no sentence can be on both sides in any language. Besides, some combinations are held out. A meaning that has
one of them is never trained on, and half of the test is made of such meanings. They are

    words       one in 40 pairs of words of which one depends on the other: a verb with its subject, its object or what
                stands with its preposition, a noun with its adjective;
    setting     one in 15 pairs of a verb and a setting, which is its tense (the ways to speak of the future are one,
                and so are the present and past of English "read") with "not", a question or both; plain statements
                are never held out, so every verb is trained on in each of its tenses;
    role        one in 12 pairs of a verb and the kind of clause it is in: a relative clause, one after "that", or one
                after "because", "so", "but", "and", "while" or "when". Main clauses are never held out.

In the last two, "be" and the grammar's other verbs without much of a meaning are never held out.
"""

from collections.abc import Iterator
from zlib import crc32

from mirada.builtin.lexicon import VERBS, Verb
from mirada.builtin.meaning import Adjunct, Clause, Greeting, Thing, Trait

HELD_OUT = {"words": 40, "setting": 15, "role": 12}  # one combination in this many never comes up in training
TEST_SHARE = 10  # one bag of words in this many is for the test

_EMPTY = frozenset(VERBS.values())
_SAME_TENSE = {"planned": "future"}

Combination = tuple[str, int, int]  # its kind ("" for a word alone) and two marks


def is_held_out(kind: str, one: int, other: int) -> bool:
    """Whether two things, by their marks, are kept apart in training."""
    return _scatter(one * 0x9E3779B1 ^ other * 0x85EBCA77) % HELD_OUT[kind] == 0


def part(root: Clause | Greeting) -> str:
    """The part a meaning belongs to: "train", "test", or "held" if it has a held-out combination."""
    marks = 0
    for kind, one, other in combinations(root):
        if kind in ("", "words"):
            marks += one
        if kind and is_held_out(kind, one, other):
            return "held"
    return "test" if _scatter(marks) % TEST_SHARE == 0 else "train"


def combinations(root: Clause | Greeting, role: str = "") -> Iterator[Combination]:
    """Each content word, by its mark, with what it depends on, and each verb with its setting and role."""
    if isinstance(root, Greeting):
        yield "", root.phrase.mark, 0
        if root.adjunct:
            yield from _adjunct(root.adjunct, 0)
        if root.name:
            yield from _thing(root.name, 0)
        return
    verb = root.verb.mark
    yield "", verb, 0
    if root.verb not in _EMPTY:
        if role:
            yield "role", verb, _mark(role)
        if root.negative or root.question:
            yield "setting", verb, _mark(setting(root))
    if root.control:
        yield "", root.control.verb.mark, 0
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
        yield from combinations(root.that, "that")
    if root.link:
        yield "", root.link.phrase.mark, 0
        yield from combinations(root.link.clause, root.link.phrase.name)


def setting(clause: Clause) -> str:
    """The tense of a clause, and whether it is denied, asked, and under another verb."""
    tense = _SAME_TENSE.get(clause.tense, clause.tense)
    if tense in ("present", "past") and _timeless(clause.verb):
        tense = "present or past"
    asked = "yes" if clause.question == "yes" else "word" if clause.question else "no"
    return f"{tense}, not {clause.negative}, question {asked}, under {clause.control is not None}"


def _timeless(verb: Verb) -> bool:
    """Whether English says the present and the past with the same word."""
    forms = verb.wordings["en"][0].forms
    return forms["past"][0] == forms["infinitive"][0]


def _adjunct(adjunct: Adjunct, verb: int) -> Iterator[Combination]:
    yield "", adjunct.phrase.mark, 0
    if adjunct.thing:
        yield from _thing(adjunct.thing, verb)


def _thing(thing: Thing, verb: int) -> Iterator[Combination]:
    for one in thing.joined:
        yield from _thing(one, verb)
    if thing.noun is None or thing.pronoun:
        return
    yield _words(verb), thing.noun.mark, verb
    for trait in (thing.front, thing.trait):
        if trait:
            yield from _trait(trait, thing.noun.mark)
    if thing.count:
        yield "", thing.count.mark, 0
    if thing.owner and thing.det == "of":
        yield from _thing(thing.owner, 0)
    if thing.relative:
        yield from combinations(thing.relative, "relative")


def _trait(trait: Trait, noun: int) -> Iterator[Combination]:
    yield _words(noun), trait.adjective.mark, noun
    if trait.degree:
        yield "", trait.degree.mark, 0
    if trait.also:
        yield from _trait(trait.also, noun)
    if trait.than:
        yield from _adjunct(trait.than, 0)


def _words(other: int) -> str:
    return "words" if other else ""


def _mark(text: str) -> int:
    return _MARKS.setdefault(text, crc32(text.encode()))


_MARKS: dict[str, int] = {}  # of the settings and roles that were met


def _scatter(number: int) -> int:
    number &= 0xFFFFFFFF
    return (number ^ number >> 15) * 0x2C1B3C6D % 0x100000000 >> 8
