"""Learn the units of a tokenizer from texts; cut long texts into parts that the library can hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from mirada.data.corpus import batched
from mirada.data.text import shown_text
from mirada.data.tokenizer_file import WORDS
from mirada.errors import InputError

SPECIALS = ["<pad>", "<s>", "</s>"]
"""The special tokens in the order of their ids: `contracts.PAD`, `BOS`, `EOS`."""

UNK = 3
"""The id of what is not in the vocabulary; subwords need none."""

UNKNOWN = "<unk>"
MASK = "<mask>"
SYNTHETIC = "<synthetic>"
"""The tag before a source that a model made."""
TAG = re.compile(r"<synthetic>|<to:[\w.@-]+>")
"""Special tokens that training puts before a source as ids. No text can spell one: all units end at < and >, but for
symbols, of which those spelt like a tag are unknown."""

SMALLEST, LARGEST = 300, 32_000
MAX_WORDS, MAX_UNITS = 30_000, 65_536
"""Words that are learned unless told otherwise; units in any vocabulary."""

LONGEST_TEXT = 5_000_000
"""Characters without a place to cut them: the library needs some 200 bytes for each, and aborts without them."""
AT_A_TIME = 1_000_000
"""Characters, of many texts or of a long one, that are cut into units at a time."""

MAX_KNOWN, MAX_WORD = 200_000, 64
"""Words whose subwords are remembered, and characters of such a word, at most."""
WORDS_AT_A_TIME = 1000
"""Words that are encoded as one text."""
OFTEN = 5120
"""Occurrences from which a character is certain to be a unit: that of the rarest is far below."""
SPACE = "Ġ"
"""A space, as byte-level subwords write it."""

Unit = Literal["subwords", "words", "characters", "symbols"]
Kind = Literal["subwords", "words", "characters", "symbols", "pieces"]
"""What can be learned, and what can be read."""


def tag_to(language: str) -> str:
    """The tag before a source that is to be translated into a language, for models of several directions."""
    return f"<to:{language}>"


def bytes_of(piece: str) -> bytes | None:
    """The bytes that a byte-level piece stands for; None for a text of other characters."""
    try:
        return bytes(map(_BYTES.__getitem__, piece))
    except KeyError:
        return None


def whole_characters(parts: Sequence[bytes]) -> list[str]:
    """The characters that begin in each part of a text's bytes; what makes up none is �."""
    data, found, at = b"".join(parts), [""] * len(parts), 0
    owner = [place for place, part in enumerate(parts) for _ in part]
    while at < len(data):
        character = next(filter(None, (_text(data[at : at + size]) for size in (1, 2, 3, 4))), None)
        found[owner[at]] += character or "�"
        at += len(character.encode()) if character else 1
    return found


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _byte_alphabet() -> dict[str, int]:
    """The byte of each character of byte-level pieces (Radford et al. 2019).

    Visible characters of Latin-1 stand for themselves, the other bytes are numbered from 256 on.
    """
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


_BYTES = _byte_alphabet()

# ── learning ──────────────────────────────────────────────────────────────────────────────────────────────────────


def learn_subwords(
    texts: Iterable[str], vocabulary: int, steps: list[Any], more: list[str], whole: str = ""
) -> tokenizers.Tokenizer:
    """The byte pairs that occur most often in the texts, merged until there are `vocabulary` units.

    Each character of `whole` becomes a unit, and another one with a space before it, however rare it is.
    """
    backend = tokenizers.Tokenizer(models.BPE())
    prepend = normalizers.Prepend(" ")  # the first word of a text is like any other: " word"
    backend.normalizer = normalizers.Sequence([*steps, prepend]) if steps else prepend
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIALS, *more],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Cutting every text takes ten times as long as the merging, so each word is cut once and its pieces are repeated.
    counter = tokenizers.Tokenizer(models.BPE())
    counter.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    counter.train_from_iterator(chain(_repeated_pieces(texts, backend), _often(whole)), trainer)
    backend.model = counter.model
    backend.add_special_tokens([*SPECIALS, *more])
    return backend


def _often(characters: str) -> Iterator[str]:
    """Each character with and without a space before it, so often that its bytes are merged."""
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
    for text in chain(characters, (f" {character}" for character in characters)):
        yield from (f"{piece} " * 256 for piece, _ in spell(text) for _ in range(OFTEN // 256))


def _repeated_pieces(texts: Iterable[str], backend: tokenizers.Tokenizer) -> Iterator[str]:
    """The pieces that the tokenizer cuts all texts into, each as often as it occurs, with spaces between them."""

    def cut(text: str) -> list[str]:
        return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))]

    def flush() -> Iterator[str]:
        for words in batched(counts, WORDS_AT_A_TIME):
            owners, count = iter(words), 0
            for piece in cut(" ".join(words)):
                count = counts[next(owners)] if piece.startswith(SPACE) else count
                for left in range(count, 0, -256):
                    yield f"{piece} " * min(left, 256)
        counts.clear()

    counts: Counter[str] = Counter()
    for text in texts:
        words = words_of(text)
        if words and max(map(len, words)) <= MAX_WORD:
            counts.update(words)
        else:
            yield " ".join(cut(text))
        if len(counts) > MAX_KNOWN:
            yield from flush()
    yield from flush()


def learn_units(
    texts: Iterable[str], vocabulary: int, unit: Unit, steps: list[Any], more: list[str]
) -> tokenizers.Tokenizer:
    """The units that occur most often, the most frequent first; of equally frequent ones the first by code point."""
    backend = tokenizers.Tokenizer(models.WordLevel({UNKNOWN: 0}, UNKNOWN))
    if steps:
        backend.normalizer = normalizers.Sequence(steps) if len(steps) > 1 else steps[0]
    if unit == "words":
        backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(WORDS), "removed", invert=True)
    elif unit == "symbols":
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    specials = [*SPECIALS, UNKNOWN, *more]
    found = _characters(texts, backend) if unit == "characters" else _words(texts, backend, vocabulary + len(specials))
    units = [word for word in found if word not in specials][:vocabulary]
    numbered = {word: id for id, word in enumerate([*specials, *units])}
    if unit == "characters":  # BPE begins with characters, and ends with them when nothing is merged
        backend.model = models.BPE(numbered, [], unk_token=UNKNOWN, fuse_unk=False)
        backend.decoder = decoders.Fuse()
    else:
        backend.model = models.WordLevel(numbered, UNKNOWN)
    backend.add_special_tokens(specials)
    return backend


def _words(texts: Iterable[str], backend: tokenizers.Tokenizer, most: int) -> list[str]:
    """What the tokenizer cuts the texts into, the most frequent first."""
    # The trainer would mix up a special token with a symbol in the texts that is spelt like it; so it gets none.
    trainer = trainers.WordLevelTrainer(vocab_size=most, min_frequency=0, special_tokens=[], show_progress=False)
    backend.train_from_iterator((part for text in texts for part in parts_of(text, "words", False)), trainer)
    learned = backend.get_vocab(with_added_tokens=False)
    return sorted(learned, key=learned.__getitem__)


def _characters(texts: Iterable[str], backend: tokenizers.Tokenizer) -> list[str]:
    """The characters of the texts, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(backend.normalizer.normalize_str(text) if backend.normalizer else text)
    return sorted(counts, key=lambda character: (-counts[character], character))


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────────────────────

# The library keeps some 200 bytes for each unit of a text it works on, so a long text is cut into parts: characters
# anywhere, the others only before plain white space, where no unit can be cut in two.
_WORDS = re.compile(rf".{{1,{AT_A_TIME // 2}}}[^ ]*", re.DOTALL)
_BETWEEN = re.compile(r".{1,4096}[^ \t\r\n]*", re.DOTALL)
_PARTS: dict[Kind, re.Pattern[str]] = {
    "words": _BETWEEN,
    "characters": re.compile(r".{1,4096}", re.DOTALL),
    "symbols": _BETWEEN,
}


def words_of(text: str) -> list[str]:
    """The words of a text that has no white space but single spaces between them; none of any other text."""
    words = text.split(" ")
    return words if words == text.split() else []


def too_long(text: str) -> InputError:
    """The error for a text that cannot be cut into parts."""
    return InputError(
        f"the text {shown_text(text, 30)} has {len(text):,} characters and no place to cut it; {LONGEST_TEXT:,} are "
        "read at a time: break it into lines"
    )


def not_unicode(text: str) -> InputError:
    """The error for a text with lone surrogates."""
    return InputError(
        f"the text {shown_text(text)} has bytes that are not UTF-8 (lone surrogates): decode it with the encoding that "
        "it was written in"
    )


def parts_of(text: str, unit: Kind, normalized: bool) -> list[str]:
    """A text in parts that have the units of the whole, none of them longer than the library can hold."""
    if unit in _PARTS:
        parts = _PARTS[unit].findall(text)
    elif normalized and len(text) > AT_A_TIME:  # subwords: every word begins with its space, also the first
        parts = [part.strip(" ") for part in _WORDS.findall(text)]
    else:
        parts = [text]
    for part in parts:
        if len(part) > LONGEST_TEXT:
            raise too_long(part)
    return parts


def bounded(parts: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """The parts of texts in order, as many at a time as have AT_A_TIME characters together."""
    some, size = list[tuple[int, str]](), 0
    for row, part in parts:
        if some and size + len(part) > AT_A_TIME:
            yield some
            some, size = [], 0
        some.append((row, part))
        size += len(part)
    if some:
        yield some
