"""Makes up meanings: statements, questions, reports, weeks and greetings."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate
from random import Random

from mirada.builtin.clauses import DIRECT, PERSONAL
from mirada.builtin.lexicon import (
    CLAUSAL,
    IDIOMS,
    INTRANSITIVE,
    MOTION,
    NOUNS,
    PHRASES,
    SPOTS,
    TRANSITIVE,
    VERBS,
    Verb,
    by_rank,
)
from mirada.builtin.links import Links
from mirada.builtin.meaning import Clause, Greeting, Link, Meaning, Thing
from mirada.builtin.settings import TABLES

_MISLAID = by_rank(*NOUNS["object"], *NOUNS["clothes"], *NOUNS["text"], *NOUNS["name"])
_ERAS = ("now",) * 5 + ("past",) * 4 + ("next",) * 3
_PLACED = tuple(
    verb for verb in INTRANSITIVE if verb.flags & set(SPOTS) and verb.flags.isdisjoint(("state", "unwilled", "mishap"))
)
_WHAT = tuple(
    verb
    for verb in DIRECT
    if len(verb.objects) > 7
    and verb.name not in ("use", "wear", "prefer", "make")
    and not any(noun.human for noun in verb.objects)
)
_WHICH = tuple(verb for verb in _WHAT if not all(noun.mass for noun in verb.objects))
_WHOM = tuple(verb for verb in PERSONAL if verb in DIRECT)
_ASKED = ("what", "what", "who", "whom", "where", "where", "when", "why", "why", "how", "which", "which")


class Composer(Links):
    """Makes up one meaning after another; the same random numbers give the same meanings."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        shapes: tuple[tuple[int, Callable[[str], Clause]], ...] = (
            (14, self.doing), (21, self.acting), (5, self.being), (1, self.job), (3, self.lying), (7, self.going),
            (13, self.liking), (12, self.giving), (12, self.feeling), (2, self.weather), (6, self.saying),
            (2, self.existing), (1, self.aging), (1, self.located), (5, self.finding), (2, self.becoming),
            (3, self.lasting), (2, self.week),
        )  # fmt: skip
        self.shapes = [shape for _, shape in shapes]
        self.weights = list(accumulate(weight for weight, _ in shapes))

    def meaning(self) -> Meaning:
        self.restart()
        chance = self.random()
        if chance < 0.025:
            return Meaning(self._greeting(), [])
        era = self.pick(_ERAS)
        if chance < 0.18:
            clause = self._asking(era)
            self._address(clause.subject)
            return Meaning(clause, self.open)
        clause = self.shapes[bisect(self.weights, self.random() * self.weights[-1])](era)
        if not clause.that and not clause.link and self.chance(0.3):
            self.extend(clause, era, 0.3 if chance < 0.97 else 0.9)
        elif chance > 0.55 and not clause.link:
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
        if verb.name == "say" and subject.person == 1 and not past:  # one just says it
            verb = CLAUSAL[1]
        clause = Clause(self.node(), subject, verb, "past" if past else "present")
        self.clarify(clause)
        # One does not say or know what one is doing oneself.
        odd = self.anyone(subject) or (subject.person < 3 and not past and verb.name != "think") or verb.name == "know"
        again = None if odd or self.chance(0.5) else self.refer(subject, known=True)
        if subject.person == 3:  # another "he" would seem to be the first
            self.persons = (1, 2)
        else:
            self.persons = tuple(person for person in (1, 2, 3) if person != subject.person)
        if past:
            told = self.feeling("past", again) if self.chance(0.4) else self.being("past", again)
        else:
            tell = self.pick((self.being, self.acting, self.doing, self.going, self.feeling))
            time = self.pick(("now", "now", "past", "next"))
            if again and tell not in (self.being, self.feeling):  # one knows what one has done
                time = "next"
            told = tell(time, again)
        clause.that = told
        return clause

    def week(self, era: str) -> Clause:
        """What someone does on some days: "on Monday Ana worked, on Tuesday she had dinner with me and …"."""
        tense = {"now": "present", "past": "past", "next": "future"}[era]
        days = TABLES["habit"][1:8] if era == "now" else TABLES["day"]
        start = self.pick(range(5))
        days = days[start : start + 2 + self.pick((0, 1, 1, 2, 2, 3, 4))]
        self.plain = True
        self.done: set[Verb] = set()
        first = last = self._daily(era, None)
        for number, day in enumerate(days):
            last.tense, last.time, last.timely = tense, self.adjunct(day), True
            if number < len(days) - 1:
                assert last.subject
                following = self._daily(era, self.refer(last.subject, known=True))
                last.link = Link(self.node(), PHRASES["conjunction"]["and"], following, listed=number < len(days) - 2)
                last = following
        self.plain = False
        return first

    def _daily(self, era: str, known: Thing | None) -> Clause:
        """Something that someone may do on a certain day."""
        while True:
            undo = self.checkpoint()
            clause = self.pick((self.doing, self.acting, self.going))(era, known)
            subject = clause.subject
            far = clause.object and clause.object.noun in NOUNS["country"]
            flags = clause.verb.flags
            fit = flags.isdisjoint(("state", "slow", "unwilled", "mishap", "rare")) and clause.verb not in self.done
            fit = fit and (clause.object is not None or not flags.isdisjoint(SPOTS))
            adult = subject and subject.human and not (subject.noun and subject.noun.kind in ("infant", "anyone"))
            if fit and adult and not far:
                self.done.add(clause.verb)
                return clause
            undo()

    # Questions

    def _ask(self, clause: Clause) -> None:
        """Make a statement a yes-or-no question, if one would ask it."""
        subject = clause.subject
        if (subject and (subject.person == 1 or self.anyone(subject))) or clause.verb.name == "say":
            return
        clause.question = "yes"
        if clause.negative and (clause.verb.name == "exist" or self.chance(0.7)):
            clause.negative = False
            if clause.object and clause.object.noun in NOUNS["anyone"]:
                clause.negative = True

    def _asking(self, era: str) -> Clause:
        """A question with a question word."""
        asked = self.pick(_ASKED)
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
        if clause.control and clause.control.verb.name in ("like to", "would like to"):
            clause.control = None
            clause.tense = "present"
        if clause.tense == "planned" and not clause.time:
            clause.tense = "future"
        if asked == "when" and "progressive" in clause.tense:
            clause.tense = {"progressive": "present", "past progressive": "past"}[clause.tense]
        return clause

    def _questionable(self, asked: str, era: str) -> Clause:
        if asked in ("what", "which"):
            verb = self.verb(_WHAT if asked == "what" else _WHICH, era)
            return self._asking_object(verb, era, None if asked == "what" else self._asked_object(verb))
        if asked == "whom":
            return self._asking_object(self.verb(_WHOM, era), era, None)
        if asked == "who":
            anyone = Thing(self.node(), pronoun=True, det="who")
            return self.doing(era, anyone) if self.chance(0.4) else self.acting(era, anyone)
        if asked in ("where", "when") and (asked == "where" or self.chance(0.6)):
            return self._asking_object(self.word(_PLACED), era, None)
        if self.chance(0.4) or asked == "when":
            verb = self.word(MOTION)
            return self.go(verb, era, self._other(verb))
        verb = self.verb(INTRANSITIVE if self.chance(0.5) else TRANSITIVE, era)
        subject = self._other(verb)
        return self.act(verb, era, subject) if verb.objects else self.do(verb, era, subject)

    def _asking_object(self, verb: Verb, era: str, thing: Thing | None) -> Clause:
        """Nothing but a subject, a verb and what is asked about."""
        clause = Clause(self.node(), self._other(verb), verb, object=thing)
        self.setting(clause, era)
        if clause.tense == "present" and not clause.control and verb.flags.isdisjoint(("state", "move")):
            clause.tense = "progressive"
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

    # Greetings

    def _greeting(self) -> Greeting:
        greeting = Greeting(self.node(), self.word(TABLES["greeting"]))
        if self.chance(0.4):
            greeting.phrase = PHRASES["greeting"]["see you"]
            if self.chance(0.5):
                greeting.adjunct = self.adjunct(self.word(TABLES[self.pick(("future", "future long", "day", "month"))]))
            else:
                noun = self.word(NOUNS["place"])
                place = Thing(self.node(), noun)
                greeting.adjunct = self.adjunct(PHRASES["preposition"][noun.at], place)
        if self.chance(0.8):
            greeting.name = self.noun(self.word(NOUNS["name"]))
        return greeting
