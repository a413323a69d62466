"""Units of text, with Hugging Face `tokenizers`: subwords, words, characters, or symbols between white space.

    subwords     byte-level BPE learned from the corpus     any text survives a round trip
    words        runs of letters and digits, and marks      what is rare is <unk>; lower-cased unless told otherwise
    characters   Unicode code points, white space too       a text of known characters survives a round trip
    symbols      whatever stands between white space        a melody's notes, a game's moves
    pieces       WordPiece or Unigram as published          not learned here: they come with an imported model

Subwords end in bytes and nothing is normalised; digits stand alone, so that a number is copied digit by digit. Offsets
are kept, so that tokens map back to words. All are kept in the library's JSON, from which the unit can be told.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import tokenizers
from pydantic import Field, model_validator
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from mirada.config import Section
from mirada.contracts import EOS
from mirada.data.corpus import batched
from mirada.data.tokenizer_file import WORDS, read_tokenizer
from mirada.errors import BundleError
from mirada.parsing import shown

SPECIALS = ["<pad>", "<s>", "</s>"]
"""In the order of their ids: `contracts.PAD`, `BOS`, `EOS`."""

UNK = 3
"""The id of what is not in the vocabulary; subwords need none."""

UNKNOWN = "<unk>"
MASK = "<mask>"

PROBE = "\tPor 1,5 €: «ñandú»… 你好 \U0001f600\n"
"""A text that every tokenizer has to take."""

SMALLEST, LARGEST = 300, 32_000
MOST_WORDS, MOST = 30_000, 65_536
"""Words that are learned unless told otherwise; units in any vocabulary."""

Unit = Literal["subwords", "words", "characters", "symbols"]
Kind = Literal["subwords", "words", "characters", "symbols", "pieces"]
"""What can be learned, and what can be read."""


class TokenizerConfig(Section):
    """How text is cut into units."""

    unit: Unit = "subwords"
    """What a token is: subwords, words, characters, or symbols (what stands between white space)."""
    vocabulary: int | None = Field(None, ge=1, le=MOST)
    """How many units to learn. Unless given: subwords by the size of the corpus, words 30,000 at most, characters and
    symbols all that occur."""
    lowercase: bool | None = None
    """Make all letters small; unless given, words are lower-cased and nothing else is."""
    joint: bool = True
    """One vocabulary for both languages (needed for tied embeddings), or one each."""

    @model_validator(mode="after")
    def _enough_subwords(self) -> TokenizerConfig:
        if self.unit == "subwords" and self.vocabulary is not None and self.vocabulary < SMALLEST:
            raise ValueError(
                f"vocabulary={self.vocabulary} is too small for unit=subwords, which begin with the 256 bytes: "
                f"--set tokenizer.vocabulary={SMALLEST}, or another unit"
            )
        return self

    def most(self, words: int) -> int:
        """How many units to learn from a corpus of so many running words."""
        if self.vocabulary is not None:
            return self.vocabulary
        return suggest_vocabulary(words) if self.unit == "subwords" else MOST_WORDS if self.unit == "words" else MOST

    @property
    def lowercased(self) -> bool:
        return self.unit == "words" if self.lowercase is None else self.lowercase


class Token(NamedTuple):
    """A unit of text, and the characters [start, end) of the text that it stands for."""

    id: int
    text: str
    start: int
    end: int


def suggest_vocabulary(words: int) -> int:
    """A vocabulary that suits a corpus of so many running words (both languages): it grows with its square root."""
    return max(SMALLEST, min(LARGEST, round(5 * math.sqrt(words) / 100) * 100))


class Tokenizer:
    """Text to ids and back. Markers such as </s> inside a user's text are text like any other."""

    def __init__(self, backend: tokenizers.Tokenizer):
        self._backend = backend
        self._backend.encode_special_tokens = True
        self.unit: Kind = _unit_of(backend)

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        vocabulary: int,
        unit: Unit = "subwords",
        lowercase: bool = False,
        mask: bool = False,
    ) -> Tokenizer:
        """Learn from texts: `vocabulary` subwords with the special ones, or that many other units beside those.

        With `mask`, one of the special ones stands for a hidden word.
        """
        more = [MASK] if mask else []
        if unit == "subwords":
            return cls(_learn_subwords(texts, vocabulary, lowercase, more))
        return cls(_learn_units(texts, vocabulary, unit, lowercase, more))

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        text = read_tokenizer(path)
        try:
            backend = tokenizers.Tokenizer.from_str(text)
            backend.encode(PROBE, add_special_tokens=False)
            backend.decode([0, 1, 2], skip_special_tokens=False)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises bare Exception, and when it panics a bare BaseException
            raise BundleError(f"{path}: is not a tokenizer ({shown(str(error))})") from None
        if [backend.token_to_id(special) for special in SPECIALS] != [0, 1, 2]:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's (its first ids are not {', '.join(SPECIALS)})")
        try:
            tokenizer = cls(backend)
        except ValueError as error:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's ({error})") from None
        if tokenizer.unknown is not None and backend.token_to_id(UNKNOWN) != UNK:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's (the id of {UNKNOWN} is not {UNK})")
        return tokenizer

    def to_json(self) -> str:
        return str(self._backend.to_str(pretty=True))

    @property
    def size(self) -> int:
        return int(self._backend.get_vocab_size())

    @property
    def mask(self) -> int | None:
        """The id that stands for a hidden word, if there is one."""
        found: int | None = self._backend.token_to_id(MASK)
        return found

    @property
    def unknown(self) -> int | None:
        """The id of whatever is not in the vocabulary; subwords can spell everything and have none."""
        return None if self.unit == "subwords" else UNK

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without BOS or EOS; several cores work on it."""
        if self.unit == "subwords":
            return [encoding.ids for encoding in self._backend.encode_batch_fast(list(texts), add_special_tokens=False)]
        if self.unit == "pieces":
            encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
            return [_without_markers(encoding.ids) for encoding in encodings]
        found: list[list[int]] = [[] for _ in texts]
        parts = ((row, part) for row, text in enumerate(texts) for part in _PARTS[self.unit].findall(text))
        for batch in batched(parts, 256):
            encodings = self._backend.encode_batch_fast([part for _, part in batch], add_special_tokens=False)
            for (row, _), encoding in zip(batch, encodings, strict=True):
                found[row] += _without_markers(encoding.ids)
        return found

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, without the special ones; what was unknown is shown as �."""
        if self.unit == "subwords":
            return list(self._backend.decode_batch([list(ids) for ids in sentences], skip_special_tokens=True))
        if self.unit == "pieces":
            rows = [[id for id in ids if id > EOS] for ids in sentences]
            return [text.replace(UNKNOWN, "�") for text in self._backend.decode_batch(rows, skip_special_tokens=False)]
        joint = "" if self.unit == "characters" else " "
        return [joint.join(self.pieces([id for id in ids if id > EOS])) for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each unit as text; half a character and what was unknown are shown as �."""
        if self.unit != "subwords":
            names = ["�" if id == UNK else self._backend.id_to_token(id) or "" for id in ids]
            return [name.replace("▁", " ") for name in names] if self.unit == "pieces" else names
        decoder = decoders.ByteLevel()
        return [decoder.decode([self._backend.id_to_token(id) or ""]) for id in ids]

    def tokens(self, text: str) -> list[Token]:
        """The units of a text with the characters they stand for."""
        encoding = self._backend.encode(text, add_special_tokens=False)
        ids = encoding.ids if self.unit == "subwords" else _without_markers(encoding.ids)
        rows = zip(ids, encoding.offsets, strict=True)
        return [Token(id, text[start:end], start, end) for id, (start, end) in rows]


# ── learning ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _learn_subwords(texts: Iterable[str], vocabulary: int, lowercase: bool, more: list[str]) -> tokenizers.Tokenizer:
    """The byte pairs that occur most often in the texts, merged until there are `vocabulary` units."""
    backend = tokenizers.Tokenizer(models.BPE())
    prepend = normalizers.Prepend(" ")  # the first word of a text is like any other: " word"
    backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), prepend]) if lowercase else prepend
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
    backend.train_from_iterator(texts, trainer)
    return backend


def _learn_units(
    texts: Iterable[str], vocabulary: int, unit: Unit, lowercase: bool, more: list[str]
) -> tokenizers.Tokenizer:
    """The units that occur most often, the most frequent first; of equally frequent ones the first by code point."""
    backend = tokenizers.Tokenizer(models.WordLevel({UNKNOWN: 0}, UNKNOWN))
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
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
    # The trainer would mix up a special token with a symbol in the texts that is spelt like it; so it is told of none.
    trainer = trainers.WordLevelTrainer(vocab_size=most, min_frequency=0, special_tokens=[], show_progress=False)
    backend.train_from_iterator((part for text in texts for part in _BETWEEN.findall(text)), trainer)
    learned = backend.get_vocab(with_added_tokens=False)
    return sorted(learned, key=learned.__getitem__)


def _characters(texts: Iterable[str], backend: tokenizers.Tokenizer) -> list[str]:
    """The characters of the texts, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(backend.normalizer.normalize_str(text) if backend.normalizer else text)
    return sorted(counts, key=lambda character: (-counts[character], character))


def _unit_of(backend: tokenizers.Tokenizer) -> Kind:
    """What a tokenizer cuts text into: it is told from its parts, so that one file says it all."""
    cutter = backend.pre_tokenizer
    if isinstance(backend.model, models.BPE):
        return "characters" if cutter is None and not json.loads(backend.to_str())["model"]["merges"] else "subwords"
    if isinstance(backend.model, models.WordLevel) and isinstance(cutter, pre_tokenizers.Split):
        return "words"
    if isinstance(backend.model, models.WordLevel) and isinstance(cutter, pre_tokenizers.WhitespaceSplit):
        return "symbols"
    if isinstance(backend.model, models.WordPiece | models.Unigram):
        return "pieces"
    raise ValueError("it cuts text neither into subwords nor into words, characters or symbols")


# ── encoding ──────────────────────────────────────────────────────────────────────────────────────────────────────

# The library keeps some 200 bytes for each unit of a text it works on, so a long text is cut into parts: characters
# anywhere, the others only before plain white space, where no unit can be cut in two.
_BETWEEN = re.compile(r".{1,4096}[^ \t\r\n]*", re.DOTALL)
_PARTS: dict[Kind, re.Pattern[str]] = {
    "words": _BETWEEN,
    "characters": re.compile(r".{1,4096}", re.DOTALL),
    "symbols": _BETWEEN,
}


def _without_markers(ids: list[int]) -> list[int]:
    """A symbol of the user's that is spelt like a special token, such as </s>, is an unknown one and no special one."""
    return [max(id, UNK) for id in ids] if min(ids, default=UNK) < UNK else ids


def word_of_each(tokens: Sequence[Token], text: str) -> list[int]:
    """For each token the index of the whitespace-separated word it belongs to."""
    owner: list[int] = []  # the word that each character belongs to; a space belongs to the word after it
    word = -1
    for position, character in enumerate(text):
        begins = not character.isspace() and (position == 0 or text[position - 1].isspace())
        word += begins
        owner.append(word + 1 if character.isspace() else word)
    return [min(owner[token.end - 1], max(word, 0)) if token.end else 0 for token in tokens]
