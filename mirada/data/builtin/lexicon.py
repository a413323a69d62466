"""The words: the tables read into nouns, adjectives, verbs and fixed phrases, with every form in every language."""

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from mirada.data.builtin import adjectives, inflect_en, inflect_es, inflect_pt, nouns, phrases, verbs

LANGUAGES = ("es", "en", "pt")


@dataclass(frozen=True, slots=True)
class NounForms:
    """A noun in one language; the pairs are (masculine, feminine), equal unless the noun has both genders."""

    gender: str  # "m", "f", or "" for a noun that follows the person it speaks of
    singular: tuple[str, str]
    plural: tuple[str, str]
    article: bool = False  # of a proper noun: said with its article ("o Chile")
    el: bool = False  # a feminine that takes "el": el agua


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    name: str
    mark: int  # a stable number for the word, the same for words that share a form in some language
    kind: str
    forms: Mapping[str, NounForms]
    at: str = "in"  # the English preposition of a place

    @property
    def mass(self) -> bool:
        return self.kind in nouns.MASS

    @property
    def proper(self) -> bool:
        return self.kind in ("woman", "man", "country")

    @property
    def human(self) -> bool:
        return self.kind in ("person", "infant", "kin", "woman", "man")


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    name: str
    mark: int
    state: bool  # "estar", not "ser"
    forms: Mapping[str, tuple[str, str, str, str]]  # masculine, feminine; then their plurals


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    name: str
    mark: int
    forms: Mapping[str, Mapping[str, tuple[str, ...]]]  # language, tense, person
    governs: Mapping[str, str]  # language → the preposition before its object, or ""
    particle: str  # English "on" of "turn on"
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    flags: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Phrase:
    """A fixed piece, such as an adverb or a preposition; the first text of a language is the preferred one."""

    name: str
    mark: int
    texts: Mapping[str, tuple[str, ...]]


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


class _Marks:
    """Gives words that share a form in any language one mark, so that no split can tell their sentences apart."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], int] = {}

    def mark(self, category: str, lemmas: Mapping[str, str]) -> int:
        keys = [(category, language, lemma) for language, lemma in lemmas.items()]
        old = {self.known[key] for key in keys if key in self.known}
        mark = min(old) if old else crc32(f"{category} {lemmas['en']} {lemmas['es']}".encode())
        assert len(old) < 2, f"{lemmas} ties words together that have their own marks already: put it before them"
        self.known |= dict.fromkeys(keys, mark)
        return mark


_PLURAL = {"es": inflect_es.plural, "en": inflect_en.plural, "pt": inflect_pt.plural}
_CONJUGATE = {"es": inflect_es.conjugate, "en": inflect_en.conjugate, "pt": inflect_pt.conjugate}
_ARTICLES = {"el": "m", "la": "f", "o": "m", "a": "f"}


def _noun_forms(language: str, cell: str) -> NounForms:
    singular: list[str] = []
    plural: list[str] = []
    genders: list[str] = []
    el = cell.endswith(" f")
    for part in cell.removesuffix(" f").split(", "):
        if language != "en":
            article, _, part = part.partition(" ")
            genders.append("f" if el else _ARTICLES[article])
        one, _, many = part.partition("/")
        singular.append(one)
        plural.append(many or _PLURAL[language](one))
    both = len(singular) == 2
    gender = "" if both or language == "en" else genders[0]
    return NounForms(gender, (singular[0], singular[-1]), (plural[0], plural[-1]), el=el)


def _read_nouns(marks: _Marks) -> dict[str, tuple[Noun, ...]]:
    """Nouns by kind, and each noun alone by its English name."""
    found: dict[str, list[Noun]] = {}
    for kind, table in nouns.TABLES.items():
        for es, en, pt in rows(table):
            en, _, at = en.partition(" @")
            forms = {"es": _noun_forms("es", es), "en": _noun_forms("en", en), "pt": _noun_forms("pt", pt)}
            mark = marks.mark("noun", {language: f.singular[0] for language, f in forms.items()})
            noun = Noun(forms["en"].singular[0], mark, kind, forms, at or "in")
            found.setdefault(kind, []).append(noun)
            found.setdefault(noun.name, []).append(noun)
    for kind, names in (("woman", nouns.WOMEN), ("man", nouns.MEN)):
        for name in names.split(", "):
            spelled = (name.split() * 3)[:3]
            gender = "f" if kind == "woman" else "m"
            forms = {lang: NounForms(gender, (s, s), (s, s)) for lang, s in zip(LANGUAGES, spelled, strict=True)}
            found.setdefault(kind, []).append(
                Noun(spelled[1], marks.mark("noun", {"en": spelled[1], "es": name}), kind, forms)
            )
    for es, en, pt in rows(nouns.COUNTRIES):
        article, _, bare = pt.rpartition(" ") if pt[:2] in ("o ", "a ") else ("", "", pt)
        forms = {
            "es": NounForms("m", (es, es), (es, es)),
            "en": NounForms("", (en, en), (en, en)),
            "pt": NounForms(_ARTICLES.get(article, "m"), (bare, bare), (bare, bare), article=bool(article)),
        }
        found.setdefault("country", []).append(Noun(en, marks.mark("noun", {"en": en, "es": es}), "country", forms))
    found["name"] = found["woman"] + found["man"]
    return {kind: tuple(members) for kind, members in found.items()}


def _select(kinds: str, by_kind: Mapping[str, tuple[Noun, ...]]) -> tuple[Noun, ...]:
    spelled = " ".join(verbs.GROUPS.get(kind, kind) for kind in kinds.split())
    chosen = [noun for kind in spelled.split() for noun in by_kind[kind]]
    return tuple(dict.fromkeys(chosen))


def _adjective_forms(language: str, cell: str) -> tuple[str, str, str, str]:
    one, _, many = cell.partition("/")
    if language == "en":
        return one, one, one, one
    feminine = (inflect_es if language == "es" else inflect_pt).feminine(one)
    plural = _PLURAL[language]
    return one, feminine, many or plural(one), many if many and feminine == one else plural(feminine)


def _read_adjectives(marks: _Marks, by_kind: Mapping[str, tuple[Noun, ...]]) -> dict[Noun, list[Adjective]]:
    """The adjectives that can be said of each noun."""
    fitting: dict[Noun, list[Adjective]] = {noun: [] for members in by_kind.values() for noun in members}
    for table, state in ((adjectives.QUALITY, False), (adjectives.STATE, True)):
        for es, en, pt, kinds in rows(table):
            texts = {"es": es, "en": en, "pt": pt}
            forms = {language: _adjective_forms(language, cell) for language, cell in texts.items()}
            adjective = Adjective(en, marks.mark("adjective", {lang: f[0] for lang, f in forms.items()}), state, forms)
            for noun in _select(kinds, by_kind):
                fitting[noun].append(adjective)
    return fitting


def make_verb(marks: _Marks, row: list[str], by_kind: Mapping[str, tuple[Noun, ...]]) -> Verb:
    governs, lemmas, particle = {}, {}, ""
    for language, cell in zip(LANGUAGES, row, strict=False):
        lemma, _, after = cell.partition(" ")
        if after.startswith("+"):
            particle, after = after[1:], ""
        lemmas[language], governs[language] = lemma, after
    subjects, _, objects = row[3].partition(" > ")
    flags = frozenset(row[4].split()) if len(row) > 4 else frozenset()
    return Verb(
        " ".join(filter(None, (lemmas["en"], particle or governs["en"]))),
        marks.mark("verb", lemmas),
        {language: _CONJUGATE[language](lemma) for language, lemma in lemmas.items()},
        governs,
        particle,
        _select(subjects, by_kind),
        _select(objects, by_kind),
        flags,
    )


_marks = _Marks()
NOUNS = _read_nouns(_marks)
ADJECTIVES = _read_adjectives(_marks, NOUNS)
INTRANSITIVE, TRANSITIVE, MOTION, SPECIAL = (
    [make_verb(_marks, row, NOUNS) for row in rows(table)]
    for table in (verbs.INTRANSITIVE, verbs.TRANSITIVE, verbs.MOTION, verbs.SPECIAL)
)
VERBS = {verb.name: verb for verb in SPECIAL}
PHRASES: dict[str, dict[str, Phrase]] = {
    table: {
        row[1].split(" / ")[0]: Phrase(
            row[1],
            crc32(f"{table} {row[1]}".encode()),
            {language: tuple(cell.split(" / ")) for language, cell in zip(LANGUAGES, row, strict=True)},
        )
        for row in rows(text)
    }
    for table, text in phrases.TABLES.items()
}
