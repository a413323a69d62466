"""A sentence and its translation as the tokens of a forward pass: with markers for what is copied, shown as that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirada.data.masking import MARKER, MARKERS, Masked
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import Hypothesis
from mirada.errors import InputError
from mirada.inspection.words import Span, Tokens, decoded_tokens, ended, read_tokens
from mirada.tasks.translation.data import TranslationPreprocessor
from mirada.tasks.translation.pieces import Piece


@dataclass(frozen=True)
class Chosen:
    """A translation of a sentence."""

    tokens: Tokens
    text: str
    score: float | None = None
    """None if it was given."""


def source_tokens(tokenizer: Tokenizer, piece: Piece) -> Tokens:
    """The tokens of a sentence, the tag before it and </s>."""
    tags = piece.ids[: len(piece.tag)]
    tokens = restored(read_tokens(tokenizer, piece.masked.text, piece.ids[len(tags) :]), piece.masked)
    return ended(tokens.framed(before=list(zip(tokenizer.pieces(tags), tags, strict=True))))


def found(piece: Piece, hypothesis: Hypothesis, tokenizer: Tokenizer) -> Chosen:
    """A translation that was found."""
    tokens = decoded_tokens(tokenizer, hypothesis.tokens)
    return Chosen(restored(tokens, piece.masked), piece.finish(tokens.text), hypothesis.score)


def given(piece: Piece, text: str, preprocessor: TranslationPreprocessor, max_length: int) -> Chosen:
    """A translation that was given."""
    masked = text
    for marker, span in zip(MARKERS, piece.masked.spans if preprocessor.masks else (), strict=False):
        masked = masked.replace(span, marker, 1)
    ids = preprocessor.target.encode([masked])[0]
    if len(ids) >= max_length:
        raise InputError(f"the target has {len(ids):,} tokens; the model takes {max_length - 1:,}; shorten it")
    return Chosen(restored(read_tokens(preprocessor.target, masked, ids), piece.masked), text)


def restored(tokens: Tokens, masked: Masked) -> Tokens:
    """The tokens of a text with markers as those of the text that has what the markers stand for."""
    if not MARKER.search(tokens.text):
        return tokens
    text, places = "", [0]  # where each character of the text with markers begins in the other
    for letter in tokens.text:
        text += masked.restore(letter)
        places.append(len(text))

    def moved(span: Span | None) -> Span | None:
        return None if span is None else (places[span[0]], places[span[1]])

    pieces = tuple(masked.restore(piece) for piece in tokens.pieces)
    return replace(tokens, pieces=pieces, spans=tuple(map(moved, tokens.spans)), text=text)
