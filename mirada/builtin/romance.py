"""What Spanish and Portuguese say the same way; their own modules have the rest."""

from collections.abc import Mapping
from itertools import product

from mirada.builtin.lexicon import PHRASES, Noun, Wording
from mirada.builtin.meaning import (
    ASK,
    AUX,
    COUNT,
    DET,
    HEAD,
    LINK,
    MARK,
    NEG,
    OF,
    REST,
    TO,
    Adjunct,
    Clause,
    Greeting,
    Thing,
    Trait,
    verb_nodes,
)
from mirada.builtin.speech import Choice, Item, Word, put, put_any, put_phrase

Forms = tuple[str, str, str, str]  # masculine, feminine, and their plurals
ESTAR_TENSE = {"progressive": "present", "past progressive": "imperfect"}


class Romance:
    """The realiser that Spanish and Portuguese share."""

    language: str
    no: str  # the negation
    pronouns: Mapping[tuple[int, bool, str], str]  # person, plural, gender
    articles: Mapping[str, Forms]  # every determiner but possessives
    owners: Mapping[tuple[int, bool], Forms]
    reflexives: tuple[str, ...]  # by person
    estar: Mapping[str, tuple[str, ...]]  # the "be" of states, places and progressives
    go: Mapping[str, tuple[str, ...]]
    ways: Mapping[str, tuple[str, ...]]  # a tense → the ways to say it
    opening: tuple[str, str]  # what opens questions and exclamations

    def finish(self, words: list[Word]) -> list[Word]:
        """Contract the words that meet."""
        raise NotImplementedError

    def sentence(self, root: Clause | Greeting) -> list[Item]:
        mark = root.id + MARK
        out: list[Item] = []
        if isinstance(root, Greeting):
            put(out, self.opening[1], mark)
            put_phrase(out, root.phrase, self.language, root.id)
            if root.adjunct:
                self.adjunct(out, root.adjunct)
            if root.name:
                put(out, ",", root.id + LINK)
                self.thing(out, root.name)
            put(out, "!", mark)
            return out
        if root.question:
            put(out, self.opening[0], mark)
        out += self.clause(root, main=True)
        put(out, "?" if root.question else ".", mark)
        return out

    def agreement(self, thing: Thing) -> int:
        """The person that a verb has with this subject: yo, tú, él, nosotros, ellos."""
        if thing.joined:
            return 4
        if thing.plural:
            return 3 if thing.person == 1 else 4
        return 2 if thing.formal else thing.person - 1

    def slot(self, thing: Thing) -> int:
        """Which of the forms masculine, feminine, masculine plural, feminine plural agrees with a thing."""
        return (thing.gender(self.language) == "f") + 2 * thing.several

    # Things

    def thing(self, out: list[Item], thing: Thing) -> None:
        if thing.joined:
            last = len(thing.joined) - 1
            for number, part in enumerate(thing.joined):
                if number == last:
                    put(out, PHRASES["conjunction"]["and"].texts[self.language][0], thing.id + HEAD)
                elif number:
                    put(out, ",", thing.id + LINK)
                self.thing(out, part)
        elif thing.det == "both":
            self.both(out, thing)
        elif thing.pronoun:
            put(out, self.pronoun(thing), thing.id)
        else:
            self.described(out, thing)

    def pronoun(self, thing: Thing) -> str:
        return self.pronouns[thing.person, thing.several, thing.gender(self.language)]

    def both(self, out: list[Item], thing: Thing) -> None:
        raise NotImplementedError

    def described(self, out: list[Item], thing: Thing) -> None:
        noun, slot = thing.noun, self.slot(thing)
        assert noun
        if not noun.proper:
            self.determiner(out, thing, noun, slot)
        elif noun.forms[self.language].article:
            put(out, self.articles["the"][slot], thing.id + HEAD)
        if thing.count:
            put(out, self.number(thing.count.texts[self.language][0], slot), thing.id + COUNT)
        if thing.front:
            put(out, thing.front.adjective.forms[self.language][slot], thing.front.id + HEAD)
        forms = noun.forms[self.language]
        put(out, (forms.plural if thing.plural else forms.singular)[thing.female], thing.id + HEAD)
        if thing.trait:
            self.trait(out, thing.trait, slot)
        if thing.owner:
            self.belonging(out, thing, thing.owner)
        if thing.relative:
            put(out, "que", thing.relative.id + LINK)
            out += self.core(thing.relative)

    def determiner(self, out: list[Item], thing: Thing, noun: Noun, slot: int) -> None:
        det = thing.id + DET
        if thing.owner and thing.det == "my":
            self.possessive(out, thing, thing.owner, slot)
        elif thing.det == "of":
            put(out, self.articles["the"][slot], det)
        elif thing.det in self.articles:
            masculine = (
                slot == 1 and noun.forms[self.language].el and thing.det in ("the", "a", "any") and not thing.front
            )
            put(out, self.articles[thing.det][0 if masculine else slot], det)

    def possessive(self, out: list[Item], thing: Thing, owner: Thing, slot: int) -> None:
        put(out, self.owners[owner.person, owner.several][slot], thing.id + DET)

    def belonging(self, out: list[Item], thing: Thing, owner: Thing) -> None:
        if thing.det == "of":
            put(out, "de", thing.id + OF)
            self.thing(out, owner)

    def number(self, text: str, slot: int) -> str:
        return text

    def trait(self, out: list[Item], trait: Trait, slot: int) -> None:
        if trait.degree:
            put_phrase(out, trait.degree, self.language, trait.id + DET)
        put(out, trait.adjective.forms[self.language][slot], trait.id + HEAD)
        self.more(out, trait, slot)

    def more(self, out: list[Item], trait: Trait, slot: int) -> None:
        """What follows an adjective: another one, or what it is compared with."""
        if trait.also:
            put(out, PHRASES["conjunction"]["and"].texts[self.language][0], trait.id + LINK)
            self.trait(out, trait.also, slot)
        if trait.than and trait.than.thing:
            put_phrase(out, trait.than.phrase, self.language, trait.than.id)
            self.thing(out, trait.than.thing)

    def adjunct(self, out: list[Item], adjunct: Adjunct) -> None:
        put_phrase(out, adjunct.phrase, self.language, adjunct.id)
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
            if clause.tense == "since":
                body = [self.since(body, clause.time)]
            elif clause.timely:
                body = [*time, *body]
            elif main and not clause.question:
                body = [self.timed(body, time)]
            else:
                body += time
        if clause.that:
            put(body, "que", clause.that.id + LINK)
            body += self.clause(clause.that)
        if clause.link:
            if clause.link.phrase.name in ("but", "so"):
                put(body, ",", clause.link.id + LINK)
            texts = (",",) if clause.link.listed else clause.link.phrase.texts[self.language]
            put_any(body, texts, clause.link.id + HEAD)
            body += self.clause(clause.link.clause)
        return body

    def timed(self, body: list[Item], time: list[Item]) -> Choice:
        """A statement with its time, at its end or its beginning."""
        return Choice([*body, *time], [*time, (",", ()), *body])

    def since(self, body: list[Item], time: Adjunct) -> Choice:
        """A statement with how long it has been so."""
        raise NotImplementedError

    def core(self, clause: Clause) -> list[Item]:
        """A clause without its time and what hangs on it."""
        raise NotImplementedError

    def asked(self, clause: Clause) -> list[Item]:
        """The question word, or the thing that is asked for."""
        out: list[Item] = []
        if clause.question == "which":
            assert clause.object
            self.thing(out, clause.object)
        elif clause.question not in ("", "yes"):
            put_any(out, PHRASES["question"][clause.question].texts[self.language], clause.id + ASK)
        return out

    def rest(self, clause: Clause) -> list[Item]:
        """What follows the verb."""
        out: list[Item] = []
        if clause.object and clause.question != "which" and not self.object_clitic(clause):
            self.object(out, clause, clause.object)
        if clause.recipient:
            self.recipient(out, clause.recipient)
        if clause.trait:
            described = clause.object or clause.subject
            assert described
            self.trait(out, clause.trait, self.slot(described))
        for adjunct in clause.adjuncts:
            self.adjunct(out, adjunct)
        return out

    def object(self, out: list[Item], clause: Clause, thing: Thing) -> None:
        after = clause.verb.wordings[self.language][0].after
        put(out, after, clause.id + REST)
        if after:
            self.after_preposition(out, thing)
        else:
            self.thing(out, thing)

    def recipient(self, out: list[Item], thing: Thing) -> None:
        raise NotImplementedError

    def object_clitic(self, clause: Clause) -> str:
        """The pronoun that the object is said with beside the verb, or ""."""
        thing = clause.object
        if thing is None or not thing.pronoun or thing.det == "both" or clause.verb.wordings[self.language][0].after:
            return ""
        return self.unstressed(thing)

    def unstressed(self, thing: Thing) -> str:
        """The pronoun for an object, or "" if that stays where an object stands."""
        raise NotImplementedError

    def recipient_clitic(self, clause: Clause) -> str:
        raise NotImplementedError

    # Verbs

    def predicate(self, clause: Clause, said: tuple[int, ...] = ()) -> list[Item]:
        """Adverb, negation and verb; `said` are nodes that the finite verb says besides its own (a dropped subject)."""
        out: list[Item] = []
        if clause.frequency:
            self.adjunct(out, clause.frequency)
        if clause.negative:
            put(out, self.no, clause.id + NEG)
        top = clause.control.verb if clause.control else clause.verb
        below = clause.verb.wordings[self.language] if clause.control else (None,)
        ways = self.ways.get(clause.tense, (clause.tense,))  # only the first of which tells the tenses apart
        if clause.tense == "since" and "state" in top.flags:
            ways = ("present",)
        options = [
            option
            for way, first, second in product(ways, top.wordings[self.language], below)
            for option in self.verb_words(clause, way, first, second, said)
        ]
        if len(options) == 1:
            return out + options[0]
        out.append(Choice(*options, clear=len(options) // len(ways)))
        return out

    def distinct(self, clause: Clause) -> bool:
        """Whether the verb tells "I" from "he": without it, a dropped subject would be anyone's guess."""
        if clause.subject is None or clause.subject.person != 1 or clause.subject.plural:
            return True
        top = clause.control.verb if clause.control else clause.verb
        forms = top.wordings[self.language][0].forms
        if clause.tense in ("past progressive", "conditional") or (clause.tense == "past" and "state" in top.flags):
            return False
        return clause.tense != "past" or forms["past"][0] != forms["past"][2]

    def verb_words(
        self, clause: Clause, way: str, first: Wording, second: Wording | None, said: tuple[int, ...]
    ) -> list[list[Item]]:
        """The verb with its pronouns, in every place these may have; `second` is an infinitive under it."""
        top = clause.control or clause
        head, aux = verb_nodes(top.id, first.after), clause.id + AUX
        person = 2 if clause.question == "who" or clause.subject is None else self.agreement(clause.subject)
        words: list[Word] = []
        host = -1  # the infinitive or gerund that pronouns may go with
        if way in ESTAR_TENSE:
            words += [(self.estar[ESTAR_TENSE[way]][person], (aux, *said)), (first.forms["gerund"][0], head)]
            host = 1
        elif way in ("going", "will"):
            words.append((self.go["present" if way == "going" else "future"][person], (aux, *said)))
            if self.language == "es":
                words.append(("a", (aux,)))
            words.append((first.forms["infinitive"][0], head))
            host = len(words) - 1
        else:
            over = clause.subject is None and clause.time  # "ayer hizo frío"
            tense = "imperfect" if way == "past" and "state" in top.verb.flags and not over else way
            words.append((first.forms[tense][person], (*head, aux, *said)))
        whole = clause.control is not None or clause.object is None or clause.question == "which"
        words += [(word, (top.id + REST,)) for word in first.after.split() if whole]
        last = first
        if second:
            host = len(words)
            words.append((second.forms["infinitive"][0], verb_nodes(clause.id, second.after)))
            if clause.object is None:
                words += [(word, (clause.id + REST,)) for word in second.after.split()]
            last = second
        clitic = self.clitic(clause, last, person)
        return self.place(words, host, clitic) if clitic else [list(words)]

    def clitic(self, clause: Clause, wording: Wording, person: int) -> Word | None:
        """The unstressed pronoun that goes with the verb."""
        if wording.reflexive:
            return self.reflexives[person], (clause.id + HEAD,)
        to = clause.recipient
        if to and (text := self.recipient_clitic(clause)):
            return text, (to.id, to.id + TO) if to.pronoun else (to.id + TO,)
        if clause.object and (text := self.object_clitic(clause)):
            return text, (clause.object.id,)
        return None

    def place(self, words: list[Word], host: int, clitic: Word) -> list[list[Item]]:
        """Every right place for a pronoun, given where the infinitive or gerund is (-1 if there is none)."""
        raise NotImplementedError
