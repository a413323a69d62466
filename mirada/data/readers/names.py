"""What people call the columns and languages of a table: which of them are source and target."""

import difflib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence

from mirada.data.readers.pair import Wanted, matches
from mirada.data.text import shown_text

WELL_KNOWN = {
    "src": "tgt trg",
    "source-text": "target-text",
    "source-sentence": "target-sentence",
    "text": "translation",
    "sentence": "translation",
    "original": "translation traduccion traducao traduction",
    "source": "target translation cible",
    "input": "output",
    "fuente": "destino",
    "origen": "destino",
    "origem": "destino",
    "texto": "traduccion traducao",
    "texte": "traduction",
    "quelle": "ziel",
}
"""Names of source columns, and those their target columns then have, without accents."""

_LABELS = "label labels class category sentiment rating stars target etiqueta clase categoria sentimiento sentimento"
_TEXTS = ("text", "sentence", "review", "comment", "document", "body", "content", "tweet", "message", "question")
LABELLED = dict.fromkeys((*_TEXTS, "texto", "frase", "resena", "comentario", "mensaje"), _LABELS)
"""Names of columns of texts, and those that the column of their labels has."""

LANGUAGES = {
    "ar": "ara arabic arabe العربية",
    "ca": "cat catalan catala",
    "de": "deu ger german deutsch aleman alemao allemand",
    "el": "ell greek griego grego ελληνικα",
    "en": "eng english ingles anglais englisch",
    "es": "spa spanish espanol castellano espanhol espagnol spanisch castilian",
    "eu": "eus basque euskera euskara",
    "fr": "fra fre french francais frances franzosisch",
    "gl": "glg galician gallego galego",
    "gn": "grn guarani avanee",
    "he": "heb hebrew hebreo עברית",
    "hi": "hin hindi हिन्दी",
    "id": "ind indonesian indonesio",
    "it": "ita italian italiano italien italienisch",
    "ja": "jpn japanese japones 日本語",
    "ko": "kor korean coreano 한국어",
    "nl": "nld dutch neerlandes holandes nederlands",
    "pl": "pol polish polaco polski",
    "pt": "por portuguese portugues portugais portugiesisch",
    "qu": "que quechua runasimi",
    "ro": "ron romanian rumano romana",
    "ru": "rus russian ruso russo русскии",
    "sv": "swe swedish sueco svenska",
    "tr": "tur turkish turco turkce",
    "uk": "ukr ukrainian ucraniano українська",
    "zh": "zho chinese chino chines 中文 汉语",
}
"""Codes of common languages, and other codes and names of theirs, in their own language and some others."""

ISO_639_1 = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
    ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
    nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn
    so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
"""All codes of two letters."""
FORMER_CODES = "in iw ji jw mo"
"""Codes that were in use before."""

CODES = {name: code for code, names in LANGUAGES.items() for name in (code, *names.split())}
"""The code of a common language, from each of its codes and names."""

HEADER_PROBE = 50
"""Rows that are looked at to find out whether the first one is a header."""

_OTHER_COLUMNS = "id key number index line row date domain context notes note comments reference language lang string"
_COLUMN_WORDS = frozenset(
    word
    for words in (*WELL_KNOWN, *WELL_KNOWN.values(), *LABELLED, _LABELS, _OTHER_COLUMNS)
    for word in re.split("[ -]", words)
)
"""What names of columns are made of, besides those of languages."""

_DATUM = re.compile(r"(?=.*\d)[\d.,:/ -]+")
"""Numbers and dates."""

_MAX_COMPARED = 1000
"""Names that are looked at for one that was perhaps meant."""


def is_number(column: str) -> bool:
    """Whether a column is asked for by its number."""
    return re.fullmatch(r"\s*\d{1,9}\s*", column) is not None


def nearest(asked: str, names: Iterable[str]) -> str:
    """A question about the name that was perhaps meant, or nothing."""
    known = {name.strip().casefold(): name.strip() for name in itertools.islice(names, _MAX_COMPARED)}
    near = difflib.get_close_matches(asked.casefold(), known, 1)
    return f" (is {shown_text(known[near[0]])} meant?)" if near else ""


def named_columns(names: Sequence[str], wanted: Wanted) -> tuple[int, int] | None:
    """The places of source and target among the names of columns, if the names say which they are."""
    if wanted.source_language and wanted.target_language:
        source, target = (_place(names, tag) for tag in (wanted.source_language, wanted.target_language))
        if source is not None and target is not None and source != target:
            return source, target
    plain = [_plain(name) for name in names]
    for source_name, target_names in (LABELLED if wanted.labels else WELL_KNOWN).items():
        found = [place for place, name in enumerate(plain) if name in target_names.split()]
        if plain.count(source_name) == 1 and len(found) == 1:
            return plain.index(source_name), found[0]
    return None


def _place(names: Sequence[str], language: str) -> int | None:
    """The place of the only name that is exactly the language, or else of the only one that fits it."""
    for found in (
        [place for place, name in enumerate(names) if _plain(name) == _plain(language)],
        [place for place, name in enumerate(names) if _fits(language, name)],
    ):
        if len(found) == 1:
            return found[0]
    return None


def two_languages(first: Sequence[str], wanted: Wanted) -> tuple[int, int] | None:
    """The places of source and target if the row names just two languages, in this order unless that is not wanted."""
    places = [place for place, cell in enumerate(first) if language_named(cell)]
    if len(places) != 2 or language_named(first[places[0]]) == language_named(first[places[1]]):
        return None
    for source, target in (places, places[::-1]):
        if _fits(wanted.source_language, first[source]) and _fits(wanted.target_language, first[target]):
            return source, target
    return None


def are_names(cells: Sequence[str], wanted: Wanted) -> bool:
    """Whether the cells are names of two columns rather than two texts."""
    if named_columns(cells, wanted):
        return True
    languages = {language_named(cell) for cell in cells}
    return None not in languages and len(languages) > 1


def is_header(first: Sequence[str], below: Sequence[Sequence[str]], chosen: Sequence[int], wanted: Wanted) -> bool:
    """Whether the first row evidently names columns, of which some are chosen, rather than being an entry.

    Its chosen cells are names of columns; or some other cell is one, or is a text above numbers or dates. What occurs
    again below is no name.
    """
    names = [first[place].strip() for place in chosen]
    if are_names(names[:2], wanted):
        return True

    def under(place: int) -> set[str]:
        return {row[place].strip() for row in below if place < len(row)} - {""}

    new = all(first[place].strip() not in under(place) for place in chosen)
    if new and len(set(names)) == len(names) and all(map(_names_column, names)):
        return True
    for place in set(range(len(first))) - set(chosen):
        name, cells = first[place].strip(), under(place)
        if name and len(cells) > 1 and name not in cells and new:
            data = all(map(_DATUM.fullmatch, cells))
            if _names_column(name) or (data and not _DATUM.fullmatch(name)):
                return True
    return False


def _names_column(cell: str) -> bool:
    """Whether all words of a cell are such as names of columns are made of, one of them no mere code of a language."""
    words = [word.rstrip("0123456789") for word in re.split(r"[\W_]+", _plain(cell)) if word]
    known = len(words) <= 4 and all(word in _COLUMN_WORDS or word in CODES for word in words)
    return known and any(word in _COLUMN_WORDS or len(word) > 3 for word in words)


def _fits(language: str | None, name: str) -> bool:
    """Whether a name is that of the language; any is if none is wanted."""
    if language is None:
        return True
    code = _plain(language).partition("-")[0]
    names = [language, *LANGUAGES.get(code, "").split()]
    return any(matches(_plain(asked), _plain(name)) for asked in names)


def language_named(name: str) -> str | None:
    """The code of a common language from its code or name, or that of a variety of it (es-MX)."""
    return CODES.get(_plain(name).partition("-")[0])


def _plain(name: str) -> str:
    """The name (a cell may be long, a name is not) in lower case, without accents, and with hyphens between words."""
    letters = unicodedata.normalize("NFKD", name[:100].strip().casefold())
    return re.sub(r"[\s_-]+", "-", "".join(letter for letter in letters if not unicodedata.combining(letter)))
