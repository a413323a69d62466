"""Makes up the settings of clauses: tense and polarity, times and adverbs, and the verbs that go over another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from mirada.builtin.describe import Describer
from mirada.builtin.lexicon import CONTROL, NAMED, NOUNS, PHRASES, VERBS, Phrase, Verb
from mirada.builtin.meaning import Adjunct, Clause, Control, Thing

TABLES = {table: tuple(found.values()) for table, found in PHRASES.items()}
_AGO = {
    False: tuple(NAMED[name] for name in ("day", "day", "hour")),
    True: tuple(NAMED[name] for name in ("year", "month", "week")),
}
# The verbs over another one that are said of now, of the past and of what comes.
_OVER = {
    "now": (
        "can", "feel like", "want to", "would like to", "need to", "have to", "like to", "must", "prefer to", "plan to",
        "hope to",
    ),
    "past": (
        "can", "want to", "have to", "need to", "start to", "feel like", "stop", "try to", "decide to", "promise to",
    ),
    "next": ("have to", "try to"),
}  # fmt: skip
_NEVER_NEGATIVE = frozenset({"prefer to", "plan to", "hope to", "decide to", "promise to", "would like to", "start to"})
_WRONG_HOURS = {
    "morning": ("in the afternoon", "at night", "last night", "tonight", "later", "every week"),
    "evening": ("in the morning", "this morning", "in the afternoon", "every week"),
    "@work": ("every year", "every month"),
    "@study": ("every year", "every month"),
}
_ACTIVITY = frozenset({"much", "well", "long"})  # flags of what one can start or stop


class Settings(Describer):
    """Gives clauses their tense, polarity and time."""

    controls: ClassVar[Mapping[str, Verb]] = {
        verb.name: verb for verb in (*CONTROL, VERBS["like to"], VERBS["would like to"])
    }
    plain = False  # whether clauses are to have nothing but a tense

    def anyone(self, thing: Thing) -> bool:
        """Whether a thing is someone, everyone or nobody: nothing more is said of them."""
        return thing.noun is not None and thing.noun.kind == "anyone"

    def denied(self, subject: Thing, probability: float) -> bool:
        """Whether something is denied of a subject: not of nobody or all, of whom that would be hard to read."""
        return not self.anyone(subject) and subject.det != "all" and self.chance(probability)

    def verb(self, verbs: tuple[Verb, ...], era: str) -> Verb:
        """One of some verbs; mishaps are told only once they have happened, and nothing unwilled is foretold."""
        verb = self.word(verbs)
        for _ in range(9):  # there may be no other
            if ("mishap" not in verb.flags or era == "past") and ("unwilled" not in verb.flags or era != "next"):
                break
            verb = self.word(verbs)
        return verb

    def setting(self, clause: Clause, era: str) -> None:
        """Tense, polarity, and the time and adverb that suit them."""
        flags, subject = clause.verb.flags, clause.subject
        assert subject
        state, nobody = "state" in flags, self.anyone(subject)
        still, willed = state or "move" in flags, flags.isdisjoint(("unwilled", "mishap", "state"))
        if self.plain:
            tenses = {"now": "present" if still else "progressive", "past": "past", "next": "future"}
            clause.tense = tenses[era]
            self.clarify(clause)
            return
        clause.negative = self.denied(subject, 0.22)
        if willed and subject.human and not nobody and subject.det != "who" and self.chance(0.16):
            self.control(clause, era)
        elif era == "now":
            self._today(clause, still, state or nobody)
        elif era == "past":
            eventful = "mishap" in flags or still
            clause.tense = "past progressive" if not eventful and self.chance(0.2) else "past"
            if not state and self.chance(0.55):
                clause.time = self.time("past", clause)
        elif not state:
            brief = "brief" in flags
            planned = not (still or nobody or brief) and willed and subject.human and self.chance(0.4)
            clause.tense = "planned" if planned else "future"
            if planned or (not brief and self.chance(0.7)):
                clause.time = self.time("future", clause)
        if clause.negative and clause.object and clause.object.det in ("a", "some", "several") and not state:
            clause.object.det = "the"
        self.clarify(clause)

    def _today(self, clause: Clause, still: bool, bare: bool) -> None:
        flags, subject = clause.verb.flags, clause.subject
        if not still and self.chance(0.42):
            clause.tense = "progressive"
            if self.chance(0.25):
                clause.time = self.adjunct(self.word(TABLES["now"]))
        elif not bare and not self._once(clause) and self.chance(0.6):
            tables = ("season", "season", "habit") if "long" in flags else ("habit",)
            habits = TABLES["season" if "slow" in flags else self.pick(tables)]
            if clause.negative:  # "not every day" would be something else
                habits = tuple(habit for habit in habits if not habit.name.startswith("every"))
            clause.time = self.adjunct(self._timely(habits, flags))
        if clause.negative or clause.time or (subject and self.anyone(subject)) or not self.chance(0.15):
            return
        fitting = TABLES["frequency"]
        clause.frequency = self.adjunct(
            self.word(fitting[5:] if clause.tense == "progressive" or "state" in flags else fitting)
        )

    def _once(self, clause: Clause) -> bool:
        """Whether something cannot be done again and again: nobody gives away the same book every day."""
        thing = clause.object
        if clause.verb.flags & {"rare", "brief"} or {"move", "unwilled"} <= clause.verb.flags:
            return True
        if thing is None or thing.noun is None or thing.noun.mass or thing.noun.human:
            return False
        fleeting = clause.recipient or clause.verb.flags & {"get", "gone", "make"}
        return bool(fleeting) and thing.det in ("the", "this", "that", "my", "of")

    def time(self, table: str, clause: Clause) -> Adjunct:
        """A time in the past or the future."""
        flags = clause.verb.flags
        abroad = any(adjunct.thing and adjunct.thing.noun in NOUNS["country"] for adjunct in clause.adjuncts)
        tables = [] if "slow" in flags or abroad else [table] * 5 + ["day", "day"]
        if "long" in flags or abroad:
            tables += [f"{table} long"] * 3 + ["month"] * 3
        elif clause.object and "unwilled" not in flags:
            tables.append("month")
        if table == "past" and clause.tense == "past" and self.chance(0.2):
            long = "long" in flags
            span = Thing(self.node(), self.pick(_AGO[long]), plural=True, det="")
            span.count = self.word(TABLES["number"][:6])
            return self.adjunct(PHRASES["duration"]["ago"], span)
        return self.adjunct(self._timely(TABLES[self.pick(tables)], flags))

    def _timely(self, phrases: tuple[Phrase, ...], flags: frozenset[str]) -> Phrase:
        """One of some times: nobody has breakfast at night."""
        phrase = self.word(phrases)
        wrong = any(flag in flags and phrase.name in hours for flag, hours in _WRONG_HOURS.items())
        return phrases[-1 if phrase is phrases[0] else 0] if wrong else phrase

    def clarify(self, clause: Clause) -> None:
        """See to it that "hablamos", present or past, is not left to guess: say "I", or use another tense."""
        subject, top = clause.subject, clause.control.verb if clause.control else clause.verb
        if subject is None or subject.person != 1 or not subject.plural or clause.tense != "past" or clause.time:
            return
        if "state" in top.flags:
            return
        if not subject.known:
            subject.plural = False
        elif top.flags.isdisjoint(("move", "mishap")) and not clause.control:
            clause.tense = "past progressive"

    def bare(self, clause: Clause) -> Clause:
        """Take the time out of a clause."""
        clause.time = clause.frequency = None
        if clause.tense == "planned":
            clause.tense = "future"
        return clause

    def control(self, clause: Clause, era: str) -> None:
        """Put "wants to", "can" or another verb over the clause's verb."""
        name = self.word(_OVER[era])
        clause.tense = {"now": "present", "past": "past", "next": "future"}[era]
        thing = clause.object
        if name in ("start to", "stop") and clause.verb.flags.isdisjoint(_ACTIVITY):
            name = "want to"
        if "brief" in clause.verb.flags and name in _NEVER_NEGATIVE:
            name = "want to"
        if name == "like to" and thing and (thing.pronoun or (thing.det != "" and not thing.human)):
            name = "want to"
        if name in _NEVER_NEGATIVE:
            clause.negative = False
        if name == "would like to":
            clause.tense = "conditional"
        clause.control = Control(self.node(), self.controls[name])
