"""Makes up reasons and consequences.

What goes with what follows from a few classes of verbs and states: a feeling makes one do some things and keeps one
from doing others, a quality speaks for or against a thing, and a place is good for some activities.
"""

from __future__ import annotations

from mirada.builtin.describe import LIVING
from mirada.builtin.lexicon import (
    FEELINGS,
    GIVING,
    IDIOMS,
    INTRANSITIVE,
    MOTION,
    NAMED,
    NOUNS,
    SPOTS,
    STATES,
    TRANSITIVE,
    VERBS,
    WEATHER,
    Adjective,
    Verb,
)
from mirada.builtin.meaning import Clause, Control, Thing
from mirada.builtin.states import CHARACTER, JUDGEMENTS, States

Mood = Verb | Adjective  # a way to say how someone feels

_EVENTS = (*INTRANSITIVE, *TRANSITIVE, *MOTION)
ACTIVE = frozenset(verb for verb in (*_EVENTS, *GIVING) if "state" not in verb.flags)
WILLED = frozenset(verb for verb in ACTIVE if verb.flags.isdisjoint(("unwilled", "mishap")))
_ORDER = tuple(sorted(FEELINGS))
_FEELINGS_OF = {verb: tuple(feeling for feeling in _ORDER if feeling in verb.flags) for verb in (*_EVENTS, *GIVING)}
_DRIVEN = {feeling: tuple(verb for verb in _EVENTS if feeling in verb.flags) for feeling in _ORDER}
_MOODS: tuple[Mood, ...] = (*STATES[NAMED["Lucas"]], *IDIOMS)
_MOODS_OF = {feeling: tuple(mood for mood in _MOODS if feeling in mood.flags) for feeling in _ORDER}
OBSTACLES = tuple(mood for mood in _MOODS if "hinders" in mood.flags)
_LASTING_OBSTACLES = tuple(mood for mood in OBSTACLES if mood.name in ("busy", "sick", "injured"))
_NEEDY = tuple(adjective for adjective in STATES[NAMED["Lucas"]] if adjective.flags & {"sad", "ill", "worried"})
_BAD_WEATHER = tuple(verb for verb in WEATHER if "hinders" in verb.flags)
_MOOD_VERBS = frozenset({*IDIOMS, *WEATHER})
_MOOD_FLAGS = FEELINGS | {"hinders"}
_LIVING = frozenset(LIVING)


def _done(flags: set[str], *without: str) -> tuple[Verb, ...]:
    """The verbs for what one does at will that have some of the flags, and none of the others."""
    return tuple(verb for verb in _EVENTS if verb in WILLED and verb.flags & flags and verb.flags.isdisjoint(without))


CHORES = _done(set(SPOTS), "brief")
DUTIES = _done({"@work", "@study", "@kitchen", "care"}, "happy", "idle")
OUTINGS = _done({"out"})
DONE_THERE = {
    place: _done({flag for flag, places in SPOTS.items() if place in places}, "brief")
    for place in (*NOUNS["place"], *NOUNS["room"])
}
# Verbs of choice, for and against: what they say of their object, they say because of its qualities.
_FOR = frozenset(
    ("want", "buy", "like", "adore", "read", "visit", "wear", "eat", "drink", "prefer", "watch", "admire", "love")
) | {"trust", "respect", "invite", "use", "care for"}
_AGAINST = frozenset({"hate", "fear", "sell", "criticize"})
CHOSEN = _FOR | _AGAINST
OBLIGATIONS = ("have to", "need to", "must")
_NEEDS = ("hungry", "thirsty", "sleepy", "ill", "cold", "hot", "hurried")  # the feelings that oblige
_PURPOSEFUL = frozenset({"buy", "call", "study", "take", "drive", "travel", "look for", "learn"})


class Reasons(States):
    """Makes up the clauses after "because" and "so"."""

    def mood(self, clause: Clause) -> frozenset[str]:
        """The feelings that a clause speaks of."""
        if clause.trait:
            return clause.trait.adjective.flags if clause.trait.adjective.state and self.alive(clause) else frozenset()
        return clause.verb.flags & _MOOD_FLAGS if clause.verb in _MOOD_VERBS else frozenset()

    # Pieces

    def alive(self, clause: Clause) -> bool:
        thing = clause.subject
        return thing is not None and (thing.human or thing.noun in _LIVING)

    def again(self, clause: Clause) -> Thing | None:
        """The subject once more, if it is one that does things."""
        return self.refer(clause.subject, known=True) if clause.subject and self.alive(clause) else None

    def event(self, verbs: tuple[Verb, ...], era: str, known: Thing | None, negative: bool = False) -> Clause | None:
        """A clause with one of some verbs, and no time of its own."""
        noun = known.noun if known else None
        verb = self.verb(verbs, era)
        if noun and not noun.human and noun not in verb.subjects:
            return None
        self.plain = True
        if verb in MOTION:
            clause = self.go(verb, era, known)
        else:
            clause = self.act(verb, era, known) if verb.objects else self.do(verb, era, known)
        self.plain = False
        clause.negative = negative
        if negative:
            clause.adjuncts = [adjunct for adjunct in clause.adjuncts if adjunct.thing]
        return clause

    def put_over(self, clause: Clause | None, name: str, era: str) -> Clause | None:
        """Put a verb such as "can" over a clause's verb."""
        if clause and clause.subject and clause.subject.human and clause.verb in WILLED:
            clause.control = Control(self.node(), self.controls[name])
            clause.tense = "past" if era == "past" else "present"
            clause.adjuncts = [adjunct for adjunct in clause.adjuncts if adjunct.thing]
        return clause

    def duty(self, subject: Thing, era: str, name: str) -> Clause | None:
        """Something that someone has to do or wants to."""
        clause = self.event(DUTIES, era, subject)
        far = clause and clause.object and clause.object.noun in NOUNS["country"]
        return None if far else self.put_over(clause, name, era)

    def state(self, mood: Mood, subject: Thing, era: str) -> Clause | None:
        """Someone feels so."""
        tense = "past" if era == "past" else "present"
        if isinstance(mood, Verb):
            able = subject.noun is None or subject.noun.human or subject.noun in mood.subjects
            return Clause(self.node(), subject, mood, tense) if able else None
        if subject.noun and mood not in STATES[subject.noun]:
            return None
        clause = Clause(self.node(), subject, VERBS["be there"], tense)
        clause.trait = self.trait(mood)
        return clause

    def _raining(self, era: str) -> Clause:
        clause = Clause(self.node(), None, self.pick(_BAD_WEATHER))
        if "state" in clause.verb.flags:
            clause.tense = "past" if era == "past" else "present"
        else:
            clause.tense = "past progressive" if era == "past" else "progressive"
        return clause

    # Because

    def reason(self, clause: Clause, era: str, ahead: bool) -> Clause | None:
        """Why someone does something; if it is still ahead, how they feel now is no reason."""
        chance, verb, thing = self.random(), clause.verb, clause.object
        judged = self._judged(clause, era) if thing and (chance < 0.5 or verb not in ACTIVE) else None
        if judged or verb not in ACTIVE:
            return judged
        if clause.negative:
            return self._hindrance(clause, era, ahead)
        if "care" in verb.flags and thing and thing.human and thing.person == 3 and not thing.joined:
            return None if ahead else self.state(self.pick(_NEEDY), self.refer(thing, known=True), era)
        again = self.again(clause)
        if again is None:
            return None
        feelings = tuple(feeling for feeling in _FEELINGS_OF[verb] if feeling == "idle" or not ahead)
        if clause.control and clause.control.verb.name in OBLIGATIONS:
            feelings = tuple(feeling for feeling in feelings if feeling in _NEEDS)
        if feelings and chance < 0.8:
            return self.state(self.pick(_MOODS_OF[self.pick(feelings)]), again, era)
        name = self.pick(("want to", "have to", "need to"))
        if not again.human:
            return None
        if verb in MOTION and thing and thing.noun:
            fitting = DONE_THERE.get(thing.noun)
            there = self.event(fitting, era, again) if fitting else None
            if there:
                there.adjuncts = []
            return self.put_over(there, name, era)
        return self.duty(again, era, name) if verb.name in _PURPOSEFUL and verb not in DUTIES else None

    def _hindrance(self, clause: Clause, era: str, ahead: bool) -> Clause | None:
        """Why someone does not do something."""
        if "out" in clause.verb.flags and not ahead and not self.linked & {"so", "but"} and self.chance(0.5):
            return self._raining(era)
        again = self.again(clause)
        if again is None:
            return None
        if not again.human or self.chance(0.6):
            return self.state(self.word(_LASTING_OBSTACLES if ahead else OBSTACLES), again, era)
        return self.duty(again, era, "have to") if clause.verb not in DUTIES else None

    def _judged(self, clause: Clause, era: str) -> Clause | None:
        """What its object is like, as a reason to choose it: "because it was cheap"."""
        thing, name = clause.object, clause.verb.name
        if thing is None or clause.recipient or thing.joined or thing.trait or thing.front or thing.person != 3:
            return None
        if name in _FOR:
            sign = "-" if clause.negative else "+"
        elif name in _AGAINST:
            sign = "+" if clause.negative else "-"
        elif name == "cross" and clause.negative:
            sign = "-"
        else:
            return None
        if thing.det in ("", "some", "many", "several", "all") or thing.owner is clause.subject or self.anyone(thing):
            return None
        fitting = JUDGEMENTS[thing.noun] if thing.noun else CHARACTER
        fitting = tuple(adjective for adjective in fitting if sign in adjective.flags)
        if not fitting:
            return None
        be = Clause(self.node(), self.refer(thing, known=True), VERBS["be"], "past" if era == "past" else "present")
        be.trait = self.trait(self.word(fitting))
        return be

    # So

    def consequence(self, clause: Clause, era: str) -> Clause | None:
        """What someone does or leaves because of how they feel, or because of the weather."""
        mood = self.mood(clause)
        hinders = "hinders" in mood and not clause.negative
        if clause.subject is None:
            other = self.event(OUTINGS, era, None, negative=True) if hinders else None
            return self.put_over(other, "can", era) if self.chance(0.4) else other
        again = self.again(clause)
        if again is None:
            return None
        feelings = tuple(feeling for feeling in _ORDER if feeling in mood)
        if clause.negative:
            eager = tuple(feeling for feeling in feelings if feeling in ("hungry", "thirsty", "sleepy"))
            other = self.event(_DRIVEN[eager[0]], era, again, negative=True) if eager else None
            return self.put_over(other, "want to", era)
        if hinders and self.chance(0.5):
            other = self.event(CHORES, era, again, negative=True)
            return self.put_over(other, self.pick(("can", "want to")), era) if self.chance(0.6) else other
        if not feelings:
            return None
        other = self.event(_DRIVEN[self.pick(feelings)], era, again)
        return self.put_over(other, self.pick(("want to", "feel like")), era) if self.chance(0.3) else other
