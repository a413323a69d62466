"""Makes up clauses: who does what, where and when."""

from __future__ import annotations

from mirada.builtin.describe import LIVING, PEOPLE
from mirada.builtin.lexicon import (
    GIVING,
    IDIOMS,
    INTRANSITIVE,
    MOTION,
    NAMED,
    NOUNS,
    PHRASES,
    QUALITIES,
    SPOTS,
    TRANSITIVE,
    Noun,
    Verb,
    by_rank,
)
from mirada.builtin.meaning import Adjunct, Clause, Thing
from mirada.builtin.settings import TABLES, Settings
from mirada.builtin.tables import ADJECTIVES, words

PREPOSITION = PHRASES["preposition"]
_WITH = PREPOSITION["with"]
_MANNERS = ("well", "much", "fast", "early")
_ANYWHERE = by_rank(*NOUNS["room"], *NOUNS["place"])
_LASTING = frozenset({"work", "sleep", "run", "walk", "rest", "wait", "dance", "sing", "cry", "talk", "swim", "drive"})
_SHORT_SPANS = tuple(NAMED[name] for name in ("hour", "hour", "minute", "day"))
_LONG_SPANS = tuple(NAMED[name] for name in ("year", "year", "month", "week"))
_ALIVE = frozenset(LIVING)
_ANYBODY = NAMED["Lucas"]
_VAGUE = tuple(PHRASES["future"][name] for name in ("soon", "later"))
_RELATIVE_TENSE = {"planned": "present", "conditional": "present", "past progressive": "past"}
_USED = words(ADJECTIVES["used"])


def _followed(verb: Verb) -> bool:
    """Whether the verb has a word after it in Spanish or Portuguese, which a question would have to bring forward."""
    return any(verb.wordings[language][0].after for language in ("es", "pt"))


PERSONAL = tuple(verb for verb in TRANSITIVE if "it" in verb.flags and any(noun.human for noun in verb.objects))
_ABLE = {
    verbs: {noun: tuple(verb for verb in verbs if noun in verb.subjects) for noun in LIVING}
    for verbs in (INTRANSITIVE, TRANSITIVE, MOTION, IDIOMS, PERSONAL)
}
DIRECT = tuple(verb for verb in TRANSITIVE if not _followed(verb))
IT_VERBS = {  # what can be done to a thing that was just spoken of
    noun: tuple(verb for verb in DIRECT if "it" in verb.flags and noun in verb.objects) for noun in QUALITIES
}
_NOTHING = frozenset(
    {"eat", "drink", "buy", "see", "find", "understand", "remember", "read", "bring", "sell", "want", "need"}
)
_GENERIC = frozenset({"prefer", "hate"})  # they go with coffee and cats as such
_OWN = frozenset(verb for verb in INTRANSITIVE if "one's" in verb.wordings["en"][0].after)
_SINCE_NAMES = ("work", "live", "wait", "study", "know", "look for", "wait for", "sleep", "learn", "teach", "travel")
_SINCE = tuple(verb for name in _SINCE_NAMES for verb in (*INTRANSITIVE, *TRANSITIVE) if verb.name == name)


class Clauses(Settings):
    """Makes up clauses. An `era` is "now", "past" or "next": the clauses of a sentence agree in it.

    Where a shape takes `known`, that is a subject to use instead of a new one.
    """

    def able(self, verbs: tuple[Verb, ...], era: str, known: Thing | None) -> Verb:
        """One of the verbs that a subject can be the subject of, or else something that everyone does."""
        if known:
            noun = known.noun or (known.joined[0].noun if known.joined else None) or _ANYBODY
            verbs = _ABLE[verbs].get(noun) or _ABLE[INTRANSITIVE].get(noun) or verbs
        return self.verb(verbs, era)

    # Circumstances

    def subject(self, verb: Verb, known: Thing | None = None) -> Thing:
        if known:
            return known
        noun = self.other(verb.subjects)
        if noun.human and self.chance(0.65):
            return self.pronoun()
        if noun.human and self.chance(0.04):
            return self.noun(self.pick(NOUNS["anyone"][:3]))
        thing = self.noun(noun, "subject")
        if noun.proper and self.chance(0.12):
            other = self.other(NOUNS["name"])
            if other is not noun:
                return Thing(self.node(), joined=(thing, self.noun(other)))
        elif not noun.proper and self.depth == 0 and self.chance(0.35):
            self.relate(thing, verb)
        return thing

    def relate(self, thing: Thing, main: Verb) -> None:
        """Describe a thing by what it does: "the man who works here"."""
        noun = thing.noun
        if thing.trait or thing.front or thing.det not in ("the", "a", "that") or noun is None or noun not in _ALIVE:
            return
        self.depth += 1
        era = self.pick(("now", "past"))
        verb = self.verb(TRANSITIVE if self.chance(0.5) else INTRANSITIVE, era)
        if noun in verb.subjects and verb is not main:
            thing.relative = self.act(verb, era, thing) if verb.objects else self.do(verb, era, thing)
            relative = thing.relative
            relative.gap, relative.time, relative.frequency, relative.control = "subject", None, None, None
            relative.tense = _RELATIVE_TENSE.get(relative.tense, relative.tense)
        self.depth -= 1

    def place(self, verb: Verb, subject: Thing) -> Adjunct:
        if "abroad" in verb.flags and not self.plain and self.chance(0.35):
            return self.adjunct(PREPOSITION["in"], self.noun(self.word(NOUNS["country"])))
        spot = next((flag for flag in SPOTS if flag in verb.flags), "") if subject.human else "@out"
        noun = self.word(SPOTS[spot] if spot else _ANYWHERE)
        return self.adjunct(PREPOSITION[noun.at], self.noun(noun, "place", rich=self.chance(0.3)))

    def company(self, subject: Thing) -> Adjunct:
        if self.chance(0.15):
            both = Thing(self.node(), pronoun=True, plural=True, det="both", female=self.chance(0.5))
            self.open.append([both])
            return self.adjunct(_WITH, both)
        if self.chance(0.4):
            others = tuple(person for person in (1, 2, 3) if person != subject.person)  # not "I work with me"
            return self.adjunct(_WITH, self.pronoun(others))
        return self.adjunct(_WITH, self.noun(self.other(PEOPLE), "place", subject))

    def span(self, nouns: tuple[Noun, ...]) -> Thing:
        """Some hours or years."""
        return Thing(self.node(), self.pick(nouns), plural=True, det="", count=self.word(TABLES["number"][:9]))

    # Shapes of clauses

    def doing(self, era: str, known: Thing | None = None) -> Clause:
        return self.do(self.able(INTRANSITIVE, era, known), era, known)

    def do(self, verb: Verb, era: str, known: Thing | None) -> Clause:
        subject = self.subject(verb, known)
        clause = Clause(self.node(), subject, verb)
        if verb in _OWN:
            self.tell(subject)
        placed = not verb.flags.isdisjoint(SPOTS)
        if placed and (self.chance(0.45) or "at" in verb.flags):
            clause.adjuncts.append(self.place(verb, subject))
        elif self.chance(0.3) or "how" in verb.flags:
            fitting = tuple(adverb for flag in _MANNERS if flag in verb.flags for adverb in TABLES[flag])
            if fitting or placed:
                clause.adjuncts.append(self.adjunct(self.word(fitting or TABLES["here"])))
        if subject.human and "with" in verb.flags and not self.anyone(subject) and self.chance(0.25):
            clause.adjuncts.append(self.company(subject))
        self.setting(clause, era)
        if clause.control:  # nobody decides to swim badly
            clause.adjuncts = [a for a in clause.adjuncts if a.thing or a.phrase in TABLES["early"]]
        if clause.time and clause.time.phrase in _VAGUE and any(a.phrase in TABLES["early"] for a in clause.adjuncts):
            self.bare(clause)
        plain = self.plain or clause.control
        if clause.tense == "past" and verb.name in _LASTING and not plain and self.chance(0.3):
            clause.adjuncts.append(self.adjunct(PHRASES["duration"]["for"], self.span(_SHORT_SPANS)))
            clause.time = None
            self.clarify(clause)
        return clause

    def acting(self, era: str, known: Thing | None = None) -> Clause:
        verb = self.able(PERSONAL if self.chance(0.35) else TRANSITIVE, era, known)
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
        if not verb.flags.isdisjoint(SPOTS) and self.chance(0.35):
            clause.adjuncts.append(self.place(verb, subject))
        if "with" in verb.flags and subject.human and self.chance(0.2):
            clause.adjuncts.append(self.company(subject))
        self.setting(clause, era)
        self._suit(clause)
        return clause

    def _suit(self, clause: Clause) -> None:
        """Mend what does not go together with the rest of the clause."""
        thing, verb = clause.object, clause.verb
        assert thing
        if clause.time or clause.adjuncts:  # which would seem to belong to the relative clause
            thing.relative = None
        told = thing.owner is clause.subject  # "his" tells who the subject is, and has to stay
        if not clause.negative or clause.control or thing.pronoun or told or thing.joined or self.chance(0.9):
            return
        if verb in PERSONAL and thing.human:
            clause.object = self.noun(NOUNS["anyone"][3])
        elif verb.name in _NOTHING and not thing.human:
            clause.object = self.noun(NOUNS["anyone"][4])

    def object(self, verb: Verb, subject: Thing) -> Thing:
        noun = self.other(verb.objects)
        thing = self.noun(noun, "object", None if "get" in verb.flags else subject)  # nobody steals their own hat
        if noun.proper:
            return thing
        if noun.kind == "kin" and verb.name == "have":  # "a sister", not "my sister"
            thing.det, thing.owner = "a", None
        elif verb.name in _GENERIC and (noun.mass or thing.det in ("", "a")):
            thing.det, thing.owner, thing.front, thing.count, thing.plural = "any", None, None, None, not noun.mass
            return thing
        elif verb in PERSONAL and thing.det == "a" and ("state" in verb.flags or (noun.human and self.chance(0.7))):
            thing.det = "the"
        if "make" in verb.flags and thing.trait and thing.trait.adjective.name in _USED:
            thing.trait = None
        if not noun.human and self.chance(0.1):
            return self._list(verb, thing)
        if self.depth == 0 and not noun.mass and self.chance(0.35):
            self.relate_object(thing, noun)
        return thing

    def _list(self, verb: Verb, thing: Thing) -> Thing:
        """Two or three things of a kind, all of them known or none."""
        found = [thing]
        known = thing.det not in ("", "a", "some", "many", "several")
        for _ in range(self.pick((1, 1, 2))):
            noun = self.word(verb.objects)
            first = found[0].noun
            if first and noun.kind == first.kind and all(noun is not part.noun for part in found):
                other = Thing(self.node(), noun, det="the" if known else "" if noun.mass else "a")
                found.append(other)
        return Thing(self.node(), joined=tuple(found)) if len(found) > 1 else thing

    def relate_object(self, thing: Thing, noun: Noun) -> None:
        """Describe a thing by what is done with it: "the book that Ana bought"."""
        fitting = IT_VERBS[noun]
        if thing.trait or thing.front or thing.det not in ("the", "that") or noun.human or not fitting:
            return
        self.depth += 1
        tense = self.pick(("present", "past", "past"))
        verb = self.verb(fitting, "past" if tense == "past" else "now")
        subject = self.subject(verb)
        if not self.anyone(subject):
            thing.relative = Clause(self.node(), subject, verb, tense, gap="object")
        self.depth -= 1

    def going(self, era: str, known: Thing | None = None) -> Clause:
        verb = self.able(MOTION, era, known)
        return self.go(verb, era, known) if verb.objects else self.do(verb, era, known)

    def go(self, verb: Verb, era: str, known: Thing | None) -> Clause:
        subject = self.subject(verb, known)
        clause = Clause(self.node(), subject, verb)
        clause.object = self.noun(self.word(verb.objects), "place", rich=False)
        if clause.object.det == "a":
            clause.object.det = "the"
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
            clause.recipient = self.noun(self.other(PEOPLE), "place", subject, rich=False)
        self.setting(clause, era)
        return clause

    def lasting(self, era: str) -> Clause:
        """Someone has been doing something for some time."""
        verb = self.word(_SINCE)
        subject = self.subject(verb)
        if subject.person == 1:  # "viajamos há dois anos" would be when we traveled
            subject.plural = False
        clause = Clause(self.node(), subject, verb, "since")
        if verb.objects:
            clause.object = self.object(verb, subject)
            clause.object.relative = None
        elif not verb.flags.isdisjoint(SPOTS) and (self.chance(0.6) or "at" in verb.flags):
            clause.adjuncts.append(self.place(verb, subject))
        long = "long" in verb.flags or "state" in verb.flags
        clause.time = self.adjunct(PHRASES["duration"]["since"], self.span(_LONG_SPANS if long else _SHORT_SPANS[:3]))
        return clause
