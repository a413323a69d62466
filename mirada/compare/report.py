"""The report: one HTML page that needs nothing else, and the same figures as JSON."""

from __future__ import annotations

import json

from mirada.compare import sections, task_reports
from mirada.compare.markup import count, e, model
from mirada.compare.page import page
from mirada.compare.results import HTML, JSON, Comparison, best_of
from mirada.compare.task_reports import Column, Subject
from mirada.files import write_text

FILES = (HTML, JSON)


def write(comparison: Comparison) -> None:
    """Write both files; the page last."""
    write_text(comparison.json, json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False) + "\n")
    write_text(comparison.html, render(comparison))


def render(c: Comparison) -> str:
    """The whole page: a section for everything that was found."""
    subject = task_reports.find(c.task)
    title = f"{subject.title(c)}: {count(len(c.entrants), 'model')} compared"
    what = subject.sequence
    found = [
        ("models", "At a glance", sections.glance(c, subject)),
        ("horizon", "Error by steps ahead", sections.by_horizon(c, subject)),
        ("length", f"Quality by {what} length", sections.by_length(c, subject)),
        ("time", f"Time by {what} length", sections.by_time(c, subject)),
        ("paths", f"The longest path between two {subject.word}s", sections.paths(c, subject)),
        ("confusion", "What is taken for what", sections.confusion(c)),
        ("forecasts", "The same forecast, side by side", sections.forecasts(c)),
        ("samples", f"The same {what}s, side by side", sections.samples(c, subject)),
        ("attention", "Where the models look", sections.attention(c)),
        ("method", "How this was measured", sections.method(c, subject)),
    ]
    return page(e(title), _lead(c, subject) + _tiles(c, subject), [section for section in found if section[2]])


def _lead(c: Comparison, subject: Subject) -> str:
    several = len(c.entrants) > 1
    began = f"{count(len(c.entrants), 'model').capitalize()} {'were' if several else 'was'} trained"
    turn = ", one after another," if several else ""
    told = (
        f"{began}{turn} on {subject.learned(c, 'the same ' if several else '')} "
        f"and {'the same' if several else 'a'} budget of {sections.budget(c)}{' each' if several else ''}, and then "
        f"{subject.tested(c)}."
    )
    return f'<p class="lead">{e(told)} <strong>{e(c.verdict)}</strong> <span class="caution">{e(c.caution)}</span></p>'


def _tiles(c: Comparison, subject: Subject) -> str:
    """Who is first in what."""
    if len(c.entrants) < 2:
        return ""
    token = subject.token
    firsts: list[Column] = [
        (subject.best, lambda x: x.score(), c.figure, c.entrants[0].headline.lower_is_better),
        ("Quickest to train", lambda x: x.tokens_per_second, lambda v: f"{v:,.0f} {token}s/s", False),
        ("Quickest in use", lambda x: x.in_use, lambda v: f"{v:,.1f} {c.used}/s", False),
        ("Fewest parameters", lambda x: x.parameters, lambda v: f"{v:,.0f}", True),
    ]
    tiles = ""
    for head, figure, written, lowest in firsts:
        best = best_of(c.entrants, figure, bool(lowest))
        value = figure(best[0]) if best else None
        if value is not None:
            names = " ".join(model(c, entrant, "span") for entrant in best[:2]) + (" …" if len(best) > 2 else "")
            tiles += f"<li><span>{e(head)}</span><b>{e(written(value))}</b>{names}</li>"
    return f'<ul class="tiles">{tiles}</ul>'
