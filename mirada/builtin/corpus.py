"""The built-in corpus: examples drawn from the grammar, and which part each belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from random import Random

from mirada.builtin.compose import Composer
from mirada.builtin.en import English
from mirada.builtin.es import Spanish
from mirada.builtin.lexicon import LANGUAGES
from mirada.builtin.meaning import Meaning, Thing
from mirada.builtin.notes import meanings
from mirada.builtin.pt import Portuguese
from mirada.builtin.speech import align, every, preferred, sampled, text_of, ways
from mirada.builtin.split import part
from mirada.errors import UsageError

_REALISERS: dict[str, Spanish | English | Portuguese] = {"es": Spanish(), "en": English(), "pt": Portuguese()}

# How many pairs may be asked for: far fewer than the grammar has, so that drawing new ones stays quick.
CAPACITY = {"training": 5_000_000, "test": 100_000}

LONGEST = 60  # words
_MOST_TARGETS = 256  # for a reading of the source; a sentence that has more is not used in the test
_MOST_OPEN = 3  # referents that are read in every way; likewise


_Setting = tuple[
    list[Thing], bool, bool | None, bool
]  # mentions of a referent: female, plural (None: as it is), formal
_Reading = tuple[_Setting, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, its right translations (the preferred one first) and the word alignment with the preferred one."""

    source: str
    targets: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]


def training(source: str, target: str, pairs: int, seed: int = 0) -> Iterator[Example]:
    """Distinct sentence pairs to train on. Each has its preferred translation only; `test` lists all right ones."""
    _check(source, target, pairs, "training")
    return _draw(source, target, {"train": pairs}, seed)


def test(source: str, target: str, pairs: int = 500, seed: int = 0) -> list[Example]:  # noqa: PT028
    """Distinct sentence pairs to test on; half of them bring words together that training never does."""
    _check(source, target, pairs, "test")
    return list(_draw(source, target, {"held": pairs // 2, "test": pairs - pairs // 2}, seed))


test.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it


def notes(source: str, target: str) -> list[Example]:
    """The lecture notes' sentences; they are in neither part."""
    _check(source, target, 0, "test")
    return [_Pair(meaning, source, target).example(complete=True) for meaning in meanings()]


def _check(source: str, target: str, pairs: int, use: str) -> None:
    for language in (source, target):
        if language not in LANGUAGES:
            raise UsageError(f"the built-in corpus has no language {language!r}; it has {', '.join(LANGUAGES)}")
    if source == target:
        raise UsageError(f"source and target are both {source!r}: choose two languages")
    if pairs < 0:
        raise UsageError(f"cannot give {pairs} sentence pairs")
    if pairs > CAPACITY[use]:
        raise UsageError(
            f"the built-in corpus is sure to have {CAPACITY[use]:,} {use} pairs; {pairs:,} may be too many"
        )


def _draw(source: str, target: str, wanted: dict[str, int], seed: int) -> Iterator[Example]:
    """Distinct examples, as many of each part as are wanted."""
    composer = Composer(Random(seed))
    rng = Random(f"wording {seed}")
    seen: set[str] = set()
    while any(wanted.values()):
        meaning = composer.meaning()
        kind = part(meaning.root)
        if not wanted.get(kind):
            continue
        pair = _Pair(meaning, source, target, rng)
        if pair.source in seen or not pair.usable() or (kind != "train" and not pair.can_be_listed()):
            continue
        seen.add(pair.source)
        wanted[kind] -= 1
        yield pair.example(complete=kind != "train")


class _Pair:
    """A meaning said in two languages: the source in a wording that `rng` chooses, or else the preferred one."""

    def __init__(self, meaning: Meaning, source: str, target: str, rng: Random | None = None) -> None:
        self.meaning = meaning
        self.readings = _readings(meaning, source)
        self.leaves_open = source != "es"  # Spanish says who is meant
        _apply(self.readings[0])
        speaker = _REALISERS[source]
        self.listener = _REALISERS[target]
        items = speaker.sentence(meaning.root)
        self.said = speaker.finish(sampled(items, rng) if rng else preferred(items))
        self.heard = self.listener.finish(preferred(self.listener.sentence(meaning.root)))
        self.source, self.target = text_of(self.said), text_of(self.heard)

    def usable(self) -> bool:
        lengths = len(self.said), len(self.heard)
        return min(lengths) >= 2 and max(lengths) <= LONGEST and _NOTES.isdisjoint((self.source, self.target))

    def can_be_listed(self) -> bool:
        """Whether all right translations can be: of a few long sentences there are thousands."""
        if self.leaves_open and len(self.meaning.open) > _MOST_OPEN:
            return False
        for reading in self.readings:
            _apply(reading)
            if ways(self.listener.sentence(self.meaning.root)) > _MOST_TARGETS:
                return False
        return True

    def example(self, complete: bool) -> Example:
        """The example, with every right translation if it is to be complete."""
        targets = [self.target]
        for reading in self.readings if complete else ():
            _apply(reading)
            for wording in every(self.listener.sentence(self.meaning.root)):
                targets.append(text_of(self.listener.finish(wording)))
        return Example(self.source, tuple(dict.fromkeys(targets)), align(self.said, self.heard))


def _readings(meaning: Meaning, source: str) -> list[_Reading]:
    """Every way to take what the source language leaves open, the preferred one first."""
    if source == "es" or not meaning.open:
        return [()]
    options: list[list[_Setting]] = []
    for things in meaning.open[:_MOST_OPEN]:
        first = things[0]
        if source == "pt":  # "você" may be "tú" or "usted"
            if first.person == 2:
                formalities = (False,) if first.plural else (False, True)
                options.append([(things, first.female, first.plural, formal) for formal in formalities])
        elif first.person != 2 or any(not thing.pronoun for thing in things):
            options.append([(things, female, None, False) for female in (False, True)])
        else:
            ways = ((False, False), (False, True), (True, False))
            options.append([(things, female, many, formal) for many, formal in ways for female in (False, True)])
    return list(product(*options))


def _apply(reading: _Reading) -> None:
    for things, female, plural, formal in reading:
        for thing in things:
            thing.female, thing.formal = female, formal
            if plural is not None:
                thing.plural = plural


_NOTES = frozenset(
    text for one, other in permutations(LANGUAGES, 2) for example in notes(one, other) for text in example.targets
)
