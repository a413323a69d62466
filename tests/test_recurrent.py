"""The cells equal torch.nn's in values and gradients; padding, batching, tapes and pieces change nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar, get_args
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mirada.contracts import Part, Tape
from mirada.errors import ConfigError
from mirada.recurrent import (
    ACTIVATIONS,
    GRU,
    LSTM,
    Activation,
    Cell,
    Elman,
    Jordan,
    Kind,
    Memory,
    Memoryless,
    Recurrent,
    largest_singular_value,
    last,
    reverse,
)

Module = TypeVar("Module", bound=nn.Module)

INPUTS, WIDTH, OUTPUTS = 4, 5, 3
KINDS: tuple[Kind, ...] = get_args(Kind)
BOTH_WAYS = [(kind, both) for kind in KINDS for both in (False, True) if kind != "jordan" or not both]
TWINS: list[tuple[Kind, Activation, type[nn.RNNBase], type[nn.RNNCellBase]]] = [
    ("elman", "tanh", nn.RNN, nn.RNNCell),
    ("elman", "relu", nn.RNN, nn.RNNCell),
    ("lstm", "tanh", nn.LSTM, nn.LSTMCell),
    ("gru", "tanh", nn.GRU, nn.GRUCell),
]


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shaken(module: Module) -> Module:
    """The module in float64 with every parameter random, large enough that saturation shows."""
    module.double()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def stack(kind: Kind, layers: int = 1, both: bool = False, activation: Activation = "tanh") -> Recurrent:
    outputs = OUTPUTS if kind == "jordan" else 0
    return shaken(Recurrent(kind, INPUTS, WIDTH, layers, both, 0.0, activation, outputs))


def said(kind: Kind, b: int, t: int) -> Tensor | None:
    """The true outputs before each step, for the kind that is told them."""
    return random(b, t, OUTPUTS, seed=3) if kind == "jordan" else None


def some_state(network: Recurrent, rows: int) -> Memory:
    """A state that is not zero."""
    start = network.initial(rows)
    c = None if start.c is None else random(*start.c.shape, seed=12)
    return Memory(random(*start.h.shape, seed=11), c, None if start.o is None else random(*start.o.shape, seed=13))


def state_tensors(state: Memory) -> list[Tensor]:
    return [tensor for tensor in (state.h, state.c, state.o) if tensor is not None]


def weighted(tensors: list[Tensor]) -> Tensor:
    """One number that depends on every element in its own way."""
    return torch.stack([(tensor * random(*tensor.shape, seed=5)).sum() for tensor in tensors]).sum()


def torch_twin(
    ours: Recurrent, kind: type[nn.RNNBase], activation: str
) -> tuple[nn.RNNBase, list[tuple[Tensor, Tensor]]]:
    """torch.nn's module with our weights, and the pairs of parameters."""
    more = {"nonlinearity": activation} if kind is nn.RNN else {}
    both = len(ours.directions) == 2
    theirs = kind(INPUTS, WIDTH, len(ours.layers), batch_first=True, bidirectional=both, **more).double()  # type: ignore[arg-type]
    pairs = list[tuple[Tensor, Tensor]]()
    for name, cell in ours.cells():
        layer, direction = name.split(".")
        end = f"l{layer}" + ("_reverse" if direction == "backward" else "")
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        pairs += list(
            zip((cell.U, cell.W, cell.b_U, cell.b_W), (getattr(theirs, f"{n}_{end}") for n in names), strict=True)
        )
    with torch.no_grad():
        for mine, other in pairs:
            other.copy_(mine)
    return theirs, pairs


# --- equal to torch.nn ---


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(("kind", "activation", "twin", "_"), TWINS)
def test_stacks_equal_torch(
    kind: Kind, activation: Activation, twin: type[nn.RNNBase], _: object, layers: int, both: bool
) -> None:
    """Values, states and gradients on a padded batch, against torch.nn on packed sentences."""
    ours = stack(kind, layers, both, activation)
    theirs, pairs = torch_twin(ours, twin, activation)
    x, lengths = random(4, 6, INPUTS).requires_grad_(), torch.tensor([4, 6, 1, 3])
    start = some_state(ours, 4)
    found, state = ours(x, lengths, start)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    packed_out, theirs_state = theirs(packed, (start.h, start.c) if kind == "lstm" else start.h)
    expected, _ = pad_packed_sequence(packed_out, batch_first=True)
    expected_state = list(theirs_state) if kind == "lstm" else [theirs_state]
    close(found, expected)
    for one, two in zip(state_tensors(state), expected_state, strict=True):
        close(one, two)
    mine = torch.autograd.grad(weighted([found, *state_tensors(state)]), [x, *(pair[0] for pair in pairs)])
    other = torch.autograd.grad(weighted([expected, *expected_state]), [x, *(pair[1] for pair in pairs)])
    for one, two in zip(mine, other, strict=True):
        assert two.abs().max() > 0
        close(one, two, 1e-9)


@pytest.mark.parametrize(("kind", "activation", "_", "twin"), TWINS)
def test_written_out_steps_equal_torch_cells(
    kind: Kind, activation: Activation, _: object, twin: type[nn.RNNCellBase]
) -> None:
    ((_, ours),) = stack(kind, activation=activation).cells()
    more = {"nonlinearity": activation} if twin is nn.RNNCell else {}
    theirs = twin(INPUTS, WIDTH, **more).double()  # type: ignore[arg-type]
    mine: list[Tensor] = [ours.U, ours.W, ours.b_U, ours.b_W]
    other: list[Tensor] = [theirs.weight_ih, theirs.weight_hh, theirs.bias_ih, theirs.bias_hh]
    with torch.no_grad():
        for one, two in zip(mine, other, strict=True):
            two.copy_(one)
    x, h, c = (random(3, size, seed=size).requires_grad_() for size in (INPUTS, WIDTH, WIDTH))
    hidden, memory = ours.step(x, Memory(h, c if kind == "lstm" else None))
    expected = list(theirs(x, (h, c))) if kind == "lstm" else [theirs(x, h)]
    assert hidden is memory.h
    assert (memory.c is not None) == (kind == "lstm")
    inputs = [x, h, c] if kind == "lstm" else [x, h]
    for one, two in zip(state_tensors(memory), expected, strict=True):
        close(one, two)
    found = torch.autograd.grad(weighted(state_tensors(memory)), [*inputs, *mine])
    for one, two in zip(found, torch.autograd.grad(weighted(expected), [*inputs, *other]), strict=True):
        close(one, two)


def test_an_lstm_step_is_its_formula() -> None:
    """With the blocks taken apart by hand, and in the notes' letters."""
    cell = shaken(LSTM(INPUTS, WIDTH))
    x, h, c = random(2, INPUTS), random(2, WIDTH, seed=1), random(2, WIDTH, seed=2)
    z = {
        gate: h @ cell.W[rows].T + x @ cell.U[rows].T + cell.b_U[rows] + cell.b_W[rows]
        for gate, rows in zip("ifCo", (slice(k * WIDTH, (k + 1) * WIDTH) for k in range(4)), strict=True)
    }
    i, f, o = (1 / (1 + torch.exp(-z[gate])) for gate in "ifo")
    new = f * c + i * torch.tanh(z["C"])
    hidden, memory = cell.step(x, Memory(h, c))
    assert memory.c is not None
    close(memory.c, new)
    close(hidden, o * torch.tanh(new))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("kind", "both"), BOTH_WAYS)
def test_kernels_equal_the_equations_in_single_precision(kind: Kind, both: bool, training: bool) -> None:
    """float32 has kernels of its own on a CPU; gradients exist outside of training too."""
    network = stack(kind, 2, both).float().train(training)
    lengths, outputs = torch.tensor([7, 2, 5]), said(kind, 3, 7)
    outputs = None if outputs is None else outputs.float()
    results = []
    for tape in (None, Tape()):
        x = random(3, 7, INPUTS).float().requires_grad_()
        found, state = network(x, lengths, None, tape, outputs)
        tensors = [found, *state_tensors(state)]
        loss = torch.stack([tensor.sin().sum() for tensor in tensors]).sum()
        gradients = torch.autograd.grad(loss, [x, *network.parameters()])
        results.append([*tensors, *gradients])
    for fused, written in zip(*results, strict=True):
        close(fused, written, 1e-4)


# --- padding ---


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(("kind", "both"), BOTH_WAYS)
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), carried=st.booleans(), taped=st.booleans())
def test_a_padded_batch_equals_its_sentences_one_by_one(
    kind: Kind, both: bool, layers: int, lengths: list[int], carried: bool, taped: bool
) -> None:
    network = stack(kind, layers, both)
    b, t = len(lengths), max(lengths)
    x = (random(b, t, INPUTS) + 3 * (torch.arange(t) >= torch.tensor(lengths)[:, None])[..., None]).requires_grad_()
    start = some_state(network, b) if carried else network.initial(b)
    outputs = said(kind, b, t)
    found, state = network(x, torch.tensor(lengths), start, Tape() if taped else None, outputs)
    alone, states = [], []
    for row, length in enumerate(lengths):
        true = None if outputs is None else outputs[row : row + 1, :length]
        one, kept = network(x[row : row + 1, :length], None, start.select(torch.tensor([row])), None, true)
        close(found[row : row + 1, :length], one)
        assert (found[row, length:] == 0).all()
        close(state.h[:, row], kept.h[:, 0])
        assert (state.c is None) == (kept.c is None)
        alone.append(one)
        states.append(kept)
    expected = weighted([nn.utils.rnn.pad_sequence([one[0] for one in alone], batch_first=True)])
    loss = weighted([found])
    for name in ("h", "c"):
        if getattr(state, name) is not None:
            close(getattr(state, name), torch.cat([getattr(kept, name) for kept in states], 1))
            loss = loss + weighted([getattr(state, name)])
            expected = expected + weighted([torch.cat([getattr(kept, name) for kept in states], 1)])
    wanted = [x, *network.parameters()]
    for one, two in zip(torch.autograd.grad(loss, wanted), torch.autograd.grad(expected, wanted), strict=True):
        close(one, two, 1e-9)


@pytest.mark.parametrize(("kind", "both"), BOTH_WAYS)
def test_an_empty_sentence_leaves_the_state_as_it_was(kind: Kind, both: bool) -> None:
    network = stack(kind, 2, both)
    start = some_state(network, 2)
    found, state = network(random(2, 3, INPUTS), torch.tensor([0, 3]), start, None, said(kind, 2, 3))
    assert (found[0] == 0).all()
    assert torch.equal(state.h[:, 0], start.h[:, 0])
    if start.c is not None:
        assert state.c is not None
        assert torch.equal(state.c[:, 0], start.c[:, 0])


def test_reverse_turns_each_sentence_and_leaves_the_padding() -> None:
    x = torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 7, 8]])[..., None]
    lengths = torch.tensor([3, 1, 4])
    turned = reverse(x, lengths)
    assert turned[..., 0].tolist() == [[3, 2, 1, 0], [4, 0, 0, 0], [8, 7, 6, 5]]
    assert torch.equal(reverse(turned, lengths), x)
    assert torch.equal(reverse(x, None), x.flip(1))
    assert last(x, lengths, torch.zeros(3, 1)).tolist() == [[3], [4], [8]]


def test_the_backward_direction_reads_a_sentence_from_its_end() -> None:
    network = stack("gru", both=True)
    (_, forward), (_, backward) = network.cells()
    x, lengths = random(2, 5, INPUTS), torch.tensor([5, 3])
    found, state = network(x, lengths)
    first, _ = forward.step(x[:, 0], Memory(torch.zeros(2, WIDTH, dtype=torch.float64)))
    close(found[:, 0, :WIDTH], first)  # [h→, h←]
    memory = Memory(torch.zeros(1, WIDTH, dtype=torch.float64))
    for t in (2, 1, 0):
        hidden, memory = backward.step(x[1:, t], memory)
        close(found[1:, t, WIDTH:], hidden)
    close(state.h[1, 1:], memory.h)


# --- pieces and states ---


@pytest.mark.parametrize("kind", KINDS)
def test_two_pieces_with_the_state_carried_over_equal_the_whole(kind: Kind) -> None:
    network, x, outputs = stack(kind, 2), random(3, 7, INPUTS), said(kind, 3, 7)
    before, after = (None, None) if outputs is None else (outputs[:, :4], outputs[:, 4:])
    whole, end = network(x, feedback=outputs)
    first, state = network(x[:, :4], feedback=before)
    second, state = network(x[:, 4:], state=state, feedback=after)
    close(torch.cat([first, second], 1), whole)
    for one, two in zip(state_tensors(state), state_tensors(end), strict=True):
        close(one, two)


@pytest.mark.parametrize("kind", ["elman", "lstm", "gru"])
def test_gradients_stop_where_the_state_is_detached(kind: Kind) -> None:
    network, x = stack(kind, 2), random(2, 6, INPUTS).requires_grad_()
    gradients = {}
    for cut in (False, True):
        _, state = network(x[:, :3])
        carried = state.detach() if cut else state
        assert all(not tensor.requires_grad for tensor in state_tensors(carried)) == cut
        second, _ = network(x[:, 3:], state=carried)
        (gradients[cut],) = torch.autograd.grad(weighted([second]), x)
    assert (gradients[True][:, :3] == 0).all()
    assert (gradients[False][:, :3] != 0).any(-1).all()
    close(gradients[True][:, 3:], gradients[False][:, 3:])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_selected_rows_go_on_as_those_rows(kind: Kind) -> None:
    network, rows = stack(kind, 2), torch.tensor([2, 0, 0])
    x, outputs = random(3, 4, INPUTS), said(kind, 3, 4)
    whole, end = network(x, feedback=outputs)
    state = network.initial(3)
    for t in range(3):
        state = state if outputs is None else replace(state, o=outputs[:, t])
        hidden, state = network.step(x[:, t], state)
        close(hidden, whole[:, t])
    state = state if outputs is None else replace(state, o=outputs[:, 3])
    hidden, state = network.step(x[rows, 3], state.select(rows))
    close(hidden, whole[rows, 3])
    for one, two in zip(state_tensors(state), state_tensors(end.select(rows)), strict=True):
        close(one, two)


def test_select_takes_rows_of_every_tensor() -> None:
    state = Memory(random(2, 3, WIDTH), random(2, 3, WIDTH, seed=1), random(3, OUTPUTS))
    assert state.c is not None
    assert state.o is not None
    chosen = state.select(torch.tensor([1, 1, 0, 2]))
    assert torch.equal(chosen.h, state.h[:, [1, 1, 0, 2]])
    assert chosen.c is not None
    assert torch.equal(chosen.c, state.c[:, [1, 1, 0, 2]])
    assert chosen.o is not None
    assert torch.equal(chosen.o, state.o[[1, 1, 0, 2]])
    assert state.cell(1).select(torch.tensor([2])).h.shape == (1, WIDTH)


# --- memoryless and Jordan ---


@pytest.mark.parametrize("layers", [1, 2])
def test_memoryless_does_not_see_the_other_steps(layers: int) -> None:
    network, order = stack("memoryless", layers), torch.tensor([3, 0, 2, 1])
    x = random(2, 4, INPUTS)
    whole, _ = network(x)
    close(network(x[:, order])[0], whole[:, order])
    close(network(x[:, 2:3], state=some_state(network, 2))[0], whole[:, 2:3])


def test_memoryless_is_its_formula() -> None:
    cell = shaken(Memoryless(INPUTS, WIDTH))
    x = random(2, 3, INPUTS)
    found, memory = cell.run(x, Memory(torch.zeros(2, WIDTH)), torch.tensor([3, 1]))
    h = found["h"]
    close(h, torch.tanh(x @ cell.U.T + cell.b_U))
    close(memory.h, torch.stack([h[0, 2], h[1, 0]]))
    assert [name for name, _ in cell.named_parameters()] == ["U", "b_U"]


@pytest.mark.parametrize("layers", [1, 2])
def test_jordan_on_the_true_outputs_at_once_equals_step_by_step(layers: int) -> None:
    network = stack("jordan", layers)
    x, true = random(3, 5, INPUTS).requires_grad_(), random(3, 6, OUTPUTS, seed=3)  # o_0 … o_5
    at_once, state = network(x, feedback=true[:, :-1])
    told = iter(true[:, 1:].unbind(1))
    stepwise, end = network(x, state=replace(network.initial(3), o=true[:, 0]), feedback=lambda h: next(told))
    close(at_once, stepwise)
    close(state.h, end.h)
    assert state.o is None
    assert end.o is not None
    assert torch.equal(end.o, true[:, -1])
    wanted = [x, *network.parameters()]
    for one, two in zip(
        torch.autograd.grad(weighted([at_once]), wanted), torch.autograd.grad(weighted([stepwise]), wanted), strict=True
    ):
        close(one, two)


def test_jordan_hears_itself() -> None:
    """o_t = g2(V h_t), h_t = g1(W o_{t−1} + U x_t), written out; padded sentences too, and on a tape."""
    network, V = stack("jordan"), random(OUTPUTS, WIDTH, seed=8)
    ((_, cell),) = network.cells()
    x, lengths, tape = random(2, 4, INPUTS), torch.tensor([4, 2]), Tape()
    o, hidden, outputs = torch.zeros(2, OUTPUTS, dtype=torch.float64), [], []
    for t in range(4):
        h = torch.tanh(o @ cell.W.T + x[:, t] @ cell.U.T + cell.b_U)
        o = torch.softmax(h @ V.T, -1)
        hidden.append(h)
        outputs.append(o)
    found, state = network(x, lengths, tape=tape, feedback=lambda h: torch.softmax(h @ V.T, -1))
    for t in range(4):
        close(found[0, t], hidden[t][0])
    close(found[1, :2], torch.stack([hidden[0][1], hidden[1][1]]))
    assert (found[1, 2:] == 0).all()
    assert state.o is not None
    close(state.o, torch.stack([outputs[3][0], outputs[1][1]]))
    close(state.h[0], torch.stack([hidden[3][0], hidden[1][1]]))
    assert torch.equal(tape.tensors["0.forward.h"], found)


def test_gradients_of_a_jordan_network_that_hears_itself_go_back_through_its_outputs() -> None:
    network, x = stack("jordan"), random(2, 4, INPUTS).requires_grad_()
    V = random(OUTPUTS, WIDTH, seed=8)
    found, _ = network(x, feedback=lambda h: h @ V.T)
    (gradient,) = torch.autograd.grad(weighted([found[:, -1]]), x)
    assert (gradient != 0).any(-1).all()
    ((_, cell),) = network.cells()  # with o_t = V h_t it is an Elman network whose matrix is W V
    elman = Elman(INPUTS, WIDTH).double()
    with torch.no_grad():
        for mine, other in ((elman.U, cell.U), (elman.b_U, cell.b_U), (elman.W, cell.W @ V)):
            mine.copy_(other)
        elman.b_W.zero_()
    same, _ = elman.run(x, Memory(torch.zeros(2, WIDTH, dtype=torch.float64)))
    close(found, same["h"])
    close(gradient, torch.autograd.grad(weighted([same["h"][:, -1]]), x)[0])


def test_a_jordan_stack_is_memoryless_above_its_first_layer() -> None:
    network = stack("jordan", 3)
    assert [type(cell) for _, cell in network.cells()] == [Jordan, Memoryless, Memoryless]
    found, _ = network(random(2, 4, INPUTS), feedback=lambda h: h[:, :OUTPUTS])  # h of the last layer is fed back
    x, true = random(2, 4, INPUTS), torch.cat([torch.zeros(2, 1, OUTPUTS), found[:, :-1, :OUTPUTS]], 1)
    close(network(x, feedback=true)[0], found)


def test_jordan_cannot_be_bidirectional() -> None:
    with pytest.raises(ConfigError, match="Jordan network cannot be bidirectional"):
        Recurrent("jordan", INPUTS, WIDTH, bidirectional=True, outputs=OUTPUTS)


# --- activations and singular values ---


def test_activations_are_their_formulas() -> None:
    z = random(50) * 2
    formulas = {
        "sigmoid": 1 / (1 + torch.exp(-z)),
        "tanh": (torch.exp(z) - torch.exp(-z)) / (torch.exp(z) + torch.exp(-z)),
        "relu": torch.maximum(z, torch.zeros_like(z)),
        "leaky_relu": torch.maximum(0.1 * z, z),
        "elu": torch.where(z > 0, z, torch.exp(z) - 1),
    }
    assert formulas.keys() == ACTIVATIONS.keys() == set(get_args(Activation))
    for name, g in ACTIVATIONS.items():
        close(g(z), formulas[name])


@pytest.mark.parametrize("activation", get_args(Activation))
def test_elman_with_every_activation(activation: Activation) -> None:
    network = stack("elman", activation=activation)
    ((_, cell),) = network.cells()
    x, h = random(2, 5, INPUTS), torch.zeros(2, WIDTH, dtype=torch.float64)
    found, _ = network(x)
    for t in range(5):
        h = ACTIVATIONS[activation](h @ cell.W.T + cell.b_W + x[:, t] @ cell.U.T + cell.b_U)
        close(found[:, t], h)


def test_largest_singular_values_of_known_matrices() -> None:
    c, s = math.cos(0.7), math.sin(0.7)
    turn = torch.tensor([[c, -s], [s, c]])
    stretch = torch.diag(torch.tensor([3.0, 0.5]))
    blocks = [stretch, turn, turn @ stretch @ turn.T, torch.tensor([[1.0, 1.0], [0.0, 1.0]])]
    golden = (1 + math.sqrt(5)) / 2
    elman, gru, lstm, jordan = Elman(3, 2), GRU(3, 2), LSTM(3, 2), Jordan(3, 2, 4)
    with torch.no_grad():
        elman.W.copy_(blocks[3])
        gru.W.copy_(torch.cat(blocks[:3]))
        lstm.W.copy_(torch.cat(blocks))
    assert largest_singular_value(elman) == pytest.approx({"h": golden})
    assert largest_singular_value(gru) == pytest.approx({"r": 3, "z": 1, "candidate": 3})
    assert largest_singular_value(lstm) == pytest.approx({"i": 3, "f": 1, "candidate": 3, "o": golden})
    assert largest_singular_value(jordan) == pytest.approx({"h": torch.linalg.svdvals(jordan.W)[0].item()})
    assert largest_singular_value(Memoryless(3, 2)) == {}


# --- beginnings ---


@pytest.mark.parametrize("cell", [Memoryless(7, 16), Elman(7, 16), Jordan(7, 16, 5), LSTM(7, 16), GRU(7, 16)])
def test_weights_begin_as_in_torch_but_for_the_forget_gate(cell: Cell) -> None:
    for name, parameter in cell.named_parameters():
        begun = parameter.detach().clone()
        if isinstance(cell, LSTM) and name in ("b_U", "b_W"):
            assert (begun[16:32] == (1 if name == "b_U" else 0)).all()  # the sum of both is 1
            begun = torch.cat([begun[:16], begun[32:]])
        assert 0.1 < begun.abs().max() <= 0.25
        assert begun.min() < 0 < begun.max()


@pytest.mark.parametrize("kind", ["lstm", "memoryless"])
def test_dropout_works_between_layers_while_training(kind: Kind) -> None:
    x = random(2, 5, INPUTS).float()
    one, two = (Recurrent(kind, INPUTS, WIDTH, layers, dropout=0.5) for layers in (1, 2))
    assert torch.equal(one(x)[0], one(x)[0])  # after the last layer there is none
    assert not torch.equal(two(x)[0], two(x)[0])
    start, first = one.initial(2), x[:, 0]
    assert torch.equal(one.step(first, start)[0], one.step(first, start)[0])
    assert not torch.equal(two.step(first, two.initial(2))[0], two.step(first, two.initial(2))[0])
    two.eval()
    assert torch.equal(two(x)[0], two(x)[0])


# --- tapes ---


class Model(Part):
    def __init__(self, encoder: Recurrent):
        super().__init__()
        self.encoder = encoder
        self.name_parts()


SYMBOLS = {
    "memoryless": ["h"],
    "elman": ["h"],
    "jordan": ["h"],
    "lstm": ["i", "f", "candidate", "o", "c", "h"],
    "gru": ["r", "z", "candidate", "h"],
}


@pytest.mark.parametrize(("kind", "both"), BOTH_WAYS)
def test_a_tape_holds_every_gate_and_changes_nothing(kind: Kind, both: bool) -> None:
    network = Model(stack(kind, 2, both)).encoder
    x, lengths, outputs, tape = random(3, 5, INPUTS), torch.tensor([5, 2, 4]), said(kind, 3, 5), Tape()
    found, state = network(x, lengths, None, tape, outputs)
    expected, end = network(x, lengths, None, None, outputs)
    close(found, expected)
    for one, two in zip(state_tensors(state), state_tensors(end), strict=True):
        close(one, two)
    cells = [f"{layer}.{way}" for layer in (0, 1) for way in (("forward", "backward") if both else ("forward",))]
    assert list(tape.tensors) == [f"encoder.{cell}.{symbol}" for cell in cells for symbol in SYMBOLS[kind]]
    for tensor in tape.tensors.values():
        assert tensor.shape == (3, 5, WIDTH)
        assert (tensor[1, 2:] == 0).all()
        assert (tensor[1, :2] != 0).all()
    ways = [tape.tensors[f"encoder.1.{way}.h"] for way in network.directions]
    assert torch.equal(torch.cat(ways, -1), found)


def test_the_gates_on_a_tape_make_the_states_on_it() -> None:
    tape = Tape()
    stack("lstm", both=True)(random(2, 6, INPUTS), torch.tensor([6, 4]), None, tape)
    for way, before, after in (("forward", slice(0, 3), slice(1, 4)), ("backward", slice(1, 4), slice(0, 3))):
        i, f, candidate, o, c, h = (tape.tensors[f"0.{way}.{symbol}"] for symbol in SYMBOLS["lstm"])
        close(c[:, after], f[:, after] * c[:, before] + i[:, after] * candidate[:, after])
        close(h, o * torch.tanh(c))


def test_a_tape_that_wants_nothing_inside_leaves_the_kernel_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Model(stack("gru", 2)).encoder
    unroll = Mock(side_effect=GRU.unroll)
    monkeypatch.setattr(GRU, "unroll", lambda *arguments: unroll(*arguments))
    x = random(2, 3, INPUTS)
    network(x, tape=Tape(["decoder.*.weights"]))
    assert unroll.call_count == 0
    tape = Tape(["*.1.forward.z"])
    network(x, tape=tape)
    assert unroll.call_count == 1
    assert list(tape.tensors) == ["encoder.1.forward.z"]


def test_a_step_can_be_taped() -> None:
    network, tape = Model(stack("lstm", 2)).encoder, Tape()
    hidden, state = network.step(random(3, INPUTS), network.initial(3), tape)
    assert list(tape.tensors) == [f"encoder.{layer}.forward.{symbol}" for layer in (0, 1) for symbol in SYMBOLS["lstm"]]
    assert tape.tensors["encoder.1.forward.h"] is hidden
    assert torch.equal(state.h[1], hidden)
