"""What a sentence means, before any language: clauses, the things they speak of, and where a word comes from.

Every node has an `id`, and the parts of a node that a language may say with a word of their own have the numbers after
it (`DET`, `NEG`, …). A realised word carries the numbers it says; two words of two languages align when they share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mirada.data.builtin.lexicon import Adjective, Noun, Phrase, Verb

STEP = 8  # the distance between two nodes' ids
HEAD = 0  # the noun, verb, adjective or adverb itself
DET = 1  # of a thing: its article, demonstrative or possessive
COUNT = 2  # of a thing: its number
AUX = 1  # of a clause: tense, aspect and agreement
NEG = 2  # of a clause: its negation
ASK = 3  # of a clause: its question word
MARK = 7  # of a clause: its punctuation


@dataclass(slots=True)
class Trait:
    """An adjective, perhaps with a degree: "very tired"."""

    id: int
    adjective: Adjective
    degree: Phrase | None = None


@dataclass(slots=True)
class Thing:
    """Someone or something: a noun with its company, a pronoun, or several things joined by "and"."""

    id: int
    noun: Noun | None = None  # of a pronoun: what it stands for, if that was said
    pronoun: bool = False
    person: int = 3
    plural: bool = False
    female: bool = False  # where the noun leaves it open
    det: str = "the"  # the, a, this, that, my, both, or "" for none
    owner: Thing | None = None  # whose, when det is "my"
    count: Phrase | None = None
    trait: Trait | None = None
    joined: tuple[Thing, ...] = ()
    known: bool = False  # a subject that was the subject of the clause before: Spanish does not say it

    def gender(self, language: str) -> str:
        if self.joined:
            return "f" if all(part.gender(language) == "f" for part in self.joined) else "m"
        fixed = self.noun.forms[language].gender if self.noun else ""
        return fixed or ("f" if self.female else "m")

    @property
    def human(self) -> bool:
        if self.joined:
            return self.joined[0].human
        return self.person < 3 or self.noun is None or self.noun.human


@dataclass(slots=True)
class Adjunct:
    """A circumstance: a fixed phrase ("every day"), or a preposition with a thing ("with both")."""

    id: int
    phrase: Phrase
    thing: Thing | None = None


@dataclass(slots=True)
class Clause:
    id: int
    subject: Thing
    verb: Verb
    tense: str = "present"  # present, progressive
    negative: bool = False
    question: str = ""  # "yes" for a yes-or-no question, or the question word
    object: Thing | None = None
    trait: Trait | None = None  # of "be": the adjective
    frequency: Adjunct | None = None
    adjuncts: list[Adjunct] = field(default_factory=list)
    time: Adjunct | None = None
    link: tuple[Adjunct, Clause] | None = None  # a conjunction and the clause after it


@dataclass(slots=True)
class Meaning:
    """A whole sentence, and who in it may be a woman where English does not say; each list is one referent."""

    clause: Clause
    open: list[list[Thing]]
