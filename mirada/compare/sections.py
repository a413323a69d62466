"""The sections of the report's page, as markup. One on something that was not found is empty, and left out."""

from __future__ import annotations

from mirada.compare import charts
from mirada.compare.markup import Figure, beside, count, e, figures, model, shortened, shown, table
from mirada.compare.results import Answer, Baseline, Comparison, ModelResult
from mirada.compare.task_reports import Column, Subject

MOST_CLASSES = 12
"""Classes up to which a confusion matrix can be read."""
MOST_CONFUSIONS = 8
"""Confusions that are named where the matrix is too wide."""


def glance(c: Comparison, subject: Subject) -> str:
    columns: list[Column] = [
        *subject.columns(c),
        ("parameters", lambda x: x.parameters, lambda v: f"{v:,.0f}", True),
        (f"{subject.token}s/s in training", lambda x: x.tokens_per_second, lambda v: f"{v:,.0f}", False),
        (f"{c.used}/s in use", lambda x: x.in_use, lambda v: f"{v:,.1f}", False),
        ("passes over the data", lambda x: x.training["epochs"], lambda v: f"{v:,.1f}", None),
    ]
    notes = subject.notes(c)
    if "minutes" in c.budget:
        notes.append("Minutes are minutes on the clock: a quicker model saw the data more often in them.")
    if "steps" in c.budget and len({x.recipe["batch_tokens"] for x in c.entrants}) > 1:
        notes.append("The models' steps are of different size: whose batches are larger saw the data more often.")
    told = "".join(f"<p>{e(note)}</p>" for note in notes)
    image = shown(charts.quality(c.entrants, c.baselines), subject.quality)
    drawn = figures(c, "All models; the best figure of each column is bold", columns, c.baselines)
    return beside(image, f"<div>{told}</div>") + drawn


def by_horizon(c: Comparison, subject: Subject) -> str:
    if not c.entrants[0].by_horizon:
        return ""
    steps = [*c.entrants[0].by_horizon]

    def error(step: int) -> Figure:
        return lambda entrant: entrant.by_horizon[step]

    columns: list[Column] = [(f"{step:,}", error(step), _three_figures, True) for step in steps]
    simple = [
        Baseline(baseline.name, {f"{step:,}": value for step, value in baseline.by_horizon.items()}, {})
        for baseline in c.baselines
        if baseline.by_horizon
    ]
    told = (
        "The further ahead, the less is known. A model that has learned how the series goes on stays below the simple "
        "forecasts; one that has not ends where they do, or above."
    )
    name = c.outlook.column if c.outlook else ""
    image = shown(
        charts.by_horizon(c.entrants, c.baselines), f"Mean absolute error of {name} by steps ahead; lower is better"
    )
    caption = f"Mean absolute error of {name} so many steps ahead"
    return f"<p>{e(told)}</p>" + beside(image, figures(c, caption, columns, simple))


def _three_figures(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def by_length(c: Comparison, subject: Subject) -> str:
    rows = c.entrants[0].by_length
    if not rows:
        return ""
    headline = c.entrants[0].headline

    def score(number: int) -> Figure:
        return lambda entrant: entrant.by_length[number].value

    columns: list[Column] = [
        (row.name, score(number), lambda v: f"{v:,.{headline.digits}f}", headline.lower_is_better)
        for number, row in enumerate(rows)
    ]
    few = any(row.count < charts.FEW for row in rows)
    hollow = f" Hollow marks: fewer than {charts.FEW} {c.used}, more chance than finding." if few else ""
    caption = f"{headline.name} by the number of {subject.lengths_of}"
    read = subject.lengths_of.removesuffix("words").strip() or subject.sequence
    drawn = charts.quality_by_length(c.entrants, read, f"{subject.lengths_of} ({c.used})")
    image = shown(drawn, f"{caption}.{hollow}")
    return f"<p>{e(subject.about_length(c))}</p>" + beside(image, figures(c, caption, columns))


def by_time(c: Comparison, subject: Subject) -> str:
    lengths = sorted({length for entrant in c.entrants for length in entrant.speed_by_length})
    what, word, token = subject.sequence, subject.word, subject.token

    def speed(length: int) -> Figure:
        return lambda entrant: entrant.speed_by_length.get(length)

    columns: list[Column] = [(f"{n}", speed(n), lambda v: f"{v:,.0f}", False) for n in lengths]
    told = (
        f"The sequential cost: every batch here has {c.batch_tokens:,} {token}s, in many short {what}s or in few long "
        f"ones. A recurrent network reads one {word} after another, so long {what}s mean more steps with less to do in "
        f"each, and a machine that could do much at once waits. Self-attention takes all {word}s of a {what} at once, "
        "and pays with comparing each with each."
    )
    bag = " A bag of words has nothing to wait for and nothing to compare."
    told += bag if any(entrant.settings.get("name") == "bag" for entrant in c.entrants) else ""
    head = f"{token.capitalize()}s a second"
    image = shown(charts.speed_by_length(c.entrants, token, what), f"{head}, forward and backward through the model")
    caption = f"{head} by the number of {token}s in each {what}"
    return f"<p>{e(told)}</p>" + beside(image, figures(c, caption, columns))


def paths(c: Comparison, subject: Subject) -> str:
    kinds = list(dict.fromkeys(kind for entrant in c.entrants for kind in entrant.paths))
    if not kinds:
        return ""
    lengths = sorted({n for x in c.entrants for route in x.paths.values() for n in route.steps})[::2]

    def cells(entrant: ModelResult, kind: str) -> str:
        route = entrant.paths.get(kind)
        steps = route.steps if route else {}
        at = "".join(f"<td>{steps[n]:,}</td>" if n in steps else "<td>—</td>" for n in lengths)
        return f"<td>{e(route.formula if route else 'not counted')}</td>{at}"

    at = [f"n\u00a0=\u00a0{n}" for n in lengths]
    rows = [model(c, x) + "".join(cells(x, kind) for kind in kinds) for x in c.entrants]
    heads = ["model", *(head for kind in kinds for head in (kind, *at))]
    word = subject.word
    told = (
        f"What one {word} tells another has to pass through every step between them, and fades on the way. Counted "
        f"here are the fewest steps between the two {word}s that are worst off, in {subject.sequence}s of n {word}s: a "
        "formula of the architecture, not a measurement (after Vaswani et al. 2017, “Attention Is All You Need”, "
        f"section 4, table 1). {subject.about_paths(c)}"
    )
    return f"<p>{e(told.strip())}</p>" + table(f"Steps between two {word}s, at most", heads, rows)


def confusion(c: Comparison) -> str:
    if "confusion" not in c.entrants[0].scores:
        return ""
    wide = len(c.entrants[0].scores["classes"]) > MOST_CLASSES
    tables = "".join((_confusions if wide else _matrix)(c, entrant) for entrant in c.entrants)
    told = "A row for each true label, a column for each label that was given: what is right stands on the diagonal."
    listed = "For each model the labels that were most often taken for another."
    return f'<p>{e(listed if wide else told)}</p><div class="looks">{tables}</div>'


def _matrix(c: Comparison, entrant: ModelResult) -> str:
    labels = [row["label"] for row in entrant.scores["classes"]]
    counts = entrant.scores["confusion"]
    heads = "".join(f'<th scope="col">{e(_label(label))}</th>' for label in labels)
    body = ""
    for true, (label, row) in enumerate(zip(labels, counts, strict=True)):
        most = max(1, sum(row))
        cells = "".join(
            f'<td class="{"hit" if guess == true else "miss"}" style="--share: {100 * n / most:.0f}%">{n:,}</td>'
            for guess, n in enumerate(row)
        )
        body += f'<tr><th scope="row">{e(_label(label))}</th>{cells}</tr>'
    return (
        f'<div class="scroll"><table class="confusion"><caption>{model(c, entrant, "b")}</caption>'
        f"<thead><tr><th>true ↓ given →</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _confusions(c: Comparison, entrant: ModelResult) -> str:
    labels = [row["label"] for row in entrant.scores["classes"]]
    counts = entrant.scores["confusion"]
    wrong = [(n, true, guess) for true, row in enumerate(counts) for guess, n in enumerate(row) if n and true != guess]
    rows = "".join(
        f'<tr><th scope="row">{e(_label(labels[true]))}</th><td>{e(_label(labels[guess]))}</td><td>{n:,}</td></tr>'
        for n, true, guess in sorted(wrong, key=lambda found: (-found[0], *found[1:]))[:MOST_CONFUSIONS]
    )
    return (
        f'<div class="scroll"><table class="confusion"><caption>{model(c, entrant, "b")}</caption><thead><tr>'
        f"<th>true</th><th>given</th><th>times</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _label(text: str, longest: int = 24) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def forecasts(c: Comparison) -> str:
    if c.outlook is None:
        return ""
    drawn = ""
    low, high = charts.span(c.entrants, c.outlook)
    for number, entrant in enumerate(c.entrants):
        if entrant.forecast is not None:
            image = charts.forecast(entrant.forecast, c.outlook, entrant.name, number, (low, high))
            drawn += f"<figure>{image}<figcaption>{model(c, entrant, 'b')}</figcaption></figure>"
    told = (
        f"{c.outlook.column} after {c.outlook.labels[len(c.outlook.history) - 1]}: what was known then, what each "
        "model expected, the ranges that should hold the true values in so many of a hundred cases, and dashed what "
        "came. One forecast of many, from the middle of the dev set."
    )
    return f'<p>{e(told)}</p><div class="looks">{drawn}</div>'


def samples(c: Comparison, subject: Subject) -> str:
    if not c.samples:
        return ""
    source, target = (
        f' lang="{e(c.languages[side])}"' if c.languages.get(side) else "" for side in ("source", "target")
    )
    asked, truth = subject.asked
    tables = ""

    def text(whole: str) -> str:
        return e(shortened(whole, subject.shown))

    for number, sample in enumerate(c.samples):
        rows = [
            f'<th scope="row">{e(asked)}</th><td{source} dir="auto">{text(sample.text)}</td>',
            f'<th scope="row">{e(truth)}</th><td{target} dir="auto">{text(sample.truths[0])}</td>',
        ]
        for entrant in c.entrants:
            answer = entrant.answers[number]
            said = (text(answer.text) or "—") + _marks(answer, subject)
            rows.append(f'{model(c, entrant)}<td{target} dir="auto">{said}</td>')
        size = len(sample.text.split())
        words = f"{size:,} word{'s' * (size != 1)}"
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        tables += f'<table class="sample"><caption>{e(words)}</caption><tbody>{body}</tbody></table>'
    return f'<p>{e(subject.about_samples)}</p><div class="samples">{tables}</div>'


def _marks(answer: Answer, subject: Subject) -> str:
    """How sure the model was, what it has not seen, and whether it is right or wrong, whichever is worth a mark."""
    notes = [] if answer.probability is None else [f"{answer.probability:.0%}"]
    notes += [f"{answer.unseen:,} {subject.token}s not seen"] if answer.unseen else []
    told = f' <span class="caution">{e(", ".join(notes))}</span>' if notes else ""
    if answer.right and not subject.marks_wrong:
        return f'{told}\u00a0<span class="right" title="{e(subject.right)}">✓</span>'
    if not answer.right and subject.marks_wrong:
        return f'{told}\u00a0<span class="wrong" title="wrong">✗</span>'
    return told


def attention(c: Comparison) -> str:
    if not c.attended:
        return ""
    language = f' lang="{e(c.languages["source"])}"' if c.languages.get("source") else ""
    drawn, without = "", []
    for number, entrant in enumerate(c.entrants):
        if entrant.attention is None:
            without.append(entrant.name)
            continue
        text = "".join(entrant.attention.target[:-1]).strip()
        largest = max((weight for row in entrant.attention.weights for weight in row), default=0.0)
        caption = f"{model(c, entrant, 'b')} <span dir='auto'>{e(text) or '—'}</span> (strongest blue: {largest:.2f})"
        image = charts.attention(entrant.attention, entrant.name, number)
        drawn += f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    told = (
        "A row for each token that was written, a column for each token of the source: the stronger the blue, the "
        "more the model looked there when it chose the token. Averaged over all layers and heads; the strongest blue "
        "of each image is its own largest weight."
    )
    none = f"<p>{e(', '.join(without))}: no attention to show.</p>" if without else ""
    sentence = f'<blockquote{language} dir="auto">{e(c.attended)}</blockquote>'
    return f'<p>{e(told)}</p>{sentence}<div class="looks">{drawn}</div>{none}'


# ── how it was measured ───────────────────────────────────────────────────────────────────────────────────────────────


def budget(c: Comparison) -> str:
    """In words."""
    parts = [f"{amount:g} {kind if amount != 1 else kind.removesuffix('s')}" for kind, amount in c.budget.items()]
    return " or ".join(parts) + (", whichever is over first," if len(parts) > 1 else "")


def method(c: Comparison, subject: Subject) -> str:
    threads = {x.training["threads"] for x in c.entrants}
    machine = [*sorted({x.training["device"] for x in c.entrants}), *(count(n, "thread") for n in sorted(threads))]
    own_time = "measured while it trained, so what else the machine did then is in it"
    rounds = "the median of several rounds in which the models took turns, after one that does not count"
    counted = f", {subject.counted}" if subject.counted else ""
    validations = "validations not" if counted else "validations not counted"
    token = f"{subject.token}s"
    facts = [
        *subject.facts(c),
        ("budget", f"{budget(c)} a model; the weights that scored best on the dev set were kept"),
        ("seed", f"{c.seed}, once"),
        ("machine", ", ".join(machine)),
        *_decoding(c),
        (f"{token}/s in training", f"from each training's log{counted}, {validations}; {own_time}"),
        (f"{c.used}/s in use", f"{c.timed:,} {subject.timed}; {rounds}"),
        ("time by length", f"batches of {c.batch_tokens:,} {subject.drawn}{counted}; {rounds}"),
        *(("score", f"{score['name']}: {score['signature']}") for score in c.entrants[0].scores["scores"]),
        ("software", ", ".join(f"{name} {version}" for name, version in c.software.items())),
    ]
    listed = "".join(f"<div><dt>{e(name)}</dt><dd>{e(what)}</dd></div>" for name, what in facts)
    sizes = [
        f"{model(c, x)}<td class='text'>{e(', '.join(_settings(c, x)))}</td>"
        f"<td>{x.training['steps']:,}</td><td>{x.training['seconds']:,.0f}</td>"
        for x in c.entrants
    ]
    caption = f"What each model is (preset {c.preset}), and how long it trained"
    return f"<dl>{listed}</dl>" + table(caption, ["model", "settings", "steps", "seconds"], sizes)


def _decoding(c: Comparison) -> list[tuple[str, str]]:
    if not c.decode:
        return []
    drawn = f"sampled at temperature {c.decode['temperature']:g}"
    return [("decoding", drawn if c.decode["sample"] else f"beam {c.decode['beam']}")]


def _settings(c: Comparison, entrant: ModelResult) -> list[str]:
    """Of the model, and those of its training that are not all models'."""
    own = [key for key, value in entrant.recipe.items() if any(value != other.recipe[key] for other in c.entrants)]
    sizes = [f"{key} {value}" for key, value in entrant.settings.items() if key != "name"]
    return sizes + [f"train.{key} {entrant.recipe[key]}" for key in own]
