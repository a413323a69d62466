"""The report: one HTML page that needs nothing else, and the same figures as JSON.

Every text that comes from data, models or settings passes `e`, which escapes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from html import escape

from mirada.compare import pictures
from mirada.compare.page import page
from mirada.compare.results import HTML, JSON, Comparison, Entrant, Route, best_of
from mirada.files import write_text

FILES = (HTML, JSON)

Figure = Callable[[Entrant], float | None]
Column = tuple[str, Figure, Callable[[float], str], bool | None]
"""Its head, what it shows of a model, how that is written, and whether low is best; None when nothing is."""

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def write(comparison: Comparison) -> None:
    """Write both files; the page last."""
    write_text(comparison.json, json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False) + "\n")
    write_text(comparison.html, render(comparison))


def render(c: Comparison) -> str:
    """The whole page."""
    pair = f"{c.languages['source']} → {c.languages['target']}" if all(c.languages.values()) else "Translation"
    title = f"{pair}: {_count(len(c.entrants), 'model')} compared"
    sections = [
        ("models", "At a glance", _glance(c)),
        ("length", "Quality by sentence length", _by_length(c)),
        ("time", "Time by sentence length", _by_time(c)),
        ("paths", "The longest path between two words", _paths(c)),
        ("samples", "The same sentences, side by side", _samples(c)),
        ("attention", "Where the models look", _attention(c)),
        ("method", "How this was measured", _method(c)),
    ]
    return page(e(title), _lead(c) + _tiles(c), sections)


def e(text: object) -> str:
    """A text as text, whatever is in it."""
    return escape(pictures.printable(str(text)))


# ── in words ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _count(number: int, thing: str) -> str:
    word = _WORDS[number] if number < len(_WORDS) else f"{number:,}"
    return f"{word} {thing}{'s' * (number != 1)}"


def _budget(c: Comparison) -> str:
    parts = [
        f"{amount:g} {kind if amount != 1 else kind.removesuffix('s')}" for kind, amount in c.budget.items()
    ]  # fmt: skip
    return " or ".join(parts) + (", whichever is over first," if len(parts) > 1 else "")


def _lead(c: Comparison) -> str:
    held = "held out of the data" if c.data["held_out"] else "of a dev part"
    several = len(c.entrants) > 1
    began = f"{_count(len(c.entrants), 'model').capitalize()} {'were' if several else 'was'} trained"
    turn = ", one after another," if several else ""
    same = "the same " if several else ""
    told = (
        f"{began}{turn} on {same}{c.data['training']:,} sentence pairs with {same}{c.data['vocabulary']:,} subwords "
        f"and {'the same' if several else 'a'} budget of {_budget(c)}{' each' if several else ''}, and then translated "
        f"{c.entrants[0].scores['sentences']:,} sentences {held}."
    )
    return f'<p class="lead">{e(told)} <strong>{e(c.verdict)}</strong> <span class="caution">{e(c.caution)}</span></p>'


def _tiles(c: Comparison) -> str:
    """Who is first in what."""
    if len(c.entrants) < 2:
        return ""
    firsts: list[Column] = [
        ("Best translations", lambda x: x.score(), lambda v: f"{v:.1f} BLEU", False),
        ("Quickest to train", lambda x: x.tokens_per_second, lambda v: f"{v:,.0f} tokens/s", False),
        ("Quickest in use", lambda x: x.sentences_per_second, lambda v: f"{v:,.1f} sentences/s", False),
        ("Fewest parameters", lambda x: x.parameters, lambda v: f"{v:,.0f}", True),
    ]
    tiles = ""
    for head, figure, written, lowest in firsts:
        best = best_of(c.entrants, figure, bool(lowest))
        value = figure(best[0]) if best else None
        if value is not None:
            names = " ".join(_model(c, entrant, "span") for entrant in best[:2]) + (" …" if len(best) > 2 else "")
            tiles += f"<li><span>{e(head)}</span><b>{e(written(value))}</b>{names}</li>"
    return f'<ul class="tiles">{tiles}</ul>'


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _model(c: Comparison, entrant: Entrant, tag: str = 'th scope="row"') -> str:
    """A model's name, with its colour."""
    colour = pictures.colour(c.entrants.index(entrant))
    return f'<{tag} class="model"><i style="background: {colour}"></i>{e(entrant.name)}</{tag.split()[0]}>'


def _table(caption: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{e(text)}</th>' for text in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{e(caption)}">'
        f"<table><caption>{e(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _figures(c: Comparison, caption: str, columns: Sequence[Column]) -> str:
    """A row a model, a column a figure, the best of each column marked."""
    best = [best_of(c.entrants, figure, bool(low)) if low is not None else [] for _, figure, _, low in columns]

    def cell(entrant: Entrant, number: int) -> str:
        _, figure, written, _ = columns[number]
        value = figure(entrant)
        text = "—" if value is None else e(written(value))
        return f'<td class="best">{text}</td>' if entrant in best[number] else f"<td>{text}</td>"

    rows = [
        _model(c, entrant) + "".join(cell(entrant, number) for number in range(len(columns))) for entrant in c.entrants
    ]
    return _table(caption, ["model", *(column[0] for column in columns)], rows)


def _shown(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{e(caption)}</figcaption></figure>"


def _beside(picture: str, table: str) -> str:
    return f'<div class="beside">{picture}{table}</div>'


# ── sections ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _glance(c: Comparison) -> str:
    def score(name: str) -> Figure:
        return lambda entrant: entrant.score(name)

    columns: list[Column] = [
        ("BLEU", score("BLEU"), lambda v: f"{v:.1f}", False),
        ("chrF++", score("chrF++"), lambda v: f"{v:.1f}", False),
        ("TER", score("TER"), lambda v: f"{v:.1f}", True),
        ("parameters", lambda x: x.parameters, lambda v: f"{v:,.0f}", True),
        ("tokens/s in training", lambda x: x.tokens_per_second, lambda v: f"{v:,.0f}", False),
        ("sentences/s in use", lambda x: x.sentences_per_second, lambda v: f"{v:,.1f}", False),
        ("passes over the data", lambda x: x.training["epochs"], lambda v: f"{v:,.1f}", None),
    ]
    notes = [
        "BLEU, chrF++ and TER compare each translation with the reference. BLEU and chrF++ go from 0 to 100, more is "
        "better; TER counts the edits that would be needed, fewer is better.",
        "A model that has not learned when to stop writes long translations, and is slower in use for it.",
    ]
    if "minutes" in c.budget:
        notes.append("Minutes are minutes on the clock: a quicker model saw the data more often in them.")
    told = "".join(f"<p>{e(note)}</p>" for note in notes)
    picture = _shown(pictures.quality(c.entrants), "Quality of all translations of the dev part")
    table = _figures(c, "All models; the best figure of each column is bold", columns)
    return _beside(picture, f"<div>{told}</div>") + table


def _by_length(c: Comparison) -> str:
    rows = c.entrants[0].scores["by_length"]

    def bleu(number: int) -> Figure:
        return lambda entrant: entrant.scores["by_length"][number]["bleu"]

    columns: list[Column] = [
        (pictures.class_of(row), bleu(number), lambda v: f"{v:.1f}", False) for number, row in enumerate(rows)
    ]
    told = (
        "The bottleneck: an encoder–decoder without attention hands the decoder one vector, as long for a long "
        "sentence as for a short one. If that is too little, its line falls further than the others where sentences "
        "grow. With attention, every target word looks at all source words again."
    )
    few = any(row["sentences"] < pictures.FEW for row in rows)
    hollow = f" Hollow marks: fewer than {pictures.FEW} sentences, more chance than finding." if few else ""
    picture = _shown(pictures.quality_by_length(c.entrants), "BLEU by the number of source words." + hollow)
    return f"<p>{e(told)}</p>" + _beside(picture, _figures(c, "BLEU by the number of source words", columns))


def _by_time(c: Comparison) -> str:
    lengths = sorted({length for entrant in c.entrants for length in entrant.speed_by_length})

    def speed(length: int) -> Figure:
        return lambda entrant: entrant.speed_by_length.get(length)

    columns: list[Column] = [(f"{n}", speed(n), lambda v: f"{v:,.0f}", False) for n in lengths]
    told = (
        f"The sequential cost: every batch here has {c.batch_tokens:,} tokens, in many short sentences or in few long "
        "ones. A recurrent network reads one word after another, so long sentences mean more steps with less to do in "
        "each, and a machine that could do much at once waits. Self-attention takes all words of a sentence at once, "
        "and pays with comparing each with each."
    )
    picture = _shown(pictures.speed_by_length(c.entrants), "Tokens a second, forward and backward through the model")
    return f"<p>{e(told)}</p>" + _beside(
        picture, _figures(c, "Tokens a second by the number of tokens in each sentence", columns)
    )


def _paths(c: Comparison) -> str:
    counted = [route for x in c.entrants for route in (x.across, x.within) if route is not None]
    lengths = sorted({n for route in counted for n in route.steps})[::2]

    def cells(route: Route | None) -> str:
        if route is None:
            return f"<td>not counted</td>{'<td>—</td>' * len(lengths)}"
        return f"<td>{e(route.formula)}</td>" + "".join(f"<td>{route.steps[n]:,}</td>" for n in lengths)

    at = [f"n\u00a0=\u00a0{n}" for n in lengths]
    rows = [_model(c, entrant) + cells(entrant.across) + cells(entrant.within) for entrant in c.entrants]
    heads = ["model", "source to target word", *at, "within a sentence", *at]
    told = (
        "What one word tells another has to pass through every step between them, and fades on the way. Counted here "
        "are the fewest steps between the two words that are worst off, in sentences of n words: a formula of the "
        "architecture, not a measurement (after Vaswani et al. 2017, “Attention Is All You Need”, section 4, table 1). "
        "Attention on top of a recurrent network shortens the way from source to target; the way within a sentence "
        "stays."
    )
    return f"<p>{e(told)}</p>" + _table("Steps between two words, at most", heads, rows)


def _samples(c: Comparison) -> str:
    source, target = (f' lang="{e(language)}"' if language else "" for language in c.languages.values())
    tables = ""
    for number, sample in enumerate(c.samples):
        rows = [
            f'<th scope="row">source</th><td{source} dir="auto">{e(sample.source)}</td>',
            f'<th scope="row">reference</th><td{target} dir="auto">{e(sample.references[0])}</td>',
        ]
        for entrant in c.entrants:
            text = entrant.translations[number]
            right = (
                '\u00a0<span class="right" title="equal to a reference">✓</span>' if text in sample.references else ""
            )
            rows.append(f'{_model(c, entrant)}<td{target} dir="auto">{e(text) or "—"}{right}</td>')
        count = len(sample.source.split())
        words = f"{count} word{'s' * (count != 1)}"
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        tables += f'<table class="sample"><caption>{e(words)}</caption><tbody>{body}</tbody></table>'
    told = "Sentences of the dev part from short to long, chosen by their length alone. ✓ is equal to a reference."
    return f'<p>{e(told)}</p><div class="samples">{tables}</div>'


def _attention(c: Comparison) -> str:
    language = f' lang="{e(c.languages["source"])}"' if c.languages["source"] else ""
    shown, without = "", []
    for number, entrant in enumerate(c.entrants):
        if entrant.attention is None:
            without.append(entrant.name)
            continue
        text = "".join(entrant.attention.target[:-1]).strip()
        caption = f"{_model(c, entrant, 'b')} <span dir='auto'>{e(text) or '—'}</span>"
        picture = pictures.attention(entrant.attention, entrant.name, number)
        shown += f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
    told = (
        "A row for each token that was written, a column for each token of the source: the stronger the blue, the "
        "more the model looked there when it chose the token. Averaged over all layers and heads; the strongest blue "
        "of each picture is its own largest weight."
    )
    none = f"<p>{e(', '.join(without))}: no attention to show.</p>" if without else ""
    sentence = f'<blockquote{language} dir="auto">{e(c.attended)}</blockquote>'
    return f'<p>{e(told)}</p>{sentence}<div class="looks">{shown}</div>{none}'


def _method(c: Comparison) -> str:
    first = c.entrants[0]
    threads = {x.training["threads"] for x in c.entrants}
    machine = [*sorted({x.training["device"] for x in c.entrants}), *(_count(n, "thread") for n in sorted(threads))]
    signatures = [f"{score['name']}: {score['signature']}" for score in first.scores["scores"]]
    data = c.data
    left_out = sum(data["excluded"].values())
    own_time = "measured while it trained, so what else the machine did then is in it"
    rounds = "the median of several rounds in which the models took turns, after one that does not count"
    dev = "held out: no sentence of it is in training" if data["held_out"] else "from a file of its own"
    facts = [
        ("data", f"{data['training']:,} training pairs, {data['words']:,} words, {left_out:,} pairs left out"),
        ("dev part", f"{data['dev']:,} pairs, {dev}"),
        ("tokens", f"{data['vocabulary']:,} subwords, learned once for all models; data id {data['fingerprint'][:16]}"),
        ("budget", f"{_budget(c)} a model; the weights that scored best on the dev part were kept"),
        ("seed", f"{c.seed}, once"),
        ("machine", ", ".join(machine)),
        ("decoding", f"beam {c.decode['beam']}"),
        ("tokens/s in training", f"from each training's log, both sides counted, validations not; {own_time}"),
        ("sentences/s in use", f"{c.timed_sentences:,} dev sentences handed over at once; {rounds}"),
        ("time by length", f"batches of {c.batch_tokens:,} random tokens, both sides counted; {rounds}"),
        *(("score", signature) for signature in signatures),
        ("software", ", ".join(f"{name} {version}" for name, version in c.software.items())),
    ]
    listed = "".join(f"<div><dt>{e(name)}</dt><dd>{e(what)}</dd></div>" for name, what in facts)
    sizes = [
        f"{_model(c, x)}<td class='text'>{e(', '.join(f'{k} {v}' for k, v in x.settings.items() if k != 'name'))}</td>"
        f"<td>{x.training['steps']:,}</td><td>{x.training['seconds']:,.0f}</td>"
        for x in c.entrants
    ]
    caption = f"What each model is (preset {c.preset}), and how long it trained"
    return f"<dl>{listed}</dl>" + _table(caption, ["model", "settings", "steps", "seconds"], sizes)
