"""The report: one HTML page that needs nothing else, and the same figures as JSON.

A section about something that was not measured is None, and left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from mirada.compare import charts, task_report
from mirada.compare.charts import Line
from mirada.compare.page import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Grid,
    Name,
    Page,
    Row,
    Section,
    Table,
    Tile,
    figures,
    named,
    shortened,
)
from mirada.compare.results import Comparison, ModelResult, Prediction
from mirada.compare.task_report import TaskReport
from mirada.errors import counted
from mirada.files import write_text
from mirada.metrics.score import Score

FEW = 10
"""Examples below which a score is more chance than finding: its marker is hollow."""
MAX_CLASSES = 12
"""The most classes of a confusion matrix that can be read."""
MAX_CONFUSIONS = 8
"""The most confusions that are listed where the matrix is too wide."""
MAX_LABEL = 24


Value = Callable[[ModelResult], float | None]


def write(comparison: Comparison) -> None:
    """Write both files; the page last."""
    write_text(comparison.json, json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False) + "\n")
    write_text(comparison.html, render(comparison))


def render(c: Comparison) -> str:
    """The page as HTML: a section for everything that was measured."""
    report = task_report.find(c.task)
    found = [
        scores(c, report),
        curves(c),
        by_length(c, report),
        speed(c, report),
        paths(c, report),
        confusion(c),
        *report.sections(c),
        samples(c, report),
        method(c, report),
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
        return f"One model was trained for {budget(c)}. The data: {c.summary}."
    return (
        f"{counted(len(c.models), 'model')} were trained one after another on the same data, each for "
        f"{budget(c)}. The data: {c.summary}."
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


def scores(c: Comparison, report: TaskReport) -> Section:
    """Scores, sizes and speeds of all models."""
    main = c.main_score

    def column(score: Score) -> Column:
        name, lower = score.name, score.lower_is_better
        return Column(name, lambda x: x.score(name), f",.{score.digits}f", lower, lambda one: one.scores.get(name))

    columns = [
        *(column(score) for score in c.models[0].all_scores if score.name not in report.baseline_scores),
        *report.columns(c),
        Column("parameters", lambda x: x.parameters, lower_is_better=True),
        Column(f"{report.token}s/s in training", lambda x: x.training_speed),
        Column(f"{c.unit}/s in use", lambda x: x.inference_speed, ",.1f"),
        Column("epochs", lambda x: x.training["epochs"], ",.1f", None),
    ]
    notes: list[Block] = [*report.score_notes]
    if "minutes" in c.budget:
        notes.append("The budget is wall-clock time: a faster model saw the data more often.")
    if "steps" in c.budget and len({x.train_settings["batch_tokens"] for x in c.models}) > 1:
        notes.append("The models' steps differ in size: those with larger batches saw the data more often.")
    lower = ", lower is better" if main.lower_is_better else ""
    known = {one.name: one.scores[main.name] for one in c.baselines if main.name in one.scores}
    dashed = "; dashed: baselines, which learn nothing" if known else ""
    values = [x.score() for x in c.models]
    written = [f"{value:,.{main.digits}f}" for value in values]
    chart = charts.bars([x.name for x in c.models], values, written, known, f"{main.name} on the dev set")
    table = figures("All models; the best figure of each column is bold", c.models, columns, c.baselines)
    pair = Grid([Figure(chart, f"{main.name} on the dev set{lower}{dashed}"), table])
    return Section("models", "At a glance", [pair, *notes])


def curves(c: Comparison) -> Section | None:
    """Loss and dev score while training."""
    known = [(number, x.name, x.curves) for number, x in enumerate(c.models) if x.curves]
    loss = [Line(name, found.loss, number) for number, name, found in known if found.loss]
    dev = [Line(name, found.dev, number) for number, name, found in known if found.dev]
    x = "minutes" if "minutes" in c.budget else "step"
    drawn: list[Block] = []
    if loss:
        chart = charts.line_chart("loss", loss, x, "loss per token", zero=False, markers=False)
        drawn.append(Figure(chart, "Training loss"))
    if dev:
        metric = next(found.metric for _, _, found in known if found.dev)
        chart = charts.line_chart("dev", dev, x, metric, zero=False)
        drawn.append(Figure(chart, f"{metric} on a sample of the dev set, at each validation"))
    return Section("curves", "Training curves", [Grid(drawn, "narrow")]) if drawn else None


def by_length(c: Comparison, report: TaskReport) -> Section | None:
    """The main score by the length of the examples."""
    rows = c.models[0].by_length
    if not rows:
        return None
    main, unit = c.main_score, report.length_unit

    def score(place: int) -> Value:
        return lambda x: x.by_length[place].value

    columns = [
        Column(row.name, score(place), f",.{main.digits}f", main.lower_is_better) for place, row in enumerate(rows)
    ]
    few = frozenset(float(place) for place, row in enumerate(rows) if row.count < FEW)
    lines = [
        Line(x.name, [(place, row.value) for place, row in enumerate(x.by_length)], number, few)
        for number, x in enumerate(c.models)
    ]
    ticks = {float(place): f"{row.name}\n({row.count:,})" for place, row in enumerate(rows)}
    caption = f"{main.name} by the number of {unit}"
    hollow = f". Hollow: fewer than {FEW} {c.unit}, more chance than finding." if few else ""
    chart = charts.line_chart("length", lines, f"{unit} ({c.unit})", main.name, ticks=ticks)
    pair = Grid([Figure(chart, caption + hollow), figures(caption, c.models, columns)])
    note = report.length_note(c)
    return Section("length", f"Quality by {report.sequence} length", [*([note] if note else []), pair])


def speed(c: Comparison, report: TaskReport) -> Section | None:
    """Tokens a second by the length of the sequences."""
    lengths = sorted({length for x in c.models for length in x.speed_by_length})
    if not lengths:
        return None
    what, word, token = report.sequence, report.word, report.token

    def at(length: int) -> Value:
        return lambda x: x.speed_by_length.get(length)

    note = (
        f"Every batch here has {c.batch_tokens:,} {token}s, in many short {what}s or in few long ones. A recurrent "
        f"network reads one {word} after another, so long {what}s mean more sequential steps with less to compute in "
        f"each, and parallel hardware waits. Self-attention reads all {word}s of a {what} at once, but compares each "
        "with each."
    )
    if any(x.settings.get("name") == "bag" for x in c.models):
        note += " A bag of words neither waits nor compares."
    lines = [Line(x.name, [*x.speed_by_length.items()], n) for n, x in enumerate(c.models) if x.speed_by_length]
    chart = charts.line_chart(
        "speed", lines, f"{token}s per {what}", f"{token}s a second", ticks={n: str(n) for n in lengths}, log=True
    )
    head = f"{token.capitalize()}s a second"
    table = figures(f"{head} by {what} length", c.models, [Column(f"{n}", at(n)) for n in lengths])
    pair = Grid([Figure(chart, f"{head}, forward and backward through the model"), table])
    return Section("time", f"Speed by {what} length", [note, pair])


def paths(c: Comparison, report: TaskReport) -> Section | None:
    """The longest path between two words, by architecture."""
    kinds = list(dict.fromkeys(kind for x in c.models for kind in x.paths))
    if not kinds:
        return None
    lengths = sorted({n for x in c.models for path in x.paths.values() for n in path.steps})[::2]

    def cells(x: ModelResult, kind: str) -> list[Cell]:
        path = x.paths.get(kind)
        steps = path.steps if path else {}
        at = [Cell(f"{steps[n]:,}" if n in steps else "—") for n in lengths]
        return [Cell(path.formula if path else "unknown"), *at]

    word = report.word
    note = (
        f"Information from one {word} to another passes through every step between them, and fades on the way. Counted "
        f"are the fewest steps between the two {word}s that are furthest apart, in {report.sequence}s of n {word}s: a "
        "property of the architecture, not a measurement (after Vaswani et al. 2017, “Attention Is All You Need”, "
        f"section 4, table 1). {report.path_note(c)}"
    )
    headings = ["model", *(text for kind in kinds for text in (kind, *(f"n\u00a0=\u00a0{n}" for n in lengths)))]
    rows = [Row(name, [cell for kind in kinds for cell in cells(x, kind)]) for name, x in named(c.models)]
    table = Table(f"Steps between two {word}s, at most", headings, rows)
    return Section("paths", f"The longest path between two {word}s", [note.strip(), table])


def confusion(c: Comparison) -> Section | None:
    """Which labels the models confuse."""
    if "confusion" not in c.models[0].scores:
        return None
    wide = len(c.models[0].scores["classes"]) > MAX_CLASSES
    tables = [(_confusions if wide else _matrix)(name, x) for name, x in named(c.models)]
    matrix = "A row for each true label, a column for each predicted one: correct predictions are on the diagonal."
    listed = "The most frequent confusions of each model."
    return Section("confusion", "Confusion matrix", [listed if wide else matrix, Grid(tables, "narrow")])


def _labels(x: ModelResult) -> list[str]:
    return [shortened(row["label"], MAX_LABEL) for row in x.scores["classes"]]


def _matrix(name: Name, x: ModelResult) -> Table:
    labels, rows = _labels(x), []
    for true, (label, counts) in enumerate(zip(labels, x.scores["confusion"], strict=True)):
        total = max(1, sum(counts))
        cells = [Cell(f"{n:,}", "hit" if i == true else "miss", round(100 * n / total)) for i, n in enumerate(counts)]
        rows.append(Row(label, cells))
    return Table(name, ["true ↓ predicted →", *labels], rows, "confusion")


def _confusions(name: Name, x: ModelResult) -> Table:
    labels = _labels(x)
    wrong = [
        (-n, true, guess)
        for true, counts in enumerate(x.scores["confusion"])
        for guess, n in enumerate(counts)
        if n and true != guess
    ]
    rows = [
        Row(labels[true], [Cell(labels[guess]), Cell(f"{-n:,}")]) for n, true, guess in sorted(wrong)[:MAX_CONFUSIONS]
    ]
    return Table(name, ["true", "predicted", "times"], rows, "confusion")


def samples(c: Comparison, report: TaskReport) -> Section | None:
    """The same dev examples with every model's prediction."""
    if not c.samples:
        return None
    source, target = c.languages.get("source"), c.languages.get("target")
    above, below = report.sample_headings

    def cut(text: str) -> str:
        return shortened(text, report.longest_sample)

    def note(prediction: Prediction) -> str:
        notes = [] if prediction.probability is None else [f"{prediction.probability:.0%}"]
        notes += [f"{prediction.truncated:,} {report.token}s truncated"] if prediction.truncated else []
        return ", ".join(notes)

    tables = []
    for number, sample in enumerate(c.samples):
        size = counted(len(sample.text.split()), "word") if report.word == "word" else f"Example {number + 1}"
        rows = [
            Row(above, [Cell(cut(sample.text), language=source)]),
            Row(below, [Cell(cut(sample.references[0]), language=target)]),
        ]
        for name, x in named(c.models):
            found = x.predictions[number]
            rows.append(Row(name, [Cell(cut(found.text) or "—", "", None, target, note(found), found.correct)]))
        tables.append(Table(size, [], rows, "sample"))
    return Section("samples", "The same examples, side by side", [report.samples_note, Grid(tables, "wide")])


def budget(c: Comparison) -> str:
    """The budget in words."""
    parts = [f"{amount:g} {kind if amount != 1 else kind.removesuffix('s')}" for kind, amount in c.budget.items()]
    return " or ".join(parts) + (" (whichever is over first)" if len(parts) > 1 else "")


def method(c: Comparison, report: TaskReport) -> Section:
    """How the models were trained and measured."""
    threads = sorted({x.training["threads"] for x in c.models})
    machine = [*sorted({x.training["device"] for x in c.models}), *(counted(n, "thread") for n in threads)]
    rounds = "the median of several rounds in which the models took turns, after one that does not count"
    tokens = f"{report.token}s" + (f" ({report.counted})" if report.counted else "")
    facts = [
        *c.facts,
        ("data id", str(c.data.get("fingerprint", ""))[:16]),
        ("budget", f"{budget(c)} per model; the weights with the best dev score were kept"),
        ("seed", f"{c.seed}, one run each"),
        ("machine", ", ".join(machine)),
        ("decoding", _decoding(c)),
        ("training speed", f"{tokens} a second, from each training's log, without validations"),
        ("inference speed", f"{c.timed:,} {c.unit} {report.timed}; {rounds}"),
        ("speed by length", f"batches of {c.batch_tokens:,} {tokens}; {rounds}" if c.models[0].speed_by_length else ""),
        *(("score", f"{score.name}: {score.signature}") for score in c.models[0].all_scores),
        ("software", ", ".join(f"{name} {version}" for name, version in c.software.items())),
    ]
    rows = [
        Row(
            name,
            [
                Cell(", ".join(_settings(c, x)), "text"),
                Cell(f"{x.training['steps']:,}"),
                Cell(f"{x.training['seconds']:,.0f}"),
            ],
        )
        for name, x in named(c.models)
    ]
    caption = f"The settings of each model (preset {c.preset}), and how long it trained"
    table = Table(caption, ["model", "settings", "steps", "seconds"], rows)
    return Section("method", "How this was measured", [Facts([row for row in facts if row[1]]), table])


def _decoding(c: Comparison) -> str:
    if not c.decode:
        return ""
    return f"sampling, temperature {c.decode['temperature']:g}" if c.decode["sample"] else f"beam {c.decode['beam']}"


def _settings(c: Comparison, x: ModelResult) -> list[str]:
    """The model's settings, and those of its training that differ between models."""
    model = [f"{key} {value}" for key, value in x.settings.items() if key != "name"]
    differing = [
        key for key, value in x.train_settings.items() if any(value != y.train_settings[key] for y in c.models)
    ]
    return model + [f"train.{key} {x.train_settings[key]}" for key in differing]
