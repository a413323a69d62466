"""What a sentence means, before any language: clauses, the things they speak of, and where a word comes from.

Every node has an `id`, and the parts of a node that a language may say with a word of their own have the numbers after
it (`DET`, `NEG`, …). A realised word carries the numbers it says; two words of two languages align when they share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mirada.builtin.lexicon import Adjective, Noun, Phrase, Verb

STEP = 8  # the distance between two nodes' ids
HEAD = 0  # the noun, verb, adjective, adverb or conjunction itself
DET = 1  # of a thing: its article, demonstrative or possessive; of a trait: its degree
COUNT = 2  # of a thing: its number
OF = 3  # of a thing: that it belongs to someone
AUX = 1  # of a clause: tense, aspect and agreement
NEG = 2  # of a clause: its negation
ASK = 3  # of a clause: its question word
LINK = 4  # of a clause: the word that makes it a part of another ("that", "who"); of a trait: "and"
REST = 5  # of a clause: what follows its verb, a preposition or the rest of an idiom ("look for", "be hungry")
TO = 6  # of a thing: that it is the one to whom something is given
MARK = 7  # of a sentence: its punctuation


def verb_nodes(node: int, after: str) -> tuple[int, ...]:
    """What a verb says: also the rest, in a language that has no word for it ("look for", but "buscar")."""
    return (node + HEAD,) if after else (node + HEAD, node + REST)


@dataclass(slots=True)
class Trait:
    """An adjective, perhaps with a degree ("very tired"), a comparison or a second adjective."""

    id: int
    adjective: Adjective
    degree: Phrase | None = None
    than: Adjunct | None = None
    also: Trait | None = None


@dataclass(slots=True)
class Thing:
    """Someone or something: a noun with its company, a pronoun, or several things joined by "and"."""

    id: int
    noun: Noun | None = None  # of a pronoun: what it stands for, if that was said
    pronoun: bool = False
    person: int = 3
    plural: bool = False
    female: bool = False  # where the noun leaves it open
    formal: bool = False  # Spanish "usted"
    det: str = "the"  # the, a, this, that, my, many, …; "any" for things as such, "job" for "is a teacher", "" for none
    owner: Thing | None = None  # whose, when det is "my" or "of"
    count: Phrase | None = None
    front: Trait | None = None  # an adjective that goes before the noun everywhere: "the first book"
    trait: Trait | None = None
    relative: Clause | None = None
    joined: tuple[Thing, ...] = ()
    known: bool = False  # a subject that was just spoken of: Spanish and Portuguese need not say it
    shared: bool = False  # a known subject after "and": no language says it
    contrasted: bool = False  # a subject after another one: every language says it

    def gender(self, language: str) -> str:
        if self.joined:
            return "f" if all(part.gender(language) == "f" for part in self.joined) else "m"
        fixed = self.noun.forms[language].gender if self.noun else ""
        return fixed or ("f" if self.female else "m")

    @property
    def several(self) -> bool:
        return self.plural or bool(self.joined)

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
class Control:
    """A verb over the clause's verb: "wants to", "can"."""

    id: int
    verb: Verb


@dataclass(slots=True)
class Link:
    """A conjunction and the clause after it."""

    id: int
    phrase: Phrase
    clause: Clause
    listed: bool = False  # said with a comma: "and" is still to come


@dataclass(slots=True)
class Clause:
    id: int
    subject: Thing | None  # None for weather and for what there is
    verb: Verb
    tense: str = "present"  # present, progressive, past, past progressive, future, planned, conditional, since
    negative: bool = False
    question: str = ""  # "yes" for a yes-or-no question, "which" for one about the object, or a question word
    control: Control | None = None
    object: Thing | None = None
    recipient: Thing | None = None
    trait: Trait | None = None  # of "be": the adjective; of "find": what the object is found
    frequency: Adjunct | None = None
    adjuncts: list[Adjunct] = field(default_factory=list)
    time: Adjunct | None = None
    timely: bool = False  # the time comes first
    gap: str = ""  # of a relative clause: "subject" or "object", whichever is the thing it describes
    that: Clause | None = None  # what is said or thought
    link: Link | None = None


@dataclass(slots=True)
class Greeting:
    """A set phrase, with a time or place ("See you tomorrow!") and with whom it is for."""

    id: int
    phrase: Phrase
    adjunct: Adjunct | None = None
    name: Thing | None = None


@dataclass(slots=True)
class Meaning:
    """A whole sentence, and the referents about whom English leaves something open, each as the things that name it."""

    root: Clause | Greeting
    open: list[list[Thing]]
