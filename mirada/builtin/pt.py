"""Brazilian Portuguese: how a meaning is said."""

from mirada.builtin import inflect_pt
from mirada.builtin.lexicon import Wording
from mirada.builtin.meaning import DET, HEAD, TO, Adjunct, Clause, Thing, Trait
from mirada.builtin.romance import Romance
from mirada.builtin.speech import Choice, Item, Word, put, put_any

_ARTICLES = {
    "the": ("o", "a", "os", "as"), "a": ("um", "uma", "uns", "umas"),
    "this": ("este", "esta", "estes", "estas"), "that": ("aquele", "aquela", "aqueles", "aquelas"),
    "many": ("muito", "muita", "muitos", "muitas"), "some": ("algum", "alguma", "alguns", "algumas"),
    "few": ("pouco", "pouca", "poucos", "poucas"), "several": ("vários", "várias", "vários", "várias"),
    "all": ("todo o", "toda a", "todos os", "todas as"), "every": ("cada", "cada", "cada", "cada"),
    "which": ("que", "que", "que", "que"), "howmany": ("quanto", "quanta", "quantos", "quantas"),
}  # fmt: skip
_ALSO_RIGHT = {
    "this": ("esse", "essa", "esses", "essas"), "that": ("esse", "essa", "esses", "essas"),
    "which": ("qual", "qual", "quais", "quais"), "every": ("todo", "toda", "todos", "todas"),
}  # fmt: skip
_OWNERS = {
    (1, False): ("meu", "minha", "meus", "minhas"),
    (2, False): ("seu", "sua", "seus", "suas"),
    (1, True): ("nosso", "nossa", "nossos", "nossas"),
    (2, True): ("seu", "sua", "seus", "suas"),
}
_PRONOUNS = {
    (1, False, "m"): "eu", (1, False, "f"): "eu", (1, True, "m"): "nós", (1, True, "f"): "nós",
    (2, False, "m"): "você", (2, False, "f"): "você", (2, True, "m"): "vocês", (2, True, "f"): "vocês",
    (3, False, "m"): "ele", (3, False, "f"): "ela", (3, True, "m"): "eles", (3, True, "f"): "elas",
}  # fmt: skip
_WAYS = {
    "future": ("going", "will", "future"), "planned": ("will", "going", "future"), "since": ("progressive", "present"),
}  # fmt: skip
_ACCUSATIVE = ("o", "a", "os", "as")


def _contractions() -> dict[tuple[str, str], str]:
    """What "de", "em", "a" and "por" become before articles, demonstratives and pronouns."""
    met = {("a", "a"): "à", ("a", "as"): "às", ("a", "o"): "ao", ("a", "os"): "aos"}
    for article in _ARTICLES["the"]:
        met |= {("de", article): "d" + article, ("em", article): "n" + article, ("por", article): "pel" + article}
    for pronoun in (*_ARTICLES["this"], *_ARTICLES["that"], *_ALSO_RIGHT["that"], "ele", "ela", "eles", "elas"):
        met |= {("de", pronoun): "d" + pronoun, ("em", pronoun): "n" + pronoun}
    for that in _ARTICLES["that"]:
        met["a", that] = "à" + that[1:]
    return met | {("com", "mim"): "comigo", ("com", "nós"): "conosco"}


_MET = _contractions()


def _contract(out: list[Item], start: int) -> None:
    """Let "em um" be "num", too: here, and only here, it is as right not to contract."""
    for position in range(start, len(out) - 1):
        one, other = out[position], out[position + 1]
        if isinstance(one, tuple) and isinstance(other, tuple) and one[0] == "em" and other[0] in ("um", "uma"):
            joined: Item = (f"n{other[0]}", one[1] + other[1])
            out[position : position + 2] = [Choice([one, other], [joined])]
            return


class Portuguese(Romance):
    language = "pt"
    no = "não"
    articles = _ARTICLES
    owners = _OWNERS
    pronouns = _PRONOUNS
    reflexives = ("me", "se", "se", "nos", "se")
    estar = inflect_pt.conjugate("estar")
    go = inflect_pt.conjugate("ir")
    ways = _WAYS
    opening = ("", "")

    def finish(self, words: list[Word]) -> list[Word]:
        """Contract prepositions with what follows: "de o" is "do", "em aquela" is "naquela"."""
        out: list[Word] = []
        for word, nodes in words:
            if out and (out[-1][0], word) in _MET:
                before, its = out[-1]
                out[-1] = (_MET[before, word], its + nodes)
            else:
                out.append((word, nodes))
        return out

    # Things

    def both(self, out: list[Item], thing: Thing) -> None:
        put_any(out, ("as duas", "ambas") if thing.gender("pt") == "f" else ("os dois", "ambos"), thing.id)

    def number(self, text: str, slot: int) -> str:
        return "duas" if text == "dois" and slot % 2 else text

    def determiner(self, out: list[Item], thing: Thing, noun: object, slot: int) -> None:
        det = thing.id + DET
        if thing.owner and thing.det == "my":
            self.possessive(out, thing, thing.owner, slot)
        elif thing.det in _ALSO_RIGHT:
            main, other = self.articles[thing.det][slot], _ALSO_RIGHT[thing.det][slot]
            out.append(Choice([(main, (det,))], [(other, (det,))], clear=2 if thing.det in ("which", "that") else 1))
        elif thing.det == "of":
            put(out, self.articles["the"][slot], det)
        elif thing.det in self.articles:
            put(out, self.articles[thing.det][slot], det)

    def possessive(self, out: list[Item], thing: Thing, owner: Thing, slot: int) -> None:
        """ "O meu livro" or "meu livro", but "o livro dele": Brazilians keep "seu" for the one they speak to."""
        det = (thing.id + DET,)
        article: Item = (self.articles["the"][slot], det)
        kind = self.owners.get((owner.person, owner.several))
        if kind:
            out.append(Choice([article, (kind[slot], det)], [(kind[slot], det)]))
        else:
            out.append(article)

    def belonging(self, out: list[Item], thing: Thing, owner: Thing) -> None:
        if thing.det == "my" and owner.person == 3:
            put(out, "d" + self.pronouns[3, owner.several, owner.gender("pt")], thing.id + DET)
        else:
            super().belonging(out, thing, owner)

    def trait(self, out: list[Item], trait: Trait, slot: int) -> None:
        if trait.degree and trait.degree.name == "too":  # it goes after: "cansado demais"
            put(out, trait.adjective.forms["pt"][slot], trait.id + HEAD)
            put(out, "demais", trait.id + DET)
            self.more(out, trait, slot)
        else:
            super().trait(out, trait, slot)

    def after_preposition(self, out: list[Item], thing: Thing) -> None:
        if thing.pronoun and thing.person == 1 and not thing.plural:
            put(out, "mim", thing.id)
        else:
            self.thing(out, thing)

    def adjunct(self, out: list[Item], adjunct: Adjunct) -> None:
        start = len(out)
        if adjunct.phrase.name == "ago" and adjunct.thing:
            span: list[Item] = []
            self.thing(span, adjunct.thing)
            out.append(Choice([("há", (adjunct.id,)), *span], [*span, ("atrás", (adjunct.id,))]))
        else:
            super().adjunct(out, adjunct)
        _contract(out, start)

    # Objects

    def object(self, out: list[Item], clause: Clause, thing: Thing) -> None:
        start = len(out)
        super().object(out, clause, thing)
        _contract(out, start)

    def unstressed(self, thing: Thing) -> str:
        if thing.person == 2:
            return ""  # "você" stays where an object stands
        if thing.person == 1:
            return "nos" if thing.plural else "me"
        return _ACCUSATIVE[self.slot(thing)]

    def recipient_clitic(self, clause: Clause) -> str:
        thing = clause.recipient
        assert thing
        return ("nos" if thing.plural else "me") if thing.pronoun and thing.person == 1 else ""

    def recipient(self, out: list[Item], thing: Thing) -> None:
        if thing.pronoun and thing.person == 1:
            return
        put_any(out, ("para", "a"), thing.id + TO)
        self.after_preposition(out, thing)

    def verb_words(
        self, clause: Clause, way: str, first: Wording, second: Wording | None, said: tuple[int, ...]
    ) -> list[list[Item]]:
        if way in ("going", "will") and first.forms["infinitive"] == ("ir",):  # "irei", not "vou ir"
            way = "future"
        return super().verb_words(clause, way, first, second, said)

    def place(self, words: list[Word], host: int, clitic: Word) -> list[list[Item]]:
        before: list[Item] = [clitic, *words]
        if host < 0:
            return [before]
        text, nodes = words[host]
        if clitic[0] not in _ACCUSATIVE:  # "está me ajudando", "vai se levantar"
            return [[*words[:host], clitic, *words[host:]]]
        if text.endswith("ndo"):
            joined = (f"{text}-{clitic[0]}", nodes + clitic[1])
            return [before, [*words[:host], joined, *words[host + 1 :]]]
        joined = (inflect_pt.with_pronoun(text, clitic[0]), nodes + clitic[1])
        return [[*words[:host], joined, *words[host + 1 :]]]

    # Clauses

    def since(self, body: list[Item], time: Adjunct) -> Choice:
        span: list[Item] = []
        assert time.thing
        self.thing(span, time.thing)
        node = (time.id,)
        late: list[Item] = [*body, ("há", node), *span]
        return Choice(late, [("faz", node), *span, ("que", node), *body], [("há", node), *span, ("que", node), *body])

    def core(self, clause: Clause) -> list[Item]:
        asked, rest, subject = self.asked(clause), self.rest(clause), clause.subject
        if subject is None or clause.question == "who" or clause.gap == "subject":
            return [*asked, *self.predicate(clause), *rest]
        spoken: list[Item] = []
        self.thing(spoken, subject)
        verb = self.predicate(clause)
        if clause.verb.name.startswith("be") and clause.question in ("where", "how") and not subject.pronoun:
            return [*asked, *verb, *spoken, *rest]
        stated = [*asked, *spoken, *verb, *rest]
        if not subject.pronoun or subject.det == "both" or (subject.person > 1 and not subject.known):
            return stated
        dropped = [*asked, *self.predicate(clause, (subject.id,)), *rest]
        if subject.shared:
            return dropped
        if subject.known:  # Brazilians like to name persons again
            return [Choice(stated, dropped) if subject.human and subject.person > 1 else Choice(dropped, stated)]
        weak = clause.object or clause.recipient or clause.verb.wordings["pt"][0].reflexive
        if weak and (self.object_clitic(clause) or clause.recipient or not clause.object):
            return stated  # no sentence begins with "me" or "o"
        return [Choice(stated, dropped, clear=2 if self.distinct(clause) and not subject.contrasted else 1)]
