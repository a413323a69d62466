"""The recurrent encoder–decoder, with and without attention.

Without: the source becomes one vector, the encoder's last state (Sutskever et al. 2014; Cho et al. 2014).
With: every target word takes a context c from all the encoder's states h_1 … h_S, where

    "before"  c_t = attend(s_{t−1}, h) goes into the recurrent step's input           Bahdanau et al. 2015, §3.1, A.2
    "after"   c_t = attend(s_t, h) joins the step's output, u_t = tanh(W [c_t; s_t])       Luong et al. 2015, §3, eq. 5

    source ─ embed ─ encoder (both directions) ─ h_1 … h_S ─┬─ bridge ─ s_0
                                                            └─ attention ─ c_t
    target ─ embed ─ decoder ─ s_t ─ u_t ─ · Eᵀ ─ softmax

"after" needs no loop over the target when the true words are given: the recurrence runs fused, then all positions
attend at once. "before" goes step by step, because a context depends on the state before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from mirada.config import Section, Values
from mirada.contracts import PAD, Batch, GenerativeNetwork, State, Step
from mirada.models.architecture import Architecture, Variant
from mirada.nn.attention import Attended, Score, scores_by_name
from mirada.nn.blocks import Dropout
from mirada.nn.recurrent import Kind, Memory, Recurrent
from mirada.parts import OutputHead, is_recording, joined_steps, next_step


class Seq2SeqConfig(Section):
    """Sizes and choices of a recurrent encoder–decoder."""

    name: Literal["seq2seq-elman", "seq2seq-lstm", "seq2seq-gru"] = "seq2seq-lstm"
    width: int = Field(256, ge=2, le=16384)
    """D, the size of embeddings and states."""
    layers: int = Field(1, ge=1, le=64)
    """Layers of the encoder, and of the decoder."""
    bidirectional: bool = True
    """Whether the encoder reads the source in both directions."""
    attention: Literal["none", "dot", "general", "additive"] = "none"
    attend: Literal["before", "after"] = "after"
    """Whether the context vector is an input of the recurrent step (before) or is combined with its output (after)."""
    teacher_forcing: Literal["always", "until", "decay"] = "always"
    """When the decoder gets the reference's previous token in training instead of its own prediction: always, until an
    epoch, or with decaying probability (scheduled sampling)."""
    teacher_epochs: float = Field(3.0, gt=0)
    """k: the epoch in which `until` ends, and how slowly `decay` decays."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate. Default: depends on the number of epochs, from 0 for a few to 0.2 for many."""
    tie: Literal["all", "output", "none"] = "all"
    """Which embeddings share weights: all (source, target and output), output (target and output), or none."""
    max_length: int = Field(256, ge=4, le=65536)
    """Maximum tokens per sentence."""

    @model_validator(mode="after")
    def _directions_share_the_width(self) -> Seq2SeqConfig:
        if self.bidirectional and self.width % 2:
            raise ValueError(f"model.width={self.width} cannot be shared by two directions: make it even")
        return self

    @property
    def cell(self) -> Kind:
        return cast(Kind, self.name.removeprefix("seq2seq-"))

    def taught(self, epoch: float) -> float:
        """The share of true words in an epoch e. `decay`: k / (k + exp(e / k))        (Bengio et al. 2015, §2.4)"""
        k = self.teacher_epochs
        if self.teacher_forcing == "until":
            return float(epoch < k)
        return 1.0 if self.teacher_forcing == "always" else k / (k + math.exp(min(700.0, epoch / k)))


PRESETS: dict[str, Values] = {
    "tiny": {"model": {"width": 128, "layers": 1}},
    "small": {"model": {"width": 256, "layers": 1}},
    "base": {"model": {"width": 512, "layers": 2}},
    "big": {"model": {"width": 1024, "layers": 4}},
}


@dataclass(frozen=True)
class Source:
    """The encoded source as the decoder keeps it, for R rows."""

    states: Tensor  # [R, S, D] h_1 … h_S
    keys: Tensor | None  # [R, S, ..] the states as the attention score takes them, prepared once per sentence
    mask: Tensor  # [R, S]

    def select(self, rows: Tensor) -> Source:
        keys = None if self.keys is None else self.keys.index_select(0, rows)
        return Source(self.states.index_select(0, rows), keys, self.mask.index_select(0, rows))


@dataclass(frozen=True)
class Seq2SeqState:
    """The decoder's recurrent state and the source, for R hypotheses."""

    memory: Memory
    source: Source
    attention: bool

    def select(self, rows: Tensor) -> Seq2SeqState:
        return Seq2SeqState(self.memory.select(rows), self.source.select(rows), self.attention)


class Seq2Seq(GenerativeNetwork):
    """A recurrent encoder, a bridge, and a recurrent decoder that may attend. A `Generator`."""

    def __init__(self, config: Seq2SeqConfig, source_vocabulary: int, target_vocabulary: int):
        super().__init__()
        c = self.config = config
        width, dropout = c.width, c.dropout or 0.0
        self.source_embedding = nn.Embedding(source_vocabulary, width, PAD)
        shared = c.tie == "all"
        assert not shared or source_vocabulary == target_vocabulary, "one embedding cannot serve two vocabularies"
        self.target_embedding = self.source_embedding if shared else nn.Embedding(target_vocabulary, width, PAD)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=width**-0.5)
            with torch.no_grad():
                embedding.weight[PAD].zero_()
        self.dropout = Dropout(dropout)
        directions = 2 if c.bidirectional else 1
        self.encoder = Recurrent(c.cell, width, width // directions, c.layers, c.bidirectional, dropout)
        self.bridge = nn.Linear(width, width)
        attends = c.attention != "none"
        before = attends and c.attend == "before"
        self.decoder = Recurrent(c.cell, 2 * width if before else width, width, c.layers, dropout=dropout)
        self.score: Score | None = scores_by_name[c.attention](width, width) if attends else None
        self.join = nn.Linear(2 * width, width) if attends else None
        self.output = OutputHead(width, target_vocabulary, bias=False)
        if c.tie != "none":
            self.output.weight = self.target_embedding.weight
        self.name_parts()
        if self.score is not None:
            self.score.path = "attention"

    # ── the source ────────────────────────────────────────────────────────────────────────────────────────────────

    def encode(self, batch: Batch) -> tuple[Source, Memory]:
        """The encoder's states, and s_0, the decoder's first state: tanh(W h_end) for each layer."""
        x = self.dropout(self.source_embedding(batch.source))
        self.record("source.embeddings", x)
        states, final = self.encoder(x, batch.source_mask.sum(1))  # [B, S, D]
        self.record("encoder.output", states)
        keys = self.score.prepare(states) if self.score else None
        memory = self._bridge(final)
        self.record("bridge.h", memory.h)  # [L, B, D]
        return Source(states, keys, batch.source_mask), memory

    def _bridge(self, final: Memory) -> Memory:
        """From each layer's last states in both directions, side by side, to the decoder's layer."""

        def joined(x: Tensor) -> Tensor:  # [L·2, B, D/2] -> [L, B, D]
            return x.unflatten(0, (self.config.layers, -1)).transpose(1, 2).flatten(2)

        h = torch.tanh(self.bridge(joined(final.h)))
        return Memory(h, None if final.c is None else joined(final.c))

    # ── the target ────────────────────────────────────────────────────────────────────────────────────────────────

    def hidden(self, batch: Batch) -> Tensor:
        source, memory = self.encode(batch)
        share = self.config.taught(batch.epoch) if self.training else 1.0
        if share < 1:
            return self._partly_taught(batch.target_input, memory, source, share)
        return self._decode(batch.target_input, memory, source)[0]

    def _partly_taught(self, given: Tensor, memory: Memory, source: Source, share: float) -> Tensor:
        """u [B, T, D] when a previous word is the given one [B, T] with probability `share`, else the likeliest one."""
        true = torch.rand(given.shape, device=given.device) < share
        tokens = given[:, 0]  # the first is always BOS
        steps: list[Tensor] = []
        with joined_steps():
            for t in range(given.shape[1]):
                if t:
                    with torch.no_grad():
                        own = self.output(steps[-1]).argmax(-1)
                    tokens = torch.where(true[:, t], given[:, t], own)
                    next_step()
                u, memory, _ = self._decode(tokens.unsqueeze(1), memory, source)
                steps.append(u[:, 0])
        return torch.stack(steps, 1)

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        source, memory = self.encode(batch)
        return self._continue(batch.target, Seq2SeqState(memory, source, attention))

    def step(self, tokens: Tensor, state: State) -> Step:
        assert isinstance(state, Seq2SeqState)
        return self._continue(tokens.unsqueeze(1), state)

    def _continue(self, tokens: Tensor, state: Seq2SeqState) -> Step:
        u, memory, weights = self._decode(tokens, state.memory, state.source)
        shown = weights[:, -1, None, None] if state.attention and weights is not None else None  # [R, 1, 1, S]
        return Step(self.output(u[:, -1]), Seq2SeqState(memory, state.source, state.attention), shown)

    def _decode(self, tokens: Tensor, memory: Memory, source: Source) -> tuple[Tensor, Memory, Tensor | None]:
        """u [R, T, D] for tokens [R, T], the state after them, and the attention weights [R, T, S]."""
        x = self.dropout(self.target_embedding(tokens))
        weights: Tensor | None = None
        if self.score is None:
            u, memory = self._recur(x, memory)
        else:
            if self.config.attend == "after":
                s, memory = self._recur(x, memory)
                context, weights = self._attend(s, source)
            else:
                s, memory, context, weights = self._step_by_step(x, memory, source)
            u = self._join(context, s)
        u = self.dropout(u)
        if is_recording():
            self.record("target.embeddings", x)
            self.record("decoder.output", u)
        return u, memory, weights

    def _recur(self, x: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        if x.shape[1] > 1:
            return self.decoder(x, state=memory)
        s, memory = self.decoder.step(x[:, 0], memory)  # one step: the written-out equations are faster
        return s.unsqueeze(1), memory

    def _step_by_step(self, x: Tensor, memory: Memory, source: Source) -> tuple[Tensor, Memory, Tensor, Tensor]:
        """Run the decoder step by step; each step attends with the state before it and reads the context."""
        steps: list[tuple[Tensor, Tensor, Tensor]] = []
        with joined_steps():
            for x_t in x.unbind(1):
                if steps:
                    next_step()
                context, weights = self._attend(memory.h[-1].unsqueeze(1), source)
                s, memory = self.decoder.step(torch.cat([x_t, context[:, 0]], -1), memory)
                steps.append((s, context[:, 0], weights[:, 0]))
        s, context, weights = (torch.stack(tensors, 1) for tensors in zip(*steps, strict=True))
        return s, memory, context, weights

    def _attend(self, s: Tensor, source: Source) -> Attended:
        assert self.score is not None
        assert source.keys is not None
        attended: Attended = self.score(s, source.keys, source.states, source.mask.unsqueeze(1))
        return attended

    def _join(self, context: Tensor, s: Tensor) -> Tensor:
        """u = tanh(W [c; s])"""
        assert self.join is not None
        return torch.tanh(self.join(torch.cat([context, s], -1)))


_TRANSLATION = {
    "translation": Variant(Seq2SeqConfig, lambda config, sizes: Seq2Seq(config, sizes.inputs, sizes.outputs), PRESETS)
}

ARCHITECTURES = {
    "seq2seq-elman": Architecture(
        1990, "Elman, Finding Structure in Time", "h_t = tanh(W h_{t−1} + U x_t)", _TRANSLATION
    ),
    "seq2seq-lstm": Architecture(
        2014,
        "Sutskever et al., Sequence to Sequence Learning with Neural Networks",
        "C_t = f ⊙ C_{t−1} + i ⊙ C̃_t",
        _TRANSLATION,
    ),
    "seq2seq-gru": Architecture(
        2014,
        "Cho et al., Learning Phrase Representations using RNN Encoder–Decoder",
        "h_t = z ⊙ h_{t−1} + (1−z) ⊙ h̃_t",
        _TRANSLATION,
    ),
}
