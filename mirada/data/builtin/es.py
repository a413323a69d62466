"""Spanish: how a meaning is said."""

from mirada.data.builtin import inflect_es
from mirada.data.builtin.lexicon import PHRASES
from mirada.data.builtin.meaning import ASK, AUX, DET, HEAD, MARK, NEG, Clause, Thing
from mirada.data.builtin.romance import Romance
from mirada.data.builtin.speech import Choice, Item, Word, put

_ARTICLES = {
    "the": ("el", "la", "los", "las"),
    "a": ("un", "una", "unos", "unas"),
    "any": ("el", "la", "los", "las"),
    "this": ("este", "esta", "estos", "estas"),
    "that": ("ese", "esa", "esos", "esas"),
}
_OWNERS = {
    (1, False): ("mi", "mi", "mis", "mis"),
    (2, False): ("tu", "tu", "tus", "tus"),
    (2, True): ("su", "su", "sus", "sus"),
    (1, True): ("nuestro", "nuestra", "nuestros", "nuestras"),
    (3, False): ("su", "su", "sus", "sus"),
    (3, True): ("su", "su", "sus", "sus"),
}
_PRONOUNS = {
    (1, False, "m"): "yo", (1, False, "f"): "yo", (1, True, "m"): "nosotros", (1, True, "f"): "nosotras",
    (2, False, "m"): "tú", (2, False, "f"): "tú", (2, True, "m"): "ustedes", (2, True, "f"): "ustedes",
    (3, False, "m"): "él", (3, False, "f"): "ella", (3, True, "m"): "ellos", (3, True, "f"): "ellas",
}  # fmt: skip
_DATIVE = {(1, False): "me", (2, False): "te", (1, True): "nos", (3, False): "le", (3, True): "les", (2, True): "les"}


class Spanish(Romance):
    language = "es"
    articles = _ARTICLES
    owners = _OWNERS
    pronouns = _PRONOUNS
    estar = inflect_es.conjugate("estar")

    def finish(self, words: list[Word]) -> list[Word]:
        """Contract "a el" and "de el", and turn "y" to "e" before an i."""
        out: list[Word] = []
        for word, nodes in words:
            before = out[-1] if out else ("", ())
            if word == "el" and before[0] in ("a", "de"):
                out[-1] = ("al" if before[0] == "a" else "del", before[1] + nodes)
            elif word in ("mí", "ti") and before[0] == "con":
                out[-1] = ("conmigo" if word == "mí" else "contigo", before[1] + nodes)
            else:
                if before[0] == "y" and word.lower().startswith(("i", "hi")):
                    out[-1] = ("e", before[1])
                out.append((word, nodes))
        return out

    def sentence(self, clause: Clause) -> list[Item]:
        out: list[Item] = [("¿", (clause.id + MARK,))] if clause.question else []
        out += self.clause(clause, main=True)
        put(out, "?" if clause.question else ".", clause.id + MARK)
        return out

    def both(self, out: list[Item], thing: Thing) -> None:
        if thing.gender("es") == "f":
            out.append(Choice([("las", (thing.id,)), ("dos", (thing.id,))], [("ambas", (thing.id,))]))
        else:
            out.append(Choice([("los", (thing.id,)), ("dos", (thing.id,))], [("ambos", (thing.id,))]))

    def after_preposition(self, out: list[Item], thing: Thing) -> None:
        if thing.pronoun and thing.person < 3 and not thing.plural:
            put(out, "mí" if thing.person == 1 else "ti", thing.id)
        else:
            self.thing(out, thing)

    def object(self, out: list[Item], clause: Clause, thing: Thing) -> None:
        governed = clause.verb.governs["es"]
        put(out, governed, clause.id + HEAD)
        vague = clause.verb.name in ("look for", "need", "want") and thing.det in ("a", "")
        if not governed and thing.human and clause.verb.name not in ("have", "be") and not vague:
            put(out, "a", thing.id + DET if not thing.joined else thing.id)
        self.thing(out, thing)

    def core(self, clause: Clause) -> list[Item]:
        if clause.verb.name == "like":
            return self._like(clause)
        out: list[Item] = []
        if clause.question not in ("", "yes"):
            put(out, PHRASES["question"][clause.question].texts["es"][0], clause.id + ASK)
        subject = clause.subject
        rest = self.rest(clause)
        spoken: list[Item] = []
        if clause.question == "who":
            return [*out, *self.verb_words(clause, ()), *rest]
        self.thing(spoken, subject)
        dropped = [*out, *self.verb_words(clause, (subject.id,)), *rest]
        verb = self.verb_words(clause, ())
        stated = [*out, *spoken, *verb, *rest]
        inverted = [*out, *verb, *spoken, *rest]
        if subject.pronoun and (subject.person < 3 or subject.known) and subject.det != "both":
            if subject.known and not subject.human:
                return dropped
            return [Choice(dropped, inverted if clause.question else stated)]
        if not clause.question:
            return stated
        if clause.question != "yes":
            return inverted
        return [Choice(stated, inverted)] if rest else [Choice(inverted, stated)]

    def _like(self, clause: Clause) -> list[Item]:
        """Spanish likes the other way round: "A Ana le gusta el café"."""
        subject, liked = clause.subject, clause.object
        assert liked
        out: list[Item] = []
        personal = subject.pronoun and subject.person < 3
        if not personal:
            put(out, "a", subject.id)
            self.thing(out, subject)
        if clause.frequency:
            self.adjunct(out, clause.frequency)
        if clause.negative:
            put(out, "no", clause.id + NEG)
        put(out, _DATIVE[subject.person, subject.plural or bool(subject.joined)], subject.id)
        put(out, clause.verb.forms["es"][clause.tense][self.agreement(liked)], clause.id + HEAD, clause.id + AUX)
        self.thing(out, liked)
        for adjunct in clause.adjuncts:
            self.adjunct(out, adjunct)
        return out
