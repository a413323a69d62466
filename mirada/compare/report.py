"""The report: one HTML page that needs nothing else, and the same figures as JSON."""

from __future__ import annotations

import json

from mirada.compare import sections, task_report
from mirada.compare.page import Column, Page, Tile, named
from mirada.compare.results import HTML, JSON, Comparison
from mirada.compare.task_report import TaskReport
from mirada.errors import counted
from mirada.files import write_text

FILES = (HTML, JSON)


def write(comparison: Comparison) -> None:
    """Write both files; the page last."""
    write_text(comparison.json, json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False) + "\n")
    write_text(comparison.html, render(comparison))


def render(c: Comparison) -> str:
    """The page as HTML: a section for everything that was measured."""
    report = task_report.find(c.task)
    found = [
        sections.scores(c, report),
        sections.curves(c),
        sections.by_length(c, report),
        sections.speed(c, report),
        sections.paths(c, report),
        sections.confusion(c),
        *report.sections(c),
        sections.samples(c, report),
        sections.method(c, report),
    ]
    return Page(
        title=f"{c.title}: {counted(len(c.models), 'model')} compared",
        lead=_lead(c),
        verdict=c.verdict,
        caution=c.caution,
        tiles=_tiles(c, report) if len(c.models) > 1 else [],
        sections=[section for section in found if section is not None],
    ).render()


def _lead(c: Comparison) -> str:
    if len(c.models) == 1:
        return f"One model was trained for {sections.budget(c)}. The data: {c.summary}."
    return (
        f"{counted(len(c.models), 'model')} were trained one after another on the same data, each for "
        f"{sections.budget(c)}. The data: {c.summary}."
    )


def _tiles(c: Comparison, report: TaskReport) -> list[Tile]:
    """Who leads in what."""
    score = c.main_score
    respects = [
        ("", Column(f"Best {score.name}", lambda x: x.score(), f",.{score.digits}f", score.lower_is_better)),
        (f" {report.token}s/s", Column("Fastest training", lambda x: x.training_speed)),
        (f" {c.unit}/s", Column("Fastest inference", lambda x: x.inference_speed, ",.1f")),
        ("", Column("Fewest parameters", lambda x: x.parameters, lower_is_better=True)),
    ]
    return [
        Tile(
            column.heading,
            column.write(column.value(best[0])) + unit,
            [name for name, x in named(c.models) if x in best],
        )
        for unit, column in respects
        if (best := column.best(c.models))
    ]
