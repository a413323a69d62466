"""The lecture notes' sentences, as meanings: they belong to the language, but to neither part of the corpus."""

from mirada.data.builtin.lexicon import INTRANSITIVE, NOUNS, PHRASES, Verb
from mirada.data.builtin.meaning import STEP, Adjunct, Clause, Thing

_WITH = PHRASES["preposition"]["with"]


def _verb(name: str, verbs: list[Verb]) -> Verb:
    return next(verb for verb in verbs if verb.name == name)


def crying_baby() -> Clause:
    """El bebé está llorando."""
    return Clause(STEP, Thing(2 * STEP, NOUNS["baby"][0]), _verb("cry", INTRANSITIVE), "progressive")


def working_with_both() -> Clause:
    """Él trabaja con los dos."""
    both = Adjunct(3 * STEP, _WITH, Thing(4 * STEP, pronoun=True, plural=True, det="both"))
    return Clause(STEP, Thing(2 * STEP, pronoun=True), _verb("work", INTRANSITIVE), adjuncts=[both])


MEANINGS = (crying_baby, working_with_both)
