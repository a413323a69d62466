"""Subwords: byte-level BPE learned from the corpus, with Hugging Face `tokenizers`.

Every string survives a round trip, because the smallest units are bytes and nothing is normalised. Digits stand alone,
so that a number is copied digit by digit. Offsets are kept, so that subwords map back to words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import tokenizers
from pydantic import Field
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from mirada.config import Section
from mirada.errors import BundleError

SPECIALS = ["<pad>", "<s>", "</s>"]
"""In the order of their ids: `contracts.PAD`, `BOS`, `EOS`."""

SMALLEST, LARGEST = 300, 32_000


class TokenizerConfig(Section):
    """How text is cut into subwords."""

    vocabulary: int | None = Field(None, ge=SMALLEST, le=65_536)
    """How many subwords to learn; chosen from the size of the corpus unless given."""
    joint: bool = True
    """One vocabulary for both languages (needed for tied embeddings), or one each."""


class Token(NamedTuple):
    """A subword, and the characters [start, end) of the text that it stands for."""

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

    @classmethod
    def learn(cls, texts: Iterable[str], vocabulary: int) -> Tokenizer:
        """The byte pairs that occur most often in the texts, merged until there are `vocabulary` units."""
        backend = tokenizers.Tokenizer(models.BPE())
        backend.normalizer = normalizers.Prepend(" ")  # the first word of a text is like any other: " word"
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=SPECIALS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        backend.train_from_iterator(texts, trainer)
        return cls(backend)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise BundleError(f"{path}: is not a tokenizer ({error})") from None
        if [backend.token_to_id(special) for special in SPECIALS] != [0, 1, 2]:
            raise BundleError(f"{path}: is not a tokenizer of Mirada's (its first ids are not {', '.join(SPECIALS)})")
        return cls(backend)

    def to_json(self) -> str:
        return str(self._backend.to_str(pretty=True))

    @property
    def size(self) -> int:
        return int(self._backend.get_vocab_size())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without BOS or EOS; several cores work on it."""
        return [encoding.ids for encoding in self._backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, without the special ones."""
        return list(self._backend.decode_batch([list(ids) for ids in sentences], skip_special_tokens=True))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each subword as text; half a character is shown as �."""
        decoder = decoders.ByteLevel()
        return [decoder.decode([self._backend.id_to_token(id) or ""]) for id in ids]

    def tokens(self, text: str) -> list[Token]:
        """The subwords of a text with the characters they stand for."""
        encoding = self._backend.encode(text, add_special_tokens=False)
        rows = zip(encoding.ids, encoding.offsets, strict=True)
        return [Token(id, text[start:end], start, end) for id, (start, end) in rows]


def word_of_each(tokens: Sequence[Token], text: str) -> list[int]:
    """For each token the index of the whitespace-separated word it belongs to."""
    owner: list[int] = []  # the word that each character belongs to; a space belongs to the word after it
    word = -1
    for position, character in enumerate(text):
        begins = not character.isspace() and (position == 0 or text[position - 1].isspace())
        word += begins
        owner.append(word + 1 if character.isspace() else word)
    return [min(owner[token.end - 1], max(word, 0)) if token.end else 0 for token in tokens]
