"""What is special about each kind of cell: its formula, its beginnings, what a recorder sees of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args
from unittest.mock import Mock

import pytest
import torch

from mirada.errors import ConfigError
from mirada.nn.recurrent import (
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
)
from mirada.parts import Part, recording
from tests.recurrent_parts import (
    BOTH_WAYS,
    INPUTS,
    OUTPUTS,
    WIDTH,
    said,
    shaken,
    some_state,
    stack,
    state_tensors,
    weighted,
)
from tests.tensors import close, random

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
    """o_t = g2(V h_t), h_t = g1(W o_{t−1} + U x_t), written out; padded sentences too, and recorded."""
    network, V = stack("jordan"), random(OUTPUTS, WIDTH, seed=8)
    ((_, cell),) = network.cells()
    x, lengths = random(2, 4, INPUTS), torch.tensor([4, 2])
    o, hidden, outputs = torch.zeros(2, OUTPUTS, dtype=torch.float64), [], []
    for t in range(4):
        h = torch.tanh(o @ cell.W.T + x[:, t] @ cell.U.T + cell.b_U)
        o = torch.softmax(h @ V.T, -1)
        hidden.append(h)
        outputs.append(o)
    with recording() as recorder:
        found, state = network(x, lengths, feedback=lambda h: torch.softmax(h @ V.T, -1))
    for t in range(4):
        close(found[0, t], hidden[t][0])
    close(found[1, :2], torch.stack([hidden[0][1], hidden[1][1]]))
    assert (found[1, 2:] == 0).all()
    assert state.o is not None
    close(state.o, torch.stack([outputs[3][0], outputs[1][1]]))
    close(state.h[0], torch.stack([hidden[3][0], hidden[1][1]]))
    assert torch.equal(recorder.tensors["0.forward.h"], found)
    close(recorder.tensors["feedback"], torch.stack(outputs, 1))


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


# --- recording ---


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
def test_a_recorder_has_every_gate_and_changes_nothing(kind: Kind, both: bool) -> None:
    network = Model(stack(kind, 2, both)).encoder
    x, lengths, outputs = random(3, 5, INPUTS), torch.tensor([5, 2, 4]), said(kind, 3, 5)
    with recording() as recorder:
        found, state = network(x, lengths, feedback=outputs)
    expected, end = network(x, lengths, feedback=outputs)
    close(found, expected)
    for one, two in zip(state_tensors(state), state_tensors(end), strict=True):
        close(one, two)
    cells = [f"{layer}.{way}" for layer in (0, 1) for way in (("forward", "backward") if both else ("forward",))]
    assert list(recorder.tensors) == [f"encoder.{cell}.{symbol}" for cell in cells for symbol in SYMBOLS[kind]]
    for tensor in recorder.tensors.values():
        assert tensor.shape == (3, 5, WIDTH)
        assert (tensor[1, 2:] == 0).all()
        assert (tensor[1, :2] != 0).all()
    ways = [recorder.tensors[f"encoder.1.{way}.h"] for way in network.directions]
    assert torch.equal(torch.cat(ways, -1), found)


def test_recorded_gates_make_the_recorded_states() -> None:
    with recording() as recorder:
        stack("lstm", both=True)(random(2, 6, INPUTS), torch.tensor([6, 4]))
    for way, before, after in (("forward", slice(0, 3), slice(1, 4)), ("backward", slice(1, 4), slice(0, 3))):
        i, f, candidate, o, c, h = (recorder.tensors[f"0.{way}.{symbol}"] for symbol in SYMBOLS["lstm"])
        close(c[:, after], f[:, after] * c[:, before] + i[:, after] * candidate[:, after])
        close(h, o * torch.tanh(c))


def test_a_recorder_that_wants_nothing_inside_leaves_the_kernel_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Model(stack("gru", 2)).encoder
    unroll = Mock(side_effect=GRU.unroll)
    monkeypatch.setattr(GRU, "unroll", lambda *arguments: unroll(*arguments))
    x = random(2, 3, INPUTS)
    with recording("decoder.*.weights"):
        network(x)
    assert unroll.call_count == 0
    with recording("*.1.forward.z") as recorder:
        network(x)
    assert unroll.call_count == 1
    assert list(recorder.tensors) == ["encoder.1.forward.z"]


def test_a_step_is_recorded_with_a_time_axis() -> None:
    network = Model(stack("lstm", 2)).encoder
    with recording() as recorder:
        hidden, state = network.step(random(3, INPUTS), network.initial(3))
    assert list(recorder.tensors) == [
        f"encoder.{layer}.forward.{symbol}" for layer in (0, 1) for symbol in SYMBOLS["lstm"]
    ]
    assert torch.equal(recorder.tensors["encoder.1.forward.h"], hidden[:, None])
    assert torch.equal(state.h[1], hidden)
