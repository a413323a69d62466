"""English: how a meaning is said."""

from mirada.data.builtin import inflect_en
from mirada.data.builtin.lexicon import VERBS
from mirada.data.builtin.meaning import ASK, AUX, COUNT, DET, HEAD, MARK, NEG, Adjunct, Clause, Thing, Trait
from mirada.data.builtin.speech import Choice, Item, Word, put, put_any

_BE = VERBS["be"]
_SUBJECT = {(1, False): "I", (2, False): "you", (2, True): "you", (1, True): "we", (3, True): "they"}
_OBJECT = {(1, False): "me", (2, False): "you", (2, True): "you", (1, True): "us", (3, True): "them"}
_OWNER = {(1, False): "my", (2, False): "your", (2, True): "your", (1, True): "our", (3, True): "their"}
_THIRD = {"m": ("he", "him", "his"), "f": ("she", "her", "her"), "": ("it", "it", "its")}
_SHORT = {"am": "'m", "are": "'re", "is": "'s", "will": "'ll"}
_NOT = {"can": "can't", "will": "won't"}


def _pronoun(thing: Thing, case: int) -> str:
    if thing.person == 3 and not thing.plural:
        return _THIRD[thing.gender("es") if thing.human else ""][case]
    return (_SUBJECT, _OBJECT, _OWNER)[case][thing.person, thing.plural]


def _agreement(thing: Thing) -> int:
    if thing.joined:
        return 4
    return thing.person - 1 if not thing.plural else 3 if thing.person == 1 else 4


class English:
    language = "en"

    def sentence(self, clause: Clause) -> list[Item]:
        out = self._clause(clause, main=True)
        put(out, "?" if clause.question else ".", clause.id + MARK)
        return out

    def finish(self, words: list[Word]) -> list[Word]:
        """Choose between "a" and "an", now that the next word is known."""
        for position, (word, nodes) in enumerate(words):
            if word == "a" and inflect_en.takes_an(words[position + 1][0]):
                words[position] = ("an", nodes)
        return words

    # Things

    def _thing(self, out: list[Item], thing: Thing, case: int = 0) -> None:
        if thing.joined:
            for number, part in enumerate(thing.joined):
                if number:
                    put(out, "and", thing.id + HEAD)
                self._thing(out, part, case)
        elif thing.det == "both":
            out.append(
                Choice([("both", (thing.id,))], [("both", (thing.id,)), ("of", (thing.id,)), ("them", (thing.id,))])
            )
        elif thing.pronoun:
            put(out, _pronoun(thing, case), thing.id)
        else:
            self._described(out, thing)

    def _described(self, out: list[Item], thing: Thing) -> None:
        assert thing.noun
        if thing.det in ("this", "that"):
            put(out, {"this": "these", "that": "those"}[thing.det] if thing.plural else thing.det, thing.id + DET)
        elif thing.owner:
            put(out, _pronoun(thing.owner, 2), thing.id + DET)
        elif thing.det == "job":  # "a teacher", where the other languages say just "teacher"
            put(out, "" if thing.plural else "a", thing.id + HEAD)
        elif not thing.noun.proper and thing.det != "any":
            put(out, thing.det, thing.id + DET)
        if thing.count:
            put(out, thing.count.texts["en"][0], thing.id + COUNT)
        if thing.trait:
            self._trait(out, thing.trait)
        forms = thing.noun.forms["en"]
        put(out, (forms.plural if thing.plural else forms.singular)[thing.female], thing.id + HEAD)

    def _trait(self, out: list[Item], trait: Trait) -> None:
        if trait.degree:
            put_any(out, trait.degree.texts["en"], trait.id + DET)
        put(out, trait.adjective.forms["en"][0], trait.id + HEAD)

    def _adjunct(self, out: list[Item], adjunct: Adjunct) -> None:
        put_any(out, adjunct.phrase.texts["en"], adjunct.id + HEAD)
        if adjunct.thing:
            self._thing(out, adjunct.thing, case=1)

    # Clauses

    def _clause(self, clause: Clause, main: bool = False) -> list[Item]:
        body = self._core(clause)
        if clause.time:
            time: list[Item] = []
            self._adjunct(time, clause.time)
            if main and not clause.question:
                body = [Choice([*body, *time], [*time, (",", ()), *body])]
            else:
                body += time
        if clause.link:
            conjunction, other = clause.link
            if conjunction.phrase.name == "but":
                put(body, ",")
            self._adjunct(body, conjunction)
            body += self._clause(other)
        return body

    def _core(self, clause: Clause) -> list[Item]:
        out: list[Item] = []
        who = clause.question == "who"
        if clause.question not in ("", "yes"):
            put(out, clause.question, clause.id + ASK)
        subject: list[Item] = []
        if not who:
            self._thing(subject, clause.subject)
        self._verb_group(out, clause, subject, inverted=bool(clause.question) and not who)
        if clause.object:
            self._object(out, clause, clause.object)
        elif clause.verb.governs["en"] and clause.question == "what":
            put(out, clause.verb.governs["en"], clause.id + HEAD)
        if clause.trait:
            self._trait(out, clause.trait)
        for adjunct in clause.adjuncts:
            self._adjunct(out, adjunct)
        return out

    def _object(self, out: list[Item], clause: Clause, thing: Thing) -> None:
        verb = clause.verb
        if verb.particle and not thing.pronoun:
            put(out, verb.particle, clause.id + HEAD)
        put(out, verb.governs["en"], clause.id + HEAD)
        self._thing(out, thing, case=1)
        if verb.particle and thing.pronoun:
            put(out, verb.particle, clause.id + HEAD)

    def _verb_group(self, out: list[Item], clause: Clause, subject: list[Item], inverted: bool) -> None:
        """Subject, auxiliary, "not", adverb and verb, in the order that statements or questions have them."""
        verb, tense = clause.verb, clause.tense
        person = 2 if clause.question == "who" else _agreement(clause.subject)
        auxiliary, main, form = "", verb.forms["en"], tense
        if tense == "progressive":
            auxiliary, form = _BE.forms["en"]["present"][person], "gerund"
        elif verb is _BE:
            auxiliary, form = main[tense][person], ""
        elif clause.negative or inverted:
            auxiliary, form = "does" if person == 2 else "do", "infinitive"
        frequency: list[Item] = []
        if clause.frequency:
            self._adjunct(frequency, clause.frequency)
        aux, neg = clause.id + AUX, clause.id + NEG
        if verb is _BE and tense != "progressive":
            aux = clause.id + HEAD
        if not auxiliary:
            out += [*subject, *frequency]
        elif inverted:
            if clause.negative and auxiliary != "am":
                put(out, auxiliary + "n't", aux, neg)
            else:
                put(out, auxiliary, aux)
            out += [*subject, *frequency]
        elif clause.negative:
            full: list[Item] = [*subject, (auxiliary, (aux,)), ("not", (neg,))]
            short: list[Item] = [*subject, (_NOT.get(auxiliary, auxiliary + "n't"), (aux, neg))]
            if auxiliary == "am":
                out += full
            else:
                out.append(Choice(short, full))
            out += frequency
        else:
            full = [*subject, (auxiliary, (aux,))]
            if clause.subject.pronoun and auxiliary in _SHORT and clause.subject.det != "both" and subject:
                pronoun, nodes = subject[0] if isinstance(subject[0], tuple) else ("", ())
                out.append(Choice(full, [(pronoun + _SHORT[auxiliary], (*nodes, aux))]))
            else:
                out += full
            out += frequency
        if form:
            forms = main[form]
            put(out, forms[person if len(forms) > 1 else 0], clause.id + HEAD, *(() if auxiliary else (aux,)))
