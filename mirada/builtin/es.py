"""Spanish: how a meaning is said."""

from mirada.builtin import inflect_es
from mirada.builtin.lexicon import Wording
from mirada.builtin.meaning import ASK, AUX, DET, HEAD, LINK, NEG, REST, TO, Adjunct, Clause, Thing, verb_nodes
from mirada.builtin.romance import Romance
from mirada.builtin.speech import Choice, Item, Word, put, put_any

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
_WAYS = {"future": ("future", "going"), "planned": ("going", "future"), "since": ("present", "progressive")}
_DATIVE = ("me", "te", "le", "nos", "les")
_ACCUSATIVE = ("lo", "la", "los", "las")
# Verbs whose indefinite object is nobody in particular: no personal "a".
_VAGUE = ("look for", "need", "want", "have")
_TIGHT = ("feel like", "prefer to", "hope to", "decide to", "promise to")  # no pronoun goes before them
# Verbs for which an animal is a thing.
_COLD = ("draw", "photograph", "buy", "sell", "have", "want", "show", "prefer")


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
        for number, part in enumerate(thing.joined or (thing,)):
            if number:
                put(out, ",", thing.id + LINK) if number < len(thing.joined) - 1 else put(out, "y", thing.id + HEAD)
            said: list[Item] = []
            self.thing(said, part)
            if self._personal(clause, part):
                put(out, "a")
                out += said
            elif self._dear(clause, part):
                out.append(Choice([("a", ()), *said], said))
            else:
                out += said

    def _personal(self, clause: Clause, thing: Thing) -> bool:
        """Whether an object takes the "a" of people."""
        proper = thing.noun is not None and thing.noun.proper
        name = clause.verb.name
        vague = name in _VAGUE and not proper and (thing.det in ("a", "") or name == "have")
        return thing.human and not vague and not name.startswith("be")

    def _dear(self, clause: Clause, thing: Thing) -> bool:
        """Whether an object is an animal that may take the "a" of people."""
        known = thing.noun is not None and thing.noun.kind == "animal" and thing.det not in ("a", "", "any")
        return known and clause.verb.name not in _COLD

    def unstressed(self, thing: Thing) -> str:
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

    def verb_words(
        self, clause: Clause, way: str, first: Wording, second: Wording | None, said: tuple[int, ...]
    ) -> list[list[Item]]:
        options = super().verb_words(clause, way, first, second, said)
        tight = clause.control is not None and clause.control.verb.name in _TIGHT
        return options[:1] if tight else options

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

    def since(self, body: list[Item], time: Adjunct) -> Choice:
        span: list[Item] = []
        assert time.thing
        self.thing(span, time.thing)
        node = (time.id,)
        return Choice([("hace", node), *span, ("que", node), *body], [*body, ("desde", node), ("hace", node), *span])

    def core(self, clause: Clause) -> list[Item]:
        top = clause.control.verb if clause.control else clause.verb
        if "dative" in top.flags:
            return self._dative(clause)
        asked, rest, subject = self.asked(clause), self.rest(clause), clause.subject
        if clause.question == "whom":
            asked.insert(0, ("a", (clause.id + ASK,)))
        if subject is None or clause.question == "who" or clause.gap == "subject":
            return [*asked, *self.predicate(clause), *rest]
        spoken: list[Item] = []
        self.thing(spoken, subject)
        verb = self.predicate(clause)
        stated = [*asked, *spoken, *verb, *rest]
        inverted = [*asked, *verb, *rest, *spoken] if self._subject_last(clause) else [*asked, *verb, *spoken, *rest]
        heavy = clause.control or "progressive" in clause.tense or clause.tense == "planned" or clause.recipient
        long = (heavy and (rest or clause.verb.wordings["es"][0].after)) or subject.relative or clause.tense == "since"
        if (long and clause.question == "yes") or (rest and clause.question == "why"):  # "¿Ana está leyendo el libro?"
            inverted = stated
        if subject.pronoun and subject.det != "both" and (subject.known or self.agreement(subject) not in (2, 4)):
            dropped = [*asked, *self.predicate(clause, (subject.id,)), *rest]
            if subject.known or not subject.human:  # "ella" would be someone else, and a thing has no pronoun
                return dropped
            full = inverted if clause.question else stated
            clear = self.distinct(clause) and not subject.contrasted
            return [Choice(dropped, full) if clear else Choice(full, dropped, clear=1)]
        if not clause.question:
            return [Choice(inverted, stated)] if clause.gap == "object" and not rest else stated
        if inverted is stated or clause.question not in ("yes", "why"):
            return inverted
        return [Choice(stated, inverted)] if rest and self._asked_in_order(clause) else [Choice(inverted, stated)]

    def _subject_last(self, clause: Clause) -> bool:
        """Whether a question has its subject last: "¿Está cansada Ana?", "¿Trabaja mucho Ana?", "¿Bebe vino Ana?"."""
        thing = clause.object
        if any(adjunct.thing for adjunct in clause.adjuncts) or clause.recipient:
            return False
        if thing is None or thing.det in ("job", "", "any"):
            return True
        return thing.pronoun and not clause.verb.wordings["es"][0].after

    def _asked_in_order(self, clause: Clause) -> bool:
        """Whether a question sounds better with its subject first: "¿Ana es más alta que Pedro?"."""
        if clause.question == "why" or (clause.trait and clause.trait.than):
            return True
        thing = clause.object
        return thing is not None and bool(thing.noun and thing.noun.proper and not thing.human)

    def _to_whom(self, out: list[Item], thing: Thing) -> None:
        """ "A Ana", "a Ana y a Pedro"."""
        for number, part in enumerate(thing.joined or (thing,)):
            if number:
                put(out, "y", thing.id + HEAD)
            put(out, "a")
            self.thing(out, part)

    def _dative(self, clause: Clause) -> list[Item]:
        """Spanish feels the other way round: "A Ana le gusta el café", "Me gusta leer", "Te duele la cabeza"."""
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
        put(out, wording.after, top.id + REST)
        if clause.trait and clause.object:
            self.trait(out, clause.trait, self.slot(clause.object))
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
