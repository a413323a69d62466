"""English: how a meaning is said."""

from mirada.builtin import inflect_en
from mirada.builtin.lexicon import VERBS, Wording
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

_BE = VERBS["be"].wordings["en"][0].forms
_PRONOUNS = {  # subject, object, possessive
    (1, False): ("I", "me", "my"), (1, True): ("we", "us", "our"), (2, False): ("you", "you", "your"),
    (2, True): ("you", "you", "your"), (3, True): ("they", "them", "their"),
}  # fmt: skip
_THIRD = {"m": ("he", "him", "his"), "f": ("she", "her", "her"), "": ("it", "it", "its")}
_DETERMINERS = {
    "any": "", "job": "", "": "", "all": "all the", "howmany": "how many", "of": "", "my": "",
}  # fmt: skip
_PLURAL = {"this": "these", "that": "those"}
_ASKED = {"whom": ("who", "whom")}
_SHORT = {"am": "'m", "are": "'re", "is": "'s", "will": "'ll", "would": "'d", "has": "'s", "have": "'ve"}
_NOT = {"can": "can't", "will": "won't"}
_WAYS = {"future": ("will", "going"), "planned": ("progressive", "going", "will")}
_BE_TENSE = {"progressive": "present", "past progressive": "past", "going": "present"}


def _pronoun(thing: Thing, case: int) -> str:
    if thing.person == 3 and not thing.several:
        person = thing.human and not (thing.noun and thing.noun.kind == "infant")
        return _THIRD[thing.gender("es") if person else ""][case]
    return _PRONOUNS[thing.person, thing.several][case]


def _after(wording: Wording, clause: Clause) -> str:
    """What follows a verb; "one's" is the subject's."""
    if "one's" not in wording.after or clause.subject is None:
        return wording.after
    subject = clause.subject
    anyone = subject.det == "who" or (subject.noun is not None and subject.noun.kind == "anyone")
    after = wording.after.replace("one's", "their" if anyone else _pronoun(subject, 2))
    return after.replace("coat", "coats") if subject.several else after


def _agreement(thing: Thing) -> int:
    if thing.joined:
        return 4
    return thing.person - 1 if not thing.plural else 3 if thing.person == 1 else 4


class English:
    language = "en"

    def sentence(self, root: Clause | Greeting) -> list[Item]:
        if isinstance(root, Greeting):
            return self._greeting(root)
        out = self._clause(root, main=True)
        put(out, "?" if root.question else ".", root.id + MARK)
        return out

    def finish(self, words: list[Word]) -> list[Word]:
        """Choose between "a" and "an", now that the next word is known."""
        for position, (word, nodes) in enumerate(words):
            if word == "a" and inflect_en.takes_an(words[position + 1][0]):
                words[position] = ("an", nodes)
        return words

    def _greeting(self, greeting: Greeting) -> list[Item]:
        out: list[Item] = []
        put_phrase(out, greeting.phrase, "en", greeting.id)
        if greeting.adjunct:
            self._adjunct(out, greeting.adjunct)
        if greeting.name:
            put(out, ",", greeting.id + LINK)
            self._thing(out, greeting.name)
        put(out, "!", greeting.id + MARK)
        return out

    # Things

    def _thing(self, out: list[Item], thing: Thing, case: int = 0) -> None:
        if thing.joined:
            last = len(thing.joined) - 1
            for number, part in enumerate(thing.joined):
                if number == last:
                    put(out, "and", thing.id + HEAD)
                elif number:
                    put(out, ",", thing.id + LINK)
                self._thing(out, part, case)
        elif thing.det == "both":
            put_any(out, ("both", "both of them"), thing.id)
        elif thing.pronoun:
            put(out, _pronoun(thing, case), thing.id)
        else:
            self._described(out, thing)

    def _described(self, out: list[Item], thing: Thing) -> None:
        noun = thing.noun
        assert noun
        if not noun.proper:
            self._determiner(out, thing)
        if thing.count:
            put(out, thing.count.texts["en"][0], thing.id + COUNT)
        if thing.front:
            self._trait(out, thing.front)
        if thing.trait:
            self._trait(out, thing.trait)
        forms = noun.forms["en"]
        put(out, (forms.plural if thing.plural else forms.singular)[thing.female], thing.id + HEAD)
        if thing.relative:
            out += self._relative(thing.relative, thing)

    def _determiner(self, out: list[Item], thing: Thing) -> None:
        det = thing.id + DET
        if thing.owner and thing.det == "of":  # the teacher's car
            owner: list[Item] = []
            self._thing(owner, thing.owner)
            last = owner[-1]
            assert isinstance(last, tuple)
            owner[-1] = (last[0] + "'s", (*last[1], det, thing.id + OF))
            out += owner
        elif thing.owner:
            put(out, _pronoun(thing.owner, 2), det)
        elif thing.det == "job":  # "a teacher", where the other languages say just "teacher"
            put(out, "" if thing.plural else "a", thing.id + HEAD)
        elif thing.plural:
            put(out, _PLURAL.get(thing.det, _DETERMINERS.get(thing.det, thing.det)), det)
        else:
            put(out, _DETERMINERS.get(thing.det, thing.det), det)

    def _trait(self, out: list[Item], trait: Trait) -> None:
        adjective, degree = trait.adjective.forms["en"][0], trait.degree
        if degree and degree.name == "more":
            compared = inflect_en.comparative(adjective)
            if " " in compared:
                put(out, "more", trait.id + DET)
                put(out, adjective, trait.id + HEAD)
            else:
                put(out, compared, trait.id + DET, trait.id + HEAD)
        else:
            if degree:
                put_phrase(out, degree, "en", trait.id + DET)
            put(out, adjective, trait.id + HEAD)
        if trait.also:
            put(out, "and", trait.id + LINK)
            self._trait(out, trait.also)
        if trait.than:
            self._adjunct(out, trait.than)

    def _adjunct(self, out: list[Item], adjunct: Adjunct) -> None:
        name, thing = adjunct.phrase.name, adjunct.thing
        if name == "ago" and thing:
            self._thing(out, thing)
            put(out, "ago", adjunct.id)
            return
        if name == "since":
            put(out, "for", adjunct.id)
        else:
            put_phrase(out, adjunct.phrase, "en", adjunct.id)
        if thing:
            self._thing(out, thing, case=1)

    # Clauses

    def _clause(self, clause: Clause, main: bool = False, silent: bool = False, bare: bool = False) -> list[Item]:
        """A clause with what hangs on it; a silent one leaves its subject out ("and reads it"), a bare one "is" too."""
        body = self._core(clause, silent, bare)
        if clause.time:
            time: list[Item] = []
            self._adjunct(time, clause.time)
            if clause.timely:
                body = [*time, *body]
            elif main and not clause.question and clause.tense != "since":
                body = [Choice([*body, *time], [*time, (",", ()), *body])]
            else:
                body += time
        if clause.that:
            that: list[Item] = [("that", (clause.that.id + LINK,))]
            body.append(Choice(that, []))
            body += self._clause(clause.that)
        if clause.link:
            name, other = clause.link.phrase.name, clause.link.clause
            if name in ("but", "so"):
                put(body, ",", clause.link.id + LINK)
            put(body, "," if clause.link.listed else name, clause.link.id + HEAD)
            silent = bool(other.subject and other.subject.shared)
            body += self._clause(other, silent=silent, bare=self._serves_both(clause))
        return body

    def _serves_both(self, clause: Clause) -> bool:
        """Whether the auxiliary counts for the next clause, too: "is singing and dancing"."""
        other = clause.link.clause if clause.link else None
        if other is None or other.subject is None or not other.subject.shared or clause.tense in ("present", "past"):
            return False
        plain = not (clause.negative or other.negative or clause.control or other.control)
        return plain and clause.tense == other.tense

    def _relative(self, clause: Clause, thing: Thing) -> list[Item]:
        link = clause.id + LINK
        core = self._core(clause)
        if clause.gap == "subject":
            texts = ("who", "that") if thing.human else ("that", "which")
            return [Choice([(texts[0], (link,)), *core], [(texts[1], (link,)), *core])]
        return [Choice([("that", (link,)), *core], [("which", (link,)), *core], core)]

    def _core(self, clause: Clause, silent: bool = False, bare: bool = False) -> list[Item]:
        out: list[Item] = []
        question = clause.question
        if question == "which":
            assert clause.object
            self._thing(out, clause.object)
        elif question not in ("", "yes"):
            put_any(out, _ASKED.get(question, (question,)), clause.id + ASK)
        subject: list[Item] = []
        if clause.subject is None:
            put(subject, "there" if clause.verb.name == "exist" else "it", clause.id + HEAD)
        elif question != "who" and clause.gap != "subject" and not silent:
            self._thing(subject, clause.subject)
        if bare:
            form = "gerund" if clause.tense != "future" else "infinitive"
            wording = clause.verb.wordings["en"][0]
            put(out, wording.forms[form][0], *verb_nodes(clause.id, wording.after), clause.id + AUX)
            put(out, _after(wording, clause), clause.id + REST)
        else:
            out += self._predicate(clause, subject, inverted=question not in ("", "who"))
        self._objects(out, clause)
        if clause.trait:
            self._trait(out, clause.trait)
        for adjunct in clause.adjuncts:
            self._adjunct(out, adjunct)
        return out

    def _objects(self, out: list[Item], clause: Clause) -> None:
        thing, verb = clause.object, clause.verb
        said: list[Item] = []
        particle = [(verb.particle, (clause.id + REST,))] if verb.particle else []
        if thing is None or clause.question == "which":
            out += particle
            return
        if not thing.pronoun:
            said += particle
        self._thing(said, thing, case=1)
        if thing.pronoun:
            said += particle
        if verb.name == "be aged":
            put(said, "old", clause.id + HEAD)
        if not clause.recipient:
            out += said
            return
        recipient: list[Item] = []
        self._thing(recipient, clause.recipient, case=1)
        late: list[Item] = [*said, ("to", (clause.recipient.id + TO,)), *recipient]
        if "to" in verb.flags:
            out += late
        else:
            first = recipient[0]
            if isinstance(first, tuple):  # without "to", it is in the place itself
                recipient[0] = (first[0], (*first[1], clause.recipient.id + TO))
            early = [*recipient, *said]
            out.append(Choice(early, late) if clause.recipient.pronoun else Choice(late, early))

    def _predicate(self, clause: Clause, subject: list[Item], inverted: bool) -> list[Item]:
        if clause.verb.name == "exist" and clause.negative:  # there is no …, there isn't any …
            be = clause.verb.wordings["en"][0]
            none: list[Item] = [*self._verb_words(clause, "exists", be, subject, inverted), ("no", (clause.id + NEG,))]
            any_: list[Item] = [
                *self._verb_words(clause, clause.tense, be, subject, inverted),
                ("any", (clause.id + NEG,)),
            ]
            return [Choice(none, any_)]
        ways = _WAYS.get(clause.tense, (clause.tense,))
        if clause.tense == "planned" and self._serves_both(clause):  # not "is going to sing and dancing"
            ways = ways[:1]
        wordings = (clause.control or clause).verb.wordings["en"]
        options = [self._verb_words(clause, way, wording, subject, inverted) for way in ways for wording in wordings]
        return options[0] if len(options) == 1 else [Choice(*options, clear=1)]

    def _verb_words(
        self, clause: Clause, way: str, wording: Wording, subject: list[Item], inverted: bool
    ) -> list[Item]:
        """Subject, auxiliary, "not", adverb and verb, in the order that statements or questions have them."""
        negative = clause.negative
        if way == "exists":
            way, negative = clause.tense, False
        top = clause.control or clause
        verb = top.verb
        forms, after = wording.forms, _after(wording, clause)
        head, aux = verb_nodes(top.id, after or verb.particle), clause.id + AUX
        person = self._person(clause)
        auxiliary, main = "", ""
        nodes: tuple[int, ...] = (aux,)
        extra: list[Item] = []
        if way in _BE_TENSE:
            auxiliary, main = _BE[_BE_TENSE[way]][person], forms["gerund" if way != "going" else "infinitive"][0]
            if way == "going":
                put(extra, "going to", aux)
        elif way in ("will", "conditional"):
            auxiliary, main = "will" if way == "will" else "would", forms["infinitive"][0]
        elif way == "since":
            auxiliary = "has" if person == 2 else "have"
            lasting = "state" in verb.flags
            main = forms["participle" if lasting else "gerund"][0]
            put(extra, "" if lasting else "been", aux)
        elif forms["infinitive"][0] in ("be", "can", "must"):
            auxiliary, nodes = forms[way][person], (*head, aux)
        elif negative or inverted:
            auxiliary = "did" if way == "past" else "does" if person == 2 else "do"
            main = forms["infinitive"][0]
        out = self._opening(clause, subject, auxiliary, nodes, inverted, negative)
        if clause.frequency:
            self._adjunct(out, clause.frequency)
        out += extra
        if auxiliary:
            put(out, main, *head)
        else:
            put(out, forms[way][person], *head, aux)
        put(out, after, top.id + REST)
        if clause.control:
            below = clause.verb.wordings["en"][0]
            form = "gerund" if "ing" in verb.flags else "infinitive"
            put(out, below.forms[form][0], *verb_nodes(clause.id, below.after or clause.verb.particle))
            put(out, _after(below, clause), clause.id + REST)
        return out

    def _person(self, clause: Clause) -> int:
        if clause.verb.name == "exist":
            assert clause.object
            return _agreement(clause.object)
        if clause.question == "who" or clause.subject is None:
            return 2
        return _agreement(clause.subject)

    def _opening(
        self,
        clause: Clause,
        subject: list[Item],
        auxiliary: str,
        nodes: tuple[int, ...],
        inverted: bool,
        negative: bool,
    ) -> list[Item]:
        """Subject, auxiliary and "not"."""
        neg = clause.id + NEG
        if not auxiliary:
            return list(subject)
        short: Item = (_NOT.get(auxiliary, auxiliary + "n't"), (*nodes, neg))
        full: list[Item] = [(auxiliary, nodes)]
        if inverted:
            return [short, *subject] if negative and auxiliary != "am" else [*full, *subject]
        if negative and auxiliary == "can":
            full = [("cannot", (*nodes, neg))]
        elif negative:
            full.append(("not", (neg,)))
        told = clause.subject
        first = subject[0] if len(subject) == 1 and (told is None or told.pronoun) else None
        contracted: list[Item] = []
        if isinstance(first, tuple) and auxiliary in _SHORT and first[0] != "there":
            contracted = [(first[0] + _SHORT[auxiliary], (*first[1], *nodes))]
            contracted += [("not", (neg,))] if negative else []
        if negative and auxiliary != "am":
            return [Choice([*subject, short], [*subject, *full])]
        return [Choice([*subject, *full], contracted)] if contracted else [*subject, *full]
