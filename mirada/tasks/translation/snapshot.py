"""The cross-attention of a translator in a dev pair, which a training run keeps from time to time."""

from __future__ import annotations

import torch

from mirada.contracts import GenerativeNetwork
from mirada.data.batching import collate_pairs
from mirada.inspection.snapshots import MOST_WEIGHTS, Snapshot
from mirada.parts import recording
from mirada.tasks.translation.data import Examples
from mirada.tasks.translation.direction import Directions, turned
from mirada.tasks.translation.preprocessor import TranslationPreprocessor

WORDS = 8
"""Words of the source that suit a picture."""
LONGEST = 48
"""Tokens of either side, at most."""
CROSS = ("decoder.*.cross.weights", "attention.weights")


@torch.no_grad()
def snapshot_of(
    network: GenerativeNetwork, preprocessor: TranslationPreprocessor, dev: Examples, directions: Directions, most: int
) -> Snapshot | None:
    """The attention to a source while the network reads its reference: the weights of every layer and head.

    The pair has no digits, since numbers may be copied as markers, and as nearly as possible eight words. There is none
    if all are too long, or the network has no attention.
    """
    to = directions.ways[0]
    examples = turned(dev, to, directions)
    source, references = min(examples, key=lambda one: (_has_digits(one), abs(len(one[0].split()) - WORDS)))
    ids = [*directions.tag(to), *preprocessor.source.encode([source])[0]]
    chosen = preprocessor.target.encode([references[0]])[0]
    if max(len(ids), len(chosen)) >= min(most, LONGEST):
        return None
    device = next(network.parameters()).device
    with recording(*CROSS) as recorder:
        network.hidden(collate_pairs([ids], [chosen]).to(device))
    found = {path.removesuffix(".weights"): tensor[0] for path, tensor in recorder.tensors.items()}  # each [H, T, S]
    if not found or sum(tensor.numel() for tensor in found.values()) > MOST_WEIGHTS:
        return None
    return Snapshot(
        [*preprocessor.source.spelt(ids), "</s>"],
        [*preprocessor.target.spelt(chosen), "</s>"],
        list(found),
        torch.stack(list(found.values())).cpu(),
    )


def _has_digits(example: tuple[str, tuple[str, ...]]) -> bool:
    return any(map(str.isdigit, example[0] + example[1][0]))
