"""Makes up clauses about how things are: what someone is like, feels, likes, where things are, what the weather is."""

from __future__ import annotations

from mirada.builtin.clauses import PREPOSITION, Clauses
from mirada.builtin.describe import LIVING, PEOPLE
from mirada.builtin.lexicon import (
    IDIOMS,
    LIKED,
    NAMED,
    NOUNS,
    PHRASES,
    QUALITIES,
    SPOTS,
    STATES,
    TINY,
    VERBS,
    WEATHER,
    Adjective,
    Noun,
    by_rank,
)
from mirada.builtin.meaning import Adjunct, Clause, Thing, Trait
from mirada.builtin.settings import TABLES

_ON, _IN, _FROM = PREPOSITION["on"], PREPOSITION["in"], PREPOSITION["from"]
_BESIDE = tuple(PREPOSITION[name] for name in ("under", "near", "behind", "next to"))
_AROUND = tuple(PREPOSITION[name] for name in ("near", "next to", "in front of", "far from", "behind"))
_SMALL = by_rank(*NOUNS["object"], *NOUNS["text"], *NOUNS["clothes"])
_FOUND = by_rank(*_SMALL, *NOUNS["food"])
_BUILDINGS = tuple(noun for noun in NOUNS["place"] if noun.name not in ("city", "village", "forest", "beach"))
_NEIGHBORS = (*_BUILDINGS, *(NAMED[name] for name in ("house", "river", "bridge", "tower", "fountain")))
_DESCRIBED = by_rank(*(noun for noun, found in QUALITIES.items() if found or STATES[noun]))
_JOBS = tuple(
    noun for noun in NOUNS["person"] if noun.open and noun.name not in ("friend", "neighbor", "guest", "classmate")
)
_SURFACES = tuple(noun for noun in NOUNS["furniture"] if noun.name != "carpet")
_TABLES = tuple(NAMED[name] for name in ("table", "desk", "shelf"))
_CONTAINERS = tuple(NAMED[name] for name in ("drawer", "box", "closet", "bag", "suitcase"))
_FEELINGS = STATES[NAMED["Lucas"]]
CHARACTER = QUALITIES[NAMED["Lucas"]]
_CLOSE = by_rank(*NOUNS["name"], *NOUNS["kin"])
_YOUNG = frozenset({"boy", "girl", "grandson", "granddaughter", "nephew", "niece", "prince", "princess", "student"})
_BE, _BE_THERE, _BE_LOCATED, _BE_AGED = (VERBS[name] for name in ("be", "be there", "be located", "be aged"))
_LIKING = tuple(VERBS[name] for name in ("like", "like", "like", "adore", "care for", "care for", "fear", "fear"))
_BELOVED = {  # what one speaks of as such
    "like": LIKED, "adore": LIKED, "fear": by_rank(*NOUNS["animal"], *NOUNS["wild"], NAMED["exam"], NAMED["witch"]),
    "care for": by_rank(*NOUNS["science"], *NOUNS["art"], NAMED["book"], NAMED["film"], NAMED["museum"], NAMED["poem"]),
}  # fmt: skip
_MOODS = tuple(adjective for adjective in _FEELINGS if adjective.name in ("nervous", "sad", "happy", "sick"))


def _judgements(noun: Noun) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in QUALITIES[noun] if adjective.flags & {"+", "-"})


JUDGEMENTS = {noun: _judgements(noun) for noun in QUALITIES}  # what speaks for or against each thing
_IMPRESSIONS = {  # what each thing may seem to someone
    noun: tuple(adjective for adjective in found if adjective.name not in ("new", "ancient", "famous"))
    for noun, found in JUDGEMENTS.items()
}
_JUDGED = by_rank(*(noun for noun, found in _IMPRESSIONS.items() if found and not noun.human and noun.kind != "animal"))


class States(Clauses):
    """Makes up clauses that say how things are."""

    def being(self, era: str, known: Thing | None = None) -> Clause:
        """Someone or something is so."""
        noun = known.noun if known else None
        if known:
            subject, fitting = known, (STATES[noun] + QUALITIES[noun] if noun else _FEELINGS)
        elif self.chance(0.3):
            subject, fitting = self.pronoun(), _FEELINGS if self.chance(0.6) else CHARACTER
        else:
            noun = self.other(LIVING if self.chance(0.4) else _DESCRIBED)
            subject, fitting = self.noun(noun, "subject", rich=False), QUALITIES[noun] + STATES[noun]
            if subject.det in ("a", "", "many", "some"):
                subject.det = "the"
        if not fitting:
            return self.doing(era, known)
        adjective = self.word(fitting)
        clause = Clause(self.node(), subject, _BE_THERE if adjective.state else _BE, negative=self.denied(subject, 0.2))
        clause.tense = {"now": "present", "past": "past", "next": "future" if adjective.state else "present"}[era]
        clause.trait = self.trait(adjective, clause.negative)
        if adjective.state:
            return clause
        if self.comparable(adjective) and subject.human and not subject.joined and self.chance(0.35):
            self._compare(subject, clause.trait)
        elif not clause.negative and not clause.trait.degree and subject.human and not noun and self.chance(0.1):
            more = self.word(CHARACTER)
            if more is not adjective and not {"+", "-"} <= more.flags | adjective.flags:
                clause.trait.also = self.trait(more)
                clause.trait.also.degree = None
        return clause

    def _compare(self, subject: Thing, trait: Trait) -> None:
        degree = self.pick(TABLES["comparison"][::2])
        standard = PHRASES["standard"]["as" if degree.name == "as" else "than"]
        other = self.noun(self.other(NOUNS["name" if self.chance(0.5) else "kin"]), rich=False)
        if other.noun is not subject.noun:
            trait.degree, trait.than = degree, self.adjunct(standard, other)

    def _someone(self) -> Thing:
        """Whose feelings are spoken of: no unknown person's."""
        subject = self.subject(IDIOMS[-1])
        if subject.det in ("a", "some"):
            subject.det = "the"
        return subject

    def becoming(self, era: str) -> Clause:
        """Someone gets nervous."""
        verb = VERBS["become"]
        subject = self._someone()
        clause = Clause(self.node(), subject, verb, "future" if era == "next" else "past")
        clause.trait = Trait(self.node(), self.word(_MOODS))
        clause.time = self.time("future" if era == "next" else "past", clause) if self.chance(0.5) else None
        self.clarify(clause)
        return clause

    def finding(self, era: str) -> Clause:
        """Someone finds something boring."""
        thing = self.noun(self.word(_JUDGED), rich=False)
        assert thing.noun
        if thing.det in ("", "a", "some", "many", "several", "any"):
            thing.det = "any" if thing.noun.mass else "the"
        thing.count = None
        clause = Clause(self.node(), self._someone(), VERBS["find"], "past" if era == "past" else "present")
        clause.object, clause.trait = thing, self.trait(self.word(_IMPRESSIONS[thing.noun]))
        assert clause.subject
        clause.negative = self.denied(clause.subject, 0.15)
        if clause.negative:
            clause.trait.degree = None
        return clause

    def job(self, era: str) -> Clause:
        subject = self.pronoun() if self.chance(0.4) else self.noun(self.other(_CLOSE), "subject", rich=False)
        job = Thing(
            self.node(), self.word(_JOBS), plural=subject.several, det="job", female=subject.gender("es") == "f"
        )
        self.share(subject, job)
        tense = "past" if era == "past" else "present"
        return Clause(self.node(), subject, _BE, tense, negative=self.denied(subject, 0.2), object=job)

    def lying(self, era: str) -> Clause:
        """Someone or something is somewhere."""
        if self.chance(0.5):
            subject = self.subject(IDIOMS[0])
            clause = Clause(self.node(), subject, _BE_THERE)
            if self.chance(0.15) and subject.human and not self.anyone(subject):
                clause.verb = _BE
                clause.adjuncts.append(self.adjunct(_FROM, self.noun(self.word(NOUNS["country"]))))
            else:
                clause.adjuncts.append(self.place(_BE_THERE, subject))
        else:
            noun = self.word(_SMALL)
            subject = self.noun(noun, "subject")
            clause = Clause(self.node(), subject, _BE_THERE)
            clause.adjuncts.append(self._spot(noun))
        if subject.det in ("a", "many", "some"):
            subject.det = "the"
        clause.tense = "past" if era == "past" else "present"
        clause.negative = self.denied(subject, 0.15)
        return clause

    def _spot(self, noun: Noun) -> Adjunct:
        """Where a small thing can be."""
        if noun in TINY and self.chance(0.5):
            return self.adjunct(_IN, self.noun(self.word(_CONTAINERS), "place"))
        if noun.kind == "food":
            return self.adjunct(_ON, self.noun(self.pick(_TABLES), "place"))
        return self.adjunct(_ON if self.chance(0.5) else self.pick(_BESIDE), self.noun(self.word(_SURFACES), "place"))

    def out_of_doors(self) -> Adjunct:
        noun = self.word(SPOTS["@out"])
        return self.adjunct(PREPOSITION[noun.at], self.noun(noun, "place", rich=False))

    def located(self, era: str) -> Clause:
        """A building is near another."""
        noun, other = self.word(_BUILDINGS), self.word(_NEIGHBORS)
        subject = self.noun(noun, "place", rich=False)
        if subject.det == "a":
            subject.det = "the"
        clause = Clause(self.node(), subject, _BE_LOCATED, negative=self.chance(0.15))
        where = self.noun(other if other is not noun else NAMED["house"], "place", rich=self.chance(0.3))
        if where.det == "a":
            where.det = "the"
        clause.adjuncts.append(self.adjunct(self.pick(_AROUND), where))
        return clause

    def existing(self, era: str) -> Clause:
        """There is something somewhere."""
        noun = self.word(_FOUND if self.chance(0.7) else NOUNS["animal"])
        thing = self.noun(noun)
        thing.owner, thing.relative, thing.front = None, None, None
        if thing.plural:
            thing.det = thing.det if thing.det in ("many", "some", "several") else ""
        else:
            thing.det = "a"
        clause = Clause(self.node(), None, VERBS["exist"], object=thing)
        if thing.plural and thing.det == "" and not thing.count and self.chance(0.3):
            clause.negative = True
        animal = noun.kind == "animal"
        clause.adjuncts.append(self.out_of_doors() if animal else self._spot(noun))
        clause.tense = "past" if era == "past" else "present"
        return clause

    def aging(self, era: str) -> Clause:
        subject = self.pronoun((1, 2, 3)) if self.chance(0.4) else self.noun(self.other(PEOPLE), "subject")
        if subject.det in ("a", "some", "many"):
            subject.det = "the"
        years = Thing(self.node(), NAMED["year"], plural=True, det="")
        young = subject.noun is not None and subject.noun.name in _YOUNG
        years.count = self.word(TABLES["number"][2:12] if young else TABLES["number"][-2:] + TABLES["age"])
        tense = "past" if era == "past" else "present"
        return Clause(self.node(), subject, _BE_AGED, tense, negative=self.denied(subject, 0.15), object=years)

    def liking(self, era: str) -> Clause:
        verb = self.pick(_LIKING)
        noun = self.word(_BELOVED[verb.name])
        clause = Clause(self.node(), self._someone(), verb)
        clause.object = liked = self.noun(noun)
        dreaded = verb.name == "fear" and not noun.human and self.chance(0.7)
        if noun.mass or liked.plural or liked.det in ("", "a") or dreaded:  # coffee, cats: as such
            liked.det, liked.owner, liked.count, liked.front, liked.plural = "any", None, None, None, not noun.mass
        clause.tense = "past" if era == "past" else "present"
        assert clause.subject
        clause.negative = verb.name != "adore" and self.denied(clause.subject, 0.25)
        return clause

    def feeling(self, era: str, known: Thing | None = None) -> Clause:
        """Someone is hungry, in a hurry, right."""
        verb = self.able(IDIOMS, era, known)
        tense = {"now": "present", "past": "past", "next": "present"}[era]
        subject = self.subject(verb, known)
        return Clause(self.node(), subject, verb, tense, negative=self.denied(subject, 0.2))

    def weather(self, era: str) -> Clause:
        clause = Clause(self.node(), None, self.word(WEATHER), negative=self.chance(0.15))
        active = "state" not in clause.verb.flags
        if era == "now":
            if active and self.chance(0.7):
                clause.tense = "progressive"
            table = "now" if clause.tense == "progressive" or not active else "month"
            if table == "month" or self.chance(0.5):
                clause.time = self.adjunct(self.word(TABLES[table]))
        else:
            clause.tense = "past" if era == "past" else "future"
            if self.chance(0.6):
                clause.time = self.adjunct(self.word(TABLES[self.pick(("past" if era == "past" else "future", "day"))]))
        return clause
