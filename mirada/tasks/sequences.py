"""Shared by tasks on sequences: padding, validation, word embeddings and pre-trained vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mirada.contracts import PAD, SequenceBatch, Validation
from mirada.data.tokenizer import Tokenizer
from mirada.data.vectors import initialize, read_vectors, wanted_words
from mirada.errors import UsageError

CELLS = 16_384
"""The most tokens of an inference batch, including padding."""


def pad(sequences: Sequence[Sequence[int]]) -> SequenceBatch:
    """Collate token ids into a padded batch."""
    lengths = [len(ids) for ids in sequences]
    longest = max(lengths, default=0)
    inputs = torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in sequences], dtype=torch.long)
    return SequenceBatch(inputs.reshape(len(lengths), longest), torch.tensor(lengths, dtype=torch.long))


def validation(
    probabilities: Tensor, truth: Sequence[int], example: Callable[[int], tuple[str, str, str]]
) -> Validation:
    """Accuracy and mean loss of probabilities [N, K] and labels [N]; `example` shows the first prediction."""
    expected, predicted = torch.tensor(truth), probabilities.argmax(-1)
    loss = -probabilities.gather(1, expected[:, None]).clamp_min(1e-30).log().mean().item()
    accuracy = 100 * (predicted == expected).float().mean().item()
    return Validation(accuracy, "accuracy", figures={"loss": loss}, example=example(int(predicted[0])))


def start_from_vectors(network: nn.Module, tokenizer: Tokenizer, path: str | None) -> list[str]:
    """Initialize a network's embeddings from a word2vec or GloVe file, if one is given; returns messages."""
    if path is None:
        return []
    table = getattr(network, "embedding", None)
    if not isinstance(table, nn.Embedding):
        raise UsageError(f"data.vectors={path}: the model has no word embeddings to initialize")
    vectors = read_vectors(path, wanted_words(tokenizer))
    found = initialize(table.weight.data, tokenizer, vectors)
    return [f"word vectors from {path}: found for {found:,} of {tokenizer.size:,} tokens"]
