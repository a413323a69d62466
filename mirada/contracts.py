"""Data types and protocols that modules share: batches, losses, steps of generation, networks.

Axes, named the same everywhere:
    B batch   S source length   T target length   D width   H heads   K head width (d_k)
    L layers  V vocabulary      R rows (batch × beam)

Masks are bool and True means *may attend*, everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mirada.parts import Part

PAD, BOS, EOS = 0, 1, 2
"""The ids of padding, start and end, the same in every vocabulary."""


@dataclass(frozen=True)
class Batch:
    """A batch of sentence pairs, padded with PAD, with its masks and the shift between decoder input and output.

    `target` holds BOS … EOS when a model trains, and BOS plus a forced prefix (perhaps empty) when it generates.
    """

    source: Tensor  # [B, S] ids
    target: Tensor  # [B, T+1] ids
    rows: Tensor | None = None  # [B] which sentences of the corpus these are
    epoch: float = 0.0  # how far training has come, in epochs

    @cached_property
    def source_mask(self) -> Tensor:
        return self.source != PAD  # [B, S]

    @property
    def target_input(self) -> Tensor:
        """The decoder's input: everything but the last token."""
        return self.target[:, :-1]  # [B, T]

    @property
    def target_output(self) -> Tensor:
        """The decoder's expected output: everything but the first token."""
        return self.target[:, 1:]  # [B, T]

    @property
    def prefix(self) -> SequenceBatch:
        """BOS and the forced prefix as a sequence to read."""
        lengths = torch.full((len(self.target),), self.target.shape[1], device=self.target.device)
        return SequenceBatch(self.target, lengths)

    @property
    def size(self) -> int:
        return self.source.shape[0]

    @cached_property
    def tokens(self) -> int:
        """The number of tokens on both sides without padding, in which speed is measured."""
        return int((self.source != PAD).sum() + (self.target_output != PAD).sum())

    @property
    def cells(self) -> int:
        """The number of tokens including padding."""
        return self.source.numel() + self.target_output.numel()

    def to(self, device: torch.device) -> Batch:
        return replace(self, source=self.source.to(device), target=self.target.to(device))


@dataclass(frozen=True)
class Captions(Batch):
    """Images and their captions: the source is pixels [B, C, 1, H, W], split into so many patches."""

    patches: int = 0

    @cached_property
    def tokens(self) -> int:
        return self.size * self.patches + int((self.target_output != PAD).sum())

    @property
    def cells(self) -> int:
        return self.size * self.patches + self.target_output.numel()


@dataclass(frozen=True)
class SequenceBatch:
    """A batch of sequences, padded at the end, and their truth where it is known.

    The meaning of `truth` depends on the task: a class for each sequence [B], a label or number for each step
    [B, T(, O)].
    """

    inputs: Tensor  # [B, T] ids, or [B, T, C] numbers, or [B, C, F, H, W] pixels of F frames
    lengths: Tensor  # [B] the steps of each without padding
    truth: Tensor | None = None
    before: Tensor | None = None  # [B, T, O] the true outputs o_0 … o_{T−1}: a Jordan network then need not wait
    segments: Tensor | None = None  # [B, T] 0 or 1: which of two texts a token belongs to
    rows: Tensor | None = None  # [B] which sequences of the corpus these are
    epoch: float = 0.0  # how far training has come, in epochs

    @cached_property
    def mask(self) -> Tensor:
        return torch.arange(self.inputs.shape[1], device=self.inputs.device) < self.lengths[:, None]  # [B, T]

    @property
    def size(self) -> int:
        return self.inputs.shape[0]

    @cached_property
    def tokens(self) -> int:
        """The number of steps without padding, in which speed is measured."""
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> SequenceBatch:
        given = (self.truth, self.before, self.segments)
        truth, before, segments = (None if tensor is None else tensor.to(device) for tensor in given)
        moved = replace(self, inputs=self.inputs.to(device), lengths=self.lengths.to(device))
        return replace(moved, truth=truth, before=before, segments=segments)


@dataclass(frozen=True)
class Sizes:
    """The sizes of the data that a network is built for."""

    inputs: int  # words in the (source) vocabulary, or numbers in each step
    outputs: int  # words in the (target) vocabulary, classes, or numbers to predict
    numeric_inputs: bool = False  # the inputs are numbers [B, T, C], not ids
    numeric_outputs: bool = False  # the outputs are numbers: no softmax over them
    causal: bool = False  # step t may not see what comes after it
    shape: tuple[int, ...] = ()  # [C, F, H, W] of the pixels, where the inputs are images or videos


@dataclass(frozen=True)
class Loss:
    """A summed loss and the number of items in it, so that averages over batches of different sizes come out right."""

    total: Tensor  # [] with gradient
    count: int


@dataclass(frozen=True)
class Validation:
    """The result of a validation on the dev set: a score, what it measures, other figures, and an example to read."""

    score: float  # higher is better
    measure: str = "score"
    lower_is_better: bool = False  # then `score` is the measure with the other sign
    figures: dict[str, float] = field(default_factory=dict)
    example: tuple[str, str, str] | None = None  # input, output, truth

    @property
    def value(self) -> float:
        """The measure as people read it."""
        return -self.score if self.lower_is_better else self.score


Rows = npt.NDArray[np.int64]
"""The rows of the data that make up a batch."""

AnyBatch = TypeVar("AnyBatch", bound=Batch | SequenceBatch, covariant=True)


class Plan(Protocol[AnyBatch]):
    """The batches of the training data; the list of an epoch is always the same."""

    @property
    def fingerprint(self) -> str:
        """A hash of the data, so that a checkpoint is not used with other data."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens in an epoch."""
        ...

    def epoch(self, epoch: int) -> Sequence[Rows]: ...

    def load(self, rows: Rows) -> AnyBatch: ...

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's cells that are padding."""
        ...


class State(Protocol):
    """The state of a network between steps. It is passed on, never stored on a module, and used once."""

    def select(self, rows: Tensor) -> State:
        """The state of the given rows [R'], in that order; a row may be named several times or not at all."""
        ...


class Step(NamedTuple):
    """One step of generation: the network's output for the next item, and the state to continue from."""

    logits: Tensor  # [R, V] scores of the next token; or [R, O] numbers, for a network that predicts those
    state: State
    attention: Tensor | None = None  # [R, L, H, S] weights over the source, when they were asked for


class Generator(Protocol):
    """A model that generates token by token, as decoding sees it."""

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        """Read the source and BOS + forced prefix (`batch.target`, no padding) in one pass; R = B."""
        ...

    def step(self, tokens: Tensor, state: State) -> Step:
        """Continue with the chosen tokens [R]."""
        ...


class Stepwise(Part):
    """A network that runs step by step, from a state that is passed on."""


class GenerativeNetwork(Stepwise):
    """A model that trains on whole targets at once and generates token by token (a `Generator`)."""

    output: nn.Module
    """An `OutputHead` from the decoder's vectors [.., D] to logits [.., V]."""

    def hidden(self, batch: Batch) -> Tensor:
        """The decoder's output [B, T, D] on the true target, all positions at once."""
        raise NotImplementedError

    def forward(self, batch: Batch) -> Tensor:
        """Logits [B, T, V] for every next token of the true target."""
        logits: Tensor = self.output(self.hidden(batch))
        return logits

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        raise NotImplementedError

    def step(self, tokens: Tensor, state: State) -> Step:
        raise NotImplementedError


class SequenceEncoder(Part):
    """A model that encodes a sequence: a vector for every step, and one for the whole sequence."""

    output: nn.Module
    """An `OutputHead` from vectors [.., D] to logits or numbers [.., O]."""

    def encode(self, batch: SequenceBatch) -> Tensor:
        """A vector for every step, [B, T, D]; those at padding are undefined."""
        raise NotImplementedError

    def pool(self, batch: SequenceBatch) -> Tensor:
        """One vector for each sequence, [B, D]."""
        raise NotImplementedError


class StepwiseEncoder(SequenceEncoder, Stepwise):
    """An encoder that also reads a sequence piece by piece.

    A subclass implements `encode_next` and `context`, also `state_tensors` and `state_from` if its state is carried.

    Generation reads a token or a row of numbers at a time (`start`, `step`: for tokens it is a `Generator`); training
    on a long stream reads a batch at a time and carries the state over.
    """

    @property
    def context(self) -> int | None:
        """The most steps that it sees; None if its state covers all of the past."""
        raise NotImplementedError

    def encode_next(
        self, batch: SequenceBatch, state: State | None = None, context: int | None = None
    ) -> tuple[Tensor, State]:
        """The vectors [B, T, D] of the next T steps (no padding), and the state after them.

        A network with a limited context sees at most `context` steps; when these are full, the oldest are dropped.
        """
        raise NotImplementedError

    def start(self, batch: Batch | SequenceBatch, *, attention: bool = False, context: int | None = None) -> Step:
        """Read the first steps: BOS + forced prefix of a text (`batch.target`), or the history of a series."""
        h, state = self.encode_next(batch.prefix if isinstance(batch, Batch) else batch, None, context)
        return Step(self.output(h[:, -1]), state)

    def step(self, inputs: Tensor, state: State, before: Tensor | None = None) -> Step:
        """Read the next token [R] or numbers [R, C]; `before` [R, O] is the true output that a Jordan network gets."""
        lengths = torch.ones(len(inputs), dtype=torch.long, device=inputs.device)
        batch = SequenceBatch(inputs[:, None], lengths, before=None if before is None else before[:, None])
        h, state = self.encode_next(batch, state)
        return Step(self.output(h[:, -1]), state)

    def state_tensors(self, state: State) -> dict[str, Tensor]:
        """A state as named tensors whose rows are on the second last axis, for a loss that carries it."""
        raise NotImplementedError

    def state_from(self, tensors: Mapping[str, Tensor]) -> State:
        """The state from the tensors that `state_tensors` gave."""
        raise NotImplementedError


class StatefulLoss:
    """A loss that carries a state from batch to batch, as named tensors, so that a checkpoint can hold it."""

    carried: dict[str, Tensor]

    def __init__(self) -> None:
        self.carried = {}

    def fits(self, model: nn.Module, carried: Mapping[str, Tensor]) -> bool:
        """Whether these tensors could have been carried while this model trained."""
        return True
