"""Recurrent networks that read a sequence: to classify it, label its steps, forecast the next, or model a language.

    x ─ embed ─ recurrent layers ─ h_1 … h_T ─┬─ each: a label, a number or the next word at every step
                                              └─ pooled to one vector: a class for the whole

One direction sees what came before a step, and can go on for ever, piece by piece (`advance`). Two see the rest too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from mirada.config import Section, Values
from mirada.contracts import ALL_ON, PAD, Batch, SequenceBatch, SequenceEncoder, Sizes, State, Step, Switches, Tape
from mirada.errors import ConfigError
from mirada.models.architecture import SEQUENCE_TASKS, Architecture, Variant
from mirada.nn.blocks import Dropout
from mirada.nn.recurrent import Activation, Memory, Recurrent, real


class RecurrentConfig(Section):
    """Sizes and choices of a recurrent reader."""

    name: Literal["memoryless", "elman", "jordan", "lstm", "gru"] = "lstm"
    width: int = Field(128, ge=2, le=16384)
    """D, the size of embeddings and states (of both directions together)."""
    layers: int = Field(1, ge=1, le=64)
    bidirectional: bool | None = None
    """Whether it reads in both directions. Unless given, wherever the task and the kind allow it."""
    pool: Literal["last", "mean", "max"] | None = None
    """How one vector is made of all steps: the states at the ends, their mean, or the largest value of each component.
    Unless given, max; the ends for a Jordan network, whose answer is o_T."""
    activation: Activation = "tanh"
    """g of memoryless, Elman and Jordan networks; the others have their own."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Unless given, by how often the data will be seen: none for a few epochs, up to 0.2 for many."""
    max_length: int = Field(2000, ge=1, le=1_000_000)
    """The most steps a sequence may have."""

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
                "model.bidirectional=true: model.name=jordan cannot be, each direction would wait for the other's "
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


class RecurrentEncoder(SequenceEncoder):
    """Embeddings (or numbers), recurrent layers, and an output. A `Generator` when it models a language."""

    output: nn.Linear

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
        self.output = nn.Linear(width, sizes.outputs)
        words = not sizes.numeric_inputs and not sizes.numeric_outputs
        if sizes.causal and words and sizes.inputs == sizes.outputs:  # a language model: words in, the same words out
            self.output.weight = self.embedding.weight
        self.name_parts()

    # ── whole sequences ───────────────────────────────────────────────────────────────────────────────────────────

    def read(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        h, _ = self._recur(batch, tape)
        return self.dropout(h[:, : batch.inputs.shape[1]])

    def pool(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        h, end = self._recur(batch, tape)  # [B, T, D], 0 at padding
        if self.config.pooling == "last":  # h→_T, and h←_1 beside it
            pooled = torch.cat(end.h[-len(self.recurrent.directions) :].unbind(0), -1)
        elif self.config.pooling == "mean":
            pooled = h.sum(1) / batch.lengths.clamp(min=1)[:, None]
        else:
            pooled = h.masked_fill(~real(h, batch.lengths)[..., None], -torch.inf).amax(1)
            pooled = pooled.masked_fill((batch.lengths == 0)[:, None], 0.0)
        return self.dropout(pooled)  # [B, D]

    def _recur(self, batch: SequenceBatch, tape: Tape | None) -> tuple[Tensor, Memory]:
        """The states h [B, T, D], and the last ones. If all sequences are empty, T is 1: the kernels want a step."""
        inputs = (
            batch.inputs if batch.inputs.shape[1] else batch.inputs.new_zeros(batch.size, 1, *batch.inputs.shape[2:])
        )
        feedback: Tensor | Callable[[Tensor], Tensor] | None = None
        if self.config.name == "jordan":
            feedback = self.say if batch.before is None or inputs is not batch.inputs else batch.before
        h: Tensor
        h, end = self.recurrent(self._embed(inputs), batch.lengths, tape=tape, feedback=feedback)
        return h, end

    def _embed(self, inputs: Tensor) -> Tensor:
        return self.dropout(self.numbers(inputs) if self.sizes.numeric_inputs else self.embedding(inputs))

    def say(self, h: Tensor) -> Tensor:
        """o = softmax(V h), or V h itself where numbers are put out: what a Jordan network hears of its last step."""
        o: Tensor = self.output(h)
        return o if self.sizes.numeric_outputs else o.softmax(-1)

    # ── piece by piece ────────────────────────────────────────────────────────────────────────────────────────────

    def advance(
        self,
        inputs: Tensor,  # [B, T] ids or [B, T, C] numbers, no padding
        state: Memory | None = None,
        tape: Tape | None = None,
        feedback: Tensor | Callable[[Tensor], Tensor] | None = None,
    ) -> tuple[Tensor, Memory]:
        """The states h [B, T, D] of the next piece of a sequence, and what to go on with.

        `feedback` is for Jordan, as in `Recurrent.forward`; unless given, it hears what it said itself.
        """
        assert self.recurrent.directions == ("forward",), "the backward direction begins at the end of a sequence"
        x = self._embed(inputs)
        state = state or self.recurrent.initial(x.shape[0])
        if self.config.name == "jordan":
            h, state = self._jordan(x, state, tape, self.say if feedback is None else feedback)
        elif x.shape[1] > 1 or tape is not None:
            h, state = self.recurrent(x, state=state, tape=tape)
        else:
            h, state = self.recurrent.step(x[:, 0], state)  # one step: the written-out equations are quicker
            h = h.unsqueeze(1)
        return self.dropout(h), state

    def _jordan(
        self, x: Tensor, state: Memory, tape: Tape | None, feedback: Tensor | Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Memory]:
        h: Tensor
        h, state = self.recurrent(x, state=state, tape=tape, feedback=feedback)
        # DataSummary the true outputs it has not said any: if nobody tells it the next one, it will hear its own.
        return h, state if state.o is not None else replace(state, o=self.say(h[:, -1]))

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        """Take in BOS and the forced prefix; a language model has no source, and attends to nothing."""
        h, state = self.advance(batch.target)
        return Step(self.output(h[:, -1]), state)

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, Memory)
        h, state = self.advance(tokens.unsqueeze(1), state)
        return Step(self.output(h[:, -1]), state)


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
