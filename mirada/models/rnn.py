"""Recurrent networks for sequences: to classify them, tag their steps, forecast the next, or model a language.

    x ─ embed ─ recurrent layers ─ h_1 … h_T ─┬─ each: a label, a number or the next word at every step
                                              └─ pooled to one vector: a class for the whole

A network of one direction can also read piece by piece (`encode_next`), without a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from mirada.config import Section, Values
from mirada.contracts import PAD, SequenceBatch, Sizes, State, StepwiseEncoder
from mirada.errors import ConfigError
from mirada.models.architecture import SEQUENCE_TASKS, Architecture, Variant
from mirada.nn.blocks import Dropout
from mirada.nn.recurrent import Activation, Memory, Recurrent, real
from mirada.parts import OutputHead


class RecurrentConfig(Section):
    """Sizes and choices of a recurrent network."""

    name: Literal["memoryless", "elman", "jordan", "lstm", "gru"] = "lstm"
    width: int = Field(128, ge=2, le=16384)
    """D, the size of embeddings and states (of both directions together)."""
    layers: int = Field(1, ge=1, le=64)
    bidirectional: bool | None = None
    """Whether to read in both directions. Default: wherever the task and the model allow it."""
    pool: Literal["last", "mean", "max"] | None = None
    """How the steps are combined into one vector: the last states, their mean, or the maximum of each component.
    Default: max; for a Jordan network last, because its answer is o_T."""
    activation: Activation = "tanh"
    """g, the activation function of memoryless, Elman and Jordan networks; the others have their own."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate. Default: depends on the number of epochs, from 0 for a few to 0.2 for many."""
    max_length: int = Field(2000, ge=1, le=1_000_000)
    """Maximum steps per sequence."""

    @model_validator(mode="after")
    def _parts_fit(self) -> RecurrentConfig:
        if self.bidirectional and self.width % 2:
            raise ValueError(f"model.width={self.width} cannot be shared by two directions: make it even")
        if self.name == "jordan" and self.pool not in (None, "last"):
            raise ValueError(f"model.pool={self.pool} is not for model.name=jordan, whose answer is o_T: use last")
        return self

    @property
    def pooling(self) -> Literal["last", "mean", "max"]:
        return self.pool or ("last" if self.name == "jordan" else "max")

    def both_ways(self, sizes: Sizes) -> bool:
        """Whether the network reads in both directions, for a task with these sizes."""
        if self.bidirectional and sizes.causal:
            raise ConfigError(
                "model.bidirectional=true: this task asks at every step what comes next, which the backward direction "
                "has already seen: set model.bidirectional=false"
            )
        if self.bidirectional and self.name == "jordan":
            raise ConfigError(
                "model.bidirectional=true: a Jordan network cannot be, each direction would wait for the other's "
                "output: set model.bidirectional=false, or model.name=elman"
            )
        if self.bidirectional is not None:
            return self.bidirectional
        both = not sizes.causal and self.name not in ("memoryless", "jordan")
        if both and self.width % 2:
            raise ConfigError(
                f"model.width={self.width} cannot be shared by two directions: "
                "make it even, or set model.bidirectional=false"
            )
        return both


PRESETS: dict[str, Values] = {
    "tiny": {"model": {"width": 64, "layers": 1}},
    "small": {"model": {"width": 128, "layers": 1}},
    "base": {"model": {"width": 256, "layers": 2}},
    "big": {"model": {"width": 512, "layers": 3}},
}


class RecurrentEncoder(StepwiseEncoder):
    """Embeddings (or numbers), recurrent layers, and an output; in one direction it can read piece by piece."""

    output: OutputHead

    def __init__(self, config: RecurrentConfig, sizes: Sizes):
        super().__init__()
        c = self.config = config
        self.sizes = sizes
        width, dropout, both = c.width, c.dropout or 0.0, c.both_ways(sizes)
        if sizes.numeric_inputs:
            self.numbers = nn.Linear(sizes.inputs, width)
        else:
            self.embedding = nn.Embedding(sizes.inputs, width, PAD)
            nn.init.normal_(self.embedding.weight, std=width**-0.5)
            with torch.no_grad():
                self.embedding.weight[PAD].zero_()
        self.dropout = Dropout(dropout)
        each = width // 2 if both else width
        fed_back = sizes.outputs if c.name == "jordan" else 0
        self.recurrent = Recurrent(c.name, width, each, c.layers, both, dropout, c.activation, fed_back)
        self.output = OutputHead(width, sizes.outputs)
        words = not sizes.numeric_inputs and not sizes.numeric_outputs
        if sizes.causal and words and sizes.inputs == sizes.outputs:  # a language model: words in, the same words out
            self.output.weight = self.embedding.weight
        self.name_parts()

    # ── whole sequences ───────────────────────────────────────────────────────────────────────────────────────────

    def encode(self, batch: SequenceBatch) -> Tensor:
        h, _ = self._recur(batch)
        return self.dropout(h[:, : batch.inputs.shape[1]])

    def pool(self, batch: SequenceBatch) -> Tensor:
        h, end = self._recur(batch)  # [B, T, D], 0 at padding
        if self.config.pooling == "last":  # h→_T, and h←_1 beside it
            pooled = torch.cat(end.h[-len(self.recurrent.directions) :].unbind(0), -1)
        elif self.config.pooling == "mean":
            pooled = h.sum(1) / batch.lengths.clamp(min=1)[:, None]
        else:
            pooled = h.masked_fill(~real(h, batch.lengths)[..., None], -torch.inf).amax(1)
            pooled = pooled.masked_fill((batch.lengths == 0)[:, None], 0.0)
        pooled = self.dropout(pooled)  # [B, D]
        self.record("pooled", pooled)
        return pooled

    def _recur(self, batch: SequenceBatch) -> tuple[Tensor, Memory]:
        """The states h [B, T, D], and the last ones. If all sequences are empty, T is 1: the kernels need a step."""
        inputs = (
            batch.inputs if batch.inputs.shape[1] else batch.inputs.new_zeros(batch.size, 1, *batch.inputs.shape[2:])
        )
        feedback: Tensor | Callable[[Tensor], Tensor] | None = None
        if self.config.name == "jordan":
            feedback = self.feed_back if batch.before is None or inputs is not batch.inputs else batch.before
        h: Tensor
        h, end = self.recurrent(self._embed(inputs), batch.lengths, feedback=feedback)
        return h, end

    def _embed(self, inputs: Tensor) -> Tensor:
        x = self.dropout(self.numbers(inputs) if self.sizes.numeric_inputs else self.embedding(inputs))
        self.record("embeddings", x)
        return x

    def feed_back(self, h: Tensor) -> Tensor:
        """The output that a Jordan network is fed: o = softmax(V h), or V h itself if outputs are numbers."""
        o: Tensor = self.output(h)
        return o if self.sizes.numeric_outputs else o.softmax(-1)

    # ── piece by piece ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def context(self) -> None:
        return None

    def encode_next(
        self, batch: SequenceBatch, state: State | None = None, context: int | None = None
    ) -> tuple[Tensor, Memory]:
        """A Jordan network gets the true outputs `batch.before`, or its own where there are none."""
        assert self.recurrent.directions == ("forward",), "the backward direction begins at the end of a sequence"
        assert state is None or isinstance(state, Memory)
        x = self._embed(batch.inputs)
        state = state or self.recurrent.initial(len(x))
        if self.config.name == "jordan":
            h, new = self.recurrent(x, state=state, feedback=self.feed_back if batch.before is None else batch.before)
            if new.o is None:  # the true outputs were given; if the next one is missing, its own serves instead
                new = replace(new, o=self.feed_back(h[:, -1]))
        elif x.shape[1] > 1:
            h, new = self.recurrent(x, state=state)
        else:
            h, new = self.recurrent.step(x[:, 0], state)  # one step: the written-out equations are faster
            h = h.unsqueeze(1)
        return self.dropout(h), new

    def state_tensors(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, Memory)
        return state.tensors()

    def state_from(self, tensors: Mapping[str, Tensor]) -> Memory:
        return Memory(**tensors)


_ENCODER = dict.fromkeys(SEQUENCE_TASKS, Variant(RecurrentConfig, RecurrentEncoder, PRESETS))
_CAUSAL = {**_ENCODER, "language_model": _ENCODER["classification"]}

ARCHITECTURES = {
    "memoryless": Architecture(1958, "Rosenblatt, The Perceptron", "h_t = g(U x_t)", _ENCODER),
    "jordan": Architecture(1986, "Jordan, Serial Order", "h_t = g(W o_{t−1} + U x_t)", _ENCODER),
    "elman": Architecture(1990, "Elman, Finding Structure in Time", "h_t = g(W h_{t−1} + U x_t)", _CAUSAL),
    "lstm": Architecture(
        1997, "Hochreiter & Schmidhuber, Long Short-Term Memory", "C_t = f ⊙ C_{t−1} + i ⊙ C̃_t", _CAUSAL
    ),
    "gru": Architecture(
        2014,
        "Cho et al., Learning Phrase Representations using RNN Encoder–Decoder",
        "h_t = z ⊙ h_{t−1} + (1−z) ⊙ h̃_t",
        _CAUSAL,
    ),
}
