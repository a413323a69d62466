"""The demonstration on the built-in corpus: train, translate, evaluate, look inside. `mirada demo` and `make demo` run
it."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from mirada import api, builtin
from mirada import config as configuration
from mirada.console import Console, duration
from mirada.errors import UsageError
from mirada.files import write_text
from mirada.tasks.translation.model import TranslationModel
from mirada.training.config import TrainConfig

PAIRS = 40_000
SETTINGS = {"model": {"dropout": 0.0}, "tokenizer": {"vocabulary": 2000}}
"""Four minutes are a handful of epochs, too few to overfit."""
MADE = ("train.tsv", "dev.tsv", "test.tsv", "es-en", "attention.png", "translator.html")
"""What is written."""


def run(out: Path, minutes: float, threads: int | None, console: Console) -> None:
    """Write the corpus to the directory `out`, train on it for so many minutes, and show the results."""
    began = time.monotonic()
    configuration.build({"train": TrainConfig}, {"train": {"minutes": minutes, "threads": threads}})
    held_out = builtin.test("es", "en", 1000)
    write_corpus(out, {"train": builtin.training("es", "en", PAIRS), "dev": held_out[:500], "test": held_out[500:]})
    console.line(f"wrote {PAIRS:,} Spanish–English sentence pairs of the built-in language to {out / 'train.tsv'}")
    model = api.train(
        out / "train.tsv",
        TranslationModel,
        dev=out / "dev.tsv",
        out=out / "es-en",
        source_language="es",
        target_language="en",
        preset="tiny",
        minutes=minutes,
        settings=SETTINGS,
        threads=threads,
        overwrite=True,
        listen=console,
    )
    console.line("\nsentences from the lecture notes, none of which is in the training set:")
    for example in builtin.notes("es", "en"):
        output = model.translate(example.source).text
        verdict = "correct" if output in example.targets else f"expected: {example.targets[0]}"
        console.line(f"    {example.source} → {output}   ({verdict})")
    console.line("\nscores on 500 test sentences that are not in the training set:")
    console.line(model.evaluate(out / "test.tsv").as_text())
    look_inside(model, out, console)
    console.line(
        f"total time: {duration(time.monotonic() - began)}\n\n"
        f"next:\n"
        f'    mirada translate {out / "es-en"} "El perro negro no duerme."\n'
        f"    mirada neighbours {out / 'es-en'} perro mesa enero\n"
        f"    mirada info {out / 'es-en'}\n"
        f"    mirada check your-pairs.tsv\n"
        f"    mirada train your-pairs.tsv --out my-translator"
    )


def write_corpus(out: Path, parts: Mapping[str, Iterable[builtin.Example]]) -> None:
    """Write the parts of the corpus into a directory that is new, or holds an earlier demonstration: that is replaced,
    nothing else."""
    texts = {}
    for name, examples in parts.items():
        builtin.write(examples, written := io.StringIO())
        texts[out / f"{name}.tsv"] = written.getvalue()
    training, text = next(iter(texts.items()))
    try:
        earlier = training.is_file() and training.read_bytes() == text.encode("utf-8")
        for name in () if earlier else MADE:
            if (out / name).exists():
                raise UsageError(
                    f"--out {out}: has a {name}, which is not of this demonstration; choose another name, or delete it"
                )
        out.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            write_text(path, text)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None


def look_inside(model: TranslationModel, out: Path, console: Console) -> None:
    """Draw what the model looks at, and write the page in which it runs."""
    sentences = [example.source for example in builtin.notes("es", "en")]
    model.attend(sentences[0]).draw(out / "attention.png")
    longest = max(sentences, key=lambda text: len(text.split()))  # in which "it" refers to a word far away
    page = model.explore(out / "translator.html", sentence=longest)
    console.line(
        f"\npictures: {model.path / 'curves.png'} (how it learned), {out / 'attention.png'} (what it looks at)\n"
        f"to run the model in your browser, open {page.path} ({page.size / 1e6:.1f} MB, works offline)"
    )
