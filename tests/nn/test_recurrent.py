"""Cells and stacks: equal to torch.nn, padding changes nothing, states carry over."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mirada.nn.recurrent import (
    LSTM,
    Activation,
    Kind,
    Memory,
    last,
    reverse,
)
from mirada.parts import recording
from tests.recurrent_parts import (
    BOTH_WAYS,
    INPUTS,
    KINDS,
    OUTPUTS,
    TWINS,
    WIDTH,
    said,
    shaken,
    some_state,
    stack,
    state_tensors,
    torch_twin,
    weighted,
)
from tests.tensors import close, random

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
    for context in (nullcontext(), recording()):
        x = random(3, 7, INPUTS).float().requires_grad_()
        with context:
            found, state = network(x, lengths, feedback=outputs)
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
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), carried=st.booleans(), recorded=st.booleans())
def test_a_padded_batch_equals_its_sentences_one_by_one(
    kind: Kind, both: bool, layers: int, lengths: list[int], carried: bool, recorded: bool
) -> None:
    network = stack(kind, layers, both)
    b, t = len(lengths), max(lengths)
    x = (random(b, t, INPUTS) + 3 * (torch.arange(t) >= torch.tensor(lengths)[:, None])[..., None]).requires_grad_()
    start = some_state(network, b) if carried else network.initial(b)
    outputs = said(kind, b, t)
    with recording() if recorded else nullcontext():
        found, state = network(x, torch.tensor(lengths), start, outputs)
    alone, states = [], []
    for row, length in enumerate(lengths):
        true = None if outputs is None else outputs[row : row + 1, :length]
        one, kept = network(x[row : row + 1, :length], None, start.select(torch.tensor([row])), true)
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
    found, state = network(random(2, 3, INPUTS), torch.tensor([0, 3]), start, said(kind, 2, 3))
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
