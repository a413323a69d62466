"""Makes up meanings: which words go together, and in which shapes of sentence."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import TypeVar

from mirada.data.builtin.lexicon import (
    ADJECTIVES,
    INTRANSITIVE,
    MOTION,
    NOUNS,
    PHRASES,
    TRANSITIVE,
    VERBS,
    Noun,
    Phrase,
    Verb,
)
from mirada.data.builtin.meaning import STEP, Adjunct, Clause, Meaning, Thing, Trait

T = TypeVar("T")

_IN, _AT, _ON, _WITH = (PHRASES["preposition"][name] for name in ("in", "at", "on", "with"))
_BESIDE = [PHRASES["preposition"][name] for name in ("under", "near", "behind", "next to")]
_BECAUSE, _AND, _BUT = (PHRASES["conjunction"][name] for name in ("because", "and", "but"))
_FREQUENCY, _NOW, _HABIT, _DEGREE, _NUMBER = (
    list(PHRASES[table].values()) for table in ("frequency", "now", "habit", "degree", "number")
)
_MANNER = {flag: list(PHRASES[flag].values()) for flag in ("well", "much", "fast")}
_HERE = list(PHRASES["here"].values())
_LIVING = [*NOUNS["person"], *NOUNS["infant"], *NOUNS["kin"], *NOUNS["name"], *NOUNS["animal"]]
_PEOPLE = [*NOUNS["person"], *NOUNS["kin"], *NOUNS["name"]]
_JOBS = [
    noun
    for noun in NOUNS["person"]
    if not noun.forms["es"].gender and noun.name not in ("friend", "neighbor", "guest", "classmate")
]
_PLACES = [*NOUNS["room"], *NOUNS["place"]]
_SMALL = [*NOUNS["object"], *NOUNS["text"], *NOUNS["clothes"], *NOUNS["food"]]
_TANGIBLE = [*_SMALL, *NOUNS["instrument"], *NOUNS["vehicle"], *NOUNS["furniture"], *NOUNS["device"], *NOUNS["opening"]]
_DESCRIBED = [
    noun for noun in (*_LIVING, *_TANGIBLE, *NOUNS["place"], *NOUNS["event"], *NOUNS["idea"]) if ADJECTIVES[noun]
]
# What one has: "my hat", but not "my witch".
_OWNED_NAMES = (
    "object clothes text instrument furniture vehicle room device idea friend neighbor boss teacher doctor lawyer "
    "classmate student cat dog horse house office school garden"
)
_OWNED = frozenset(_OWNED_NAMES.split())
_STATES = ADJECTIVES[NOUNS["man"][0]]
_MOODS = {noun: [a for a in ADJECTIVES[noun] if a.state and a.name != "ready"] for noun in _LIVING}
_PLAIN_NAMES = (
    "alone delicious ready broken open closed empty full lost modern ancient round "
    "red blue green yellow white black gray brown"
)
_PLAIN = frozenset(_PLAIN_NAMES.split())
_ATTRIBUTES = {noun: [a for a in found if a.name not in ("alone", "ready")] for noun, found in ADJECTIVES.items()}


class Composer:
    """Makes up one meaning after another; the same seed gives the same meanings."""

    def __init__(self, rng: Random) -> None:
        self.random = rng.random
        self.shapes: list[Callable[[], Clause]] = []
        weights = []
        for weight, shape in (
            (16, self._doing), (30, self._acting), (14, self._being), (4, self._job), (6, self._lying),
            (9, self._going), (6, self._liking), (7, self._asking),
        ):  # fmt: skip
            self.shapes.append(shape)
            weights.append(weight)
        self.weights = list(accumulate(weights))

    def meaning(self) -> Meaning:
        self.id = 0
        self.open: list[list[Thing]] = []
        self.speakers: dict[int, list[Thing]] = {}
        self.speaker_female = self.chance(0.5)
        clause = self._shape()
        if not clause.question and self.chance(0.25):
            self._continue(clause)
        elif clause.question == "" and clause.subject.person != 1 and self.chance(0.25):
            clause.question = "yes"
        return Meaning(clause, self.open)

    # Choosing

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def _node(self) -> int:
        self.id += STEP
        return self.id

    def _shape(self) -> Clause:
        return self.shapes[bisect(self.weights, self.random() * self.weights[-1])]()

    # Things

    def _pronoun(self, third: bool = True) -> Thing:
        person = self.pick((1, 1, 2, 3, 3)) if third else self.pick((1, 2))
        plural = person != 2 and self.chance(0.35)
        thing = Thing(self._node(), pronoun=True, person=person, plural=plural)
        if person < 3:
            thing.female = self.speaker_female
            if person not in self.speakers:
                self.speakers[person] = []
                self.open.append(self.speakers[person])
            self.speakers[person].append(thing)
        else:
            thing.female = self.chance(0.5)
            if plural:
                self.open.append([thing])
        return thing

    def _noun(self, noun: Noun, rich: bool = True) -> Thing:
        """A noun with a determiner that suits it, and sometimes a number and an adjective."""
        thing = Thing(self._node(), noun)
        if noun.proper:
            return thing
        if not noun.forms["es"].gender or not noun.forms["pt"].gender:
            thing.female = self.chance(0.5)
            self.open.append([thing])
        if noun.kind == "kin":
            thing.owner = self._owner()
            thing.det = "my"
            thing.plural = self.chance(0.15)
        elif noun.kind in ("subject", "science"):
            thing.det = ""
            return thing
        elif noun.mass:
            thing.det = self.pick(("the", "", ""))
        else:
            thing.plural = self.chance(0.3) and noun.kind not in ("place", "room", "infant")
            thing.det = self.pick(("the", "the", "the", "a", "a", "this", "that"))
            if self.chance(0.2) and (noun.kind in _OWNED or noun.name in _OWNED):
                thing.owner, thing.det = self._owner(), "my"
            if thing.plural:
                if thing.det == "a":
                    thing.det = ""
                if self.chance(0.3) and thing.det in ("the", "", "my"):
                    thing.count = self.pick(_NUMBER)
        if rich and self.chance(0.25) and _ATTRIBUTES[noun]:
            thing.trait = self._trait(noun)
        return thing

    def _owner(self) -> Thing:
        return self._pronoun(third=False)

    def _trait(self, noun: Noun) -> Trait:
        adjective = self.pick(_ATTRIBUTES[noun])
        return Trait(self._node(), adjective)

    def _subject(self, verb: Verb) -> Thing:
        if self.chance(0.4):
            return self._pronoun()
        noun = self.pick(verb.subjects)
        thing = self._noun(noun)
        if thing.det == "":
            thing.det = "the"
        if noun.proper and self.chance(0.1):
            other = self.pick(NOUNS["name"])
            if other is not noun:
                return Thing(self._node(), joined=(thing, self._noun(other)))
        return thing

    # Clauses

    def _adjunct(self, phrase: Phrase, thing: Thing | None = None) -> Adjunct:
        return Adjunct(self._node(), phrase, thing)

    def _place(self, verb: Verb) -> Adjunct:
        noun = self.pick(_PLACES)
        place = self._noun(noun, rich=False)
        if place.det == "":
            place.det = "the"
        return self._adjunct(_IN if noun.at == "in" else _AT, place)

    def _company(self, subject: Thing) -> Adjunct:
        if self.chance(0.15):
            both = Thing(self._node(), pronoun=True, plural=True, det="both", female=self.chance(0.5))
            self.open.append([both])
            return self._adjunct(_WITH, both)
        if self.chance(0.3):
            other = self._pronoun()
            if other.person != subject.person:  # not "I work with me"
                return self._adjunct(_WITH, other)
        other = self._noun(self.pick(_PEOPLE))
        return self._adjunct(_WITH, other)

    def _setting(self, clause: Clause) -> None:
        """Tense, polarity and the time that suits them."""
        static = "state" in clause.verb.flags or "move" in clause.verb.flags
        if not static and self.chance(0.4):
            clause.tense = "progressive"
            if self.chance(0.25):
                clause.time = self._adjunct(self.pick(_NOW))
        elif not static and self.chance(0.35):
            clause.time = self._adjunct(self.pick(_HABIT))
        if self.chance(0.2):
            clause.negative = True
        elif clause.tense == "present" and "state" not in clause.verb.flags and self.chance(0.15):
            clause.frequency = self._adjunct(self.pick(_FREQUENCY))

    def _doing(self) -> Clause:
        verb = self.pick(INTRANSITIVE)
        clause = Clause(self._node(), self._subject(verb), verb)
        if "in" in verb.flags and (self.chance(0.5) or "state" in verb.flags):
            clause.adjuncts.append(self._place(verb))
        elif self.chance(0.3):
            fitting = [adverb for flag in ("well", "much", "fast") if flag in verb.flags for adverb in _MANNER[flag]]
            clause.adjuncts.append(self._adjunct(self.pick(fitting or _HERE)))
        if clause.subject.human and "much" not in verb.flags and self.chance(0.3):
            clause.adjuncts.append(self._company(clause.subject))
        self._setting(clause)
        return clause

    def _acting(self) -> Clause:
        verb = self.pick(TRANSITIVE)
        clause = Clause(self._node(), self._subject(verb), verb)
        noun = self.pick(verb.objects)
        clause.object = self._noun(noun)
        if self.chance(0.15):
            clause.adjuncts.append(self._place(verb))
        self._setting(clause)
        return clause

    def _being(self, subject: Thing | None = None) -> Clause:
        """Someone or something is so."""
        be = VERBS["be"]
        if subject:
            adjective = self.pick(_MOODS[subject.noun] if subject.noun else _STATES)
        elif self.chance(0.3):
            subject = self._pronoun()
            adjective = self.pick(ADJECTIVES[self.pick(NOUNS["person"])])
        else:
            noun = self.pick(_DESCRIBED)
            subject = self._noun(noun, rich=False)
            if subject.det in ("", "a"):
                subject.det = "the"
            adjective = self.pick(ADJECTIVES[noun])
        trait = Trait(self._node(), adjective)
        clause = Clause(self._node(), subject, be, trait=trait)
        if self.chance(0.25):
            clause.negative = True
        if self.chance(0.4) and adjective.name not in _PLAIN:
            trait.degree = self.pick(_DEGREE[:2] if clause.negative else _DEGREE)
        return clause

    def _job(self) -> Clause:
        subject = (
            self._pronoun() if self.chance(0.4) else self._noun(self.pick([*NOUNS["name"], *NOUNS["kin"]]), rich=False)
        )
        noun = self.pick(_JOBS)
        job = Thing(self._node(), noun, plural=subject.plural, det="job", female=subject.gender("es") == "f")
        if subject.pronoun and subject.person < 3:
            self.speakers[subject.person].append(job)
        elif subject.pronoun and subject.plural:
            self.open[-1].append(job)
        return Clause(self._node(), subject, VERBS["be"], object=job, negative=self.chance(0.2))

    def _lying(self) -> Clause:
        """Something is somewhere."""
        subject = self._noun(self.pick(_SMALL))
        if subject.det in ("", "a"):
            subject.det = "the"
        clause = Clause(self._node(), subject, VERBS["be"], negative=self.chance(0.15))
        if self.chance(0.4):
            clause.adjuncts.append(self._place(VERBS["be"]))
        else:
            where = self._noun(self.pick(NOUNS["furniture"]))
            if where.det == "":
                where.det = "the"
            clause.adjuncts.append(self._adjunct(_ON if self.chance(0.5) else self.pick(_BESIDE), where))
        return clause

    def _going(self) -> Clause:
        verb = self.pick(MOTION)
        clause = Clause(self._node(), self._subject(verb), verb)
        noun = self.pick(verb.objects)
        clause.object = self._noun(noun, rich=False)
        clause.object.plural, clause.object.count = False, None
        if clause.object.det in ("", "a"):
            clause.object.det = "the"
        if self.chance(0.15):
            clause.adjuncts.append(self._company(clause.subject))
        if self.chance(0.35):
            clause.time = self._adjunct(self.pick(_HABIT))
        clause.negative = self.chance(0.15)
        return clause

    def _liking(self) -> Clause:
        verb = VERBS["like"]
        noun = self.pick(verb.objects)
        clause = Clause(self._node(), self._subject(verb), verb)
        clause.object = liked = self._noun(noun)
        liked.count = None
        if noun.mass or liked.plural or liked.det in ("", "a"):  # coffee, cats: as such
            liked.det, liked.owner, liked.plural = "any", None, not noun.mass
        clause.negative = self.chance(0.25)
        return clause

    def _asking(self) -> Clause:
        """A question with a question word."""
        if self.chance(0.4):
            clause = self._acting()
            clause.question = self.pick(("what", "what", "who", "why"))
            if clause.question == "what":
                if any(noun.human for noun in clause.verb.objects):
                    clause.question = "why"
                else:
                    clause.object = None
        else:
            clause = self._doing()
            asked = ["who", "why"]
            if "in" in clause.verb.flags:
                asked.append("where")
            if "state" not in clause.verb.flags and clause.tense == "present":
                asked.append("when")
            clause.question = self.pick(asked)
            clause.adjuncts = [a for a in clause.adjuncts if a.thing and a.phrase is _WITH]
        clause.frequency = None
        if clause.question != "why":
            clause.negative = False
            clause.time = None
        return clause

    def _continue(self, clause: Clause) -> None:
        """Add a clause about the same subject."""
        first = clause.subject
        if first.joined or clause.verb.name == "be" or not (first.human or first.noun in NOUNS["animal"]):
            return
        again = Thing(self._node(), first.noun, True, first.person, first.plural, first.female, known=True)
        for things in self.open:
            if any(thing is first for thing in things):
                things.append(again)
                if first.person == 3 and not first.plural:  # "he" or "she" tells
                    self.open.remove(things)
                break
        clause.link = (self._adjunct(_BECAUSE), self._being(again))
