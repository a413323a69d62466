"""The optimisers, and their memory as plain named tensors, so that a checkpoint can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from mirada.blocks import Positions
from mirada.training.muon import Muon
from mirada.training.settings import TrainConfig


class Optimizers:
    """One or two optimisers that step together: Muon takes the matrices inside the model, AdamW all the rest."""

    def __init__(self, model: nn.Module, config: TrainConfig):
        self.names = {parameter: name for name, parameter in model.named_parameters()}
        self.parts = _build(self.names, model, config)

    def step(self, rate: float) -> None:
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()

    def forget(self) -> None:
        """As if no step had ever been taken."""
        for part in self.parts:
            part.state.clear()

    def state(self) -> dict[str, Tensor]:
        """Everything they remember: `exp_avg.encoder.layers.0.…`."""
        return {
            f"{key}.{self.names[cast(nn.Parameter, parameter)]}": value
            for part in self.parts
            for parameter, memory in part.state.items()
            for key, value in memory.items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        by_name = {name: parameter for parameter, name in self.names.items()}
        owners = {id(p): part for part in self.parts for group in part.param_groups for p in group["params"]}
        for path, value in state.items():
            key, _, name = path.partition(".")
            parameter = by_name[name]
            # A step count stays on the CPU, as PyTorch has it; everything else lives beside its parameter.
            owners[id(parameter)].state[parameter][key] = value if key == "step" else value.to(parameter.device)

    def misfit(self, state: Mapping[str, Tensor]) -> str:
        """What in a state cannot be one of theirs, if anything."""
        owners = {self.names[p]: part for part in self.parts for group in part.param_groups for p in group["params"]}
        shapes = {name: parameter.shape for parameter, name in self.names.items()}
        found: dict[str, set[str]] = {}
        for path, value in state.items():
            key, _, name = path.partition(".")
            found.setdefault(name, set()).add(key)
            if name not in owners:
                return f"there is no parameter {name[:80]!r}"
            if value.shape != (torch.Size([]) if key == "step" else shapes[name]) or value.dtype != torch.float32:
                return f"{path[:80]!r} has shape {tuple(value.shape)} of {value.dtype}"
            if key in ("step", "exp_avg_sq") and (value < 0).any():
                return f"{path[:80]!r} is negative"
        for name, keys in found.items():
            wanted = MEMORY[type(owners[name])]
            if keys != wanted:
                return f"of {name} it has {sorted(keys)}, not {sorted(wanted)}"
        return ""


MEMORY: dict[type[Optimizer], set[str]] = {
    Muon: {"momentum"},
    AdamW: {"step", "exp_avg", "exp_avg_sq"},
    Adam: {"step", "exp_avg", "exp_avg_sq"},
    SGD: {"momentum_buffer"},
}
"""What each remembers of a parameter."""


def _build(names: Mapping[nn.Parameter, str], model: nn.Module, config: TrainConfig) -> list[Optimizer]:
    everything = list(names)
    if config.optimizer == "sgd":
        return [SGD(everything, lr=config.lr, momentum=config.momentum, weight_decay=config.weight_decay)]
    if config.optimizer == "adam":
        return [Adam(everything, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay, fused=True)]
    # Decay shrinks matrices, not biases, gains or embeddings (a rare word's vector would fade away). Positions that are
    # learned are embeddings too: rows that are looked up, no matrix that multiplies.
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    embeddings |= {id(m.table) for m in model.modules() if isinstance(m, Positions)}
    matrices = [p for p in everything if p.ndim == 2 and id(p) not in embeddings]
    others = [p for p in everything if p.ndim != 2 or id(p) in embeddings]
    if config.optimizer == "muon":
        muon = Muon(matrices, lr=config.lr, weight_decay=config.weight_decay)
        return [muon, AdamW(others, lr=config.lr, betas=config.betas, weight_decay=0.0, fused=True)]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return [AdamW(groups, lr=config.lr, betas=config.betas, fused=True)]


def clip(gradients: list[Tensor], scale: float, largest: float) -> float:
    """Multiply the gradients by `scale`, then shrink them to norm `largest` (0: do not); their norm before that."""
    norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))) * scale
    if largest and norm > largest:
        scale *= largest / norm
    torch._foreach_mul_(gradients, scale)
    return norm
