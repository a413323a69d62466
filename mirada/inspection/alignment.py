"""Word alignments from attention: which words of a translation go with which words of its source.

    α [L, H, T+1, S+1]       weights of cross-attention: a row for each token of the target and </s>, a column for each
                             token of the source and </s>
    A [T', S'], null [T']    the same between words, of one head or averaged; null is what no word of the source got

Row t is computed while token t is chosen, from the tokens before it; row t + 1 from token t, just fed in. The latter
often aligns better, since by then the model knows the token (Chen et al. 2020, "Accurate Word Alignment Induction from
Neural Machine Translation"; Garg et al. 2019, Zenkel et al. 2019). `Reading` says which row, layer and head is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from mirada.inspection.drawing import name_words
from mirada.inspection.figures import CELL, is_svg, save
from mirada.inspection.fonts import styled
from mirada.metrics.alignment import Links, pharaoh
from mirada.predictions import Drawable, Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Weights = npt.NDArray[np.float32]
Span = tuple[int, int]

Breaks = Literal["spaces", "punctuation"]
"""The boundaries of words: white space, or also punctuation marks, which are words of their own."""
Linking = Literal["target", "both", "either", "grow"]
"""The method that makes links from weights, see `link`."""
_WORD = {"spaces": re.compile(r"\S+"), "punctuation": re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")}

LARGEST = 120
"""The most words on a side of a picture."""


def word_spans(text: str, breaks: Breaks = "spaces") -> list[Span]:
    """The characters [start, end) of each word of a text."""
    return [match.span() for match in _WORD[breaks].finditer(text)]


@dataclass(frozen=True)
class Reading:
    """The attention weights that are read as an alignment: a layer, a head and a row, or means."""

    layer: int | None = None
    """Counted from 0; None for the mean of all layers."""
    head: int | None = None
    """Counted from 0; None for the mean of all heads."""
    fed_in: bool = False
    """Whether a token's row is the one computed from it, rather than the one with which it was chosen."""

    @property
    def row(self) -> str:
        return "fed-in" if self.fed_in else "chosen"

    def __str__(self) -> str:
        layer = "mean of all layers" if self.layer is None else f"layer {self.layer}"
        head = "mean of all heads" if self.head is None else f"head {self.head}"
        return f"{layer}, {head}, token {'fed in' if self.fed_in else 'being chosen'}"

    def as_dict(self) -> dict[str, Any]:
        """The reading as plain values, `mean` for the mean of all layers or heads."""
        layer, head = ("mean" if place is None else place for place in (self.layer, self.head))
        return {"layer": layer, "head": head, "row": self.row}


def readings(layers: int, heads: int) -> list[Reading]:
    """Every reading of a model: each head, the mean of each layer, and that of all, from both rows."""
    found = []
    for fed_in in (False, True):
        found += [Reading(layer, head, fed_in) for layer in range(layers) for head in range(heads)]
        found += [Reading(layer, None, fed_in) for layer in range(layers)] if heads > 1 else []
        found += [Reading(None, None, fed_in)] if layers > 1 else []
    return found


@dataclass(frozen=True)
class WordWeights:
    """Attention weights between the words of a sentence pair, of every layer and head and from both rows."""

    words: Weights  # [2, L, H, T', S']
    null: Weights  # [2, L, H, T'], what went to </s> and other tokens outside of words

    def read(self, reading: Reading) -> tuple[Weights, Weights]:
        """A [T', S'] and null [T'] of one reading."""
        words, null = self.words[int(reading.fed_in)], self.null[int(reading.fed_in)]
        for place in (reading.layer, reading.head):  # the axes L, then H
            words, null = (words.mean(0), null.mean(0)) if place is None else (words[place], null[place])
        return words, null


def between_words(
    weights: Weights,  # [L, H, T+1, S''], S'' with tags before the source's tokens and </s> after them
    first: int,
    source_tokens: Sequence[Span],
    target_tokens: Sequence[Span],
    source_words: Sequence[Span],
    target_words: Sequence[Span],
) -> WordWeights:
    """Attention weights between words: summed over the tokens of a source word, averaged over those of a target word.

    `first` is the column of the source's first token. A token that belongs to several words is shared among them.
    """
    columns = overlap(source_words, source_tokens)  # [S', S]
    columns /= np.maximum(columns.sum(0, keepdims=True), 1)
    rows = overlap(target_words, target_tokens)  # [T', T]
    rows /= np.maximum(rows.sum(1, keepdims=True), 1)
    steps = len(target_tokens)
    both = np.stack([weights[..., :steps, :], weights[..., 1 : steps + 1, :]])  # [2, L, H, T, S'']
    both = rows @ both  # [2, L, H, T', S'']
    words = both[..., first : first + len(source_tokens)] @ columns.T
    return WordWeights(words.astype(np.float32), (both.sum(-1) - words.sum(-1)).astype(np.float32))


def overlap(words: Sequence[Span], tokens: Sequence[Span]) -> Weights:
    """[words, tokens]: 1 where a word and a token have a character in common."""
    one, other = np.array(words, np.int64).reshape(-1, 1, 2), np.array(tokens, np.int64).reshape(1, -1, 2)
    return ((one[..., 0] < other[..., 1]) & (other[..., 0] < one[..., 1])).astype(np.float32)


def link(words: Weights, null: Weights, how: Linking = "grow", threshold: float | None = None) -> Links:
    """Link words by their weights [T', S']; a target word with more weight on `null` than on any word has no link.

    target    each target word with its most attended source word
    both      those of them that are the source word's best target word, too
    either    those, and each source word with its best target word
    grow      `both`, and neighbours of its links from `either` for words that have none (Koehn et al. 2003: grow-diag)

    With a threshold, instead, every two words whose weight is at least that.
    """
    if 0 in words.shape:
        return frozenset()
    if threshold is not None:
        return _pairs(words >= threshold)
    targets, sources = np.zeros(words.shape, bool), np.zeros(words.shape, bool)
    targets[np.arange(words.shape[0]), words.argmax(1)] = True
    sources[words.argmax(0), np.arange(words.shape[1])] = True
    looks = (words.max(1) >= null)[:, None]
    targets, sources = targets & looks, sources & looks
    if how == "grow":
        return _pairs(grown(targets & sources, targets | sources))
    return _pairs(targets if how == "target" else targets & sources if how == "both" else targets | sources)


def _pairs(links: npt.NDArray[np.bool_]) -> Links:
    return frozenset((int(source), int(target)) for target, source in np.argwhere(links))


def grown(links: npt.NDArray[np.bool_], candidates: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Grow links: add candidates next to one, also diagonally, whose source or target word has no link yet."""
    links, open_ = links.copy(), [(int(t), int(s)) for t, s in np.argwhere(links)]
    rows, columns = np.asarray(links.any(1)), np.asarray(links.any(0))
    while open_:
        t, s = open_.pop(0)
        for row in range(max(0, t - 1), min(len(rows), t + 2)):
            for column in range(max(0, s - 1), min(len(columns), s + 2)):
                if candidates[row, column] and not links[row, column] and not (rows[row] and columns[column]):
                    links[row, column] = rows[row] = columns[column] = True
                    open_.append((row, column))
    return links


def needed(drops: Weights) -> Weights:
    """Drops of log probability [T', S'] as weights: each row's drops divided by their sum."""
    lost = np.maximum(drops, 0)
    return np.asarray(lost / np.maximum(lost.sum(1, keepdims=True), 1e-6), np.float32)


@dataclass(frozen=True)
class Alignment(Prediction, Drawable):
    """The word alignment of a sentence pair."""

    source: tuple[str, ...] = ()
    """The words of the source."""
    target: tuple[str, ...] = ()
    links: Links = frozenset()
    """Pairs of places, in the source and in the target, counted from 0."""
    weights: Weights = field(default_factory=lambda: np.zeros((0, 0), np.float32), repr=False, compare=False)
    """The weight of each source word for each target word, [T', S']."""
    null: Weights = field(default_factory=lambda: np.zeros(0, np.float32), repr=False, compare=False)
    """The weight of each target word on no word of the source, [T']."""
    reading: Reading | None = None
    """The attention it was made from; None if it was made by leaving words out."""

    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "source": list(self.source),
            "target": list(self.target),
            "links": [list(pair) for pair in sorted(self.links)],
        }
        if self.weights.size:
            found["weights"] = np.round(self.weights.astype(float), 4).tolist()
        if self.reading is not None:
            found["reading"] = self.reading.as_dict()
        return found

    def as_text(self, number: int = 1) -> str:
        """The links as a line in Pharaoh's format; an empty one if there are none."""
        return pharaoh(self.links)

    def where(self, number: int) -> str:
        return f"pair {number}"

    def __str__(self) -> str:
        return " ".join(
            f"{self.source[s]}–{self.target[t]}" for s, t in sorted(self.links, key=lambda each: each[::-1])
        )

    def figure(self) -> Figure:
        """The weights as a heat map, a row per target word and a column per source word, with a mark on each link."""
        with styled((*self.source, *self.target)) as shown:
            return self._figure(shown)

    def draw(self, path: str | Path | BinaryIO) -> None:
        """Write the matrix as a picture."""
        with styled((*self.source, *self.target), keeps_text=is_svg(path)) as shown:
            save(self._figure(shown), path)

    def _figure(self, shown: Callable[[str], str]) -> Figure:
        from matplotlib.figure import Figure

        rows, columns = (words[:LARGEST] for words in (self.target, self.source))
        width, height = (max(2.0, 1.4 * CELL * len(words)) for words in (columns, rows))
        figure = Figure(figsize=(width + 2.6, height + 1.8), layout="constrained")
        box = figure.subplots()
        size = max(len(rows), 1), max(len(columns), 1)
        what = "attention weight" if self.reading else "share of the log probability lost without the word"
        weights = self.weights[: len(rows), : len(columns)] if self.weights.size else np.zeros(size, np.float32)
        image = box.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for s, t in sorted(self.links):
            if s < len(columns) and t < len(rows):
                box.plot(s, t, marker="o", markersize=5, color="#ffffff" if weights[t, s] > 0.6 else "#d55e00")
        name_words(box, rows, columns, shown)
        figure.colorbar(image, ax=box, fraction=0.05, pad=0.02).set_label(what, fontsize=8)
        box.set_xlabel("source", fontsize=9)
        box.set_ylabel("target", fontsize=9)
        about = [str(self.reading)] if self.reading else []
        about += [f"the first {LARGEST} words"] if len(self.target) > LARGEST or len(self.source) > LARGEST else []
        figure.suptitle("; ".join([*about, "dots are links"]), fontsize=9)
        return figure
