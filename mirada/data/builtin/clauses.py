"""Makes up clauses: who does what, where and when."""

from __future__ import annotations

from mirada.data.builtin.describe import LIVING, PEOPLE, Describer
from mirada.data.builtin.lexicon import (
    CONTROL,
    GIVING,
    IDIOMS,
    INTRANSITIVE,
    MOTION,
    NAMED,
    NOUNS,
    PHRASES,
    QUALITIES,
    TRANSITIVE,
    VERBS,
    Noun,
    Verb,
    by_rank,
)
from mirada.data.builtin.meaning import Adjunct, Clause, Control, Thing

TABLES = {table: tuple(found.values()) for table, found in PHRASES.items()}
PREPOSITION = PHRASES["preposition"]
_WITH = PREPOSITION["with"]
_MANNERS = ("well", "much", "fast")
_ANYWHERE = by_rank(*NOUNS["room"], *NOUNS["place"])
_GARDENS = tuple(NAMED[name] for name in ("garden", "yard", "park"))
_SPOTS = {
    "in": _ANYWHERE,
    "home": NOUNS["room"],
    "out": (*_GARDENS, *(NAMED[name] for name in ("beach", "forest", "square", "zoo", "village"))),
    "shop": tuple(NAMED[name] for name in ("market", "store", "supermarket")),
    "garden": _GARDENS,
}
_LASTING = frozenset({"work", "sleep", "run", "walk", "rest", "wait", "dance", "sing", "cry", "talk", "swim", "drive"})
_SPANS = tuple(NAMED[name] for name in ("hour", "hour", "minute", "day"))
_ABROAD = frozenset({"live", "work", "study", "travel"})
_ALIVE = frozenset(LIVING)
PERSONAL = tuple(verb for verb in TRANSITIVE if "it" in verb.flags and all(noun.human for noun in verb.objects))
_ABLE = {
    verbs: {noun: tuple(verb for verb in verbs if noun in verb.subjects) for noun in LIVING}
    for verbs in (INTRANSITIVE, TRANSITIVE, MOTION, IDIOMS, PERSONAL)
}
IT_VERBS = {  # what can be done to a thing that was just spoken of
    noun: tuple(verb for verb in TRANSITIVE if "it" in verb.flags and noun in verb.objects) for noun in QUALITIES
}
_NOTHING = frozenset(
    {"eat", "drink", "buy", "see", "find", "understand", "remember", "read", "bring", "sell", "want", "need"}
)
_TODAY = (*(verb for verb in CONTROL if "state" in verb.flags), VERBS["like to"])
_LATER = tuple(verb for verb in CONTROL if verb.name in ("have to", "try to"))
_BEFORE = tuple(verb for verb in CONTROL if verb.name != "must")
_WISHES = tuple(verb for verb in CONTROL if verb.name in ("want to", "need to", "have to"))


class Clauses(Describer):
    """Makes up clauses. An `era` is "now", "past" or "next": the clauses of a sentence agree in it.

    Where a shape takes `known`, that is a subject to use instead of a new one.
    """

    def anyone(self, thing: Thing) -> bool:
        """Whether a thing is someone, everyone or nobody: nothing more is said of them."""
        return thing.noun is not None and thing.noun.kind == "anyone"

    def able(self, verbs: tuple[Verb, ...], known: Thing | None) -> Verb:
        """One of the verbs that a subject can be the subject of, or else something that everyone does."""
        if known is None or known.noun is None:
            return self.word(verbs)
        return self.word(_ABLE[verbs][known.noun] or _ABLE[INTRANSITIVE][known.noun])

    # Circumstances

    def subject(self, verb: Verb, known: Thing | None = None) -> Thing:
        if known:
            return known
        noun = self.word(verb.subjects)
        if noun.human and self.chance(0.65):
            return self.pronoun()
        if noun.human and self.chance(0.04):
            return self.noun(self.pick(NOUNS["anyone"][:3]))
        thing = self.noun(noun, "subject")
        if noun.proper and self.chance(0.12):
            other = self.word(NOUNS["name"])
            if other is not noun:
                return Thing(self.node(), joined=(thing, self.noun(other)))
        elif not noun.proper and self.depth == 0 and self.chance(0.05):
            self.relate(thing)
        return thing

    def relate(self, thing: Thing) -> None:
        """Describe a thing by what it does: "the man who works here"."""
        noun = thing.noun
        if thing.trait or thing.front or thing.det not in ("the", "a", "that") or noun is None or noun not in _ALIVE:
            return
        self.depth += 1
        era = self.pick(("now", "past"))
        verb = self.word(TRANSITIVE if self.chance(0.5) else INTRANSITIVE)
        if noun in verb.subjects:
            thing.relative = self.act(verb, era, thing) if verb.objects else self.do(verb, era, thing)
            relative = thing.relative
            relative.gap, relative.time, relative.frequency, relative.control = "subject", None, None, None
            if relative.tense == "planned":
                relative.tense = "future"
        self.depth -= 1

    def place(self, verb: Verb) -> Adjunct:
        if verb.name in _ABROAD and self.chance(0.35):
            return self.adjunct(PREPOSITION["in"], self.noun(self.word(NOUNS["country"])))
        noun = self.word(next((_SPOTS[flag] for flag in _SPOTS if flag in verb.flags), _ANYWHERE))
        return self.adjunct(PREPOSITION[noun.at], self.noun(noun, "place", rich=self.chance(0.3)))

    def company(self, subject: Thing) -> Adjunct:
        if self.chance(0.15):
            both = Thing(self.node(), pronoun=True, plural=True, det="both", female=self.chance(0.5))
            self.open.append([both])
            return self.adjunct(_WITH, both)
        if self.chance(0.35):
            others = tuple(person for person in (1, 2, 3) if person != subject.person)  # not "I work with me"
            return self.adjunct(_WITH, self.pronoun(others))
        return self.adjunct(_WITH, self.noun(self.word(PEOPLE), "place", subject))

    def setting(self, clause: Clause, era: str) -> None:
        """Tense, polarity, and the time and adverb that suit them."""
        flags = clause.verb.flags
        state, still = "state" in flags, "state" in flags or "move" in flags
        nobody = clause.subject is not None and self.anyone(clause.subject)
        if not nobody and self.chance(0.22):
            clause.negative = not (clause.subject and clause.subject.det == "all")
        if not state and clause.subject and clause.subject.human and not nobody and self.chance(0.15):
            self.control(clause, era)
        elif era == "now":
            if not still and self.chance(0.4):
                clause.tense = "progressive"
                if self.chance(0.25):
                    clause.time = self.adjunct(self.word(TABLES["now"]))
            elif not state and self.chance(0.4):
                habits = TABLES[self.pick(("habit", "habit", "habit", "month"))]
                clause.time = self.adjunct(self.word(habits[3:] if clause.negative else habits))
            if clause.subject and not (clause.negative or nobody or clause.time) and self.chance(0.15):
                fitting = TABLES["frequency"]
                clause.frequency = self.adjunct(
                    self.word(fitting[5:] if clause.tense == "progressive" or state else fitting)
                )
        elif era == "past":
            clause.tense = "past progressive" if not still and self.chance(0.25) else "past"
            if not state and self.chance(0.5):
                clause.time = self.adjunct(self.word(TABLES[self.pick(("past", "past", "past", "day", "month"))]))
        elif not state:
            clause.tense = "planned" if not still and not nobody and self.chance(0.4) else "future"
            if clause.tense == "planned" or self.chance(0.7):
                clause.time = self.adjunct(self.word(TABLES[self.pick(("future", "future", "future", "day", "month"))]))
        self.clarify(clause)

    def clarify(self, clause: Clause) -> None:
        """See to it that "hablamos", present or past, is not left to guess: say "I", or use another tense."""
        subject, top = clause.subject, clause.control.verb if clause.control else clause.verb
        if subject is None or subject.person != 1 or not subject.plural or clause.tense != "past" or clause.time:
            return
        if "state" in top.flags:
            return
        if not subject.known:
            subject.plural = False
        elif "move" not in top.flags and not clause.control:
            clause.tense = "past progressive"

    def control(self, clause: Clause, era: str) -> None:
        """Put "wants to", "can" or another verb over the clause's verb."""
        if era == "now":
            verb, clause.tense = self.word(_TODAY), "present"
        else:
            verb, clause.tense = (self.word(_BEFORE), "past") if era == "past" else (self.word(_LATER), "future")
        if clause.object and clause.object.pronoun and verb.name == "like to":
            verb = CONTROL[0]
        if verb.name in ("promise to", "decide to") and clause.negative:
            clause.negative = False
        clause.control = Control(self.node(), verb)

    # Shapes of clauses

    def doing(self, era: str, known: Thing | None = None) -> Clause:
        return self.do(self.able(INTRANSITIVE, known), era, known)

    def do(self, verb: Verb, era: str, known: Thing | None) -> Clause:
        subject = self.subject(verb, known)
        clause = Clause(self.node(), subject, verb)
        if "in" in verb.flags and (self.chance(0.5) or "state" in verb.flags):
            clause.adjuncts.append(self.place(verb))
        elif self.chance(0.25):
            fitting = tuple(adverb for flag in _MANNERS if flag in verb.flags for adverb in TABLES[flag])
            clause.adjuncts.append(self.adjunct(self.word(fitting or TABLES["here"])))
        if subject.human and "in" in verb.flags and self.chance(0.25):
            clause.adjuncts.append(self.company(subject))
        self.setting(clause, era)
        if clause.control:  # nobody decides to swim badly
            clause.adjuncts = [adjunct for adjunct in clause.adjuncts if adjunct.thing]
        if (
            era == "past"
            and clause.tense == "past"
            and verb.name in _LASTING
            and not clause.control
            and self.chance(0.3)
        ):
            span = Thing(self.node(), self.pick(_SPANS), plural=True, det="", count=self.word(TABLES["number"]))
            clause.adjuncts.append(self.adjunct(PHRASES["duration"]["for"], span))
            clause.time = None
            self.clarify(clause)
        return clause

    def acting(self, era: str, known: Thing | None = None) -> Clause:
        verbs = PERSONAL if self.chance(0.15) else TRANSITIVE
        verb = self.able(verbs, known)
        return self.act(verb, era, known) if verb.objects else self.do(verb, era, known)

    def act(self, verb: Verb, era: str, known: Thing | None) -> Clause:
        subject = self.subject(verb, known)
        clause = Clause(self.node(), subject, verb)
        if verb in PERSONAL and self.chance(0.5):
            clause.object = self.pronoun(
                tuple(person for person in (1, 2, 3) if person == 3 or person != subject.person)
            )
        else:
            clause.object = self.object(verb, subject)
        if not verb.flags.isdisjoint(_SPOTS) and self.chance(0.2):
            clause.adjuncts.append(self.place(verb))
        self.setting(clause, era)
        if clause.time or clause.adjuncts:  # which would seem to belong to the relative clause
            clause.object.relative = None
        told = clause.object.owner is subject  # "his" tells who the subject is, and has to stay
        if clause.negative and not (clause.control or clause.object.pronoun or told) and self.chance(0.08):
            if verb in PERSONAL:
                clause.object = self.noun(NOUNS["anyone"][3])
            elif verb.name in _NOTHING:
                clause.object = self.noun(NOUNS["anyone"][4])
        return clause

    def object(self, verb: Verb, subject: Thing) -> Thing:
        noun = self.word(verb.objects)
        thing = self.noun(noun, "object", subject)
        if self.chance(0.07) and not noun.proper:
            other = self.word(verb.objects)
            if other.kind == noun.kind and other is not noun:
                return Thing(self.node(), joined=(thing, self.noun(other, "object", subject)))
        if self.depth == 0 and not noun.proper and not noun.mass and self.chance(0.06):
            self.relate_object(thing, noun)
        return thing

    def relate_object(self, thing: Thing, noun: Noun) -> None:
        """Describe a thing by what is done with it: "the book that Ana bought"."""
        fitting = IT_VERBS[noun]
        if thing.trait or thing.front or thing.det not in ("the", "that") or noun.human or not fitting:
            return
        self.depth += 1
        verb = self.word(fitting)
        subject = self.subject(verb)
        if not self.anyone(subject):
            tense = self.pick(("present", "past", "past"))
            thing.relative = Clause(self.node(), subject, verb, tense, gap="object")
        self.depth -= 1

    def going(self, era: str, known: Thing | None = None) -> Clause:
        verb = self.able(MOTION, known)
        if not verb.objects:
            return self.do(verb, era, known)
        subject = self.subject(verb, known)
        clause = Clause(self.node(), subject, verb)
        clause.object = self.noun(self.word(verb.objects), "place", rich=False)
        if self.chance(0.15):
            clause.adjuncts.append(self.company(subject))
        self.setting(clause, era)
        return clause

    def giving(self, era: str, known: Thing | None = None) -> Clause:
        verb = self.word(GIVING)
        subject = self.subject(verb, known)
        clause = Clause(self.node(), subject, verb, object=self.noun(self.word(verb.objects), "object", subject))
        if self.chance(0.5):
            persons = tuple(person for person in (1, 1, 2, 2, 3) if person == 3 or person != subject.person)
            clause.recipient = self.pronoun(persons)
        else:
            clause.recipient = self.noun(self.word(PEOPLE), "place", subject, rich=False)
        self.setting(clause, era)
        return clause

    def wish(self, subject: Thing, tense: str) -> Clause:
        """Someone wants, needs or has to do something."""
        verb = self.able(INTRANSITIVE if self.chance(0.4) else TRANSITIVE, subject)
        while {"state", "move"} & verb.flags:
            verb = self.able(TRANSITIVE, subject)
        clause = Clause(self.node(), subject, verb, tense)
        clause.control = Control(self.node(), self.pick(_WISHES))
        if verb.objects:
            clause.object = self.object(verb, subject)
        return clause
