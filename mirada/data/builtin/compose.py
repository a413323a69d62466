"""Makes up meanings: statements, questions, reasons, reports and greetings."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate
from random import Random

from mirada.data.builtin.clauses import IT_VERBS, PERSONAL, TABLES
from mirada.data.builtin.describe import LIVING
from mirada.data.builtin.lexicon import (
    CLAUSAL,
    GIVING,
    IDIOMS,
    INTRANSITIVE,
    MOTION,
    NAMED,
    NOUNS,
    PHRASES,
    QUALITIES,
    STATES,
    TRANSITIVE,
    VERBS,
    WEATHER,
    Adjective,
    Verb,
    by_rank,
)
from mirada.data.builtin.meaning import Clause, Greeting, Link, Meaning, Thing
from mirada.data.builtin.states import States

_MISLAID = by_rank(*NOUNS["object"], *NOUNS["clothes"], *NOUNS["text"], *NOUNS["name"])
_ERAS = ("now",) * 5 + ("past",) * 4 + ("next",) * 3
_MOODS = frozenset(("tired", "happy", "sad", "sick", "nervous", "angry", "worried", "busy", "scared", "drunk"))
_REASONS = {noun: tuple(a for a in STATES[noun] if a.name in _MOODS) for noun in LIVING}
_FEELINGS = _REASONS[NAMED["Lucas"]]
_HUNGER = IDIOMS[:9]
_WANTED = ("want", "need", "prefer", "hate", "like")
_STATIC = frozenset(verb for verb in TRANSITIVE if {"state", "move"} & verb.flags)
_ACTIVE = (
    frozenset(verb for verb in (*INTRANSITIVE, *TRANSITIVE, *MOTION, *GIVING) if "state" not in verb.flags) - _STATIC
)
_PLACED = tuple(verb for verb in INTRANSITIVE if "in" in verb.flags and "state" not in verb.flags)


def _asked_what(verb: Verb) -> bool:
    """Whether one can ask what is done: not of people, and not after a preposition."""
    plain = not any(verb.wordings[language][0].after for language in ("es", "pt"))
    return plain and not any(noun.human for noun in verb.objects)


_WHAT = tuple(verb for verb in TRANSITIVE if _asked_what(verb))
_WHICH = tuple(verb for verb in _WHAT if not all(noun.mass for noun in verb.objects))


class Composer(States):
    """Makes up one meaning after another; the same random numbers give the same meanings."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        shapes: tuple[tuple[int, Callable[[str], Clause]], ...] = (
            (13, self.doing), (25, self.acting), (8, self.being), (2, self.job), (5, self.lying), (8, self.going),
            (8, self.liking), (12, self.giving), (6, self.feeling), (2, self.weather), (6, self.saying),
            (3, self.existing), (2, self.aging), (3, self.located),
        )  # fmt: skip
        self.shapes = [shape for _, shape in shapes]
        self.weights = list(accumulate(weight for weight, _ in shapes))

    def meaning(self) -> Meaning:
        self.restart()
        self.linked: set[str] = set()  # the conjunctions that were used
        chance = self.random()
        if chance < 0.025:
            return Meaning(self._greeting(), [])
        era = self.pick(_ERAS)
        if chance < 0.15:
            clause = self._asking(era)
            self._address(clause.subject)
            return Meaning(clause, self.open)
        clause = self.shapes[bisect(self.weights, self.random() * self.weights[-1])](era)
        if not clause.that and self.chance(0.27):
            self._continue(clause, era, 0.25 if chance < 0.97 else 0.9)
        elif chance > 0.6:
            self._ask(clause)
        self._address(clause.subject)
        return Meaning(clause, self.open)

    def _address(self, subject: Thing | None) -> None:
        """Keep "usted" and "ustedes" to sentences that say so in their subject: "su" alone could be anyone's."""
        talked_to = self.talkers.get(2, [])
        if not any(thing is subject for thing in talked_to):
            for thing in talked_to:
                thing.formal = thing.plural = False

    # Reports

    def saying(self, era: str) -> Clause:
        """Someone says or thinks that something is so."""
        verb = self.word(CLAUSAL if era == "past" else CLAUSAL[:4])
        past = era == "past" and "state" not in verb.flags
        subject = self.subject(verb)
        clause = Clause(self.node(), subject, verb, "past" if past else "present")
        again = None if self.anyone(subject) or self.chance(0.5) else self.refer(subject, known=True)
        if subject.person == 3:  # another "he" would seem to be the first
            self.persons = (1, 2)
        if past:
            told = self.feeling("past", again) if self.chance(0.4) else self.being("past", again)
        else:
            tell = self.pick((self.being, self.acting, self.doing, self.going, self.feeling))
            told = tell(self.pick(("now", "now", "past", "next")), again)
        clause.that = told
        return clause

    # Questions

    def _ask(self, clause: Clause) -> None:
        """Make a statement a yes-or-no question, if one would ask it."""
        subject = clause.subject
        if subject and (subject.person == 1 or self.anyone(subject)):
            return
        clause.question = "yes"
        if clause.negative and (clause.verb.name == "exist" or self.chance(0.7)):
            clause.negative = False
            if clause.object and clause.object.noun in NOUNS["anyone"]:
                clause.negative = True

    def _asking(self, era: str) -> Clause:
        """A question with a question word."""
        asked = self.pick(
            ("what", "what", "who", "whom", "where", "where", "when", "why", "why", "how", "which", "which")
        )
        if asked == "how":
            clause = Clause(self.node(), self._other(IDIOMS[0]), VERBS["be there"])
        elif asked == "where" and self.chance(0.5):
            thing = self.noun(self.word(_MISLAID), "subject")
            if thing.det in ("a", "some", "many"):
                thing.det = "the"
            clause = Clause(self.node(), thing, VERBS["be there"])
        else:
            clause = self._questionable(asked, era)
        clause.question = asked
        clause.frequency = None
        if asked != "why":
            clause.negative = False
            clause.time = None
        if clause.control and clause.control.verb is VERBS["like to"]:
            clause.control = None
        if clause.tense == "planned" and not clause.time:
            clause.tense = "future"
        if asked == "when" and "progressive" in clause.tense:
            clause.tense = {"progressive": "present", "past progressive": "past"}[clause.tense]
        return clause

    def _questionable(self, asked: str, era: str) -> Clause:
        if asked in ("what", "which"):
            verb = self.word(_WHAT if asked == "what" else _WHICH)
            return self._asking_object(verb, era, None if asked == "what" else self._asked_object(verb))
        if asked == "whom":
            return self._asking_object(self.word(PERSONAL), era, None)
        if asked == "who":
            anyone = Thing(self.node(), pronoun=True, det="who")
            return self.doing(era, anyone) if self.chance(0.4) else self.acting(era, anyone)
        if asked == "where":
            return self._asking_object(self.word(_PLACED), era, None)
        if self.chance(0.3):
            verb = self.word(MOTION)
            return self.going(era, self._other(verb))
        verb = self.word(INTRANSITIVE if self.chance(0.5) else TRANSITIVE)
        if asked == "when":
            return self._asking_object(self.word(_PLACED), era, None)
        subject = self._other(verb)
        return self.act(verb, era, subject) if verb.objects else self.do(verb, era, subject)

    def _asking_object(self, verb: Verb, era: str, thing: Thing | None) -> Clause:
        """Nothing but a subject, a verb and what is asked about."""
        clause = Clause(self.node(), self._other(verb), verb, object=thing)
        self.setting(clause, era)
        return clause

    def _other(self, verb: Verb) -> Thing:
        """A subject one asks about: not oneself, and not just anyone."""
        noun = self.word(verb.subjects)
        if noun.human and self.chance(0.4):
            return self.pronoun((2, 2, 3))
        thing = self.noun(noun, "subject")
        if thing.det in ("a", "some", "many"):
            thing.det = "the"
        return thing

    def _asked_object(self, verb: Verb) -> Thing:
        noun = self.word(tuple(noun for noun in verb.objects if not noun.mass))
        plural = self.chance(0.6)
        return Thing(self.node(), noun, plural=plural, det="howmany" if plural and self.chance(0.6) else "which")

    # Clauses that hang together

    def _continue(self, clause: Clause, era: str, more: float) -> None:
        """Add a clause, and perhaps another one to that."""
        subject = clause.subject
        if subject and (self.anyone(subject) or clause.question):
            return
        alive = subject is not None and self._alive(subject)
        names: tuple[str, ...] = ()
        if clause.verb in WEATHER or (
            alive and (clause.verb in IDIOMS or (clause.trait and clause.trait.adjective.state))
        ):
            names = ("so", "so", "but")
        elif clause.trait and alive:
            names = ("but", "and")
        elif clause.verb.name in _WANTED:
            names = ("because",) if self._fitting(clause.object) else ()
        elif clause.verb not in _ACTIVE:
            return
        elif clause.tense in ("progressive", "past progressive") and not clause.control:
            names = ("because", "while" if clause.tense == "progressive" else "when", "while", "and")
        else:
            names = ("because", "because", "because", "and", "and", "but")
        names = tuple(name for name in names if name not in self.linked)
        if not names:
            return
        name = self.pick(names)
        self.linked.add(name)
        self.persons = (1, 2)  # another "he" would seem to be the first
        then = "now" if name == "because" and era == "next" else era
        other = self._linked(name, clause, then)
        clause.link = Link(self.node(), PHRASES["conjunction"][name], other)
        if self.id < 400 and self.chance(more):
            self._continue(other, then, more)

    def _linked(self, name: str, clause: Clause, era: str) -> Clause:
        subject = clause.subject
        same = subject is not None and self._alive(subject)
        if name == "because":
            return self._reason(clause, era)
        if name in ("while", "when"):
            verb = self.word(INTRANSITIVE if self.chance(0.5) else TRANSITIVE)
            while verb not in _ACTIVE:
                verb = self.word(TRANSITIVE)
            other = self.act(verb, era, None) if verb.objects else self.do(verb, era, None)
            other.control = None
            other.negative = other.negative and name == "while"
            other.tense = clause.tense if name == "while" else "past"
            return self._bare(other)
        if name == "and" and same and clause.object and self.chance(0.8):
            continued = self._with_it(clause)
            if continued:
                return continued
        known = (
            self.refer(subject, known=True) if subject and same and self.chance(0.5 if name == "and" else 0.8) else None
        )
        if known and name == "and":
            known.shared = True
        if clause.trait and not clause.trait.adjective.state:  # "is rich, but isn't happy"
            other = self.being(era, known)
            while other.trait and other.trait.adjective is clause.trait.adjective:
                other = self.being(era, known)
            return other
        other = self._bare(self.pick((self.doing, self.acting, self.acting, self.going))(era, known))
        while other.verb not in _ACTIVE or other.verb is clause.verb:
            other = self._bare(self.doing(era, known))
        if known and other.verb in _ACTIVE and clause.verb in _ACTIVE and not other.control and not clause.control:
            other.tense = clause.tense
        return other

    def _reason(self, clause: Clause, era: str) -> Clause:
        """Why someone does something."""
        subject, thing = clause.subject, clause.object
        chance = self.random()
        fitting = self._fitting(thing) if chance < 0.3 or clause.verb.name in _WANTED else ()
        if thing and fitting:
            adjective = self.word(fitting)
            be = Clause(self.node(), self.refer(thing, known=True), VERBS["be"])
            be.tense = "past" if era == "past" else "present"
            be.trait = self.trait(adjective)
            return be
        if chance > 0.9 or subject is None or not self._alive(subject):
            return self._raining(era)
        again = self.refer(subject, known=True)
        tense = "past" if era == "past" else "present"
        if chance < 0.6:
            adjective = self.word(_REASONS[again.noun] if again.noun else _FEELINGS)
            negative = self.chance(0.1)
            mood = Clause(self.node(), again, VERBS["be there"], tense, negative)
            mood.trait = self.trait(adjective, negative)
            return mood
        if chance < 0.75 or not again.human:
            verb = self.able(IDIOMS, again)
            return Clause(self.node(), again, verb if verb in _HUNGER else IDIOMS[0], tense)
        return self.wish(again, tense)

    def _fitting(self, thing: Thing | None) -> tuple[Adjective, ...]:
        """What can be said of a thing as a reason to do something with it: "because it was cheap"."""
        if thing is None or thing.noun is None or thing.pronoun or thing.noun.human or thing.plural or thing.trait:
            return ()
        return QUALITIES[thing.noun] if thing.det in ("the", "a", "this", "that", "of") else ()

    def _raining(self, era: str) -> Clause:
        clause = Clause(self.node(), None, self.pick(WEATHER))
        active = "state" not in clause.verb.flags
        if era == "past":
            clause.tense = "past progressive" if active else "past"
        else:
            clause.tense = "progressive" if active else "present"
        return clause

    def _with_it(self, clause: Clause) -> Clause | None:
        """Do something else with the same object: "buys a book and reads it"."""
        thing = clause.object
        if clause.subject is None or thing is None or thing.noun is None or thing.pronoun or thing.noun.proper:
            return None
        fitting = IT_VERBS[thing.noun]
        if thing.noun.human or not fitting or thing.det == "any" or clause.negative or clause.verb not in TRANSITIVE:
            return None
        verb = self.word(fitting)
        noun = clause.subject.noun
        if verb is clause.verb or (noun and noun not in verb.subjects) or verb not in _ACTIVE or clause.control:
            return None
        known = self.refer(clause.subject, known=True)
        known.shared = True
        return Clause(self.node(), known, verb, clause.tense, object=self.refer(thing))

    def _bare(self, clause: Clause) -> Clause:
        """A clause without a time of its own."""
        clause.time = clause.frequency = None
        if clause.tense == "planned":
            clause.tense = "future"
        return clause

    def _alive(self, thing: Thing) -> bool:
        return thing.human or (thing.noun is not None and thing.noun in _REASONS)

    # Greetings

    def _greeting(self) -> Greeting:
        greeting = Greeting(self.node(), self.word(TABLES["greeting"]))
        if self.chance(0.4):
            greeting.phrase = PHRASES["greeting"]["see you"]
            if self.chance(0.5):
                greeting.adjunct = self.adjunct(self.word(TABLES[self.pick(("future", "day", "month"))]))
            else:
                noun = self.word(NOUNS["place"])
                place = Thing(self.node(), noun)
                greeting.adjunct = self.adjunct(PHRASES["preposition"][noun.at], place)
        if self.chance(0.8):
            greeting.name = self.noun(self.word(NOUNS["name"]))
        return greeting
