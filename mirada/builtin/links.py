"""Makes up clauses that hang together: with reasons, consequences and contrasts, and with what else is done."""

from __future__ import annotations

from mirada.builtin.clauses import IT_VERBS
from mirada.builtin.lexicon import FEELINGS, INTRANSITIVE, MOTION, PHRASES, SPOTS, TRANSITIVE, VERBS, WEATHER, Verb
from mirada.builtin.meaning import Clause, Link
from mirada.builtin.reasons import (
    ACTIVE,
    CHORES,
    CHOSEN,
    DONE_THERE,
    OBLIGATIONS,
    OBSTACLES,
    OUTINGS,
    WILLED,
    Reasons,
)
from mirada.builtin.states import CHARACTER, JUDGEMENTS

_OCCASIONS = frozenset({*SPOTS, *FEELINGS} - {"@out", "idle"})  # flags of what is done on the same occasion
_NEXT = {  # the conjunctions that may follow each other
    "": frozenset({"because", "so", "but", "and", "while", "when"}),
    "but": frozenset({"because", "and"}),
    "and": frozenset({"because", "but", "while"}),
    "so": frozenset({"and", "while"}),
}
_HAPPENINGS = tuple(  # what interrupts something
    verb
    for verb in (*MOTION, *INTRANSITIVE, *TRANSITIVE)
    if verb.name in ("arrive at", "enter", "leave", "call", "greet", "look at")
)
_WISHES = ("want to", "try to", "feel like")


class Links(Reasons):
    """Adds clauses with "because", "so", "but", "and", "while" and "when"."""

    def extend(self, clause: Clause, era: str, more: float, after: str = "") -> None:
        """Add a clause, and perhaps another one to that; `after` is the conjunction before the clause."""
        subject = clause.subject
        if clause.question or clause.tense in ("conditional", "since"):
            return
        if subject and (self.anyone(subject) or subject.relative):
            return
        possible = _NEXT.get(after, frozenset())
        names = [name for name in self._names(clause) if name not in self.linked and name in possible]
        while names:
            name = self.pick(names)
            undo = self.checkpoint()
            persons = self.persons
            self.persons = tuple(person for person in (1, 2) if subject is None or person != subject.person)
            other = self._linked(name, clause, era)
            if other:
                if other.subject and other.subject.pronoun and not other.subject.known:
                    other.subject.contrasted = subject is not None
                self.linked.add(name)
                clause.link = Link(self.node(), PHRASES["conjunction"][name], other)
                if self.chance(more):
                    self.extend(other, era, more, name)
                return
            undo()
            self.persons = persons
            names = [left for left in names if left != name]

    def _names(self, clause: Clause) -> tuple[str, ...]:
        """The conjunctions that may follow a clause."""
        verb = clause.verb
        if verb is VERBS["become"]:
            return ()
        if self.mood(clause):
            habit = verb in WEATHER and clause.tense == "present" and "state" not in verb.flags
            return () if habit or clause.tense == "future" else ("so", "so", "but")
        if clause.trait and verb is VERBS["be"] and clause.trait.than is None:
            return ("but", "and")
        if verb not in ACTIVE:
            return ("because",) if verb.name in CHOSEN else ()
        if clause.control:
            if clause.control.verb.name in _WISHES:
                return ("but", "because")
            return ("because",) if clause.control.verb.name in OBLIGATIONS or clause.negative else ()
        if clause.negative:
            return ("because",) if verb in WILLED else ()
        if clause.tense in ("progressive", "past progressive"):
            return ("because", "while" if clause.tense == "progressive" else "when", "while", "and")
        return ("because", "because", "and", "and", "but")

    def _linked(self, name: str, clause: Clause, era: str) -> Clause | None:
        if name == "because":
            return self.reason(clause, "now" if era == "next" else era, ahead=era == "next")
        if name == "so":
            return self.consequence(clause, era)
        if name == "but":
            return self._contrast(clause, era)
        return self._addition(clause, era) if name == "and" else self._meanwhile(name, clause, era)

    # But

    def _contrast(self, clause: Clause, era: str) -> Clause | None:
        mood, again = self.mood(clause), self.again(clause)
        if mood:
            if clause.negative or "hinders" not in mood:
                return None
            other = self.event(CHORES if again else OUTINGS, era, again)
            return self.put_over(other, "have to", era) if self.chance(0.4) else other
        if clause.trait:
            return self._other_quality(clause, opposite=True)
        if clause.control:  # "wanted to sing, but was sick"
            known = era != "next" and not clause.negative
            return self.state(self.word(OBSTACLES), again, era) if again and known else None
        other = self._with_it(clause)
        if other:
            other.negative, other.subject = True, again
        return other

    def _other_quality(self, clause: Clause, opposite: bool) -> Clause | None:
        """Something else that can be said of the subject: for it and against it, or both the same."""
        subject, trait = clause.subject, clause.trait
        if subject is None or trait is None or subject.joined or clause.negative:
            return None
        sign = trait.adjective.flags & {"+", "-"}
        judgements = JUDGEMENTS[subject.noun] if subject.noun else tuple(a for a in CHARACTER if a.flags)
        fitting = tuple(a for a in judgements if a is not trait.adjective and (a.flags != sign) == opposite)
        if not sign or not fitting:
            return None
        again = self.refer(subject, known=True)
        again.shared = not opposite
        other = Clause(self.node(), again, VERBS["be"], clause.tense)
        other.trait = self.trait(self.word(fitting))
        return other

    # And, while, when

    def _addition(self, clause: Clause, era: str) -> Clause | None:
        if clause.trait:
            return self._other_quality(clause, opposite=False)
        other = self._with_it(clause) if clause.object and self.chance(0.7) else None
        if other:
            return other
        again = self.again(clause) if self.chance(0.5) else None
        if again:
            place = clause.object.noun if clause.verb in MOTION and clause.object else None
            fitting = DONE_THERE.get(place, ()) if place else self._same_occasion(clause.verb)
            other = self.event(fitting, era, again) if fitting else None
            if other and "at" in other.verb.flags:
                return None
            if other:
                again.shared, other.adjuncts = True, []
        else:
            other = self.event(CHORES, era, None)
        if other is None or other.verb is clause.verb:
            return None
        if "move" in other.verb.flags and "progressive" in clause.tense:
            return None
        other.tense = clause.tense
        self.bare(other)
        self.clarify(other)
        return other

    def _same_occasion(self, verb: Verb) -> tuple[Verb, ...]:
        flags = verb.flags & _OCCASIONS
        return tuple(v for v in CHORES if v is not verb and v.flags & flags)

    def _with_it(self, clause: Clause) -> Clause | None:
        """Do something else with the same object: "buys a book and reads it"."""
        thing, verb, subject = clause.object, clause.verb, clause.subject
        if subject is None or thing is None or thing.noun is None or thing.pronoun or thing.noun.proper:
            return None
        if thing.noun.human or thing.det == "any" or clause.negative or clause.control or verb not in TRANSITIVE:
            return None
        if "gone" in verb.flags or not self.alive(clause):
            return None
        fitting = tuple(
            v
            for v in IT_VERBS[thing.noun]
            if v is not verb
            and v in WILLED
            and v.flags.isdisjoint(("get", "make", "move"))
            and (subject.noun is None or subject.noun in v.subjects)
        )
        if not fitting:
            return None
        known = self.refer(subject, known=True)
        known.shared = True
        return self.bare(Clause(self.node(), known, self.word(fitting), clause.tense, object=self.refer(thing)))

    def _meanwhile(self, name: str, clause: Clause, era: str) -> Clause | None:
        other = self.event(CHORES if name == "while" else _HAPPENINGS, era, None)
        if other is None or other.verb is clause.verb or (name == "while" and "move" in other.verb.flags):
            return None
        other.tense = clause.tense if name == "while" else "past"
        self.clarify(other)
        return other
