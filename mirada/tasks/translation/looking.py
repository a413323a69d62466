"""A sentence and its translations as forward passes: with markers for what is copied, which is shown as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from mirada.contracts import GenerativeNetwork
from mirada.data.batching import collate_pairs
from mirada.data.masking import MARKER, MARKERS, Masked
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import Hypothesis
from mirada.errors import InputError, UsageError
from mirada.inspection.trace import Pass
from mirada.inspection.words import Span, Tokens, decoded_tokens, ended, read_tokens
from mirada.tasks.inputs import check_filled
from mirada.tasks.model import DecodeOptions
from mirada.tasks.translation.pieces import Piece
from mirada.tasks.translation.preprocessor import TranslationPreprocessor

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel


@dataclass(frozen=True)
class Chosen:
    """A translation of a sentence."""

    tokens: Tokens
    text: str
    score: float | None = None
    """None if it was given."""


class Looking:
    """What `trace` and `attend` record of a translator."""

    def passes(self, text: str, /, target: str | None = None, **options: Any) -> list[Pass]:
        """The passes for one sentence: on each of its n best translations, or on the translation that is given."""
        model = cast("TranslationModel", self)
        piece, chosen = self.chosen(text, target, **options)
        return [self.replay(model.network, piece, each) for each in chosen]

    def chosen(
        self, text: str, target: str | None, *, to: str | None = None, **decode: Unpack[DecodeOptions]
    ) -> tuple[Piece, list[Chosen]]:
        """A sentence as the model reads it, and its translations as tokens."""
        model = cast("TranslationModel", self)
        to, _ = model._direction(to, [check_filled(text)])
        config = model.decode_config(**decode)
        split = target is None and model.translator.splits(config)
        piece = model.translator.sentence(text, split, model._direction_to(to))
        if target is not None:
            for name, value in decode.items():
                if value is not None:
                    raise UsageError(f"{name}={value}: a given translation is not searched for; leave {name} out")
            return piece, [given(piece, check_filled(target), model.preprocessor, model.translator.max_length)]
        return piece, [found(piece, each, model.target_tokenizer) for each in model.translator.chosen(piece, config)]

    def replay(self, network: GenerativeNetwork, piece: Piece, chosen: Chosen) -> Pass:
        """The pass of a network on a translation."""
        model = cast("TranslationModel", self)
        batch = collate_pairs([piece.ids], [chosen.tokens.ids]).to(model.device)
        source, target = source_tokens(model.source_tokenizer, piece), ended(chosen.tokens)
        rows = {"source": source, "target": target, "input": target.shifted()}
        outputs, said = ("target", "vocabulary"), (chosen.text, chosen.score)
        return Pass(network, lambda: network(batch), piece.plain, rows, outputs, model.facts, *said)


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
