"""Verbs that put a question to a trained model: classify, generate, forecast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mirada.cli.answers import job_of, write_answers
from mirada.cli.app import AsText, Bundle, Columns, Device, Json, Threads, app, listed, note, say
from mirada.cli.images import classify_pictures
from mirada.cli.input import Given
from mirada.cli.output import check_new, new_binary, text_output
from mirada.cli.progress import Progress

Texts = Annotated[list[str] | None, typer.Argument(help="Texts; standard input's lines if none.", show_default=False)]
File = Annotated[Path | None, typer.Option(help="The lines of a file.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Write to this file.", show_default="standard output")]


@app.command()
def classify(
    bundle: Bundle,
    texts: Texts = None,
    file: File = None,
    out: Out = None,
    as_text: AsText = False,
    why: Annotated[bool, typer.Option("--why", help="Show the words that decided (bag models only).")] = False,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """The label of each text, tab, its probability; the lines come out in order.

    A model for pairs takes two texts with a tab between them.
    With a model for images, give files instead of texts: an image each, or an .npz with many.
    """
    from mirada import api
    from mirada.bundle import read_card
    from mirada.tasks.classification.model import ClassificationModel

    given = Given(texts, file, as_text=as_text, allowed=("tsv",))
    check_new(out, "--out")
    if read_card(bundle).get("task") == "image_classification":
        classify_pictures(bundle, given, out, why, json_, device or "auto", threads)
        return
    model = api.load(bundle, ClassificationModel, device=device or "auto", threads=threads)

    def answer(before: int, chunk: list[str], _: Progress) -> tuple[list[str], int]:
        rows = []
        for number, (text, found) in enumerate(
            zip(chunk, model.classify(chunk, first=before + 1), strict=True), before + 1
        ):
            if found.cut:
                what = (
                    f"the last {found.cut:,} tokens"
                    if model.preprocessor.parts == 1
                    else f"{found.cut:,} tokens in all"
                )
                say(f"mirada: line {number}: {what} were not read, the model takes fewer")
            if json_:
                rounded = {label: round(p, 6) for label, p in found.probabilities.items()}
                row = {"label": found.label, "probabilities": rounded}
                rows.append(json.dumps({**row, "why": model.why(text)} if why else row, ensure_ascii=False) + "\n")
                continue
            reasons = [f"    {weight:+.3f}  {words}\n" for words, weight in (model.why(text) if why else ())]
            rows.append("".join([f"{found.label}\t{found.probability:.4f}\n", *reasons]))
        return rows, 0

    write_answers(given, out, job_of("classify", bundle, why=why, json=json_), answer)


@app.command()
def tag(
    bundle: Bundle,
    texts: Texts = None,
    file: File = None,
    out: Out = None,
    as_text: AsText = False,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """The words of each text, a line each: word, tab, its tag or number; a blank line after each text."""
    from mirada import api
    from mirada.tasks.tagging.model import TaggingModel

    given = Given(texts, file, as_text=as_text)
    check_new(out, "--out")
    model = api.load(bundle, TaggingModel, device=device or "auto", threads=threads)
    names = ("words", "numbers") if model.preprocessor.numeric else ("words", "tags", "probabilities")

    def answer(before: int, chunk: list[str], _: Progress) -> tuple[list[str], int]:
        rows = []
        for words in model.tag(chunk):
            if json_:
                columns = {name: [found[place] for found in words] for place, name in enumerate(names)}
                rows.append(json.dumps(columns, ensure_ascii=False) + "\n")
                continue
            pairs = [(word, f"{found:.4f}" if isinstance(found, float) else found) for word, found, *_ in words]
            rows.append("".join(f"{word}\t{found}\n" for word, found in pairs) + "\n")
        return rows, 0

    write_answers(given, out, job_of("tag", bundle, json=json_), answer)


@app.command()
def generate(
    bundle: Bundle,
    prompt: Annotated[str, typer.Argument(help="How the text begins.", show_default=False)] = "",
    tokens: Annotated[int, typer.Option(help="Write this many tokens at most.")] = 200,
    temperature: Annotated[float | None, typer.Option(help="Below 1 safer, above wilder.", show_default="0.8")] = None,
    top_k: Annotated[int | None, typer.Option(help="Choose among the k likeliest.", show_default=False)] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="Choose among the likeliest that together have this probability.", show_default=False),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed, another text.", show_default="0")] = None,
    beam: Annotated[
        int | None,
        typer.Option(help="Search for the likeliest text with this many hypotheses; 1 is greedy.", show_default=False),
    ] = None,
    count: Annotated[int, typer.Option(help="So many texts, with --- between them.")] = 1,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Continue a text; it is shown while it is written."""
    from mirada import api
    from mirada.errors import UsageError
    from mirada.tasks.language_model.model import LanguageModel

    if count < 1:
        raise UsageError(f"--count {count}: write at least 1")
    if temperature is not None and not temperature > 0:
        raise UsageError(f"--temperature {temperature:g}: must be above 0; the likeliest token every time: --beam 1")
    if beam is not None and temperature is not None:
        raise UsageError(f"--beam {beam}: a search takes the likeliest, and --temperature has no say; leave out one")
    if beam is not None and count > 1:
        raise UsageError(f"--count {count}: a search (--beam) finds one text, the likeliest; leave out one of them")
    model = api.load(bundle, LanguageModel, device=device or "auto", threads=threads)
    options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "beam": beam}
    first = model.decode_config(**options, seed=seed).seed
    if unknown := model.unknown(prompt):
        say(f"mirada: the model does not know {', '.join(map(repr, unknown))}; read as <unk>")
    if beyond := model.beyond(prompt, tokens):
        say(f"mirada: {beyond}")
    with text_output(None) as sink:
        try:
            for number in range(count):
                given = {**options, "tokens": tokens, "seed": first + number}
                if json_:
                    found = model.generate(prompt, **given)
                    row = {"prompt": prompt, "text": found.text, "tokens": len(found.tokens), "ended": found.ended}
                    sink.write(json.dumps(row, ensure_ascii=False) + "\n")
                    continue
                pieces = model.stream(prompt, **given)
                sink.write(("---\n" if number else "") + prompt)
                for piece in pieces:
                    sink.write(piece)
                    sink.flush()
                sink.write("\n")
        except KeyboardInterrupt:
            sink.write("\n")
            sink.flush()
            raise typer.Exit(130) from None


@app.command()
def forecast(
    bundle: Bundle,
    table: Annotated[Path, typer.Argument(help="The series so far: a CSV or TSV table.", show_default=False)],
    steps: Annotated[int, typer.Option(help="How many steps ahead.")] = 30,
    columns: Columns = None,
    out: Out = None,
    image: Annotated[Path | None, typer.Option("--picture", help="Draw it, as PNG.", show_default=False)] = None,
    samples: Annotated[int, typer.Option(help="Paths to simulate; the ranges are theirs.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the simulated paths.")] = 0,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """How a table of numbers goes on, as CSV: time, then each column with the ranges that hold 80% and 95%."""
    from mirada import api
    from mirada.tasks.forecasting.model import ForecastingModel

    check_new(out, "--out")
    model = api.load(bundle, ForecastingModel, device=device or "auto", threads=threads)
    found = model.forecast(table, steps, samples, seed, listed(columns))
    for remark in found.notes:
        say(f"mirada: {table}: {remark}")
    if image is not None:
        found.draw(image)
    with text_output(out) as sink:
        sink.write(found.as_json() if json_ else found.as_csv())


@app.command()
def fill(
    bundle: Bundle,
    text: Annotated[str, typer.Argument(help="A text with gaps: El bebé está [MASK].", show_default=False)],
    count: Annotated[int, typer.Option(help="Words for each gap.")] = 5,
    json_: Json = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """The likeliest words for each gap of a text, written [MASK], with their probabilities."""
    from mirada import api
    from mirada.tasks.masked_lm.model import MaskedLanguageModel

    gaps = api.load(bundle, MaskedLanguageModel, device=device or "auto", threads=threads).fill(text, count)
    for number, words in enumerate(gaps):
        if json_:
            print(json.dumps([{"word": word, "probability": round(p, 6)} for word, p in words], ensure_ascii=False))
            continue
        print("\n" * bool(number) + "\n".join(f"{word}\t{p:.4f}" for word, p in words))


@app.command()
def embed(
    bundle: Bundle,
    texts: Texts = None,
    file: File = None,
    out: Annotated[Path | None, typer.Option(help="An .npz file.", show_default=False)] = None,
    as_text: AsText = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Vectors of texts: arrays `sentences` (N × D), `tokens` (all × D), `offsets` (N + 1), where each text's begin."""
    import numpy as np

    from mirada import api
    from mirada.errors import UsageError, counted
    from mirada.tasks.masked_lm.model import MaskedLanguageModel

    if out is None:
        raise UsageError("where should the vectors go? Name a file: --out vectors.npz")
    check_new(out, "--out")
    given = Given(texts, file, as_text=as_text)
    model = api.load(bundle, MaskedLanguageModel, device=device or "auto", threads=threads)
    sentences, tokens = [], list[Any]()
    for chunk in given:
        means, states = model.embed(chunk, first=len(tokens) + 1)
        sentences.append(means)
        tokens += states
    if not tokens:
        raise UsageError("there is no text to embed")
    offsets = np.cumsum([0, *map(len, tokens)])
    with new_binary(out, "--out") as sink:
        np.savez(sink, sentences=np.concatenate(sentences), tokens=np.concatenate(tokens), offsets=offsets)
    note(f"wrote the vectors of {counted(len(tokens), 'text')} to {out}")
