"""Attribution: how much each word of a translation depends on each source word, by measures other than attention.

    leave-out           log p(y_t | x) − log p(y_t | x without word s)        Li et al. 2016, Zintgraf et al. 2017
    gradient × input    x_s · ∂ log p(y_t | x) / ∂x_s, x_s its embedding      Denil et al. 2014, Shrikumar et al. 2016

Both are shown beside attention on the same axes, with Spearman's rank correlation ρ of each target word's attention
weights and the magnitudes of the measure (weights have no sign, and evidence against a word matters, too). Where ρ is
low, attention does not show what the word depends on (Jain & Wallace 2019, "Attention is not Explanation"); where it is
high, it is still no proof of a cause (Wiegreffe & Pinter 2019, "Attention is not not Explanation").
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mirada.contracts import Batch, GenerativeNetwork
from mirada.errors import UsageError
from mirada.files import check_writable, write_output
from mirada.inspection.drawing import Heading, headed, name_words
from mirada.inspection.figures import CELL, check_kind_of_file, is_svg, save
from mirada.inspection.fonts import styled
from mirada.inspection.saving import padded, width
from mirada.predictions import Drawable, Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

METHODS = {"leave-out": "log probability lost without the word", "gradient": "gradient × input"}
"""The measures, and the meanings of their numbers."""
ENDINGS = (".json", ".png", ".svg", ".pdf")
LARGEST = 60
"""The most words on a side of a picture."""


# ── rank correlation ──────────────────────────────────────────────────────────────────────────────────────────────


def ranks(values: npt.ArrayLike) -> Floats:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    given = np.asarray(values, np.float64)
    _, group, counts = np.unique(given, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[group], np.float64)


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's ρ, the correlation of the ranks; NaN where it is not defined: all values equal, or fewer than two."""
    one, other = (ranks(values) - ranks(values).mean() for values in (x, y))
    size = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / size if size else nan


# ── gradient × input ──────────────────────────────────────────────────────────────────────────────────────────────


def gradient_times_input(value: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """x · ∂value/∂x, summed over the last axis: [R, S] of vectors x [R, S, D] and a function to values [R].

    Row r of the value must depend on row r of x alone. For a function that is linear in x, the sum over S is the value.
    """
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(value(leaf).sum(), leaf)
    return (slope * leaf.detach()).sum(-1)


def of_source(network: GenerativeNetwork, batch: Batch) -> Tensor:
    """Gradient × input of the log probability of each target token (and </s>) at the source's embeddings: [T, S].

    The batch has one pair. It is repeated T times, so that one backward pass has a row for each token.
    """
    embedding: nn.Module = network.source_embedding  # type: ignore[assignment]
    wanted = batch.target_output.shape[1]
    source, target = (ids.expand(wanted, -1).contiguous() for ids in (batch.source, batch.target))
    rows = Batch(source, target)
    steps = torch.arange(wanted, device=source.device)

    def log_p(x: Tensor) -> Tensor:  # [T, S, D] -> [T]
        def replaced(_: nn.Module, given: tuple[Tensor, ...], __: Tensor) -> Tensor | None:
            return x if given[0] is source else None  # not where it embeds the target, too

        hook = embedding.register_forward_hook(replaced)
        try:
            h = network.hidden(rows)[steps, steps]  # [T, T, D] -> [T, D]: row t, token t
        finally:
            hook.remove()
        chosen = network.output(h).float().log_softmax(-1)
        return chosen.gather(1, rows.target_output[steps, steps].unsqueeze(1)).squeeze(1)

    with torch.no_grad():
        x = embedding(source)
    return gradient_times_input(log_p, x)


# ── the result ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Attribution(Prediction, Drawable):
    """The attribution of a translation to its source words, by attention and by other measures."""

    source: tuple[str, ...]
    """The words of the source, S'."""
    target: tuple[str, ...]
    """Those of the translation, T'."""
    attention: Floats = field(repr=False)  # [T', S']
    reading: str
    """The layers, heads and rows that the attention is from."""
    measures: Mapping[str, Floats] = field(repr=False)  # each [T', S']
    """By name: leave-out, gradient."""
    text: str = ""
    """The source as the model read it."""
    output: str = ""
    """Its translation."""
    without: tuple[str, ...] = ()
    """The parts of the model that were switched off."""

    def correlation(self, measure: str) -> list[float]:
        """ρ of attention with the magnitudes of a measure, for each target word; NaN where it is not defined."""
        if measure not in self.measures:
            raise UsageError(f"measure {measure!s:.40}: there are {', '.join(self.measures)}")
        rows = zip(self.attention, np.abs(self.measures[measure]), strict=True)
        return [spearman(one, other) for one, other in rows]

    def mean_correlation(self, measure: str) -> float:
        """The mean of the target words' ρ that are defined; NaN if none is."""
        known = [value for value in self.correlation(measure) if not isnan(value)]
        return float(np.mean(known)) if known else nan

    def same_first(self, measure: str) -> float:
        """The share of target words whose most attended source word is the one that a measure finds most important."""
        return float((self.attention.argmax(1) == np.abs(self.measures[measure]).argmax(1)).mean())

    def values(self) -> dict[str, Any]:
        correlations = {
            name: {
                "words": [_number(value) for value in self.correlation(name)],
                "mean": _number(self.mean_correlation(name)),
                "same_first": _number(self.same_first(name)),
            }
            for name in self.measures
        }
        return {
            "text": self.text,
            "output": self.output,
            "source": list(self.source),
            "target": list(self.target),
            "reading": self.reading,
            "without": list(self.without),
            "attention": np.round(self.attention, 6).tolist(),
            "measures": {name: np.round(values, 6).tolist() for name, values in self.measures.items()},
            "correlation": correlations,
        }

    def as_text(self, number: int = 1) -> str:
        """A table of the most important source word of each target word by each measure, and ρ."""
        names = ["attention", *self.measures]
        heads = ["", *names, *(f"ρ {name}" for name in self.measures)]
        correlations = [self.correlation(name) for name in self.measures]
        tables = [self.attention, *self.measures.values()]
        rows = [heads]
        for place, word in enumerate(self.target):
            most = [self.source[int(np.abs(table[place]).argmax())] for table in tables]
            rows.append([word, *most, *(_shown(values[place]) for values in correlations)])
        rows.append(["mean", *[""] * len(names), *(_shown(self.mean_correlation(name)) for name in self.measures)])
        widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
        title = f"{self.text} → {self.output}"
        title += f"   (without {', '.join(self.without)})" if self.without else ""
        lines = ["  ".join(map(padded, row, widths)).rstrip() for row in rows]
        return "\n".join([title, *lines])

    def __str__(self) -> str:
        return self.as_text()

    def figure(self) -> Figure:
        """Attention and each measure side by side on the same axes; evidence for a word is blue, against it red."""
        with styled((*self.source, *self.target)) as shown:
            return self._figure(shown)

    def draw(self, path: str | Path | BinaryIO) -> None:
        """Write the maps as a picture."""
        with styled((*self.source, *self.target), keeps_text=is_svg(path)) as shown:
            save(self._figure(shown), path)

    def save(self, path: str | Path) -> None:
        """Write the numbers (.json) or the maps (.png, .svg, .pdf)."""
        path = Path(path)
        check_ending(path)
        if path.suffix.lower() == ".json":
            write_output(path, json.dumps(self.as_dict(), ensure_ascii=False) + "\n")
        else:
            check_writable(path, UsageError)
            self.draw(path)

    def _figure(self, shown: Callable[[str], str]) -> Figure:
        from matplotlib.figure import Figure

        rows, columns = self.target[:LARGEST], self.source[:LARGEST]
        maps = {"attention": self.attention, **self.measures}
        wide, tall = (max(1.8, 1.4 * CELL * len(words)) for words in (columns, rows))
        across = len(maps) * (wide + 0.9) + 1.2
        title = headed(Heading(self.text, self.output, self.without), across, shown)
        reading = "\n".join(wrap(f"attention, {self.reading}", max(20, round(14 * (wide + 0.9)))))
        lines = title.count("\n") + reading.count("\n")
        figure = Figure(figsize=(across, tall + 2.2 + 0.17 * lines), layout="constrained")
        axes = figure.subplots(1, len(maps), sharex=True, sharey=True, squeeze=False)[0]
        for box, (name, values) in zip(axes, maps.items(), strict=True):
            part = values[: len(rows), : len(columns)]
            most = 1.0 if name == "attention" else float(np.abs(part).max()) or 1.0
            image = box.imshow(part, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
            if name == "attention":
                about = reading
            else:
                about = f"{METHODS[name]}\nmean ρ with attention {_shown(self.mean_correlation(name))}"
            box.set_title(about, fontsize=8)
            name_words(box, rows, columns, shown)
            bar = figure.colorbar(image, ax=box, fraction=0.06, pad=0.02)
            bar.ax.tick_params(labelsize=6)
            if name == "attention":
                bar.ax.set_ylim(0, 1)
        figure.supxlabel("source word", fontsize=9)
        figure.supylabel("target word", fontsize=9)
        if len(self.target) > LARGEST or len(self.source) > LARGEST:
            title += f"\n(the first {LARGEST} words)"
        figure.suptitle(title, fontsize=10)
        return figure


def _number(value: float) -> float | None:
    return None if isnan(value) else round(value, 4)


def _shown(value: float) -> str:
    return "–" if isnan(value) else f"{value:+.2f}".replace("-", "−")


def check_ending(path: Path, option: str = "") -> None:
    """Refuse a file whose name does not end as one of an attribution."""
    check_kind_of_file(path, ENDINGS, option)


def check_methods(names: object) -> list[str]:
    """The measures, if there are such."""
    given = [names] if isinstance(names, str) else list(names) if isinstance(names, (list, tuple)) else [names]
    for name in given:
        if name not in METHODS:
            raise UsageError(f"--attribution {name!s:.40}: there are {', '.join(METHODS)}")
    return [str(name) for name in dict.fromkeys(given)]
