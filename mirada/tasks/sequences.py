"""What the tasks that read a sequence share: padding it, its word vectors, and vectors to start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mirada.contracts import PAD, SequenceBatch, Validation
from mirada.data.tokenizer import Tokenizer
from mirada.data.vectors import initialise, read_vectors, wanted_words
from mirada.errors import UsageError

CELLS = 16_384
"""Tokens, padding counted, that are read at the same time."""


def pad(sequences: Sequence[Sequence[int]]) -> SequenceBatch:
    """Ids side by side, padded."""
    lengths = [len(ids) for ids in sequences]
    longest = max(lengths, default=0)
    inputs = torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in sequences], dtype=torch.long)
    return SequenceBatch(inputs, torch.tensor(lengths))


def validation(
    probabilities: Tensor, truth: Sequence[int], example: Callable[[int], tuple[str, str, str]]
) -> Validation:
    """Accuracy and mean loss of classes, [N, K] and [N]; `example` shows the first one with the class it was given."""
    expected, predicted = torch.tensor(truth), probabilities.argmax(-1)
    loss = -probabilities.gather(1, expected[:, None]).clamp_min(1e-30).log().mean().item()
    accuracy = 100 * (predicted == expected).float().mean().item()
    return Validation(accuracy, "accuracy", figures={"loss": loss}, example=example(int(predicted[0])))


def start_from_vectors(network: nn.Module, tokenizer: Tokenizer, path: str | None) -> list[str]:
    """Fill the word vectors of a new network from a word2vec or GloVe file, if one is given; what there is to say."""
    if path is None:
        return []
    table = getattr(network, "embedding", None)
    if not isinstance(table, nn.Embedding):
        raise UsageError(f"data.vectors={path}: the model has no word vectors to start from")
    vectors = read_vectors(path, wanted_words(tokenizer))
    found = initialise(table.weight.data, tokenizer, vectors)
    return [f"word vectors of {path}: {found:,} of {tokenizer.size:,} words have one"]
