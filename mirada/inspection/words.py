"""Tokens with the characters they stand for, and the words that they make up.

tokens    El  gat o  .        spans of the text, None for what no character stands for (<s>, </s>)
words     El  gato   .        groups of tokens: their weights are summed over keys and averaged over queries
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mirada.contracts import BOS, EOS
from mirada.data.tokenizer import Tokenizer

Weights = npt.NDArray[np.float32]
Span = tuple[int, int]
"""The characters [start, end) of a text."""

INSIDE = "'’‘-‐‑·_@#.,:"
"""Marks that are part of a word where letters or digits stand on both sides: don't, 5.20, e-mail."""
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "BOPOMOFO")
"""Scripts that put no spaces between words, by the beginnings of their letters' names: each token is a word."""


@dataclass(frozen=True)
class Tokens:
    """The tokens on one side of a model, in their order."""

    pieces: tuple[str, ...]
    """Each token as text."""
    ids: tuple[int, ...] = ()
    spans: tuple[Span | None, ...] = ()
    """The characters of `text` that each stands for; None for what is not in the text."""
    text: str = ""

    def __post_init__(self) -> None:
        if not self.spans:
            object.__setattr__(self, "spans", (None,) * len(self.pieces))

    def __len__(self) -> int:
        return len(self.pieces)

    def framed(self, before: Sequence[tuple[str, int]] = (), after: Sequence[tuple[str, int]] = ()) -> Tokens:
        """The same with special tokens, (piece, id), before and after it."""
        pieces = (*(piece for piece, _ in before), *self.pieces, *(piece for piece, _ in after))
        ids = (*(id for _, id in before), *self.ids, *(id for _, id in after))
        ids = ids if len(ids) == len(pieces) else ()
        return replace(self, pieces=pieces, ids=ids, spans=(*[None] * len(before), *self.spans, *[None] * len(after)))

    def shifted(self) -> Tokens:
        """What a decoder is fed while it chooses these: <s>, and all of them but the last."""
        return replace(
            self, pieces=("<s>", *self.pieces[:-1]), ids=(BOS, *self.ids[:-1]), spans=(None, *self.spans[:-1])
        )

    def words(self) -> list[list[int]]:
        """The tokens of each word, by their places."""
        groups: list[list[int]] = [[0]] if self.pieces else []
        for place, (before, here) in enumerate(pairwise(self.spans), 1):
            if before is None or here is None or begins_word(self.text, before, here):
                groups.append([place])
            else:
                groups[-1].append(place)
        return groups

    def merged(self) -> Tokens:
        """The words as tokens."""
        pieces, spans = list[str](), list[Span | None]()
        for group in self.words():
            first, last = self.spans[group[0]], self.spans[group[-1]]
            if first is None or last is None:
                pieces.append(self.pieces[group[0]])
                spans.append(None)
            else:
                span = first[0], max(last[1], first[1])
                pieces.append(self.text[slice(*span)].strip() or "".join(self.pieces[place] for place in group))
                spans.append(span)
        return Tokens(tuple(pieces), (), tuple(spans), self.text)


def begins_word(text: str, before: Span, here: Span) -> bool:
    """Whether a token begins another word than the one before it belongs to."""
    if here[0] < before[1] or before[0] == before[1] == here[0]:  # parts of one character, or of one word
        return False
    if before[1] == here[0] and text[slice(*before)].isspace():  # a space is a part of the word after it
        return False
    part = text[here[0] : max(here[1], here[0] + 1)]  # half a character counts as that
    start = here[0] + len(part) - len(part.lstrip())
    if start >= here[0] + len(part) or any(map(str.isspace, text[max(0, before[1] - 1) : start])):
        return True
    left, right = text[start - 1], text[start]
    if _joins(right) or left == "\u200d" or (_is_flag(left) and _is_flag(right)):
        return False
    if _in_word(left) and _in_word(right):
        return _unspaced(left) or _unspaced(right)
    if left in INSIDE and _in_word(right):
        return not (start >= 2 and _in_word(text[start - 2]))
    if right in INSIDE and _in_word(left):
        return not (start + 1 < len(text) and _in_word(text[start + 1]))
    return left != right


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _joins(character: str) -> bool:
    """Whether a character is drawn with the one before it: accents, joiners, skin tones."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= character <= "\U0001f3ff"


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(UNSPACED)


def merge(weights: Weights, queries: Sequence[Sequence[int]] | None, keys: Sequence[Sequence[int]] | None) -> Weights:
    """Attention weights [.., Q, K] between words: the sum over the tokens of a key, the mean over those of a query."""
    if keys is not None:
        weights = np.stack([weights[..., list(group)].sum(-1) for group in keys], -1)
    if queries is not None:
        weights = np.stack([weights[..., list(group), :].mean(-2) for group in queries], -2)
    return weights


# ── from tokenizers ───────────────────────────────────────────────────────────────────────────────────────────────


Decode = Callable[[Sequence[int]], str]


def read_tokens(tokenizer: Tokenizer, text: str, ids: Sequence[int], decode: Decode | None = None) -> Tokens:
    """The tokens of a text, or its first ones, that were encoded as these ids; an unknown one is the text itself."""
    every = tokenizer.tokens(text)
    found = every[: len(ids)]
    if [token.id for token in found] != list(ids):
        return decoded_tokens(tokenizer, ids, decode)
    pieces = [
        token.text if token.id == tokenizer.unknown else piece
        for token, piece in zip(found, tokenizer.spelt([token.id for token in every]), strict=False)
    ]
    return Tokens(tuple(pieces), tuple(ids), tuple((token.start, token.end) for token in found), text)


def decoded_tokens(tokenizer: Tokenizer, ids: Sequence[int], decode: Decode | None = None) -> Tokens:
    """Ids that a model has chosen as tokens of the text that they make."""
    texts = (
        tokenizer.decode([ids[:end] for end in range(len(ids) + 1)])
        if decode is None
        else [decode(ids[:end]) for end in range(len(ids) + 1)]
    )
    text, ends, reached = texts[-1], list[int](), 0
    for part in texts:
        reached = max(reached, _common(part, text))
        ends.append(reached)
    return Tokens(tuple(tokenizer.spelt(ids)), tuple(ids), tuple(pairwise(ends)), text)


def _common(part: str, text: str) -> int:
    """The length of the beginning that a text has in common with another; half a character is none."""
    if text.startswith(part):
        return len(part)
    return next(place for place, letter in enumerate(part) if text[place : place + 1] != letter)


def ended(tokens: Tokens) -> Tokens:
    """The tokens and </s>."""
    return tokens.framed(after=[("</s>", EOS)])
