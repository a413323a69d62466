"""Adds noise and structure of real text to a clean test set, to pairs of a source and its reference.

Each kind is a function of a pair and of what it may draw from; it alters the source, and the reference where a
translator should do the same to its output. None means that the kind does not apply to the pair. What is drawn depends
on the kind and the number of the line alone, so that every system gets the same input in every run.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

Pair = tuple[str, str]


class Altered(NamedTuple):
    """A pair with noise."""

    source: str
    reference: str | None
    """None where no translation is right."""
    spans: tuple[str, ...] = ()
    """What the translation must have, character by character."""
    clean: Pair | None = None
    """The pair without the noise, where it is another than the one that was given."""


Noise = Callable[[str, str, Random], Altered | None]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME = re.compile(r"(?<![\w'’-])[^\W\d_]{3,}(?![\w-])")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?![\w.,:/-]*\d)(?!\w)")
_END = re.compile(r"[.!?…。！？\"”»]*$")

NAMES = (
    "Xochitl", "Oyelaran", "Kjartan", "Zsófia", "Thandiwe", "Brzezik", "Nakamura", "Siobhan", "Quetzalli", "Ravindran",
    "Vuković", "Mbali", "Eilidh", "Yıldız", "Tjaarke", "Ngozi", "Zorblax", "Quendrin", "Velthara", "Aoibhinn",
)  # fmt: skip
"""Foreign and invented names that small corpora do not have."""
ACCENTED = ("José", "Chloé", "Zoë", "André", "Renée", "Björn", "Núria", "Inês", "Jürgen", "Anaïs")
ADDRESSES = (
    "https://www.example.org/news/2031?id=17&lang=xx", "http://example.com/a_b-c/#top", "www.example.net",
    "anna.berg@example.org", "info+test@mail.example.co.uk", "{name}", "{0}", "%s", "%(count)d", "%1$s", "${price}",
    "{{title}}", "%d", "{user.name}",
)  # fmt: skip
TAGS = (("<b>", "</b>"), ("<i>", "</i>"), ('<a href="/p/12">', "</a>"), ('<span class="x y">', "</span>"))
EMOJI = ("😀", "🎉🎉", "👍🏽", "❤️", "👩‍👩‍👧", "🇧🇷", "🤷‍♀️", "☕", "🚀")


# ── letters and spaces ────────────────────────────────────────────────────────────────────────────────────────────


def upper(source: str, reference: str, chance: Random) -> Altered:
    """All in capitals."""
    return Altered(source.upper(), reference.upper())


def title(source: str, reference: str, chance: Random) -> Altered:
    """As a headline: words of four letters and more with a capital letter."""

    def headline(text: str) -> str:
        return _WORD.sub(lambda word: word[0][0].upper() + word[0][1:] if len(word[0]) > 3 else word[0], text)

    return Altered(headline(source), headline(reference))


def lower(source: str, reference: str, chance: Random) -> Altered:
    """All in small letters."""
    return Altered(source.lower(), reference.lower())


def spaces(source: str, reference: str, chance: Random) -> Altered:
    """Odd white space between the words, before and after; a translation is scored without regard to it."""
    words = source.split()
    gaps = [chance.choice((" ", "  ", "\xa0", "\u2009", "\u202f ", " \u200b")) for _ in words[1:]]
    inner = "".join(word + gap for word, gap in zip(words, [*gaps, ""], strict=True))
    return Altered(
        chance.choice(("", "  ", "\xa0", "\t")) + inner + chance.choice(("", " ", "\xa0\xa0", " \t")), reference
    )


def decomposed(source: str, reference: str, chance: Random) -> Altered | None:
    """Accents as characters of their own (NFD); a source without any gets a name that has one, if both share a name."""
    if unicodedata.is_normalized("NFD", source):
        renamed = _renamed(source, reference, chance.choice(ACCENTED))
        if renamed is None:
            return None
        source, reference = renamed
    return Altered(unicodedata.normalize("NFD", source), reference, clean=(source, reference))


def typos(source: str, reference: str, chance: Random) -> Altered | None:
    """A letter swapped, dropped or doubled in one word of five, and in one at least."""
    places = [word.span() for word in _WORD.finditer(source) if len(word[0]) > 3]
    if not places:
        return None
    chosen = [place for place in places if chance.random() < 0.2] or [chance.choice(places)]
    for start, end in reversed(chosen):
        letter = chance.randrange(start + 1, end - 1)
        here, following = source[letter], source[letter + 1]
        wrong = chance.choice((following + here, following, here + here + following))
        source = source[:letter] + wrong + source[letter + 2 :]
    return Altered(source, reference)


# ── spans to copy ─────────────────────────────────────────────────────────────────────────────────────────────────


def numbers(source: str, reference: str, chance: Random) -> Altered:
    """Other numbers where both sides have the same ones, else an inserted one."""
    there = Counter(_NUMBER.findall(source))
    if there and there == Counter(_NUMBER.findall(reference)):
        others = {number: str(chance.randrange(11, 10 ** max(3, len(number)))) for number in sorted(there)}
        source, reference = (_NUMBER.sub(lambda found: others[found[0]], text) for text in (source, reference))
        return Altered(source, reference, tuple(others[number] for number in there.elements()))
    number = chance.choice(
        (str(chance.randrange(1000, 9999)), f"{chance.randrange(10, 24)}:{chance.randrange(10, 60)}")
    )
    return _inserted(source, reference, number, chance.choice((", {}", " ({})", " – {}")))


def addresses(source: str, reference: str, chance: Random) -> Altered:
    """An address or a placeholder in place of a name that both sides have, else before or after the sentence."""
    span = chance.choice(ADDRESSES)
    if renamed := _renamed(source, reference, span):
        return Altered(*renamed, (span,))
    if chance.random() < 0.3:
        return Altered(f"{span}: {source}", f"{span}: {reference}", (span,))
    return _inserted(source, reference, span, chance.choice((": {}", " ({})")))


def tags(source: str, reference: str, chance: Random) -> Altered:
    """Tags around a name that both sides have, the clause before the only comma, or the whole sentence."""
    opening, closing = chance.choice(TAGS)
    name = _shared_name(source, reference)
    if name and chance.random() < 0.6:
        source, reference = (re.sub(rf"\b{name}\b", f"{opening}{name}{closing}", text) for text in (source, reference))
    elif source.count(",") == reference.count(",") == 1:
        source, reference = (f"{opening}{text.replace(',', closing + ',')}" for text in (source, reference))
    else:
        opening, closing = "<p>", "</p>"
        source, reference = f"<p>{source}</p>", f"<p>{reference}</p>"
    return Altered(source, reference, (opening, closing))


def names(source: str, reference: str, chance: Random) -> Altered | None:
    """A foreign or invented name, or two, in place of one that both sides have."""
    name = " ".join(chance.sample(NAMES, chance.choice((1, 1, 2))))
    renamed = _renamed(source, reference, name)
    return Altered(*renamed, (name,)) if renamed else None


def emoji(source: str, reference: str, chance: Random) -> Altered:
    """An emoji before, after, or before the last mark."""
    sign, place = chance.choice(EMOJI), chance.randrange(3)
    if place == 2:
        return _inserted(source, reference, sign, " {}")
    form = ("{1} {0}", "{0} {1}")[place]
    return Altered(form.format(source, sign), form.format(reference, sign), (sign,))


def _shared_name(source: str, reference: str) -> str | None:
    """The first capitalized word that stands once on both sides."""
    here, there = Counter(_NAME.findall(source)), Counter(_NAME.findall(reference))
    return next((word for word in here if word.istitle() and here[word] == there[word] == 1), None)


def _renamed(source: str, reference: str, other: str) -> Pair | None:
    """The pair with another word for its shared name."""
    name = _shared_name(source, reference)
    if name is None:
        return None
    source, reference = (re.sub(rf"\b{name}\b", lambda _: other, text, count=1) for text in (source, reference))
    return source, reference


def _inserted(source: str, reference: str, span: str, form: str) -> Altered:
    """The pair with a span before the marks that end its sentences."""
    source, reference = (
        _END.sub(lambda end: form.format(span) + end[0], text, count=1) for text in (source, reference)
    )
    return Altered(source, reference, (span,))


# ── structure ─────────────────────────────────────────────────────────────────────────────────────────────────────


def several(source: str, reference: str, chance: Random) -> Altered:
    """Sentences of several lines in one."""
    return Altered(source.replace("\n", " "), reference.replace("\n", " "))


def endless(source: str, reference: str, chance: Random) -> Altered:
    """Sentences of many lines in one, with commas between them."""
    source, reference = (re.sub(r"[.!?…。！？\"”»]*\n", ", ", text) for text in (source, reference))
    return Altered(source, reference)


def short(source: str, reference: str, chance: Random) -> Altered:
    """Without the mark at the end, as in an interface."""
    return Altered(_END.sub("", source, count=1), _END.sub("", reference, count=1))


def foreign(source: str, reference: str, chance: Random) -> Altered:
    """The reference in place of the source: a text in another language than the model's."""
    return Altered(reference, None)


def repeated(source: str, reference: str, chance: Random) -> Altered:
    """The same sentence, or one of its words, many times."""
    if chance.random() < 0.5:
        return Altered(" ".join([source] * chance.randrange(8, 21)), None)
    return Altered(" ".join([chance.choice(source.split())] * chance.randrange(10, 61)), None)


# ── all of them ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Kind:
    """A kind of noise and the lines it is made from."""

    name: str
    make: Noise
    joins: tuple[int, int] = (1, 1)
    """The fewest and the most lines of the test set that one input has."""
    shortest: int = 0
    """How many of the shortest pairs of the test set are taken, rather than a sample."""


KINDS = [
    Kind("ALL CAPS", upper), Kind("Title Case", title), Kind("lower case", lower), Kind("odd spaces", spaces),
    Kind("NFD", decomposed), Kind("typos", typos), Kind("numbers", numbers), Kind("addresses", addresses),
    Kind("tags", tags), Kind("2 to 6 sentences", several, joins=(2, 6)), Kind("names", names), Kind("emoji", emoji),
    Kind("very short", short, shortest=50), Kind("very long", endless, joins=(10, 15)),
    Kind("wrong language", foreign), Kind("repeated", repeated),
]  # fmt: skip


class Case(NamedTuple):
    """An input for translators, and the clean pairs that it is made from."""

    kind: str
    clean: tuple[Pair, ...]
    altered: Altered


def cases(kind: Kind, pairs: Sequence[Pair], sample: Sequence[int]) -> list[Case]:
    """The inputs of a kind; `sample` are the numbers of the pairs to make them from."""
    if kind.shortest:
        sample = sorted(sorted(range(len(pairs)), key=lambda line: (len(pairs[line][0]), line))[: kind.shortest])
    found, left = [], list(sample)
    while left:
        chance = Random(f"{kind.name} {left[0]}")
        size = chance.randint(*kind.joins)
        clean, left = tuple(pairs[line] for line in left[:size]), left[size:]
        source, reference = ("\n".join(pair[side].strip() for pair in clean) for side in (0, 1))
        altered = kind.make(source, reference, chance) if len(clean) >= kind.joins[0] else None
        if altered is not None and altered.source != source:
            found.append(Case(kind.name, (altered.clean,) if altered.clean else clean, altered))
    return found
