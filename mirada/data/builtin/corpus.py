"""The built-in corpus: examples drawn from the grammar, and which part each belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from random import Random

from mirada.data.builtin.compose import Composer
from mirada.data.builtin.en import English
from mirada.data.builtin.es import Spanish
from mirada.data.builtin.meaning import Meaning, Thing
from mirada.data.builtin.notes import MEANINGS
from mirada.data.builtin.speech import align, every, preferred, sampled, text_of
from mirada.data.builtin.split import part
from mirada.errors import UsageError

LANGUAGES = ("es", "en")

_REALISERS: dict[str, Spanish | English] = {"es": Spanish(), "en": English()}

# How many sentences may be asked for: far fewer than the grammar has, so that drawing new ones stays quick.
CAPACITY = {"training": 1_000_000, "test": 20_000}

_MOST_TARGETS = 64
_MOST_OPEN = 3  # referents whose gender is varied; each doubles the translations


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, its right translations (the preferred one first) and the word alignment with the preferred one."""

    source: str
    targets: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]


def training(source: str, target: str, pairs: int, seed: int = 0) -> Iterator[Example]:
    """Distinct sentence pairs to train on. Each has its preferred translation only; `test` lists all right ones."""
    _check(source, target, pairs, "training")
    return _training(source, target, pairs, seed)


def test(source: str, target: str, pairs: int = 500, seed: int = 0) -> list[Example]:  # noqa: PT028
    """Distinct sentence pairs to test on; half of them bring words together that training never does."""
    _check(source, target, pairs, "test")
    composer = Composer(Random(seed))
    rng = Random(f"wording {seed}")
    wanted = {"held": pairs // 2, "test": pairs - pairs // 2, "train": 0}
    seen: set[str] = set()
    found: list[Example] = []
    while len(found) < pairs:
        meaning = composer.meaning()
        kind = part(meaning.clause)
        if not wanted[kind]:
            continue
        example = _example(meaning, source, target, rng, complete=True)
        if example.source in seen or _in_notes(example):
            continue
        seen.add(example.source)
        wanted[kind] -= 1
        found.append(example)
    return found


test.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it


def notes(source: str, target: str) -> list[Example]:
    """The lecture notes' sentences; they are in neither part."""
    _check(source, target, 0, "test")
    return [_example(Meaning(clause(), []), source, target, None) for clause in MEANINGS]


def _training(source: str, target: str, pairs: int, seed: int) -> Iterator[Example]:
    composer = Composer(Random(seed))
    rng = Random(f"wording {seed}")
    seen: set[str] = set()
    while len(seen) < pairs:
        meaning = composer.meaning()
        if part(meaning.clause) != "train":
            continue
        example = _example(meaning, source, target, rng, complete=False)
        if example.source not in seen and not _in_notes(example):
            seen.add(example.source)
            yield example


def _check(source: str, target: str, pairs: int, use: str) -> None:
    for language in (source, target):
        if language not in LANGUAGES:
            raise UsageError(f"the built-in corpus has no language {language!r}; it has {', '.join(LANGUAGES)}")
    if source == target:
        raise UsageError(f"source and target are both {source!r}: choose two languages")
    if pairs < 0:
        raise UsageError(f"cannot give {pairs} sentence pairs")
    if pairs > CAPACITY[use]:
        raise UsageError(f"the built-in corpus can give {CAPACITY[use]} {use} pairs, not {pairs}")


def _in_notes(example: Example) -> bool:
    return example.source in _NOTES_TEXTS or not _NOTES_TEXTS.isdisjoint(example.targets)


def _example(meaning: Meaning, source: str, target: str, rng: Random | None, complete: bool = True) -> Example:
    """Say a meaning in both languages: the source in a wording that `rng` chooses, or else the preferred one."""
    if source == "en":  # English does not say these genders: the masculine is the preferred reading
        for things in meaning.open:
            for thing in things:
                thing.female = False
    speaker, listener = _REALISERS[source], _REALISERS[target]
    items = speaker.sentence(meaning.clause)
    said = speaker.finish(sampled(items, rng) if rng else preferred(items))
    heard = listener.finish(preferred(listener.sentence(meaning.clause)))
    targets = [text_of(heard)]
    if complete:
        for _ in _readings(meaning.open if source == "en" else []):
            wordings = every(listener.sentence(meaning.clause), _MOST_TARGETS)
            targets += [text_of(listener.finish(wording)) for wording in wordings]
    return Example(text_of(said), tuple(dict.fromkeys(targets)), align(said, heard))


def _readings(groups: list[list[Thing]]) -> Iterator[None]:
    """Set the genders that English leaves open in every way, one after the other."""
    groups = groups[:_MOST_OPEN]
    for genders in product((False, True), repeat=len(groups)):
        for female, things in zip(genders, groups, strict=True):
            for thing in things:
                thing.female = female
        yield


_NOTES_TEXTS = frozenset(
    text for one, other in permutations(LANGUAGES, 2) for example in notes(one, other) for text in example.targets
)
