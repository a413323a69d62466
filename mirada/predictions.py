"""Predictions, the results of a model's verbs, in a form for programs (`as_dict`) and one for people (`as_text`).

The command line and pages show these forms and no others.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

Input = TypeVar("Input")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A model's answer to one input."""

    notes: tuple[str, ...] = ()
    """Remarks on the input: that it was cut off, resized, or split into parts."""
    problem: str | None = None
    """The reason if there is no answer."""

    def values(self) -> dict[str, Any]:
        """The answer itself as plain values."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """The prediction as plain dictionaries, lists, strings and numbers, ready for JSON."""
        remarks = {"notes": list(self.notes), "problem": self.problem}
        return {**self.values(), **{name: value for name, value in remarks.items() if value}}

    def as_text(self, number: int = 1) -> str:
        """The prediction as a line or lines of text; `number` is its place among others."""
        return str(self)

    def where(self, number: int) -> str:
        """The place that a remark on the `number`-th prediction names."""
        return f"line {number}"

    def _repr_html_(self) -> str:
        return html_table(self.as_dict())


@dataclass(frozen=True, kw_only=True)
class ImagePrediction(Prediction):
    """A model's answer to an image; as an instance of this class, an image that could not be read."""

    image: str = ""
    """The image's file; empty for an array."""

    def values(self) -> dict[str, Any]:
        return {"image": self.image} if self.image else {}

    def where(self, number: int) -> str:
        return self.image

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class NoPrediction(Prediction):
    """In the place of the prediction for an input that has a `problem`."""

    def values(self) -> dict[str, Any]:
        return {}

    def __str__(self) -> str:
        return ""


def with_problems(
    inputs: Sequence[Input], problems: Iterable[str | None], predict: Callable[[list[Input]], Iterable[Prediction]]
) -> list[Prediction]:
    """The predictions for the inputs that have no problem; for each of the others, its problem."""
    found = list(problems)
    usable = iter(predict([one for one, problem in zip(inputs, found, strict=True) if problem is None]))
    return [next(usable) if problem is None else NoPrediction(problem=problem) for problem in found]


class Drawable:
    """A result that can be drawn, and is shown as a picture in a notebook."""

    def draw(self, path: str | Path | BinaryIO) -> None:
        """Write the picture to a file."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        picture = io.BytesIO()
        self.draw(picture)
        return f'<img src="data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}">'


def ranked(pairs: Sequence[tuple[str, float]], name: str, value: str) -> list[dict[str, Any]]:
    """Pairs of a text and a number as JSON objects, the numbers rounded."""
    return [{name: text, value: round(number, 6)} for text, number in pairs]


def html_table(values: Mapping[str, Any]) -> str:
    """Names and values as a small table for a notebook."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"<td style='text-align:left'>{escape(_brief(value))}</td></tr>"
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"


def _brief(value: Any) -> str:
    text = f"{value:,.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 500 else f"{text[:500]} …"
