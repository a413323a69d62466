"""The optimisers' memory after a restore, and which parameters are whose."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from mirada.errors import TrainingError
from mirada.training.optimizers import Optimizers
from mirada.training.settings import TrainConfig
from tests.devices import move_to_meta

KINDS = ["sgd", "adam", "adamw", "muon"]


def stepped(kind: str) -> tuple[nn.Module, Optimizers]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    optimizers = Optimizers(model, TrainConfig.model_validate({"optimizer": kind}))
    model(torch.arange(5)).square().sum().backward()
    optimizers.step(0.01)
    return model, optimizers


def memories(optimizers: Optimizers) -> list[tuple[Optimizer, Tensor, str, Tensor]]:
    return [
        (part, parameter, key, value)
        for part in optimizers.parts
        for parameter, memory in part.state.items()
        for key, value in memory.items()
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_restored_memory_is_what_a_step_makes(kind: str) -> None:
    """Device, type and shape as PyTorch creates them in its first step, and the values of the one that was saved."""
    _, first = stepped(kind)
    _, second = stepped(kind)
    expected = [(key, value.device, value.dtype, value.clone()) for _, _, key, value in memories(second)]
    second.forget()
    assert not second.state()
    second.restore(first.state())
    restored = [(key, value.device, value.dtype, value) for _, _, key, value in memories(second)]
    assert [entry[:3] for entry in restored] == [entry[:3] for entry in expected]
    for (*_, got), (*_, wanted) in zip(restored, expected, strict=True):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_restored_to_the_device_of_the_parameters(kind: str) -> None:
    """A fused step keeps its step counts there too."""
    saved = {name: value.clone() for name, value in stepped(kind)[1].state().items()}
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    optimizers = Optimizers(model, TrainConfig.model_validate({"optimizer": kind}))
    move_to_meta(model)
    optimizers.restore(saved)
    found = memories(optimizers)
    assert len(found) == len(saved)
    for part, parameter, key, value in found:
        assert value.device == parameter.device == torch.device("meta"), (type(part).__name__, key)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("exp_avg.2.weight", torch.zeros(3, 4), "2.weight"),  # no such parameter
        ("exp_avg.1.weight", torch.zeros(3, 5), r"exp_avg of 1.weight has shape \[3, 5\]"),
        ("momentum.1.bias", torch.zeros(3), "1.bias"),  # Muon's, and AdamW has the biases
    ],
)
def test_memory_that_does_not_fit_is_refused(name: str, value: Tensor, message: str) -> None:
    _, optimizers = stepped("adamw")
    state = optimizers.state()
    before = {key: tensor.clone() for key, tensor in state.items()}
    with pytest.raises(TrainingError, match=message):
        optimizers.restore({**state, name: value})
    assert all(torch.equal(optimizers.state()[key], tensor) for key, tensor in before.items())
