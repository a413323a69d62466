"""Initial weights of Transformers."""

from __future__ import annotations

import torch
from torch import nn

from mirada.contracts import PAD


def initialise(network: nn.Module) -> None:
    """Xavier-uniform matrices (Glorot & Bengio 2010), biases 0, normal embeddings with σ = 1/√D and padding 0."""
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            with torch.no_grad():
                module.weight[PAD].zero_()
