"""The command line: a verb a function, each one library call. Errors become one line and an exit code.

0 done   1 the task failed   2 wrong use   130 interrupted, and saved
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from mirada.errors import DataError, MiradaError, UsageError

if TYPE_CHECKING:
    from mirada.model import Model

app = typer.Typer(
    help="Train your own translator from two text files, on the machine you have, and see what it looks at.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

CHUNK = 512
"""Lines of a file that are translated at a time: enough to batch them well, few enough to see progress."""

Bundle = Annotated[
    Path, typer.Argument(help="The bundle: a directory that `mirada train --out` wrote.", show_default=False)
]
Threads = Annotated[int | None, typer.Option(help="CPU threads.", show_default="one a core")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, …", show_default="auto")]
From = Annotated[str | None, typer.Option("--from", help="Source language: es", show_default=False)]
To = Annotated[str | None, typer.Option("--to", help="Target language: en", show_default=False)]
Columns = Annotated[
    str | None,
    typer.Option(help="Source and target column, by name or number: --columns es,en", show_default=False),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set train.lr=0.001", show_default=False)]


@app.command()
def train(
    pairs: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of sentence pairs (TSV, CSV, JSONL, TMX, PO, MO), or folders.", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the bundle goes.", show_default=False)] = None,
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="Dev pairs as TSV; twice: source file, target file.", show_default="a part is held out"),
    ] = None,
    source: Annotated[Path | None, typer.Option(help="A file of source sentences …", show_default=False)] = None,
    target: Annotated[
        list[Path] | None, typer.Option(help="… and its translations, line by line.", show_default=False)
    ] = None,
    from_: From = None,
    to: To = None,
    columns: Columns = None,
    base: Annotated[
        Path | None, typer.Option(help="Go on from this bundle: fine-tune it on new data.", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="The architecture.", show_default="transformer")] = None,
    preset: Annotated[str | None, typer.Option(help="Sizes: tiny, small, base, big.", show_default="small")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Train this long.", show_default="until it stops improving")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data.", show_default=False)] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of the optimiser.", show_default=False)] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of settings.", show_default=False)] = None,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random.", show_default="1")] = None,
    threads: Threads = None,
    device: Device = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the training in this bundle.", show_default=False)
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the bundle at --out.")] = False,
) -> None:
    """Train a translator from sentence pairs, or go on with an interrupted training."""
    from mirada import api
    from mirada import config as configuration
    from mirada.console import Console

    settings = configuration.merge(*map(configuration.override, set_ or []))
    with Console() as console:
        trained = api.train(
            pairs or [],
            out=out,
            dev=dev or [],
            source=source,
            target=target or [],
            source_language=from_,
            target_language=to,
            columns=_listed(columns),
            base=base,
            model=model,
            preset=preset,
            minutes=minutes,
            epochs=epochs,
            steps=steps,
            config=config,
            settings=settings,
            seed=seed,
            threads=threads,
            device=device,
            resume=resume,
            overwrite=overwrite,
            listen=console,
        )
    say(f'the bundle is in {trained.path}; try: mirada translate {trained.path} "…"')


@app.command()
def check(
    pairs: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of sentence pairs (TSV, CSV, JSONL, TMX, PO, MO), or folders.", show_default=False),
    ] = None,
    source: Annotated[Path | None, typer.Option(help="A file of source sentences …", show_default=False)] = None,
    target: Annotated[
        list[Path] | None, typer.Option(help="… and its translations, line by line.", show_default=False)
    ] = None,
    dev: Annotated[
        list[Path] | None, typer.Option(help="Dev pairs, to see what training has of them.", show_default=False)
    ] = None,
    test: Annotated[list[Path] | None, typer.Option(help="Test pairs, likewise.", show_default=False)] = None,
    from_: From = None,
    to: To = None,
    columns: Columns = None,
    set_: Set = None,
    list_: Annotated[
        Path | None, typer.Option("--list", help="Write each pair that is left out: file, line, reason.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what is wrong with the data, and what training would do about it."""
    from mirada import api
    from mirada import config as configuration
    from mirada.console import Console

    if list_ is not None and list_.exists():
        raise UsageError(f"--list {list_}: exists already; choose another name")
    with ExitStack() as stack:
        excluded = stack.enter_context(_created(list_, "--list")) if list_ else None
        console = stack.enter_context(Console())
        diagnosis = api.check(
            pairs or [],
            source=source,
            target=target or [],
            dev=dev or [],
            test=test or [],
            source_language=from_,
            target_language=to,
            columns=_listed(columns),
            settings=configuration.merge(*map(configuration.override, set_ or [])),
            excluded=excluded,
            notify=console.preparing,
        )
    print(json.dumps(diagnosis.as_dict(), indent=2, ensure_ascii=False) if json_ else diagnosis.as_text())


@app.command()
def corpus(
    languages: Annotated[str, typer.Argument(help="es-en, pt-es, …: from Spanish, English, Portuguese to another.")],
    out: Annotated[Path, typer.Option(help="A TSV file: source, tab, every right translation.", show_default=False)],
    pairs: Annotated[int, typer.Option(help="How many.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Another seed gives other sentences.")] = 0,
    part: Annotated[str, typer.Option(help="training or test; they share no sentence.")] = "training",
    alignments: Annotated[
        Path | None, typer.Option(help="Word alignments, a line a pair: 0-0 1-2 …", show_default=False)
    ] = None,
) -> None:
    """Write the built-in language as files: sentence pairs, and which word translates which."""
    from mirada.data import builtin

    for path, option in ((out, "--out"), (alignments, "--alignments")):
        if path is not None and path.exists():
            raise UsageError(f"{option} {path}: exists already; choose another name")
    with ExitStack() as stack:
        aligned = stack.enter_context(_created(alignments, "--alignments")) if alignments else None
        examples = builtin.choose(languages, part, pairs, seed)
        written = builtin.write(examples, stack.enter_context(_created(out, "--out")), aligned)
    say(f"wrote {written:,} pairs to {out}" + (f" and their alignments to {alignments}" if alignments else ""))


@app.command()
def translate(
    bundle: Bundle,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; standard input's lines if none.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Translate the lines of a file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file.", show_default="standard output")] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    n_best: Annotated[
        int | None, typer.Option(help="Show this many translations with scores.", show_default="1")
    ] = None,
    prefix: Annotated[str, typer.Option(help="How every translation has to begin.", show_default=False)] = "",
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --sample.", show_default="1")] = None,
    top_k: Annotated[int | None, typer.Option(help="Of --sample.", show_default=False)] = None,
    top_p: Annotated[float | None, typer.Option(help="Of --sample.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="Of --sample.", show_default="0")] = None,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Translate texts, the lines of a file, or standard input; the lines come out in order.

    Of a gettext catalog (--file app.po) what is untranslated is filled and marked fuzzy; the rest stays as it was.
    """
    from mirada import api
    from mirada.data.readers import find_format

    if texts and file:
        raise UsageError(f"--file {file}: give texts or a file, not both")
    if out is not None and out.exists():
        raise UsageError(f"--out {out}: exists already; choose another name")
    model = api.load(bundle, device=device or "auto", threads=threads)
    decode: dict[str, Any] = {"beam": beam, "n_best": n_best, "temperature": temperature, "top_k": top_k}
    decode |= {"top_p": top_p, "seed": seed, "sample": sample or None}
    model.decode_config(**decode)  # before anything is written
    if file is not None and find_format(str(file)) == "po":
        _fill(model, file, out, decode)
        return
    failed = 0
    with open(out, "w", encoding="utf-8", newline="\n") if out else _stdout() as sink:
        number = 0
        for chunk in _chunks(texts, file):
            for translation in model.translate(chunk, prefix=prefix, **decode):
                number += 1
                if translation.problem:
                    failed += 1
                    say(f"mirada: line {number} {translation.problem}; it is left empty")
                if (n_best or 1) > 1:
                    for text, score in translation.alternatives:
                        sink.write(f"{number}\t{score:.4f}\t{_one_line(text)}\n")
                else:
                    sink.write(_one_line(translation.text) + "\n")
            sink.flush()
    if failed:
        raise typer.Exit(1)


@app.command()
def evaluate(
    bundle: Bundle,
    pairs: Annotated[
        Path, typer.Argument(help="Test pairs as TSV; more columns are more references.", show_default=False)
    ],
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.", show_default="5")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Score a model on sentence pairs: BLEU, chrF++, TER, by length, and what was lost on the way."""
    from mirada import api

    result = api.load(bundle, device=device or "auto", threads=threads).evaluate(pairs, beam=beam)
    print(json.dumps(result.as_dict(), indent=2, ensure_ascii=False) if json_ else result.as_text())


@app.command()
def info(bundle: Bundle, json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """What a bundle is: languages, size, data, scores, how it was trained."""
    from mirada import api

    print(json.dumps(api.info(bundle), indent=2, ensure_ascii=False) if json_ else api.info_text(bundle))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("demo"),
    minutes: Annotated[float, typer.Option(help="Train this long.")] = 4.0,
    threads: Threads = None,
) -> None:
    """Train Spanish → English on the built-in corpus, translate, score, draw: the main job in five minutes."""
    from mirada import demo as script
    from mirada.console import Console

    with Console() as console:
        script.run(out, minutes, threads, console)


def _fill(model: Model, file: Path, out: Path | None, decode: dict[str, Any]) -> None:
    """A catalog with its gaps filled, to `out`."""
    from mirada.files import write_bytes

    if out is None:
        raise UsageError(f"--file {file}: say where the filled catalog goes: --out {file.stem}.new.po")
    filling = model.fill(file, **decode)
    try:
        write_bytes(out, filling.content)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None
    for line, problem in filling.problems:
        say(f"mirada: {file}, line {line}: {problem}")
    say(f"filled {filling.filled:,} entries, marked fuzzy for a person to check; the rest is as it was")


def _listed(names: str | None) -> list[str]:
    return [name.strip() for name in names.split(",")] if names else []


def _created(path: Path, option: str) -> TextIO:
    try:
        return open(path, "x", encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror})") from None


def _chunks(texts: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    """What to translate, a few hundred at a time; from a terminal, line by line."""
    from mirada.data.corpus import batched
    from mirada.data.text import lines

    if texts:
        yield texts
    elif file is not None:
        yield from batched(lines(file), CHUNK)
    else:
        typed = sys.stdin.isatty()
        yield from batched(_stdin_lines(), 1 if typed else CHUNK)


def _stdin_lines() -> Iterator[str]:
    for number, raw in enumerate(sys.stdin.buffer, 1):
        try:
            yield raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"standard input, line {number}: byte {error.start} is not UTF-8; convert it first"
            ) from None


def _stdout() -> Any:
    from contextlib import nullcontext

    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    return nullcontext(sys.stdout)


def _one_line(text: str) -> str:
    """A translation on one line, so that the n-th line out is the n-th line in."""
    return text.replace("\r", " ").replace("\n", " ")


def say(text: str) -> None:
    """A line for the person, not for the pipe."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Run the command line; a person's mistake is one line, never a stack trace."""
    try:
        app()
    except MiradaError as error:
        say(f"mirada: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `mirada translate … | head`
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        say("mirada: interrupted")
        sys.exit(130)


if __name__ == "__main__":
    main()
