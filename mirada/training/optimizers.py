"""The optimizers, and their state as plain named tensors, so that a checkpoint can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from mirada.errors import TrainingError
from mirada.parts import parameter_roles
from mirada.training.config import TrainConfig
from mirada.training.muon import Muon

ADAM = {"step", "exp_avg", "exp_avg_sq"}
STATE: dict[type[Optimizer], set[str]] = {Muon: {"momentum"}, AdamW: ADAM, Adam: ADAM, SGD: {"momentum_buffer"}}
"""The state that each optimizer keeps for a parameter."""


class Optimizers:
    """One or two optimizers that step together: Muon updates the matrices of hidden layers, AdamW all the rest.

    As in its published recipe (Jordan et al. 2024), embeddings, output heads, gains and biases are AdamW's. The model's
    parts say what a parameter is (`parameter_roles`).
    """

    def __init__(self, model: nn.Module, config: TrainConfig):
        self.names = {parameter: name for name, parameter in model.named_parameters()}
        self.parts = _build(self.names, model, config)

    def step(self, rate: float) -> None:
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()

    def state(self) -> dict[str, Tensor]:
        """Their state by name: `exp_avg.encoder.layers.0.…`."""
        return {
            f"{key}.{self.names[cast(nn.Parameter, parameter)]}": value
            for part in self.parts
            for parameter, memory in part.state.items()
            for key, value in memory.items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state` gave; PyTorch puts each tensor where it keeps it (fused step counts on the device)."""
        memories: dict[str, dict[str, Tensor]] = {}
        for path, value in state.items():
            key, _, name = path.partition(".")
            memories.setdefault(name, {})[key] = value
        owned = [[p for group in part.param_groups for p in group["params"]] for part in self.parts]
        self._check(memories, owned)
        for part, parameters in zip(self.parts, owned, strict=True):
            numbered = {n: memories[self.names[p]] for n, p in enumerate(parameters) if self.names[p] in memories}
            part.load_state_dict({**part.state_dict(), "state": numbered})

    def _check(self, memories: Mapping[str, Mapping[str, Tensor]], owned: list[list[nn.Parameter]]) -> None:
        """Refuse a state that does not belong to these parameters and optimizers."""
        by_name = {self.names[p]: (part, p) for part, own in zip(self.parts, owned, strict=True) for p in own}
        for name, memory in memories.items():
            if name not in by_name:
                raise TrainingError(f"the checkpoint has optimiser state of {name}, which this model does not have")
            part, parameter = by_name[name]
            if set(memory) != STATE[type(part)]:
                raise TrainingError(
                    f"the checkpoint's optimiser state of {name} ({', '.join(sorted(memory))}) is not "
                    f"{type(part).__name__}'s: another optimiser, or another version of Mirada, wrote it; resume with "
                    "that, or start a new run"
                )
            for key, value in memory.items():
                shape = torch.Size([]) if key == "step" else parameter.shape
                if value.shape != shape or (key != "step" and value.dtype != parameter.dtype):
                    raise TrainingError(
                        f"the checkpoint's {key} of {name} has shape {list(value.shape)} of {value.dtype}, and {name} "
                        f"has shape {list(parameter.shape)} of {parameter.dtype}: it is the checkpoint of another model"
                    )
                if key in ("step", "exp_avg_sq") and (value < 0).any():
                    raise TrainingError(f"the checkpoint's {key} of {name} is negative, which it cannot be")


def _build(names: Mapping[nn.Parameter, str], model: nn.Module, config: TrainConfig) -> list[Optimizer]:
    everything = list(names)
    if config.optimizer == "sgd":
        return [SGD(everything, lr=config.lr, momentum=config.momentum, weight_decay=config.weight_decay)]
    if config.optimizer == "adam":
        return [Adam(everything, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay, fused=True)]
    # Decay shrinks matrices, not biases, gains or embeddings (a rare word's vector would fade away).
    roles = parameter_roles(model)
    hidden, heads = ([p for p in everything if roles[p] == role] for role in ("hidden", "head"))
    others = [p for p in everything if roles[p] in ("embedding", "other")]
    if config.optimizer == "adamw":
        matrices = [p for p in everything if roles[p] in ("hidden", "head")]
        return [_adamw(config, matrices, others)]
    rest = _adamw(config, heads, others)
    dtype = torch.bfloat16 if config.precision == "bfloat16" else None
    return [Muon(hidden, lr=config.lr, weight_decay=config.weight_decay, dtype=dtype), rest] if hidden else [rest]


def _adamw(config: TrainConfig, decayed: list[nn.Parameter], others: list[nn.Parameter]) -> AdamW:
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return AdamW([group for group in groups if group["params"]], lr=config.lr, betas=config.betas, fused=True)


def clip(gradients: list[Tensor], scale: float, largest: float) -> float:
    """Multiply the gradients by `scale`, then shrink them to norm `largest` (0: do not); their norm before that."""
    norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))) * scale
    if largest and norm > largest:
        scale *= largest / norm
    torch._foreach_mul_(gradients, scale)
    return norm
