"""Makes up the things that sentences speak of: who and what, with their determiners, numbers and adjectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from mirada.builtin.lexicon import FRONT, NOUNS, PHRASES, QUALITIES, STATES, Adjective, Noun, Phrase, by_rank
from mirada.builtin.meaning import STEP, Adjunct, Thing, Trait
from mirada.builtin.tables import ADJECTIVES, words

T = TypeVar("T")

PEOPLE = by_rank(*NOUNS["person"], *NOUNS["kin"], *NOUNS["name"])
LIVING = by_rank(*PEOPLE, *NOUNS["infant"], *NOUNS["animal"])
_NUMBERS = tuple(PHRASES["number"].values())
_DEGREES = tuple(PHRASES["degree"].values())
_PREDICATIVE = words(ADJECTIVES["predicative"])
_PLAIN = words(ADJECTIVES["plain"])
_BESIDE = {  # the adjectives that can stand beside each noun
    noun: tuple(a for a in (*QUALITIES[noun], *STATES[noun]) if a.name not in _PREDICATIVE) for noun in QUALITIES
}

# What one has: "my hat", but not "my witch". Kinds, then English nouns.
_OWNED_NAMES = """object clothes text instrument furniture room device notion friend neighbor boss teacher doctor lawyer
    classmate student secretary cat dog horse rabbit house office school car bicycle motorcycle boat truck"""
_OWNED = frozenset(_OWNED_NAMES.split())
# What there is only one of, or whose plural means something else ("padres" are parents).
_SINGLE_NAMES = """father mother husband wife grandfather grandmother truth lawn sea landscape breakfast lunch dinner
    engine"""
_SINGLE = frozenset(_SINGLE_NAMES.split())

_FIELDS = frozenset({"subject", "science"})  # of study
_ONE = frozenset({"place", "room", "infant", "device"})  # kinds that one speaks of one by one

# Determiners by the role a thing has, as often as they stand here.
_SINGULAR = {
    "subject": ("the",) * 8 + ("this", "that", "a", "my", "my", "my", "of", "of"),
    "object": ("the",) * 4 + ("a",) * 3 + ("this", "that") + ("my",) * 6 + ("of", "of"),
    "place": ("the",) * 11 + ("this", "that", "a", "my"),
}
_PLURAL = {
    "subject": ("the",) * 8 + ("these", "these", "my", "my", "my", "of", "of", "count", "all", "some", "many"),
    "object": ("the",) * 4
    + ("",) * 5
    + ("this", "my", "my", "my", "my", "my", "of", "of", "count", "count", "many", "some", "several", "all"),
}
_MASS = ("the", "the", "", "", "", "", "this", "my")


class Describer:
    """Makes up things; `open` collects the referents about whom English leaves something unsaid."""

    def __init__(self, rng: Random) -> None:
        self.random: Callable[[], float] = rng.random
        self.restart()

    def restart(self) -> None:
        self.id = 0
        self.depth = 0  # of relative clauses
        self.open: list[list[Thing]] = []
        self.talkers: dict[int, list[Thing]] = {}
        self.female = self.chance(0.5)  # whether "I" and "you" are women
        self.plural_you = self.chance(0.15)
        self.formal = self.chance(0.1)
        self.persons: tuple[int, ...] = (1, 2, 2, 3)  # that a new pronoun as a subject may have
        self.linked: set[str] = set()  # the conjunctions that were used
        self.people: set[Noun] = set()  # that were spoken of: the next Ana would be another one

    def checkpoint(self) -> Callable[[], None]:
        """What to call if what is said from here on is not used after all."""
        groups = [(group, len(group)) for group in self.open]
        talkers, people = dict(self.talkers), set(self.people)

        def undo() -> None:
            self.open, self.talkers, self.people = [group for group, _ in groups], talkers, people
            for group, length in groups:
                del group[length:]

        return undo

    # Choosing

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def word(self, words: Sequence[T]) -> T:
        """One of some words, the first ones more often than the last: a language has common and rare words."""
        chance = self.random()
        return words[int(chance * chance * len(words))]

    def other(self, nouns: Sequence[Noun]) -> Noun:
        """One of some nouns, if possible none for people who were spoken of."""
        noun = self.word(nouns)
        for _ in range(5):
            if noun not in self.people:
                break
            noun = self.word(nouns)
        return noun

    def node(self) -> int:
        self.id += STEP
        return self.id

    def adjunct(self, phrase: Phrase, thing: Thing | None = None) -> Adjunct:
        return Adjunct(self.node(), phrase, thing)

    # Pronouns

    def pronoun(self, persons: tuple[int, ...] = ()) -> Thing:
        person = self.pick(persons or self.persons)
        thing = Thing(self.node(), pronoun=True, person=person)
        if person == 3:
            thing.plural, thing.female = self.chance(0.35), self.chance(0.5)
            if thing.plural:
                self.open.append([thing])
            return thing
        thing.female = self.female
        if person == 1:
            thing.plural = self.chance(0.35)
        else:
            thing.plural, thing.formal = self.plural_you, self.formal and not self.plural_you
        if person not in self.talkers:
            self.talkers[person] = []
            self.open.append(self.talkers[person])
        self.talkers[person].append(thing)
        return thing

    def refer(self, thing: Thing, known: bool = False) -> Thing:
        """A pronoun for something that was said."""
        again = Thing(
            self.node(), thing.noun, True, thing.person, thing.several, thing.female, thing.formal, known=known
        )  # fmt: skip
        if thing.joined:
            again.female = thing.gender("es") == "f"
        self.share(thing, again)
        return again

    def share(self, thing: Thing, other: Thing) -> None:
        """Tie another mention of the same referent to the first."""
        for group in self.open:
            if any(member is thing for member in group):
                group.append(other)
                break
        if other.pronoun or other.owner:
            self.tell(thing)

    def tell(self, thing: Thing) -> None:
        """Note that English says "he", "she", "his" or "her" of a thing: its gender is open no more."""
        if thing.person == 3 and not thing.several:
            self.open = [group for group in self.open if all(member is not thing for member in group)]

    # Nouns

    def noun(self, noun: Noun, role: str = "object", subject: Thing | None = None, rich: bool = True) -> Thing:
        """A noun with a determiner that suits it and its role; `subject` is who may own it."""
        thing = Thing(self.node(), noun)
        if noun.human:
            self.people.add(noun)
        if noun.proper:
            return thing
        if noun.open:
            thing.female = self.chance(0.5)
            self.open.append([thing])
        if noun.kind == "kin":
            thing.plural = noun.name not in _SINGLE and self.chance(0.15)
            self._own(thing, "of" if self.chance(0.15) else "my", subject)
        elif noun.kind == "sport" or (noun.kind in _FIELDS and role == "subject"):
            thing.det = "any"
        elif noun.kind in _FIELDS:
            thing.det = ""
        elif noun.name != "truth":
            self._determine(thing, noun, role, subject)
            if rich:
                self._enrich(thing, noun)
        return thing

    def _determine(self, thing: Thing, noun: Noun, role: str, subject: Thing | None) -> None:
        if noun.mass:
            det = self.pick(_MASS)
            if role != "object" and det == "":
                det = "the"
        elif role in _PLURAL and noun.kind not in _ONE and noun.name not in _SINGLE and self.chance(0.28):
            thing.plural = True
            det = self.pick(_PLURAL[role])
            if det == "these":
                det = self.pick(("this", "that"))
        else:
            det = self.pick(_SINGULAR[role])
        if det == "count":
            thing.count, det = self.word(_NUMBERS), self.pick(("", "", "the"))
            if role == "subject":
                det = "the"
        if det == "" and noun.human:
            det = "the"
        if det in ("my", "of"):
            if noun.kind in _OWNED or noun.name in _OWNED:
                self._own(thing, det, subject)
                return
            det = "the"
        thing.det = det

    def _own(self, thing: Thing, det: str, subject: Thing | None) -> None:
        """Give a thing an owner: I, you, we, the subject of the clause, or someone by name."""
        thing.det = det
        if det == "of":
            if self.chance(0.6):
                thing.owner = self.noun(self.other(NOUNS["name"]), rich=False)
            else:
                thing.owner = self.noun(self.other(NOUNS["person"]), rich=False)
                thing.owner.plural, thing.owner.det, thing.owner.count, thing.owner.owner = False, "the", None, None
        elif subject and self._owns(subject) and self.chance(0.75):
            thing.owner = subject
            self.tell(subject)
        else:
            thing.owner = self.pronoun((1, 2))
            if subject and subject.person == thing.owner.person:  # not "we read my book"
                thing.owner.plural, thing.owner.formal = subject.plural, subject.formal
            if thing.noun and thing.noun.name in ("husband", "wife"):  # not "our husband"
                thing.owner.plural = False

    def _owns(self, subject: Thing) -> bool:
        """Whether "his", "her" or "their" can stand for the subject."""
        someone = subject.noun is not None and subject.noun.kind == "anyone"
        return subject.person == 3 and subject.det not in ("both", "who") and not someone

    def _enrich(self, thing: Thing, noun: Noun) -> None:
        """Perhaps add an adjective."""
        if FRONT[noun] and not thing.count and self.chance(0.07):
            adjective = self.word(FRONT[noun])
            ordinal = adjective.name in ("first", "second", "third")
            if thing.det in (adjective.needs or ("the", "a", "this", "that", "")) and not (ordinal and thing.plural):
                thing.front = Trait(self.node(), adjective)
                return
        if _BESIDE[noun] and self.chance(0.3):
            thing.trait = Trait(self.node(), self.word(_BESIDE[noun]))

    # Traits

    def trait(self, adjective: Adjective, negative: bool = False) -> Trait:
        """An adjective to be said with "be", perhaps with a degree."""
        trait = Trait(self.node(), adjective)
        if adjective.name not in _PLAIN and self.chance(0.4):
            welcome = adjective.flags & {"+", "happy"}  # nothing is too good, or a little good
            trait.degree = self.word(_DEGREES[:1] if negative else _DEGREES[:2] if welcome else _DEGREES)
        return trait

    @staticmethod
    def comparable(adjective: Adjective) -> bool:
        return adjective.name not in _PLAIN
