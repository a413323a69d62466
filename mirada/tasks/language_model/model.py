"""Language modelling: what comes next in a text, and so, how it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mirada.contracts import EOS, Batch, Generator, State, Step, StepwiseEncoder, Validation
from mirada.data.checks import has_invalid_bytes
from mirada.data.text import shown_text
from mirada.decoding import DecodeConfig, Hypothesis, decode, decoding
from mirada.errors import DataError, InputError, UsageError
from mirada.inspection.embeddings import Embeddings
from mirada.metrics.perplexity import MEASURES, TextScores, divisor, evaluate_text
from mirada.tasks.language_model.data import (
    Lines,
    Pen,
    Spelling,
    read_lines,
)
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor
from mirada.tasks.likelihood import token_bits
from mirada.tasks.sequences import embeddings_of
from mirada.tasks.task import GenerativeModel

PIECE = 64
"""Steps that gradients flow back, unless told."""


UNHEARD_OF = -1e4
"""The score of an end where there is none: never chosen, but what the length limit can still force."""


TOKENS_FOR_EACH = 50
"""Tokens of the dev set that a validation reads for each of `train.validate_sentences`."""


SHOWN = 60
"""Tokens of the example that a validation shows."""


@dataclass(frozen=True)
class Continuation:
    """How a text goes on."""

    text: str
    """What follows the prompt."""
    prompt: str
    tokens: tuple[int, ...]
    """The ids of the text."""
    ended: bool
    """Whether the model ended it (words, symbols: at the line's end) before the number of tokens did."""

    def __str__(self) -> str:
        return self.prompt + self.text


class _Sayable:
    """A generator that never says <unk>, for which there is nothing to write, nor an end where texts have none.

    A text that is cut after `tokens` tokens does not pay for an end it does not have: there, EOS has probability 1.
    """

    def __init__(self, generator: Generator, spelling: Spelling, tokens: int):
        self.generator, self.left, self.size = generator, tokens, spelling.tokenizer.size
        self.unknown, self.endless = spelling.tokenizer.unknown, not (spelling.sequences or spelling.whole)

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        return self._without(self.generator.start(batch, attention=attention))

    def step(self, tokens: Tensor, state: State) -> Step:
        self.left -= 1
        if not self.left:  # nothing more is to be said, so the last token need not be read
            logits = torch.full((len(tokens), self.size), -torch.inf, device=tokens.device)
            logits[:, EOS] = 0.0
            return Step(logits, state)
        return self._without(self.generator.step(tokens, state))

    def _without(self, step: Step) -> Step:
        logits = step.logits.clone()
        if self.unknown is not None:
            logits[:, self.unknown] = -torch.inf
        if self.endless:
            logits[:, EOS] = UNHEARD_OF
        return step._replace(logits=logits)


def _sound(prompt: str) -> str:
    if has_invalid_bytes(prompt):
        raise InputError(f"the prompt has bytes that are not UTF-8: {shown_text(prompt)}; set your terminal to UTF-8")
    return prompt


class LanguageModel(GenerativeModel):
    """A trained language model, opened from its bundle."""

    network: StepwiseEncoder
    preprocessor: LanguageModelPreprocessor

    @property
    def try_it(self) -> str:
        return f'mirada generate {self.path} "…"'

    def decode_config(self, **changes: Any) -> DecodeConfig:
        """The bundle's way of choosing, with changes (None changes nothing).

        A `beam` is a search, not a sample, and a seed has no say in it.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        if "beam" in given:
            given = {"sample": False, **given}
            if not given["sample"]:
                given.pop("seed", None)
        config = super().decode_config(**given)
        if config.n_best > 1:
            raise UsageError(f"n_best={config.n_best}: one continuation is written at a time; use other seeds for more")
        return config

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────

    def generate(self, prompt: str = "", *, tokens: int = 200, **decode_: Any) -> Continuation:
        """How the prompt goes on, for so many tokens at most. `decode_` are settings: temperature=0.5, seed=7, beam=4.

        Whatever the model does not know in the prompt is read as <unk>: see `unknown`.
        """
        return self._found(self.decode_config(**decode_), prompt, self._begin(prompt, tokens), tokens)

    def stream(self, prompt: str = "", *, tokens: int = 200, **decode_: Any) -> Iterator[str]:
        """The text of `generate` in pieces, while it is written; of a search, when it is done."""
        return self._pieces(self.decode_config(**decode_), prompt, self._begin(prompt, tokens), tokens)

    def _pieces(self, config: DecodeConfig, prompt: str, before: list[int], tokens: int) -> Iterator[str]:
        if config.width > 1:
            yield self._found(config, prompt, before, tokens).text
            return
        pen = self._pen(prompt, before)
        for chosen in decoding(*self._asked(before, tokens), config, [tokens + 1]):  # + 1: the limit counts EOS
            if piece := pen.write(int(chosen)):
                yield piece
        if piece := pen.end():
            yield piece

    def _begin(self, prompt: str, tokens: int) -> list[int]:
        if tokens < 1:
            raise UsageError(f"--tokens {tokens}: write at least 1")
        return self.preprocessor.spelling.before(_sound(prompt))

    def _asked(self, before: list[int], tokens: int) -> tuple[Generator, Batch]:
        network: Any = self.network
        target = torch.tensor([before], device=self.device)
        return _Sayable(network, self.preprocessor.spelling, tokens), Batch(target[:, :0], target)

    def _found(self, config: DecodeConfig, prompt: str, before: list[int], tokens: int) -> Continuation:
        """The best text: log p / length^α, where the length counts EOS only if the model has said it."""
        most = config if config.sample else config.model_copy(update={"n_best": config.beam * (tokens + 1)})
        texts = decode(*self._asked(before, tokens), most, [tokens + 1])[0]
        first = len(before) - 1  # they have the forced prefix, but not its first token

        def score(text: Hypothesis) -> float:
            return text.log_probability / min(len(text.tokens) - first + 1, tokens) ** config.length_penalty

        ids = max(texts, key=score).tokens[first:]
        pen = self._pen(prompt, before)
        return Continuation("".join(map(pen.write, ids)) + pen.end(), prompt, tuple(ids), len(ids) < tokens)

    def _pen(self, prompt: str, before: list[int]) -> Pen:
        """A pen that goes on behind the prompt; words need no space when there is one already."""
        spaced = self.preprocessor.spelling.sequences and prompt[-1:].isspace()
        return Pen(self.preprocessor.spelling, [] if spaced else before)

    def beyond(self, prompt: str, tokens: int) -> str:
        """What there is to say of a text that is longer than the context the model sees; nothing if it is not."""
        if self.network.context is None:
            return ""
        size, context = len(self.preprocessor.spelling.before(prompt)), int(self.config["model"]["max_length"])
        if size > context:
            return f"the prompt has {size:,} tokens; the model sees the last {context:,}"
        if size + tokens > context + 1:
            return f"the model sees {context:,} tokens at most; beyond them it goes on from the last ones"
        return ""

    def text_of(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.preprocessor.spelling.text_of(ids)

    def unknown(self, prompt: str) -> list[str]:
        """What the model does not know in a prompt."""
        return self.preprocessor.spelling.unknown(_sound(prompt))

    # ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────

    def surprise(self, text: str) -> list[tuple[str, float]]:
        """Each unit of a text with its surprise, −log₂ p, in bits."""
        ids = self.preprocessor.spelling.read(text)
        names = [
            "\n" if id == EOS else piece for id, piece in zip(ids, self.preprocessor.tokenizer.pieces(ids), strict=True)
        ]
        return list(zip(names, self._bits(ids).tolist(), strict=True))

    def _bits(self, ids: Sequence[int]) -> Tensor:
        """−log₂ p of each id of a text, [n]."""
        opening = self.preprocessor.spelling.opening
        whole = torch.tensor([*opening, *ids], dtype=torch.long, device=self.device)
        return token_bits(self.network, whole, int(self.config["data"]["length"]))[len(opening) - 1 :]

    def evaluate(self, text: str | Path, **other: Any) -> TextScores:
        """Read a text file and say how well the model foresaw it."""
        lenient = self.config["data"]["invalid_bytes"] == "drop"
        return self.score(list(read_lines([str(text)], lenient)))

    def score(self, dev: str | Lines) -> TextScores:
        """How well the model foresees a text."""
        text = dev if isinstance(dev, str) else "".join(dev)
        ids = self.preprocessor.spelling.read(text)
        if not ids:
            raise DataError("there is nothing to measure with: the text is empty")
        tokenizer, length = self.preprocessor.tokenizer, self.config["data"]["length"]
        how = "one row, in order, state carried" if self.network.context is None else f"windows of {length}"
        return evaluate_text(
            self._bits(ids).numpy(),
            np.array(ids),
            self.preprocessor.counts,
            len(text),
            tokenizer.unit,
            tokenizer.unknown,
            how,
        )

    def sample(self, dev: Lines, size: int) -> Lines:
        """The first lines: a text is read in its order."""
        return dev[:size]

    def validate(self, dev: Lines, size: int) -> Validation:
        """Bits per character at the beginning of the dev set, and how the model would go on there."""
        spelling, unit = self.preprocessor.spelling, self.preprocessor.tokenizer.unit
        ids = spelling.read("".join(dev))[: size * TOKENS_FOR_EACH]
        bits = float(self._bits(ids).sum())
        value = bits / divisor(unit, len(ids), len(spelling.text_of(ids)))
        half = min(SHOWN, len(ids) // 2)
        prompt, truth = spelling.text_of(ids[:half]), spelling.text_of(ids[half : half + SHOWN])
        output = self.generate(prompt, tokens=SHOWN)
        prompt, said, truth = (" ".join(text.split()) for text in (prompt, output.text, truth))
        figures = {"loss": bits * float(np.log(2)) / len(ids)}
        return Validation(-value, MEASURES[unit], True, figures, (prompt, said, truth))

    def embeddings(self, side: str = "source") -> Embeddings:
        """The vectors of the units: `neighbours` of a word, and a map of words."""
        return embeddings_of(self.network, self.preprocessor.tokenizer, self.path)
