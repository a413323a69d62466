"""Spanish: how a meaning is said."""

from mirada.data.builtin import inflect_es
from mirada.data.builtin.meaning import ASK, AUX, DET, HEAD, NEG, REST, TO, Clause, Thing, verb_nodes
from mirada.data.builtin.romance import Romance
from mirada.data.builtin.speech import Choice, Item, Word, put, put_any

_ARTICLES = {
    "the": ("el", "la", "los", "las"), "any": ("el", "la", "los", "las"), "a": ("un", "una", "unos", "unas"),
    "this": ("este", "esta", "estos", "estas"), "that": ("ese", "esa", "esos", "esas"),
    "many": ("mucho", "mucha", "muchos", "muchas"), "some": ("algún", "alguna", "algunos", "algunas"),
    "few": ("poco", "poca", "pocos", "pocas"), "several": ("varios", "varias", "varios", "varias"),
    "all": ("todo el", "toda la", "todos los", "todas las"), "every": ("cada", "cada", "cada", "cada"),
    "which": ("qué", "qué", "qué", "qué"), "howmany": ("cuánto", "cuánta", "cuántos", "cuántas"),
}  # fmt: skip
_OWNERS = {
    (1, False): ("mi", "mi", "mis", "mis"),
    (2, False): ("tu", "tu", "tus", "tus"),
    (1, True): ("nuestro", "nuestra", "nuestros", "nuestras"),
    (2, True): ("su", "su", "sus", "sus"),
    (3, False): ("su", "su", "sus", "sus"),
    (3, True): ("su", "su", "sus", "sus"),
}
_PRONOUNS = {
    (1, False, "m"): "yo", (1, False, "f"): "yo", (1, True, "m"): "nosotros", (1, True, "f"): "nosotras",
    (2, False, "m"): "tú", (2, False, "f"): "tú", (2, True, "m"): "ustedes", (2, True, "f"): "ustedes",
    (3, False, "m"): "él", (3, False, "f"): "ella", (3, True, "m"): "ellos", (3, True, "f"): "ellas",
}  # fmt: skip
_MET = {
    ("a", "el"): "al", ("de", "el"): "del", ("con", "mí"): "conmigo", ("con", "ti"): "contigo",
}  # fmt: skip
_WAYS = {"future": ("future", "going"), "planned": ("going", "future")}
_DATIVE = ("me", "te", "le", "nos", "les")
_ACCUSATIVE = ("lo", "la", "los", "las")
# Verbs whose indefinite object is nobody in particular: no personal "a".
_VAGUE = ("look for", "need", "want", "have")


class Spanish(Romance):
    language = "es"
    no = "no"
    articles = _ARTICLES
    owners = _OWNERS
    pronouns = _PRONOUNS
    reflexives = ("me", "te", "se", "nos", "se")
    estar = inflect_es.conjugate("estar")
    go = inflect_es.conjugate("ir")
    ways = _WAYS
    opening = ("¿", "¡")

    def finish(self, words: list[Word]) -> list[Word]:
        """Contract "a el" and "con mí", and turn "y" to "e" before an i."""
        out: list[Word] = []
        for word, nodes in words:
            before, its = out[-1] if out else ("", ())
            if (before, word) in _MET:
                out[-1] = (_MET[before, word], its + nodes)
                continue
            if before == "y" and word.lower().startswith(("i", "hi")):
                out[-1] = ("e", its)
            out.append((word, nodes))
        return out

    # Things

    def pronoun(self, thing: Thing) -> str:
        return "usted" if thing.formal and not thing.plural else super().pronoun(thing)

    def possessive(self, out: list[Item], thing: Thing, owner: Thing, slot: int) -> None:
        person = 3 if owner.formal else owner.person
        put(out, self.owners[person, owner.several][slot], thing.id + DET)

    def both(self, out: list[Item], thing: Thing) -> None:
        put_any(out, ("las dos", "ambas") if thing.gender("es") == "f" else ("los dos", "ambos"), thing.id)

    def after_preposition(self, out: list[Item], thing: Thing) -> None:
        if thing.pronoun and thing.person < 3 and not thing.plural and not thing.formal:
            put(out, "mí" if thing.person == 1 else "ti", thing.id)
        else:
            self.thing(out, thing)

    # Objects

    def object(self, out: list[Item], clause: Clause, thing: Thing) -> None:
        if clause.verb.wordings["es"][0].after:
            super().object(out, clause, thing)
            return
        proper = thing.noun is not None and thing.noun.proper
        vague = clause.verb.name in _VAGUE and not proper and (thing.det in ("a", "") or clause.verb.name == "have")
        personal = thing.human and not vague and not clause.verb.name.startswith("be")
        for number, part in enumerate(thing.joined or (thing,)):
            if number:
                put(out, "y", thing.id + HEAD)
            if personal:
                put(out, "a")
            self.thing(out, part)

    def object_clitic(self, clause: Clause) -> str:
        thing = clause.object
        if thing is None or not thing.pronoun or thing.det == "both":
            return ""
        person = self.agreement(thing)
        return _ACCUSATIVE[self.slot(thing)] if person in (2, 4) else _DATIVE[person]

    def recipient_clitic(self, clause: Clause) -> str:
        assert clause.recipient
        return _DATIVE[self.agreement(clause.recipient)]

    def recipient(self, out: list[Item], thing: Thing) -> None:
        if thing.pronoun and self.agreement(thing) not in (2, 4):
            return  # the pronoun beside the verb says it
        put(out, "a", thing.id + TO)
        self.thing(out, thing)

    def place(self, words: list[Word], host: int, clitic: Word) -> list[list[Item]]:
        before: list[Item] = [clitic, *words]
        if host < 0:
            return [before]
        text, nodes = words[host]
        joined = (inflect_es.with_pronoun(text, clitic[0]), nodes + clitic[1])
        after: list[Item] = [*words[:host], joined, *words[host + 1 :]]
        return [before, after] if text.endswith("ndo") else [after, before]

    # Clauses

    def timed(self, body: list[Item], time: list[Item]) -> Choice:
        return Choice([*time, *body], [*body, *time], [*time, (",", ()), *body])

    def core(self, clause: Clause) -> list[Item]:
        top = clause.control.verb if clause.control else clause.verb
        if "dative" in top.flags:
            return self._liking(clause)
        asked, rest, subject = self.asked(clause), self.rest(clause), clause.subject
        if clause.question == "whom":
            asked.insert(0, ("a", (clause.id + ASK,)))
        if subject is None or clause.question == "who" or clause.gap == "subject":
            return [*asked, *self.predicate(clause), *rest]
        spoken: list[Item] = []
        self.thing(spoken, subject)
        verb = self.predicate(clause)
        stated = [*asked, *spoken, *verb, *rest]
        inverted = [*asked, *verb, *spoken, *rest]
        short = clause.object is None and all(adjunct.thing is None for adjunct in clause.adjuncts)
        if short or (clause.object and clause.object.det == "job"):  # "¿Está cansada Ana?", "¿Trabaja mucho Ana?"
            inverted = [*asked, *verb, *rest, *spoken]
        if subject.pronoun and subject.det != "both" and (subject.known or self.agreement(subject) not in (2, 4)):
            dropped = [*asked, *self.predicate(clause, (subject.id,)), *rest]
            if subject.shared or not subject.human:  # there is no pronoun for a thing
                return dropped
            full = inverted if clause.question else stated
            known = subject.known or self.distinct(clause)
            return [Choice(dropped, full) if known else Choice(full, dropped, clear=1)]
        if not clause.question:
            return [Choice(stated, inverted)] if clause.gap == "object" and not rest else stated
        if clause.question not in ("yes", "why"):
            return inverted
        return [Choice(stated, inverted)] if rest and self._asked_in_order(clause) else [Choice(inverted, stated)]

    def _asked_in_order(self, clause: Clause) -> bool:
        """Whether a question sounds better with its subject first: "¿Ana quiere leer el libro?"."""
        if clause.question == "why" or clause.control or (clause.trait and clause.trait.than):
            return True
        thing = clause.object
        return (
            thing is not None
            and not thing.human
            and (thing.det in ("", "any") or bool(thing.noun and thing.noun.proper))
        )

    def _to_whom(self, out: list[Item], thing: Thing) -> None:
        """ "A Ana", "a Ana y a Pedro"."""
        for number, part in enumerate(thing.joined or (thing,)):
            if number:
                put(out, "y", thing.id + HEAD)
            put(out, "a")
            self.thing(out, part)

    def _liking(self, clause: Clause) -> list[Item]:
        """Spanish likes the other way round: "A Ana le gusta el café", "Me gusta leer"."""
        subject = clause.subject
        assert subject
        out = self.asked(clause)
        top = clause.control or clause
        person = self.agreement(subject)
        if not (subject.pronoun and (person in (0, 1, 3) or subject.known)):
            self._to_whom(out, subject)
        if clause.frequency:
            self.adjunct(out, clause.frequency)
        if clause.negative:
            put(out, self.no, clause.id + NEG)
        put(out, _DATIVE[person], *((subject.id,) if subject.pronoun else ()))
        tense = "imperfect" if clause.tense == "past" else clause.tense
        liked = 2 if clause.control or clause.object is None else self.agreement(clause.object)
        wording = top.verb.wordings["es"][0]
        put(out, wording.forms[tense][liked], *verb_nodes(top.id, wording.after), clause.id + AUX)
        if clause.control:
            out += self._infinitive(clause, person)
            return out + self.rest(clause)
        if clause.object and clause.question != "which":
            self.thing(out, clause.object)
        for adjunct in clause.adjuncts:
            self.adjunct(out, adjunct)
        return out

    def _infinitive(self, clause: Clause, person: int) -> list[Item]:
        """The clause's verb after "gusta", with its pronoun: "contarle", "levantarme"."""
        wording = clause.verb.wordings["es"][0]
        words: list[Word] = [(wording.forms["infinitive"][0], verb_nodes(clause.id, wording.after))]
        if clause.object is None:
            words += [(word, (clause.id + REST,)) for word in wording.after.split()]
        clitic = self.clitic(clause, wording, person)
        return self.place(words, 0, clitic)[0] if clitic else list(words)
