"""What Spanish and Portuguese say the same way; their own modules have the rest."""

from collections.abc import Mapping

from mirada.data.builtin.lexicon import PHRASES, Noun
from mirada.data.builtin.meaning import AUX, COUNT, DET, HEAD, NEG, Adjunct, Clause, Thing, Trait
from mirada.data.builtin.speech import Choice, Item, Word, put, put_any


class Romance:
    """The realiser that Spanish and Portuguese share."""

    language: str
    pronouns: dict[tuple[int, bool, str], str]  # person, plural, gender
    articles: dict[str, tuple[str, str, str, str]]  # the, a, this, that: masculine, feminine, and their plurals
    owners: dict[tuple[int, bool], tuple[str, str, str, str]]
    estar: Mapping[str, tuple[str, ...]]  # the "be" of states, places and progressives

    def finish(self, words: list[Word]) -> list[Word]:
        raise NotImplementedError

    def sentence(self, clause: Clause) -> list[Item]:
        raise NotImplementedError

    def agreement(self, thing: Thing) -> int:
        if thing.joined:
            return 4
        return thing.person - 1 if not thing.plural else 3 if thing.person == 1 else 4

    def slot(self, thing: Thing) -> int:
        """Which of the forms masculine, feminine, masculine plural, feminine plural agrees with a thing."""
        return (thing.gender(self.language) == "f") + 2 * (thing.plural or bool(thing.joined))

    # Things

    def thing(self, out: list[Item], thing: Thing) -> None:
        if thing.joined:
            for number, part in enumerate(thing.joined):
                if number:
                    put(out, PHRASES["conjunction"]["and"].texts[self.language][0], thing.id + HEAD)
                self.thing(out, part)
        elif thing.det == "both":
            self.both(out, thing)
        elif thing.pronoun:
            put(out, self.pronouns[thing.person, thing.plural, thing.gender(self.language)], thing.id)
        else:
            self.described(out, thing)

    def both(self, out: list[Item], thing: Thing) -> None:
        raise NotImplementedError

    def determiner(self, out: list[Item], thing: Thing, noun: Noun) -> None:
        slot = self.slot(thing)
        if thing.owner:
            put(out, self.owners[thing.owner.person, thing.owner.plural][slot], thing.id + DET)
        elif noun.proper:
            if noun.forms[self.language].article:
                put(out, self.articles["the"][slot], thing.id + HEAD)
        elif thing.det in self.articles:
            el = thing.det in ("the", "a", "any") and slot == 1 and noun.forms[self.language].el
            put(out, self.articles[thing.det][0 if el else slot], thing.id + DET)

    def described(self, out: list[Item], thing: Thing) -> None:
        assert thing.noun
        self.determiner(out, thing, thing.noun)
        slot = self.slot(thing)
        if thing.count:
            put(out, self.number(thing.count.texts[self.language][0], slot), thing.id + COUNT)
        forms = thing.noun.forms[self.language]
        put(out, (forms.plural if thing.plural else forms.singular)[thing.female], thing.id + HEAD)
        if thing.trait:
            self.trait(out, thing.trait, slot)

    def number(self, text: str, slot: int) -> str:
        return text

    def trait(self, out: list[Item], trait: Trait, slot: int) -> None:
        if trait.degree:
            put_any(out, trait.degree.texts[self.language], trait.id + DET)
        put(out, trait.adjective.forms[self.language][slot], trait.id + HEAD)

    def adjunct(self, out: list[Item], adjunct: Adjunct) -> None:
        put_any(out, adjunct.phrase.texts[self.language], adjunct.id + HEAD)
        if adjunct.thing:
            self.after_preposition(out, adjunct.thing)

    def after_preposition(self, out: list[Item], thing: Thing) -> None:
        self.thing(out, thing)

    # Clauses

    def clause(self, clause: Clause, main: bool = False) -> list[Item]:
        body = self.core(clause)
        if clause.time:
            time: list[Item] = []
            self.adjunct(time, clause.time)
            if main and not clause.question:
                body = [Choice([*body, *time], [*time, (",", ()), *body])]
            else:
                body += time
        if clause.link:
            conjunction, other = clause.link
            if conjunction.phrase.name == "but":
                put(body, ",")
            self.adjunct(body, conjunction)
            body += self.clause(other)
        return body

    def core(self, clause: Clause) -> list[Item]:
        raise NotImplementedError

    def rest(self, clause: Clause) -> list[Item]:
        """What follows the verb."""
        out: list[Item] = []
        if clause.object:
            self.object(out, clause, clause.object)
        if clause.trait:
            self.trait(out, clause.trait, self.slot(clause.subject))
        for adjunct in clause.adjuncts:
            self.adjunct(out, adjunct)
        return out

    def object(self, out: list[Item], clause: Clause, thing: Thing) -> None:
        put(out, clause.verb.governs[self.language], clause.id + HEAD)
        self.thing(out, thing)

    def verb_words(self, clause: Clause, said: tuple[int, ...]) -> list[Item]:
        """The negation and the verb; `said` are nodes that the finite verb says besides its own (a dropped subject)."""
        out: list[Item] = []
        if clause.frequency:
            self.adjunct(out, clause.frequency)
        if clause.negative:
            put(out, "no" if self.language == "es" else "não", clause.id + NEG)
        person = 2 if clause.question == "who" else self.agreement(clause.subject)
        head, aux = clause.id + HEAD, clause.id + AUX
        forms = clause.verb.forms[self.language]
        if clause.verb.name == "be" and (clause.trait.adjective.state if clause.trait else not clause.object):
            forms = self.estar
        if clause.tense == "progressive":
            put(out, self.estar["present"][person], aux, *said)
            put(out, forms["gerund"][0], head)
        else:
            put(out, forms[clause.tense][person], head, aux, *said)
        return out
