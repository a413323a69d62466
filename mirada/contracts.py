"""What the parts hand each other: batches, losses, steps of generation, networks, recordings and switches.

Axes, named the same everywhere:
    B batch   S source length   T target length   D width   H heads   K head width (d_k)
    L layers  V vocabulary      R rows (batch × beam)

Masks are bool and True means *may attend*, everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2
"""The ids of padding, start and end: the same in every vocabulary."""


@dataclass(frozen=True)
class Batch:
    """Sentences side by side, padded with PAD. It owns the masks and the shift between input and output.

    `target` holds BOS … EOS when a model trains, and BOS plus a forced prefix (perhaps empty) when it generates.
    """

    source: Tensor  # [B, S] ids
    target: Tensor  # [B, T+1] ids
    rows: Tensor | None = None  # [B] which sentences of the corpus these are
    epoch: float = 0.0  # how far the training is that this batch belongs to

    @cached_property
    def source_mask(self) -> Tensor:
        return self.source != PAD  # [B, S]

    @property
    def target_input(self) -> Tensor:
        """What the decoder sees: everything but the last token."""
        return self.target[:, :-1]  # [B, T]

    @property
    def target_output(self) -> Tensor:
        """What the decoder must say: everything but the first token."""
        return self.target[:, 1:]  # [B, T]

    @property
    def size(self) -> int:
        return self.source.shape[0]

    @cached_property
    def tokens(self) -> int:
        """Real tokens on both sides: what speed is counted in."""
        return int((self.source != PAD).sum() + (self.target_output != PAD).sum())

    @property
    def cells(self) -> int:
        """Tokens with the padding: what the machine pays for."""
        return self.source.numel() + self.target_output.numel()

    def to(self, device: torch.device) -> Batch:
        return replace(self, source=self.source.to(device), target=self.target.to(device))


@dataclass(frozen=True)
class Captions(Batch):
    """Images, and what is said of them: the source is pixels [B, C, 1, H, W], read as so many patches."""

    patches: int = 0

    @cached_property
    def tokens(self) -> int:
        return self.size * self.patches + int((self.target_output != PAD).sum())

    @property
    def cells(self) -> int:
        return self.size * self.patches + self.target_output.numel()


@dataclass(frozen=True)
class SequenceBatch:
    """Sequences to be read, side by side, with padding behind them; and what is true of them, when that is known.

    What `truth` is, is the task's affair: a class for each sequence [B], a label or a number for each step [B, T(, O)].
    """

    inputs: Tensor  # [B, T] ids, or [B, T, C] numbers, or [B, C, F, H, W] pixels of F frames
    lengths: Tensor  # [B] how many steps of each are real
    truth: Tensor | None = None
    before: Tensor | None = None  # [B, T, O] the true outputs o_0 … o_{T−1}: a Jordan network then need not wait
    segments: Tensor | None = None  # [B, T] 0 or 1: which of two texts a token belongs to
    rows: Tensor | None = None  # [B] which sequences of the corpus these are
    epoch: float = 0.0  # how far the training is that this batch belongs to

    @cached_property
    def mask(self) -> Tensor:
        return torch.arange(self.inputs.shape[1], device=self.inputs.device) < self.lengths[:, None]  # [B, T]

    @property
    def size(self) -> int:
        return self.inputs.shape[0]

    @cached_property
    def tokens(self) -> int:
        """Real steps: what speed is counted in."""
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> SequenceBatch:
        given = (self.truth, self.before, self.segments)
        truth, before, segments = (None if tensor is None else tensor.to(device) for tensor in given)
        moved = replace(self, inputs=self.inputs.to(device), lengths=self.lengths.to(device))
        return replace(moved, truth=truth, before=before, segments=segments)


@dataclass(frozen=True)
class Sizes:
    """What a network must know of its data: nothing but numbers."""

    inputs: int  # words in the (source) vocabulary, or numbers in each step
    outputs: int  # words in the (target) vocabulary, classes, or numbers to put out
    numeric_inputs: bool = False  # the inputs are numbers [B, T, C], not ids
    numeric_outputs: bool = False  # the outputs are numbers: no softmax over them
    causal: bool = False  # step t may not see what comes after it
    shape: tuple[int, ...] = ()  # [C, F, H, W] of the pixels, where the inputs are images or videos


@dataclass(frozen=True)
class Loss:
    """A sum and the number of things summed, so that averages over unequal batches come out right."""

    total: Tensor  # [] with gradient
    count: int


@dataclass(frozen=True)
class Validation:
    """A look at the dev set: a score to get better at, what to call it, other figures, and an example to read."""

    score: float  # higher is better
    measure: str = "score"
    lower_is_better: bool = False  # then `score` is the measure with the other sign
    figures: dict[str, float] = field(default_factory=dict)
    example: tuple[str, str, str] | None = None  # input, output, truth

    @property
    def value(self) -> float:
        """What a person reads."""
        return -self.score if self.lower_is_better else self.score


Rows = npt.NDArray[np.int64]
"""Which parts of the data make a batch."""

AnyBatch = TypeVar("AnyBatch", bound=Batch | SequenceBatch, covariant=True)


class Plan(Protocol[AnyBatch]):
    """The batches of the training data: epoch e is the same list whenever it is asked for, made anew every time."""

    @property
    def fingerprint(self) -> str:
        """Of the data, so that a checkpoint is not used with other data."""
        ...

    @property
    def tokens(self) -> int:
        """In an epoch."""
        ...

    def epoch(self, epoch: int) -> Sequence[Rows]: ...

    def load(self, rows: Rows) -> AnyBatch: ...

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's cells that are padding."""
        ...


class State(Protocol):
    """What a generator remembers between steps. It is passed on, never kept on a module, and used once."""

    def select(self, rows: Tensor) -> State:
        """The state of the given rows [R'], in that order; a row may be named several times or not at all."""
        ...


class Step(NamedTuple):
    """One step of generation: scores for the next token, and what is needed to go on."""

    logits: Tensor  # [R, V]
    state: State
    attention: Tensor | None = None  # [R, L, H, S] weights over the source, when they were asked for


class Generator(Protocol):
    """Whatever produces tokens one after another: all that decoding knows of a model."""

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        """Take in the source and BOS + forced prefix (`batch.target`, no padding) in one pass; R = B."""
        ...

    def step(self, tokens: Tensor, state: State) -> Step:
        """Go on with the chosen tokens [R]."""
        ...


@dataclass(frozen=True)
class Switches:
    """Parts of a model to leave out, to see what they are for. Everything is on unless named."""

    scale: bool = True  # the division by √d_k
    future_mask: bool = True  # the mask that hides the tokens to come
    positions: bool = True  # the position encoding
    residual_off: frozenset[str] = frozenset()  # paths of residual connections that are cut: encoder.0.add_self
    heads_off: frozenset[tuple[str, int]] = frozenset()  # (path, head) pairs that contribute nothing

    def silenced(self, path: str) -> list[int]:
        """The heads of one attention that are switched off."""
        return [head for owner, head in self.heads_off if owner == path]


ALL_ON = Switches()


class Part(nn.Module):
    """A module that knows its path in the model (`decoder.2.cross`), the name its tensors have on a tape."""

    path: str = ""

    def name_parts(self) -> None:
        """Give every part below this one its path; a model calls it once, when it is built."""
        for name, module in self.named_modules():
            if isinstance(module, Part):
                module.path = name.replace("layers.", "").replace("self_", "self")


class GenerativeNetwork(Part):
    """A model that trains on whole targets at once and generates token by token (a `Generator`)."""

    output: nn.Module
    """From the decoder's vectors [.., D] to scores [.., V]."""

    def hidden(self, batch: Batch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """The decoder's output [B, T, D] on the true target: all positions at once."""
        raise NotImplementedError

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        raise NotImplementedError

    def step(self, tokens: Tensor, state: State) -> Step:
        raise NotImplementedError


class SequenceEncoder(Part):
    """A model that reads a sequence: a vector for every step, and one for the whole. Tasks put questions to these."""

    output: nn.Module
    """From a vector [.., D] to scores or numbers [.., O]."""

    def read(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """A vector for every step, [B, T, D]; what stands at padding means nothing."""
        raise NotImplementedError

    def pool(self, batch: SequenceBatch, tape: Tape | None = None, switches: Switches = ALL_ON) -> Tensor:
        """One vector for each sequence, [B, D]."""
        raise NotImplementedError


@dataclass
class Tape:
    """Records the tensors of a forward pass by path. A model that is given none records nothing.

    `wanted` are patterns of paths (`decoder.*.cross.weights`); everything is recorded when it is empty.
    """

    wanted: Collection[str] = ()
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def wants(self, path: str) -> bool:
        return not self.wanted or any(fnmatchcase(path, pattern) for pattern in self.wanted)

    def record(self, part: Part, name: str, tensor: Tensor) -> None:
        path = f"{part.path}.{name}" if part.path else name
        if self.wants(path):
            self.tensors[path] = tensor
