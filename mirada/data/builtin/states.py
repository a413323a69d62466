"""Makes up clauses about how things are: what someone is like, feels, likes, where things are, what the weather is."""

from __future__ import annotations

from mirada.data.builtin.clauses import PREPOSITION, TABLES, Clauses
from mirada.data.builtin.describe import LIVING, PEOPLE
from mirada.data.builtin.lexicon import IDIOMS, LIKED, NAMED, NOUNS, PHRASES, QUALITIES, STATES, VERBS, WEATHER, by_rank
from mirada.data.builtin.meaning import Clause, Thing

_ON, _FROM = PREPOSITION["on"], PREPOSITION["from"]
_BESIDE = tuple(PREPOSITION[name] for name in ("under", "near", "behind", "next to"))
_AROUND = tuple(PREPOSITION[name] for name in ("near", "behind", "next to", "in front of", "far from"))
_SMALL = by_rank(*NOUNS["object"], *NOUNS["text"], *NOUNS["clothes"], *NOUNS["food"])
_BUILDINGS = tuple(
    noun for noun in by_rank(*NOUNS["place"], *NOUNS["landmark"]) if noun.name not in ("city", "village", "sea", "path")
)
_DESCRIBED = by_rank(*(noun for noun, found in QUALITIES.items() if found or STATES[noun]))
_JOBS = tuple(
    noun for noun in NOUNS["person"] if noun.open and noun.name not in ("friend", "neighbor", "guest", "classmate")
)
_SURFACES = tuple(noun for noun in NOUNS["furniture"] if noun.name != "carpet")
_FEELINGS = STATES[NAMED["Lucas"]]
_CHARACTER = QUALITIES[NAMED["Lucas"]]
_CLOSE = by_rank(*NOUNS["name"], *NOUNS["kin"])
_YOUNG = frozenset({"boy", "girl", "grandson", "granddaughter", "nephew", "niece", "prince", "princess", "student"})
_BE, _BE_THERE, _BE_LOCATED, _BE_AGED = (VERBS[name] for name in ("be", "be there", "be located", "be aged"))


class States(Clauses):
    """Makes up clauses that say how things are."""

    def being(self, era: str, known: Thing | None = None) -> Clause:
        """Someone or something is so."""
        noun = known.noun if known else None
        if known:
            subject, fitting = known, (STATES[noun] + QUALITIES[noun] if noun else _FEELINGS)
        elif self.chance(0.3):
            subject, fitting = self.pronoun(), _FEELINGS if self.chance(0.6) else _CHARACTER
        else:
            noun = self.word(LIVING if self.chance(0.4) else _DESCRIBED)
            subject, fitting = self.noun(noun, "subject", rich=False), QUALITIES[noun] + STATES[noun]
            if subject.det == "a":
                subject.det = "the"
        if not fitting:
            return self.doing(era, known)
        adjective = self.word(fitting)
        clause = Clause(self.node(), subject, _BE_THERE if adjective.state else _BE, negative=self.chance(0.2))
        clause.tense = {"now": "present", "past": "past", "next": "future" if adjective.state else "present"}[era]
        clause.trait = self.trait(adjective, clause.negative)
        if adjective.state:
            return clause
        if self.comparable(adjective) and subject.human and self.chance(0.15):
            degree = self.pick(TABLES["comparison"][::2])
            standard = PHRASES["standard"]["as" if degree.name == "as" else "than"]
            other = (
                self.noun(self.word(NOUNS["name"]))
                if self.chance(0.5)
                else self.noun(self.word(NOUNS["kin"]), rich=False)
            )
            if other.noun is not subject.noun and not subject.joined:
                clause.trait.degree, clause.trait.than = degree, self.adjunct(standard, other)
        elif not clause.negative and not clause.trait.degree and subject.human and self.chance(0.1):
            more = self.word(_CHARACTER)
            if more is not adjective and not noun:
                clause.trait.also = self.trait(more)
                clause.trait.also.degree = None
        return clause

    def job(self, era: str) -> Clause:
        subject = self.pronoun() if self.chance(0.4) else self.noun(self.word(_CLOSE), "subject", rich=False)
        job = Thing(
            self.node(), self.word(_JOBS), plural=subject.several, det="job", female=subject.gender("es") == "f"
        )
        self.share(subject, job)
        tense = "past" if era == "past" else "present"
        return Clause(self.node(), subject, _BE, tense, negative=self.chance(0.2), object=job)

    def lying(self, era: str) -> Clause:
        """Someone or something is somewhere."""
        if self.chance(0.4):
            subject = self.subject(IDIOMS[0])
            if subject.det == "a":
                subject.det = "the"
            clause = Clause(self.node(), subject, _BE_THERE)
            if self.chance(0.15) and subject.human:
                clause.verb = _BE
                clause.adjuncts.append(self.adjunct(_FROM, self.noun(self.word(NOUNS["country"]))))
            else:
                clause.adjuncts.append(self.place(_BE_THERE))
        else:
            subject = self.noun(self.word(_SMALL), "subject")
            if subject.det == "a":
                subject.det = "the"
            where = self.noun(self.word(_SURFACES), "place")
            clause = Clause(self.node(), subject, _BE_THERE)
            clause.adjuncts.append(self.adjunct(_ON if self.chance(0.5) else self.pick(_BESIDE), where))
        clause.tense = "past" if era == "past" else "present"
        clause.negative = not self.anyone(subject) and self.chance(0.15)
        return clause

    def located(self, era: str) -> Clause:
        """A building is near another."""
        subject, other = self.word(_BUILDINGS), self.word(_BUILDINGS)
        clause = Clause(self.node(), self.noun(subject, "place", rich=False), _BE_LOCATED, negative=self.chance(0.15))
        assert clause.subject
        if clause.subject.det == "a":
            clause.subject.det = "the"
        where = self.noun(other if other is not subject else NAMED["house"], "place", rich=self.chance(0.3))
        clause.adjuncts.append(self.adjunct(self.pick(_AROUND), where))
        return clause

    def existing(self, era: str) -> Clause:
        """There is something somewhere."""
        thing = self.noun(self.word(_SMALL if self.chance(0.7) else NOUNS["animal"]))
        thing.owner, thing.relative = None, None
        if thing.plural:
            thing.det = thing.det if thing.det in ("many", "some", "few", "several") else ""
        else:
            thing.det = "a"
        if thing.front and thing.front.adjective.needs:
            thing.front = None
        clause = Clause(self.node(), None, VERBS["exist"], object=thing)
        if thing.plural and thing.det == "" and not thing.count and self.chance(0.3):
            clause.negative = True
        if thing.noun and thing.noun.kind != "animal" and self.chance(0.5):
            where = self.noun(self.word(_SURFACES), "place")
            clause.adjuncts.append(self.adjunct(_ON if self.chance(0.6) else self.pick(_BESIDE), where))
        else:
            clause.adjuncts.append(self.place(VERBS["exist"]))
        clause.tense = "past" if era == "past" else "present"
        return clause

    def aging(self, era: str) -> Clause:
        subject = self.pronoun((1, 2, 3)) if self.chance(0.4) else self.noun(self.word(PEOPLE), "subject")
        years = Thing(self.node(), NAMED["year"], plural=True, det="")
        young = subject.noun is not None and subject.noun.name in _YOUNG
        years.count = self.word(TABLES["number"][2:12] if young else TABLES["number"][-2:] + TABLES["age"])
        tense = "past" if era == "past" else "present"
        return Clause(self.node(), subject, _BE_AGED, tense, negative=self.chance(0.15), object=years)

    def liking(self, era: str) -> Clause:
        verb = VERBS["like" if self.chance(0.75) else "adore"]
        noun = self.word(LIKED)
        clause = Clause(self.node(), self.subject(IDIOMS[-1]), verb)
        clause.object = liked = self.noun(noun)
        if noun.mass or liked.plural or liked.det in ("", "a"):  # coffee, cats: as such
            liked.det, liked.owner, liked.count, liked.front, liked.plural = "any", None, None, None, not noun.mass
        clause.tense = "past" if era == "past" else "present"
        assert clause.subject
        clause.negative = verb.name == "like" and not self.anyone(clause.subject) and self.chance(0.25)
        return clause

    def feeling(self, era: str, known: Thing | None = None) -> Clause:
        """Someone is hungry, in a hurry, right."""
        verb = self.able(IDIOMS, known)
        tense = {"now": "present", "past": "past", "next": "present"}[era]
        subject = self.subject(verb, known)
        return Clause(self.node(), subject, verb, tense, negative=not self.anyone(subject) and self.chance(0.2))

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
