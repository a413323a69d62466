"""Recurrent layers: memoryless, Elman, Jordan, LSTM, GRU; stacked, in one direction or both.

    x_t input [B, X]    h_t hidden state [B, D]     o_t the network's output [B, O]    ⊙ element by element
    U input -> hidden   W previous step -> hidden   b_U, b_W their biases, left out of the formulas

Each cell writes its equations out, one step at a time: the reference, and what a recorder sees. Whole sequences run
through PyTorch's kernels with the same parameters; tests hold both equal in values and gradients. To truncate
backpropagation through time, pass `state.detach()` to the next piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirada.errors import ConfigError
from mirada.nn import activations
from mirada.parts import Part, Role, is_recording

Kind = Literal["memoryless", "elman", "jordan", "lstm", "gru"]
Activation = Literal["sigmoid", "tanh", "relu", "leaky_relu", "elu"]

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    g: activations.ACTIVATIONS[g] for g in get_args(Activation)
}


@dataclass(frozen=True)
class Memory:
    """The state of a cell; or of a stack of cells, with an axis N = layers × directions in front."""

    h: Tensor  # [(N,) R, D] the last hidden state
    c: Tensor | None = None  # [(N,) R, D] the LSTM's cell state
    o: Tensor | None = None  # [R, O] the last output of a Jordan network, which sets it before every step

    def _map(self, change: Callable[[Tensor], Tensor]) -> Memory:
        c, o = (None if tensor is None else change(tensor) for tensor in (self.c, self.o))
        return Memory(change(self.h), c, o)

    def select(self, rows: Tensor) -> Memory:
        return self._map(lambda tensor: tensor.index_select(-2, rows))

    def detach(self) -> Memory:
        """The same values without their history: gradients stop here (truncated BPTT)."""
        return self._map(Tensor.detach)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the state, by name."""
        named = {"h": self.h, "c": self.c, "o": self.o}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def cell(self, n: int) -> Memory:
        """The state of the n-th cell of a stack."""
        return Memory(self.h[n], None if self.c is None else self.c[n], self.o)

    @staticmethod
    def of(cells: Sequence[Memory]) -> Memory:
        """The state of a stack of these cells."""
        c = [cell.c for cell in cells if cell.c is not None]
        return Memory(torch.stack([cell.h for cell in cells]), torch.stack(c) if c else None)


class Cell(Part):
    """One layer in one direction; a subclass has its `equations` and, where there is one, its fused kernel."""

    gates: ClassVar[tuple[str, ...]] = ("h",)  # the blocks of D rows in U and W, in torch.nn's order
    symbols: ClassVar[tuple[str, ...]] = ("h",)  # what the equations compute
    kernel: Callable[..., tuple[Tensor, Tensor]] | None = None
    roles: ClassVar[Mapping[str, Role]] = {"U": "hidden", "W": "hidden"}

    def __init__(self, inputs: int, width: int, remembers: bool = True):
        super().__init__()
        self.width = width
        self.U, self.b_U = self._uniform(inputs), self._uniform()  # [G·D, X], [G·D]
        if remembers:
            self.W, self.b_W = self._uniform(width), self._uniform()  # [G·D, D], [G·D]

    def _uniform(self, *columns: int) -> nn.Parameter:
        """torch.nn's initialisation: between −1/√D and 1/√D."""
        bound = 1 / math.sqrt(self.width)
        return nn.Parameter(torch.empty(len(self.gates) * self.width, *columns).uniform_(-bound, bound))

    def equations(self, x: Tensor, memory: Memory) -> dict[str, Tensor]:
        """All that one step computes from x_t [R, X], each [R, D], by symbol."""
        raise NotImplementedError

    def step(self, x: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """h_t [R, D] from x_t [R, X], and the new state."""
        found = self.equations(x, memory)
        return found["h"], Memory(found["h"], found.get("c"))

    def unroll(self, x: Tensor, memory: Memory, lengths: Tensor | None = None) -> tuple[dict[str, Tensor], Memory]:
        """The equations step by step on x [B, T, X]: their results, each [B, T, D], and each sentence's last state."""
        steps, now = [], memory
        for x_t in x.unbind(1):
            steps.append(self.equations(x_t, now))
            now = Memory(steps[-1]["h"], steps[-1].get("c"))
        found = {symbol: torch.stack([step[symbol] for step in steps], 1) for symbol in self.symbols}
        c = None if memory.c is None else last(found["c"], lengths, memory.c)
        return found, Memory(last(found["h"], lengths, memory.h), c)

    def run(self, x: Tensor, memory: Memory, lengths: Tensor | None = None) -> tuple[dict[str, Tensor], Memory]:
        """h [B, T, D] and each sentence's last state alone, by a fused kernel if there is one."""
        if self.kernel is None:
            return self.unroll(x, memory, lengths)
        weights = (self.U, self.W, self.b_U, self.b_W)
        h, _ = self.kernel(x, memory.h[None], weights, True, 1, 0.0, self.training, False, True)
        return {"h": h}, Memory(last(h, lengths, memory.h))


class Memoryless(Cell):
    """h_t = g(U x_t): steps are independent, so all are computed in one product."""

    def __init__(self, inputs: int, width: int, activation: Activation = "tanh"):
        super().__init__(inputs, width, remembers=False)
        self.g = ACTIVATIONS[activation]

    def equations(self, x: Tensor, memory: Memory) -> dict[str, Tensor]:
        return {"h": self.g(F.linear(x, self.U, self.b_U))}

    def unroll(self, x: Tensor, memory: Memory, lengths: Tensor | None = None) -> tuple[dict[str, Tensor], Memory]:
        found = self.equations(x, memory)  # nothing in them is of one step only
        return found, Memory(last(found["h"], lengths, memory.h))


class Jordan(Memoryless):
    """h_t = g(W o_{t−1} + U x_t): its input is the network's previous output        (Jordan 1986)

    o_{t−1} is `memory.o`, set by the network: a probability for each word, a number, a word's vector. When it is the
    true output (in training), no step waits for another: `unroll` takes all of them as `memory.o` [B, T, O].
    """

    def __init__(self, inputs: int, width: int, outputs: int, activation: Activation = "tanh"):
        super().__init__(inputs, width, activation)
        self.W = self._uniform(outputs)  # [D, O]

    def equations(self, x: Tensor, memory: Memory) -> dict[str, Tensor]:
        assert memory.o is not None, "a Jordan cell needs the network's last output"
        return {"h": self.g(F.linear(memory.o, self.W) + F.linear(x, self.U, self.b_U))}


class Elman(Cell):
    """h_t = g(W h_{t−1} + U x_t): its input is its own previous state        (Elman 1990)

    PyTorch has kernels for tanh and ReLU; with another g the steps are computed one by one, which is slower.
    """

    def __init__(self, inputs: int, width: int, activation: Activation = "tanh"):
        super().__init__(inputs, width)
        self.g = ACTIVATIONS[activation]
        self.kernel = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}.get(activation)

    def equations(self, x: Tensor, memory: Memory) -> dict[str, Tensor]:
        return {"h": self.g(F.linear(memory.h, self.W, self.b_W) + F.linear(x, self.U, self.b_U))}


class LSTM(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, §4) with a forget gate (Gers et al. 2000, §3):

    i_t = σ(W^i h_{t−1} + U^i x_t)         how much of the new to let in
    f_t = σ(W^f h_{t−1} + U^f x_t)         how much of the old to keep
    o_t = σ(W^o h_{t−1} + U^o x_t)         how much to show (not the network's output o_t)
    C̃_t = tanh(W^C̃ h_{t−1} + U^C̃ x_t)      the candidate
    C_t = f_t ⊙ C_{t−1} + i_t ⊙ C̃_t
    h_t = o_t ⊙ tanh(C_t)
    """

    gates = ("i", "f", "candidate", "o")
    symbols = (*gates, "c", "h")

    def __init__(self, inputs: int, width: int):
        super().__init__(inputs, width)
        # A gate that starts half closed forgets half at every step, before it could learn what to keep: with a bias
        # of 1 it starts at σ(1) = 0.73 (Gers et al. 2000; Jozefowicz et al. 2015). The two biases add up.
        with torch.no_grad():
            self.b_U[width : 2 * width], self.b_W[width : 2 * width] = 1.0, 0.0

    def equations(self, x: Tensor, memory: Memory) -> dict[str, Tensor]:
        assert memory.c is not None, "an LSTM remembers h and c"
        z = F.linear(memory.h, self.W, self.b_W) + F.linear(x, self.U, self.b_U)  # [R, 4D]
        z_i, z_f, z_candidate, z_o = z.chunk(4, -1)
        i, f, o, candidate = torch.sigmoid(z_i), torch.sigmoid(z_f), torch.sigmoid(z_o), torch.tanh(z_candidate)
        c = f * memory.c + i * candidate
        h = o * torch.tanh(c)
        return {"i": i, "f": f, "candidate": candidate, "o": o, "c": c, "h": h}

    def run(self, x: Tensor, memory: Memory, lengths: Tensor | None = None) -> tuple[dict[str, Tensor], Memory]:
        assert memory.c is not None, "an LSTM remembers h and c"
        U: Tensor = self.U
        if lengths is not None:
            # The kernel gives c at the last step only. So one more input says "padding", with weights that make i = 0
            # and f = 1 exactly: from a sentence's end on, c stays as it is.
            x = torch.cat([x, ~real(x, lengths)[..., None]], -1)  # [B, T, X+1]
            U = torch.cat([U, U.new_tensor([-1e4, 1e4, 0, 0]).repeat_interleave(self.width)[:, None]], 1)
        state = (memory.h[None], memory.c[None])
        weights = (U, self.W, self.b_U, self.b_W)
        h, _, c = torch.lstm(x, state, weights, True, 1, 0.0, self.training, False, True)
        return {"h": h}, Memory(last(h, lengths, memory.h), c[0])


class GRU(Cell):
    """The gated recurrent unit (Cho et al. 2014, §2.3, whose letters U and W are the other way round):

    r_t = σ(W^r h_{t−1} + U^r x_t)                  reset: how much of the old the candidate sees
    z_t = σ(W^z h_{t−1} + U^z x_t)                  update: how much of the old to keep
    h̃_t = tanh(U^h̃ x_t + r_t ⊙ (W^h̃ h_{t−1}))       the candidate
    h_t = z_t ⊙ h_{t−1} + (1 − z_t) ⊙ h̃_t

    As in torch.nn.GRU and cuDNN, r_t multiplies the product W h (bias included); in the paper it is W (r_t ⊙ h_{t−1}).
    """

    gates = ("r", "z", "candidate")
    symbols = (*gates, "h")
    kernel = staticmethod(torch.gru)

    def equations(self, x: Tensor, memory: Memory) -> dict[str, Tensor]:
        w_r, w_z, w_candidate = F.linear(memory.h, self.W, self.b_W).chunk(3, -1)
        u_r, u_z, u_candidate = F.linear(x, self.U, self.b_U).chunk(3, -1)
        r, z = torch.sigmoid(w_r + u_r), torch.sigmoid(w_z + u_z)
        candidate = torch.tanh(u_candidate + r * w_candidate)
        h = z * memory.h + (1 - z) * candidate
        return {"r": r, "z": z, "candidate": candidate, "h": h}


class Recurrent(Part):
    """Layers of one kind of cell, in one direction or both (Schuster & Paliwal 1997).

    A Jordan stack feeds the network's output back to its first layer; the layers above it are memoryless. It cannot
    be bidirectional: h← at t would need the output at t+1, which needs h→ there, which needs the output at t.

    Padding is computed and ignored rather than packed, which would be slower.
    """

    def __init__(
        self,
        kind: Kind,
        inputs: int,  # X
        width: int,  # D
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,  # between layers
        activation: Activation = "tanh",  # g of memoryless, Elman and Jordan; the others have their own
        outputs: int = 0,  # O, for Jordan: the size of what is fed back
    ):
        super().__init__()
        if kind == "jordan" and bidirectional:
            raise ConfigError("a Jordan network cannot be bidirectional: each direction would wait for the other")
        assert (outputs > 0) == (kind == "jordan"), "a Jordan network, and no other, needs the size of its output"
        self.kind, self.width, self.outputs = kind, width, outputs
        self.directions = ("forward", "backward") if bidirectional else ("forward",)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList()
        for above in range(layers):
            size = width * len(self.directions) if above else inputs
            # `forward` is a method of every module, hence the underscore; recorded paths have none
            cells = {f"{d}_": _cell(kind, size, width, activation, outputs, above > 0) for d in self.directions}
            self.layers.append(nn.ModuleDict(cells))

    def cells(self) -> Iterator[tuple[str, Cell]]:
        """Every cell with its name (`0.forward`, `0.backward`, `1.forward`, …), in the order of the state's axis N."""
        for number, layer in enumerate(self.layers):
            for direction, cell in cast(nn.ModuleDict, layer).items():
                yield f"{number}.{direction[:-1]}", cast(Cell, cell)

    def initial(self, rows: int) -> Memory:
        """The state before the first step: zeros, so that W h_0 and W o_0 are 0."""
        zeros = next(self.parameters()).new_zeros
        h = zeros(len(self.layers) * len(self.directions), rows, self.width)
        o = zeros(rows, self.outputs) if self.kind == "jordan" else None
        return Memory(h, h if self.kind == "lstm" else None, o)

    def forward(
        self,
        x: Tensor,  # [B, T, X]
        lengths: Tensor | None = None,  # [B] how many steps of each sentence are real; None: all
        state: Memory | None = None,
        feedback: Tensor | Callable[[Tensor], Tensor] | None = None,
    ) -> tuple[Tensor, Memory]:
        """The last layer's h, [B, T, D] or [B, T, 2D] = [h→, h←], 0 at padding; and the state at each sentence's end.

        `feedback` is for Jordan: the true outputs before each step, o_0 … o_{T−1} [B, T, O], which lets all steps run
        at once; or what makes o_t [B, O] of h_t [B, D], step by step. The state's `o` is set in the second case only.
        """
        state = state or self.initial(x.shape[0])
        assert (feedback is not None) == (self.kind == "jordan"), "only a Jordan network gets its output fed back"
        if callable(feedback):
            return self._feed_back(x, lengths, state, feedback)
        state = Memory(state.h, state.c, feedback)
        final, outputs = list[Memory](), list[Tensor]()
        for n, (name, cell) in enumerate(self.cells()):
            if n and n % len(self.directions) == 0:  # a layer is complete
                x, outputs = self.dropout(torch.cat(outputs, -1)), []
            backward = name.endswith("backward")
            sequence = reverse(x, lengths) if backward else x
            # the kernels give h alone: the equations serve when a recorder asks for what is inside the cell
            inside = is_recording() and self.wants(*(f"{name}.{symbol}" for symbol in cell.symbols))
            found, memory = (cell.unroll if inside else cell.run)(sequence, state.cell(n), lengths)
            if backward:
                found = {symbol: reverse(tensor, lengths) for symbol, tensor in found.items()}
            if inside:
                self._record(name, found, lengths)
            outputs.append(found["h"])
            final.append(memory)
        return _blank(torch.cat(outputs, -1), lengths), Memory.of(final)

    def step(self, x: Tensor, state: Memory) -> tuple[Tensor, Memory]:
        """One step of a one-directional stack: h_t [R, D] from x_t [R, X], and the state to continue with.

        It computes the equations, which are faster than the kernels for single steps. A Jordan network sets the new
        state's `o` (`dataclasses.replace`).
        """
        assert self.directions == ("forward",), "the backward direction begins at the end of a sentence"
        cells = []
        for n, (name, cell) in enumerate(self.cells()):
            found = cell.equations(self.dropout(x) if n else x, state.cell(n))
            self._record(name, found)
            x = found["h"]
            cells.append(Memory(x, found.get("c")))
        return x, Memory.of(cells)

    def _feed_back(
        self, x: Tensor, lengths: Tensor | None, state: Memory, output: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Memory]:
        """A Jordan network on its own outputs: each step needs the output of the previous one."""
        start, steps = state, []
        for x_t in x.unbind(1):
            h, state = self.step(x_t, state)
            state = Memory(state.h, o=output(h))
            steps.append(state)
        layers = torch.stack([step.h for step in steps], 2)  # [L, B, T, D]
        o = torch.stack([cast(Tensor, step.o) for step in steps], 1)  # [B, T, O]
        for (name, _), h in zip(self.cells(), layers, strict=True):
            self._record(name, {"h": h}, lengths)
        self.record("feedback", o)
        final = torch.stack([last(h, lengths, before) for h, before in zip(layers, start.h, strict=True)])
        return _blank(layers[-1], lengths), Memory(final, o=last(o, lengths, cast(Tensor, start.o)))

    def _record(self, name: str, found: dict[str, Tensor], lengths: Tensor | None = None) -> None:
        """Record a cell's tensors [B, T, D], or those of one step [R, D] with an axis T = 1."""
        if is_recording():
            for symbol, tensor in found.items():
                self.record(f"{name}.{symbol}", _blank(tensor if tensor.ndim == 3 else tensor.unsqueeze(1), lengths))


def _cell(kind: Kind, inputs: int, width: int, activation: Activation, outputs: int, above: bool) -> Cell:
    """A cell of a stack, in its first layer or above it."""
    if kind == "jordan" and not above:
        return Jordan(inputs, width, outputs, activation)
    if kind in ("lstm", "gru"):
        return LSTM(inputs, width) if kind == "lstm" else GRU(inputs, width)
    return Elman(inputs, width, activation) if kind == "elman" else Memoryless(inputs, width, activation)


def real(x: Tensor, lengths: Tensor) -> Tensor:
    """The mask [B, T], True where x [B, T, ..] is not padding."""
    return torch.arange(x.shape[1], device=x.device) < lengths[:, None]


def _blank(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x [B, T, D] with zeros at padding."""
    return x if lengths is None else x.masked_fill(~real(x, lengths)[..., None], 0.0)


def last(x: Tensor, lengths: Tensor | None, before: Tensor) -> Tensor:
    """x [B, T, D] at each sentence's last step, [B, D]; `before` [B, D] where a sentence is empty."""
    if lengths is None:
        return x[:, -1]
    rows = torch.arange(x.shape[0], device=x.device)
    return torch.where((lengths > 0)[:, None], x[rows, lengths - 1], before)


def reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Each sentence of x [B, T, D] back to front; padding stays behind it."""
    if lengths is None:
        return x.flip(1)
    b, t = x.shape[:2]
    step, end = torch.arange(t, device=x.device), lengths[:, None]
    order = torch.where(step < end, end - 1 - step, step) + torch.arange(b, device=x.device)[:, None] * t  # [B, T]
    return x.flatten(0, 1).index_select(0, order.flatten()).view_as(x)


def largest_singular_value(cell: Cell) -> dict[str, float]:
    """The largest singular value of the recurrent matrix W, for each gate's block of it; Elman and Jordan have one, h.

    A gradient that goes back one step is multiplied by Wᵀ (and by g′): below 1 it vanishes, above 1 it may explode.
    """
    if not hasattr(cell, "W"):
        return {}
    blocks = cell.W.detach().unflatten(0, (len(cell.gates), -1))  # [G, D, D]
    return dict(zip(cell.gates, torch.linalg.matrix_norm(blocks, 2).tolist(), strict=True))
