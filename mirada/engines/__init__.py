"""Engines generate token sequences from token ids; models only know the interface `Engine`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mirada.decoding import DecodeConfig, Hypothesis

AttentionWeights = list[npt.NDArray[np.float32]]
"""A matrix of attention weights for each pair of a source and a target."""


@dataclass(frozen=True)
class GenerationSettings:
    """Settings of a generation: the search, limits and restrictions."""

    decode: DecodeConfig
    """Beam search or sampling, and how many hypotheses to return."""
    limits: Sequence[int]
    """For each source, the most tokens that may follow its prefix, EOS included."""
    suppressed: tuple[int, ...] = ()
    """Tokens that are never generated."""
    endless: bool = False
    """Texts have no end of their own: only the limit ends them."""
    free_end: bool = False
    """A text that the limit ends does not pay for the probability of EOS."""
    no_repeat_ngram: int = 0
    """No sequence of so many tokens is generated twice; 0 allows it."""
    attention: bool = False
    """Return the attention weights over the source, if the model has any."""


class Engine(ABC):
    """Base class of engines, which generate token sequences; a subclass overrides `generate`."""

    cells: ClassVar[int] = 4096
    """The recommended size of a call: source tokens × beam."""

    @abstractmethod
    def generate(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        """The `n_best` hypotheses for each source, best first.

        A source is a list of token ids without BOS and EOS; for a language model it is the token that texts start
        with, for captions an image. The tokens of a hypothesis begin with the source's prefix.
        """

    def score(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log probability of each token of the targets, EOS included, given the sources."""
        raise NotImplementedError

    def attention(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> AttentionWeights | None:
        """The cross-attention weights of each pair, [T+1, S+1] with both ends; None if the model has no attention.

        Row t holds the weights with which token t was chosen, averaged over all layers and heads.
        """
        raise NotImplementedError

    def stream(self, source: Any, prefix: Sequence[int], settings: GenerationSettings) -> Iterator[int]:
        """The tokens that follow the prefix, as they are generated; by default all at the end."""
        yield from self.generate([source], [prefix], settings)[0][0].tokens[len(prefix) :]
