"""The pieces of the report's page: escaped text, tables of figures, images with captions.

Every text that comes from data, models or settings passes `e`, which escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from mirada.compare import charts
from mirada.compare.results import Baseline, Comparison, ModelResult, best_of
from mirada.compare.task_reports import Column

Figure = Callable[[ModelResult], float | None]

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def e(text: object) -> str:
    """A text as text, whatever is in it."""
    return escape(charts.printable(str(text)))


def shortened(text: str, most: int | None) -> str:
    """As much of a long text as one wants to read."""
    return text if most is None or len(text) <= most else text[: most - 1].rstrip() + "…"


def count(number: int, thing: str) -> str:
    word = _WORDS[number] if number < len(_WORDS) else f"{number:,}"
    return f"{word} {thing}{'s' * (number != 1)}"


def model(c: Comparison, entrant: ModelResult, tag: str = 'th scope="row"') -> str:
    """A model's name, with its colour."""
    colour = charts.colour(c.entrants.index(entrant))
    return f'<{tag} class="model"><i style="background: {colour}"></i>{e(entrant.name)}</{tag.split()[0]}>'


def table(caption: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    """Rows whose cells are markup already."""
    head = "".join(f'<th scope="col">{e(text)}</th>' for text in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{e(caption)}">'
        f"<table><caption>{e(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figures(c: Comparison, caption: str, columns: Sequence[Column], baselines: Sequence[Baseline] = ()) -> str:
    """A row a model, a column a figure, the best of each column marked; then a row a baseline."""
    best = [best_of(c.entrants, figure, bool(low)) if low is not None else [] for _, figure, _, low in columns]

    def cell(entrant: ModelResult, number: int) -> str:
        _, figure, written, _ = columns[number]
        value = figure(entrant)
        text = "—" if value is None else e(written(value))
        return f'<td class="best">{text}</td>' if entrant in best[number] else f"<td>{text}</td>"

    def beside(baseline: Baseline, column: Column) -> str:
        value = baseline.scores.get(column[0])
        return f"<td>{'—' if value is None else e(column[2](value))}</td>"

    rows = [model(c, entrant) + "".join(cell(entrant, n) for n in range(len(columns))) for entrant in c.entrants]
    for baseline in baselines:
        cells = "".join(beside(baseline, column) for column in columns)
        rows.append(f'<th scope="row" class="beside-models">{e(baseline.name)}</th>{cells}')
    return table(caption, ["model", *(column[0] for column in columns)], rows)


def shown(image: str, caption: str) -> str:
    return f"<figure>{image}<figcaption>{e(caption)}</figcaption></figure>"


def beside(left: str, right: str) -> str:
    return f'<div class="beside">{left}{right}</div>'
