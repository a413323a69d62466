"""The language model: predicts the next token, and so continues texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from mirada.contracts import EOS, Batch, SequenceBatch, State, StepwiseEncoder, Validation
from mirada.data.checks import has_invalid_bytes
from mirada.data.text import shown_text
from mirada.decoding import DecodeConfig
from mirada.engines import Engine, GenerationSettings
from mirada.engines.torch import TorchEngine
from mirada.errors import DataError, InputError, UsageError
from mirada.inspection.trace import Pass
from mirada.inspection.words import read_tokens
from mirada.metrics.perplexity import MEASURES, TextScores, divisor, evaluate_text
from mirada.predictions import Prediction, ranked
from mirada.tasks.inputs import check_count, check_filled, check_text
from mirada.tasks.language_model.data import read_lines
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, Lines, StreamDecoder
from mirada.tasks.model import DecodeOptions, GenerativeModel

PASSAGES = 8
"""Passages of the dev set that a validation reads."""
TOKENS_FOR_EACH = 50
"""Tokens of the dev set that a validation reads for each of `train.validate_sentences`."""

SHOWN = 60
"""Tokens of the example that a validation shows."""


@dataclass(frozen=True)
class Continuation(Prediction):
    """The text that follows a prompt."""

    text: str
    """What follows the prompt."""
    prompt: str
    tokens: tuple[int, ...] = field(repr=False)
    """The token ids of the text."""
    ended: bool
    """Whether the model ended the text (words and symbols: at the end of a line) before the limit did."""

    def values(self) -> dict[str, Any]:
        return {"prompt": self.prompt, "text": self.text, "tokens": len(self.tokens), "ended": self.ended}

    def __str__(self) -> str:
        return self.prompt + self.text


@dataclass(frozen=True)
class TokenBits(Prediction, Sequence[tuple[str, float]]):
    """The negative log-likelihood of each token of a text; a sequence of (token, bits)."""

    tokens: tuple[tuple[str, float], ...]

    def __getitem__(self, place: Any) -> Any:
        return self.tokens[place]

    def __len__(self) -> int:
        return len(self.tokens)

    def values(self) -> dict[str, Any]:
        return {"tokens": ranked(self.tokens, "token", "bits")}

    def __str__(self) -> str:
        return "\n".join(f"{token!r}\t{bits:.3f}" for token, bits in self.tokens)


def _check_prompt(prompt: Any) -> str:
    if has_invalid_bytes(check_text(prompt, "the prompt")):
        raise InputError(f"the prompt has bytes that are not UTF-8: {shown_text(prompt)}; set your terminal to UTF-8")
    return str(prompt)


def _collate(starts: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]]) -> Batch:
    """A batch without a source: the token that texts start with, and what is given of each."""
    target = torch.tensor([[*start, *prefix] for start, prefix in zip(starts, prefixes, strict=True)])
    return Batch(target[:, :0], target)


def passages(ids: list[int], most: int) -> list[list[int]]:
    """Evenly spaced passages of a text with at most `most` ids in all; the whole text if it is short enough."""
    if len(ids) <= most:
        return [ids]
    length = max(1, most // PASSAGES)
    starts = [number * (len(ids) - length) // (PASSAGES - 1) for number in range(PASSAGES)]
    return [ids[start : start + length] for start in starts]


class LanguageModel(GenerativeModel):
    """A trained language model, opened from its bundle."""

    example = 'mirada generate {path} "…"'
    network: StepwiseEncoder
    preprocessor: LanguageModelPreprocessor

    @cached_property
    def engine(self) -> Engine:
        network: Any = self.network
        return TorchEngine(network, self.device, _collate)

    def decode_config(self, **changes: Any) -> DecodeConfig:
        """The bundle's decoding settings with changes; a `beam` searches instead of sampling, and ignores the seed."""
        given = {key: value for key, value in changes.items() if value is not None}
        if "beam" in given:
            given = {"sample": False, **given}
            if not given["sample"]:
                given.pop("seed", None)
        config = super().decode_config(**given)
        if config.n_best > 1:
            raise UsageError(f"n_best={config.n_best}: generates one continuation at a time; use other seeds for more")
        return config

    # ── generation ────────────────────────────────────────────────────────────────────────────────────────────────

    def generate(self, prompt: str = "", *, tokens: int = 200, **decode: Unpack[DecodeOptions]) -> Continuation:
        """Continue a prompt by at most `tokens` tokens. `decode`: see `DecodeOptions`.

        Units of the prompt that the vocabulary does not have are read as <unk>: see `Continuation.notes`.
        """
        before, settings = self._begin(prompt, tokens, decode)
        (best, *_) = self.engine.generate([before[:1]], [before[1:]], settings)[0]
        ids = best.tokens[len(before) - 1 :]
        decoder = self._decoder(prompt, before)
        text = "".join(map(decoder.write, ids)) + decoder.end()
        return Continuation(text, prompt, tuple(ids), len(ids) < tokens, notes=self.remarks(prompt, tokens))

    def stream(self, prompt: str = "", *, tokens: int = 200, **decode: Unpack[DecodeOptions]) -> Iterator[str]:
        """The text of `generate` in pieces, as they are generated; with a beam, all at the end."""
        before, settings = self._begin(prompt, tokens, decode)  # at once, so that wrong options are refused here
        decoder = self._decoder(prompt, before)

        def pieces() -> Iterator[str]:
            yield from map(decoder.write, self.engine.stream(before[:1], before[1:], settings))
            yield decoder.end()

        return filter(None, pieces())

    def _begin(self, prompt: str, tokens: int, decode: DecodeOptions) -> tuple[list[int], GenerationSettings]:
        """The ids before the continuation, and how it is generated."""
        config, codec = self.decode_config(**decode), self.preprocessor.codec
        check_count(tokens, "--tokens", 1)
        before = codec.before(_check_prompt(prompt))
        unknown = codec.tokenizer.unknown
        return before, GenerationSettings(
            config,
            [tokens + 1],  # the limit counts EOS
            suppressed=() if unknown is None else (unknown,),  # for which there is nothing to write
            endless=not (codec.sequences or codec.whole),
            free_end=True,
        )

    def _decoder(self, prompt: str, before: list[int]) -> StreamDecoder:
        """A stream decoder that continues the prompt; words need no space when there is one already."""
        spaced = self.preprocessor.codec.sequences and prompt[-1:].isspace()
        return StreamDecoder(self.preprocessor.codec, [] if spaced else before)

    def remarks(self, prompt: str, tokens: int = 200) -> tuple[str, ...]:
        """What to know about a prompt: units that the model does not know, and what exceeds its context."""
        unknown = ", ".join(map(repr, self.unknown(prompt)))
        found = [f"the model does not know {unknown}; read as <unk>"] if unknown else []
        if self.network.context is None:  # a recurrent state has no limit
            return tuple(found)
        size, context = len(self.preprocessor.codec.before(prompt)), int(self.config["model"]["max_length"])
        if size > context:
            found.append(f"the prompt has {size:,} tokens; the model sees the last {context:,}")
        elif size + tokens > context + 1:
            found.append(f"the model sees {context:,} tokens at most; a longer text is continued from its last ones")
        return tuple(found)

    def unknown(self, prompt: str) -> list[str]:
        """The units of a prompt that the vocabulary does not have."""
        return self.preprocessor.codec.unknown(_check_prompt(prompt))

    def passes(self, text: str, /, target: str | None = None, **options: Any) -> list[Pass]:
        """The pass that reads a text, and `target` after it: at each token it says which comes next."""
        self._reads_only(None, options)
        codec, network = self.preprocessor.codec, self.network
        whole = check_filled(text) + ("" if target is None else check_text(target, "the target"))
        before, ids = codec.opening, codec.read(whole)
        read = [*before, *ids] if not codec.whole else ids
        if network.context is not None and len(read) > network.context:
            raise InputError(f"the text has {len(read):,} tokens; the model sees {network.context:,}; shorten it")
        batch = _whole(torch.tensor([read], device=self.device))
        tokens = read_tokens(self.preprocessor.tokenizer, whole, ids, codec.text_of)
        opening = list(zip(self.preprocessor.tokenizer.spelt(before), before, strict=True))
        source = tokens if codec.whole else tokens.framed(before=opening)
        return [
            Pass(
                network,
                lambda: network.output(network.encode(batch)),
                whole,
                {"source": source},
                ("source", "vocabulary"),
                self.facts,
            )
        ]

    # ── evaluation ────────────────────────────────────────────────────────────────────────────────────────────────

    def token_bits(self, text: str) -> TokenBits:
        """Compute the negative log-likelihood of each token of a text, −log₂ p, in bits."""
        ids = self.preprocessor.codec.read(check_text(text))
        names = [
            "\n" if id == EOS else piece for id, piece in zip(ids, self.preprocessor.tokenizer.spelt(ids), strict=True)
        ]
        return TokenBits(tuple(zip(names, self._bits(ids).tolist(), strict=True)))

    def _bits(self, ids: Sequence[int]) -> Tensor:
        """−log₂ p of each id of a text, [n]."""
        opening = self.preprocessor.codec.opening
        whole = torch.tensor([*opening, *ids], dtype=torch.long, device=self.device)
        return token_bits(self.network, whole, int(self.config["data"]["length"]))[len(opening) - 1 :]

    def evaluate(self, text: str | Path, **other: Any) -> TextScores:
        """Score a text file: perplexity, bits per character."""
        lenient = self.config["data"]["invalid_bytes"] == "drop"
        return self.score(list(read_lines([str(text)], lenient)))

    def score(self, dev: str | Lines) -> TextScores:
        """Score a text: perplexity, bits per character."""
        text = dev if isinstance(dev, str) else "".join(dev)
        ids = self.preprocessor.codec.read(text)
        if not ids:
            raise DataError("there is nothing to evaluate: the text is empty")
        tokenizer, length = self.preprocessor.tokenizer, self.config["data"]["length"]
        how = "one row, in order, state carried" if self.network.context is None else f"windows of {length}"
        bits, counts, unit = self._bits(ids).numpy(), self.preprocessor.counts, tokenizer.unit
        return evaluate_text(bits, np.array(ids), counts, len(text), unit, tokenizer.unknown, how)

    def sample(self, dev: Lines, size: int) -> Lines:
        """The first lines: a text is read in its order."""
        return dev[:size]

    def validate(self, dev: Lines, size: int) -> Validation:
        """Bits per character on passages of the dev set, evenly spaced, and an example continuation."""
        codec, unit = self.preprocessor.codec, self.preprocessor.tokenizer.unit
        whole = codec.read("".join(dev))
        chosen = passages(whole, size * TOKENS_FOR_EACH)
        bits, count = sum(float(self._bits(ids).sum()) for ids in chosen), sum(map(len, chosen))
        value = bits / divisor(unit, count, sum(len(codec.text_of(ids)) for ids in chosen))
        half = min(SHOWN, len(whole) // 2)
        prompt, truth = codec.text_of(whole[:half]), codec.text_of(whole[half : half + SHOWN])
        output = self.generate(prompt, tokens=SHOWN)
        prompt, said, truth = (" ".join(text.split()) for text in (prompt, output.text, truth))
        figures = {"loss": bits * float(np.log(2)) / count}
        return Validation(-value, MEASURES[unit], True, figures, (prompt, said, truth))


# ── likelihood ──────────────────────────────────────────────────────────────────────────────────────────────────────

STEPS = 4096
"""Steps that are read at a time."""
CHUNK = 256
"""Steps whose logits [CHUNK, V] are computed at a time."""


@torch.inference_mode()
def token_bits(network: StepwiseEncoder, ids: Tensor, length: int) -> Tensor:
    """−log₂ p of every id but the first [n], given all before it; on the CPU, in 64 bits.

    A network whose state holds all of the past reads the text in one row, in order. Any other reads windows of `length`
    ids, many side by side, the first half of each only as context.
    """
    inputs, truth = ids[:-1], ids[1:]
    found: list[Tensor] = []
    if network.context is None:
        state: State | None = None
        for x, y in zip(inputs.split(STEPS), truth.split(STEPS), strict=True):
            h, state = network.encode_next(_whole(x[None]), state)
            found += _chunks(network, h[0], y)
        return torch.cat(found)
    width = min(length, len(truth))  # all windows are full
    spans = torch.tensor(list(windows(len(truth), length)), device=ids.device)  # [N, 2]
    for some in spans.split(max(1, STEPS // width)):
        places = some[:, 1:] - width + torch.arange(width, device=ids.device)  # [B, T]
        asked = places >= some[:, :1]
        h = network.encode(_whole(inputs[places]))[asked]
        found += _chunks(network, h, truth[places[asked]])
    return torch.cat(found)


def _whole(inputs: Tensor) -> SequenceBatch:
    """Ids [B, T] without padding."""
    return SequenceBatch(inputs, torch.full((len(inputs),), inputs.shape[1], device=inputs.device))


def windows(steps: int, length: int) -> Iterator[tuple[int, int]]:
    """The steps [first, end) that each window predicts: all of the first one, of others the second half."""
    first, end = 0, min(length, steps)
    while first < steps:
        yield first, end
        first, end = end, min(end + max(1, length // 2), steps)


def _chunks(network: StepwiseEncoder, h: Tensor, truth: Tensor) -> Iterator[Tensor]:
    """−log₂ p(truth) for vectors [N, D], on the CPU: not every device has 64-bit numbers (MPS has none)."""
    for part, y in zip(h.split(CHUNK), truth.split(CHUNK), strict=True):
        logits = network.output(part)
        yield (logits.logsumexp(-1) - logits.gather(1, y[:, None])[:, 0]).cpu().double() / np.log(2)
