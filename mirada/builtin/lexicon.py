"""The words: the tables read into nouns, adjectives, verbs and fixed phrases, with every form in every language."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

from mirada.builtin import inflect_en, inflect_es, inflect_pt, tables
from mirada.builtin.tables import Rows

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
    mass: bool = False
    proper: bool = False  # goes without a determiner
    human: bool = False
    open: bool = False  # its gender follows the person
    rank: float = 0.0  # from 0 for the commonest of its kind to 1 for the rarest


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    name: str
    mark: int
    state: bool  # "estar", not "ser"
    forms: Mapping[str, tuple[str, str, str, str]]  # masculine, feminine; then their plurals
    flags: frozenset[str]
    needs: tuple[str, ...] = ()  # the determiners it goes with, if not any: "the first"


@dataclass(frozen=True, slots=True)
class Wording:
    """A verb in one language, or one of its synonyms."""

    forms: Mapping[str, tuple[str, ...]]  # tense → persons
    after: str = ""  # what follows it: the preposition it governs, or the rest of an idiom
    reflexive: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    name: str
    mark: int
    wordings: Mapping[str, tuple[Wording, ...]]  # language → the preferred verb, then its synonyms
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
    paired: bool  # two words in every language, which translate each other in their order


class _Marks:
    """Gives words that share a form in any language one mark, so that no split can tell their sentences apart."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], int] = {}

    def mark(self, category: str, texts: Mapping[str, Iterable[str]]) -> int:
        keys = [(category, language, text) for language, found in texts.items() for text in found]
        old = {self.known[key] for key in keys if key in self.known}
        assert len(old) < 2, f"{texts} ties words together that have their own marks already: put it before them"
        mark = min(old) if old else crc32(repr(keys).encode())
        self.known |= dict.fromkeys(keys, mark)
        return mark


_PLURAL = {"es": inflect_es.plural, "en": inflect_en.plural, "pt": inflect_pt.plural}
_FEMININE = {"es": inflect_es.feminine, "pt": inflect_pt.feminine}
_CONJUGATE = {"es": inflect_es.conjugate, "en": inflect_en.conjugate, "pt": inflect_pt.conjugate}
_ARTICLES = {"el": "m", "la": "f", "o": "m", "a": "f"}
_DEFINITE = {"the": ("the", "my", "of"), "the only": ("the",)}
_HUMAN = frozenset({"person", "infant", "kin", "woman", "man"})
_MASS = frozenset({"dish", "drink", "subject", "science", "sport"})  # kinds without a plural and without "a"
_PROPER = ("woman", "man", "country", "anyone")
_CROSSED = frozenset({"see you"})  # two words in every language, but not in the same order
_GROUPS = dict(tables.VERBS["groups"])

ByKind = Mapping[str, tuple[Noun, ...]]


def _noun_forms(language: str, cell: str) -> NounForms:
    singular: list[str] = []
    plural: list[str] = []
    gender = ""
    el = cell.endswith(" f")
    for part in cell.removesuffix(" f").split(", "):
        if language != "en":
            article, _, part = part.partition(" ")
            gender = "f" if el else _ARTICLES[article]
        one, _, many = part.partition("/")
        singular.append(one)
        plural.append(many or _PLURAL[language](one))
    if len(singular) == 2:
        gender = ""
    return NounForms(gender, (singular[0], singular[-1]), (plural[0], plural[-1]), el=el)


def _fixed(text: str, gender: str = "m", article: bool = False) -> NounForms:
    return NounForms(gender, (text, text), (text, text), article)


def _read_nouns(marks: _Marks) -> ByKind:
    found: dict[str, list[Noun]] = {}
    sections = tables.LIVING | tables.THINGS | tables.PLACES
    for kind, rows in sections.items():
        for position, (es, en, pt) in enumerate(rows if kind not in _PROPER else ()):
            en, _, at = en.partition(" @")
            forms = {"es": _noun_forms("es", es), "en": _noun_forms("en", en), "pt": _noun_forms("pt", pt)}
            mark = marks.mark("noun", {language: form.singular for language, form in forms.items()})
            gendered = forms["es"].gender and forms["pt"].gender
            noun = Noun(
                forms["en"].singular[0], mark, kind, forms, at or "in", kind in _MASS, human=kind in _HUMAN,
                open=not gendered, rank=position / len(rows),
            )  # fmt: skip
            found.setdefault(kind, []).append(noun)
    for kind, gender in (("woman", "f"), ("man", "m")):
        for position, row in enumerate(sections[kind]):
            spelled = dict(zip(LANGUAGES, row * 3, strict=False))
            forms = {language: _fixed(text, gender) for language, text in spelled.items()}
            mark = marks.mark("noun", {language: [text] for language, text in spelled.items()})
            noun = Noun(spelled["en"], mark, kind, forms, proper=True, human=True, rank=position / len(sections[kind]))
            found.setdefault(kind, []).append(noun)
    for kind in ("country", "anyone"):
        for es, en, pt in sections[kind]:
            article, bare = (pt[0], pt[2:]) if pt[:2] in ("o ", "a ") else ("", pt)
            forms = {"es": _fixed(es), "en": _fixed(en), "pt": _fixed(bare, _ARTICLES.get(article, "m"), bool(article))}
            mark = marks.mark("noun", {"es": [es], "en": [en], "pt": [pt]})
            human = kind == "anyone" and en != "anything"
            found.setdefault(kind, []).append(Noun(en, mark, kind, forms, proper=True, human=human))
    found["name"] = list(by_rank(*found["woman"], *found["man"]))
    return {kind: tuple(members) for kind, members in found.items()}


def by_rank(*nouns: Noun) -> tuple[Noun, ...]:
    """Nouns of several kinds, the commonest of each first."""
    return tuple(sorted(nouns, key=lambda noun: noun.rank))


def _select_kinds(kinds: str) -> list[str]:
    """Spell out the groups among some kinds."""
    spelled = [_select_kinds(_GROUPS[kind]) if kind in _GROUPS else [kind] for kind in kinds.split()]
    return [kind for found in spelled for kind in found]


def _select(kinds: str, by_kind: ByKind) -> tuple[Noun, ...]:
    names = {noun.name.replace(" ", "_"): noun for members in by_kind.values() for noun in members}
    spelled = _select_kinds(kinds)
    left_out = {names[kind[1:]] for kind in spelled if kind[0] == "-"}
    chosen = [noun for kind in spelled if kind[0] != "-" for noun in by_kind.get(kind) or (names[kind],)]
    return by_rank(*(noun for noun in dict.fromkeys(chosen) if noun not in left_out))


def _adjective_forms(language: str, cell: str) -> tuple[str, str, str, str]:
    if cell.count(" ") == 3:
        one, feminine, many, feminines = cell.split()
        return one, feminine, many, feminines
    one, _, many = cell.partition("/")
    if language == "en":
        return one, one, one, one
    feminine = _FEMININE[language](one)
    plural = many or _PLURAL[language](one)
    return one, feminine, plural, plural if feminine == one else _PLURAL[language](feminine)


def _read_adjectives(marks: _Marks, rows: Rows, state: bool, by_kind: ByKind) -> dict[Noun, tuple[Adjective, ...]]:
    """The adjectives of a section that can describe each noun."""
    fitting: dict[Noun, list[Adjective]] = {noun: [] for members in by_kind.values() for noun in members}
    for es, en, pt, kinds, *rest in rows:
        forms = {lang: _adjective_forms(lang, cell) for lang, cell in zip(LANGUAGES, (es, en, pt), strict=True)}
        mark = marks.mark("adjective", forms)
        flags = frozenset(rest[0].split() if rest else ())
        adjective = Adjective(en, mark, state, forms, flags, _DEFINITE.get(rest[0] if rest else "", ()))
        for noun in _select(kinds, by_kind):
            fitting[noun].append(adjective)
    return {noun: tuple(found) for noun, found in fitting.items()}


def _wording(language: str, text: str) -> Wording:
    verb, _, after = text.partition(" ")
    after = "" if after.startswith("+") else after
    reflexive = language != "en" and verb.endswith("se")
    if reflexive:
        verb = verb.removesuffix("se").removesuffix("-")
    return Wording(_CONJUGATE[language](verb), after, reflexive)


def _read_verbs(marks: _Marks, rows: Rows, by_kind: ByKind, named: bool = False) -> tuple[Verb, ...]:
    found = []
    for row in rows:
        texts = {language: cell.split(" / ") for language, cell in zip(LANGUAGES, row, strict=False)}
        afters = {language: {text.partition(" ")[2] for text in options} for language, options in texts.items()}
        assert ">" not in row[3] or all(len(found) == 1 for found in afters.values()), f"one preposition, please: {row}"
        subjects, _, objects = ("name" if named else row[3]).partition(" > ")
        english = texts["en"][0]
        found.append(
            Verb(
                row[3] if named else english.replace("+", ""),
                crc32(row[3].encode()) if named else marks.mark("verb", texts),
                {lang: tuple(_wording(lang, text) for text in options) for lang, options in texts.items()},
                english.partition("+")[2],
                _select(subjects, by_kind),
                _select(objects, by_kind),
                frozenset(row[4].split()) if len(row) > 4 else frozenset(),
            )
        )
    return tuple(found)


def _read_phrases(section: str, rows: Rows) -> dict[str, Phrase]:
    found = {}
    for row in rows:
        texts = {language: tuple(cell.split(" / ")) for language, cell in zip(LANGUAGES, row, strict=True)}
        name = texts["en"][0]
        paired = all(options[0].count(" ") == 1 for options in texts.values()) and name not in _CROSSED
        found[name] = Phrase(name, crc32(f"{section} {name}".encode()), texts, paired)
    return found


_marks = _Marks()
NOUNS = _read_nouns(_marks)
NAMED = {noun.name: noun for members in NOUNS.values() for noun in members}  # by its English name
QUALITIES = _read_adjectives(_marks, tables.ADJECTIVES["quality"], False, NOUNS)
STATES = _read_adjectives(_marks, tables.ADJECTIVES["state"], True, NOUNS)
FRONT = _read_adjectives(_marks, tables.ADJECTIVES["front"], False, NOUNS)
INTRANSITIVE, IDIOMS, WEATHER, TRANSITIVE, MOTION, GIVING, CLAUSAL, CONTROL = (
    _read_verbs(_marks, tables.VERBS[section], NOUNS)
    for section in ("intransitive", "idioms", "weather", "transitive", "motion", "giving", "clausal", "control")
)
VERBS = {verb.name: verb for verb in _read_verbs(_marks, tables.VERBS["special"], NOUNS, named=True)}
LIKED = _select("liked", NOUNS)
TINY = _select("tiny", NOUNS)
SPOTS = {flag: tuple(NAMED[name.replace("_", " ")] for name in names.split()) for flag, names in tables.VERBS["spots"]}
FEELINGS = tables.words(tables.VERBS["feelings"])
PHRASES = {section: _read_phrases(section, rows) for section, rows in tables.PHRASES.items()}
