"""The report's page as data, and its rendering: one HTML file without scripts that loads nothing.

A page has sections, a section has blocks: a paragraph (a plain string), Table, Figure, Facts, Quote, or a Grid of
blocks side by side. Each kind is a macro in `templates/blocks.html`, which escapes every text. A task's report makes
its own sections of the same blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined

from mirada.compare.charts import COLOURS, printable
from mirada.compare.results import Baseline, ModelResult


@dataclass(frozen=True)
class Name:
    """A model's name, with its colour."""

    text: str
    colour: int


@dataclass(frozen=True)
class Cell:
    """One value of a table."""

    text: str
    style: str = ""
    """A CSS class: best, text, hit, miss."""
    share: int | None = None
    """How strongly it is tinted, in percent."""
    language: str | None = None
    note: str = ""
    correct: bool | None = None
    """A check mark or a cross; None for neither."""


@dataclass(frozen=True)
class Row:
    """A table's row: its heading, then its cells."""

    heading: str | Name
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Table:
    """Rows under headings, if there are any."""

    caption: str | Name
    headings: Sequence[str]
    rows: Sequence[Row]
    style: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart and what it shows; `svg` comes from `charts`, which escapes its texts."""

    svg: str
    caption: str = ""
    model: Name | None = None


@dataclass(frozen=True)
class Facts:
    """Terms and what they are."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Quote:
    """A sentence of the data."""

    text: str
    language: str | None = None


@dataclass(frozen=True)
class Grid:
    """Blocks side by side: `pair` for a chart and its table, `wide` or `narrow` for as many columns as fit."""

    blocks: Sequence[Block]
    style: str = "pair"


Block: TypeAlias = str | Table | Figure | Facts | Quote | Grid


@dataclass(frozen=True)
class Section:
    """A part of the page that the navigation links to."""

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Tile:
    """Who leads in one respect."""

    heading: str
    value: str
    models: Sequence[Name]


@dataclass(frozen=True)
class Page:
    """The whole report."""

    title: str
    lead: str
    verdict: str
    caution: str
    tiles: Sequence[Tile]
    sections: Sequence[Section]

    def render(self) -> str:
        """The page as HTML."""
        return _templates().get_template("report.html").render(page=self)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("mirada.compare"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if hasattr(value, "__html__") else printable(str(value)),
    )


# ── tables of figures ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Column:
    """A figure of every model."""

    heading: str
    value: Callable[[ModelResult], float | None]
    format: str = ",.0f"
    lower_is_better: bool | None = False
    """None where neither is better."""
    baseline: Callable[[Baseline], float | None] = field(default=lambda baseline: None)

    def write(self, value: float | None) -> str:
        if value is None:
            return "—"
        return format(value, ",.0f" if self.format.endswith("g") and abs(value) >= 1000 else self.format)

    def best(self, models: Sequence[ModelResult]) -> list[ModelResult]:
        """The models with the best value: several if they are equal, none if there is nothing to compare."""
        known = [(model, value) for model in models if (value := self.value(model)) is not None]
        if len(known) < 2 or self.lower_is_better is None:
            return []
        best = (min if self.lower_is_better else max)(value for _, value in known)
        return [model for model, value in known if value == best]


def named(models: Sequence[ModelResult]) -> list[tuple[Name, ModelResult]]:
    """Each model with its name in its colour."""
    return [(Name(model.name, number % COLOURS), model) for number, model in enumerate(models)]


def figures(
    caption: str, models: Sequence[ModelResult], columns: Sequence[Column], baselines: Sequence[Baseline] = ()
) -> Table:
    """A row per model and a column per figure, the best of each marked; then a row per baseline."""
    best = [column.best(models) for column in columns]
    rows = [
        Row(
            name,
            [
                Cell(column.write(column.value(model)), "best" if model in leaders else "")
                for column, leaders in zip(columns, best, strict=True)
            ],
        )
        for name, model in named(models)
    ]
    rows += [
        Row(baseline.name, [Cell(column.write(column.baseline(baseline))) for column in columns])
        for baseline in baselines
    ]
    return Table(caption, ["model", *(column.heading for column in columns)], rows)


def shortened(text: str, most: int | None) -> str:
    """The text, cut to a readable length."""
    return text if most is None or len(text) <= most else text[: most - 1].rstrip() + "…"
