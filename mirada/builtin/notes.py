"""The lecture notes' sentences, as meanings: they belong to the language, but to neither part of the corpus."""

from dataclasses import replace

from mirada.builtin.lexicon import (
    INTRANSITIVE,
    NAMED,
    PHRASES,
    QUALITIES,
    STATES,
    TRANSITIVE,
    VERBS,
    Adjective,
    Noun,
    Verb,
)
from mirada.builtin.meaning import STEP, Adjunct, Clause, Greeting, Link, Meaning, Thing, Trait

_PREPOSITION = PHRASES["preposition"]


def _verb(name: str) -> Verb:
    return next(verb for verb in (*INTRANSITIVE, *TRANSITIVE) if verb.name == name)


def _adjective(name: str, noun: Noun) -> Adjective:
    return next(adjective for adjective in (*STATES[noun], *QUALITIES[noun]) if adjective.name == name)


def _crying_baby() -> Clause:
    """El bebé está llorando."""
    return Clause(STEP, Thing(2 * STEP, NAMED["baby"]), _verb("cry"), "progressive")


def _working_with_both() -> Clause:
    """Él trabaja con los dos."""
    both = Adjunct(3 * STEP, _PREPOSITION["with"], Thing(4 * STEP, pronoun=True, plural=True, det="both"))
    return Clause(STEP, Thing(2 * STEP, pronoun=True), _verb("work"), adjuncts=[both])


def _book_on_table() -> Clause:
    """O livro está em cima da mesa."""
    table = Adjunct(3 * STEP, _PREPOSITION["on"], Thing(4 * STEP, NAMED["table"]))
    return Clause(STEP, Thing(2 * STEP, NAMED["book"]), VERBS["be there"], adjuncts=[table])


def _see_you() -> Greeting:
    """Nos vemos!"""
    return Greeting(STEP, PHRASES["greeting"]["see you"])


def _visiting_chile() -> Clause:
    """Lucas irá visitar o Chile em Janeiro: the notes write the month with a capital, as one used to."""
    january = PHRASES["month"]["in January"]
    spelled = {**january.texts, "pt": ("em Janeiro", *january.texts["pt"])}
    month = Adjunct(4 * STEP, replace(january, texts=spelled))
    chile = Thing(3 * STEP, NAMED["Chile"])
    return Clause(STEP, Thing(2 * STEP, NAMED["Lucas"]), _verb("visit"), "planned", object=chile, time=month)


def _animal(adjective: str, of_street: bool) -> Clause:
    """El animal no cruzó la calle porque estaba demasiado cansado, or because the street was too wide."""
    animal, street = Thing(2 * STEP, NAMED["animal"]), Thing(3 * STEP, NAMED["street"])
    it = Thing(4 * STEP, (street if of_street else animal).noun, pronoun=True, known=True)
    assert it.noun
    trait = Trait(5 * STEP, _adjective(adjective, it.noun), PHRASES["degree"]["too"])
    why = Clause(6 * STEP, it, VERBS["be" if of_street else "be there"], "past", trait=trait)
    link = Link(7 * STEP, PHRASES["conjunction"]["because"], why)
    return Clause(STEP, animal, _verb("cross"), "past", negative=True, object=street, link=link)


def meanings() -> list[Meaning]:
    roots: list[Clause | Greeting] = [
        _crying_baby(), _working_with_both(), _book_on_table(), _see_you(), _visiting_chile(),
        _animal("tired", of_street=False), _animal("wide", of_street=True),
    ]  # fmt: skip
    return [Meaning(root, []) for root in roots]
