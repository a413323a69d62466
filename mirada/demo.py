"""The demonstration on the built-in corpus: train, translate, evaluate, look inside. `mirada demo` and `make demo` run
it."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mirada import api, builtin
from mirada import config as configuration
from mirada.console import Console, duration
from mirada.errors import ConfigError, UsageError
from mirada.files import read_bytes, write_text
from mirada.parsing import read_json
from mirada.tasks.translation.model import TranslationModel
from mirada.training import workspace
from mirada.training.config import TrainConfig

PAIRS = 40_000
SETTINGS = {"model": {"dropout": 0.0}, "tokenizer": {"vocabulary": 2000}}
"""Four minutes are a handful of epochs, too few to overfit."""
BUNDLE, PICTURE, PAGE, RECORD = "es-en", "attention.png", "translator.html", "demo.json"


def run(out: Path, minutes: float, threads: int | None, console: Console) -> None:
    """Write the corpus to the directory `out`, train on it for so many minutes, and show the results."""
    began = time.monotonic()
    configuration.build({"train": TrainConfig}, {"train": {"minutes": minutes, "threads": threads}})
    held_out = builtin.test("es", "en", 1000)
    write_corpus(out, {"train": builtin.training("es", "en", PAIRS), "dev": held_out[:500], "test": held_out[500:]})
    console.line(f"wrote {PAIRS:,} Spanish–English sentence pairs of the built-in language to {out / 'train.tsv'}")
    with Written(out).writing(BUNDLE) as bundle:
        model = api.train(
            out / "train.tsv",
            TranslationModel,
            dev=out / "dev.tsv",
            out=bundle,
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
        f'    mirada translate {bundle} "El perro negro no duerme."\n'
        f"    mirada neighbours {bundle} perro mesa enero\n"
        f"    mirada info {bundle}\n"
        f"    mirada check your-pairs.tsv\n"
        f"    mirada train your-pairs.tsv --out my-translator"
    )


class Written:
    """The record of what the demonstration has written to a directory, by which it recognizes its own files.

    Each has its digest, or none while it is being written; the digest of a bundle is that of its card.
    """

    def __init__(self, out: Path):
        self.out = out
        self.digests: dict[str, str | None] = {}
        if (out / RECORD).exists():
            try:
                self.digests = read_json(out / RECORD, dict[str, str | None], UsageError)
            except UsageError:
                raise self._foreign(RECORD) from None

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Record a file that is written in this block, also if that is interrupted."""
        path = self.out / name
        self._save(name, None)
        yield path
        self._save(name, _digest(path))

    def _save(self, name: str, digest: str | None) -> None:
        self.digests[name] = digest
        try:
            write_text(self.out / RECORD, json.dumps(self.digests, indent=2) + "\n")
        except OSError as error:
            raise UsageError(f"--out {self.out}: {RECORD} cannot be written ({error.strerror})") from None

    def check(self, corpus: Mapping[str, str]) -> None:
        """Refuse a directory in which something of the user's would be replaced; `corpus` is to be written there."""
        unrecorded = not self.digests and self._of_earlier_version(corpus)
        for name in (*corpus, PICTURE, PAGE):
            path = self.out / name
            same = name in corpus and path.is_file() and path.read_bytes() == corpus[name].encode("utf-8")
            if path.exists() and not (same or unrecorded or self._wrote(name)):
                raise self._foreign(name)
        bundle = self.out / BUNDLE
        empty = bundle.is_dir() and not any(bundle.iterdir())
        known = bool(self.digests.get(BUNDLE)) and self._wrote(BUNDLE)
        if bundle.exists() and not (empty or known or self._trained_here()):
            raise self._foreign(BUNDLE)

    def _wrote(self, name: str) -> bool:
        return name in self.digests and self.digests[name] in (None, _digest(self.out / name))

    def _of_earlier_version(self, corpus: Mapping[str, str]) -> bool:
        """Whether a directory without a record has a bundle of the demonstration, and a corpus of the same size."""
        return self._trained_here() and all(
            not (self.out / name).exists() or _lines(self.out / name) == text.count("\n")
            for name, text in corpus.items()
        )

    def _trained_here(self) -> bool:
        """Whether the bundle was trained, or begun, on the corpus beside it, with the settings of the demonstration."""
        runs = (self.out / BUNDLE / name for name in (workspace.NEXT, workspace.RUN, workspace.NEW))
        found = [path for run in runs if (path := run / "config.yaml").is_file()]
        return bool(found) and (self.out / "train.tsv").is_file() and all(map(self._is_own, found))

    def _is_own(self, config: Path) -> bool:
        try:
            values = configuration.read(config)
        except ConfigError:
            return False
        paths = {"files": ["train.tsv"], "dev": ["dev.tsv"]}
        data = {key: [str((self.out / name).absolute()) for name in names] for key, names in paths.items()}
        wanted: configuration.Values = {**SETTINGS, "data": data}
        return all(
            values.get(section, {}).get(key) == value
            for section, settings in wanted.items()
            for key, value in settings.items()
        )

    def _foreign(self, name: str) -> UsageError:
        return UsageError(
            f"--out {self.out}: {name} in it is not of this demonstration; choose another name, or delete it"
        )


def _digest(path: Path) -> str | None:
    """The digest of a file, or of a bundle's card; none if there is no such file."""
    file = path / "card.json" if path.is_dir() else path
    return hashlib.sha256(read_bytes(file, UsageError)).hexdigest() if file.is_file() else None


def _lines(path: Path) -> int | None:
    return read_bytes(path, UsageError).count(b"\n") if path.is_file() else None


def write_corpus(out: Path, parts: Mapping[str, Iterable[builtin.Example]]) -> None:
    """Write the parts of the corpus into a directory that is new, or holds an earlier demonstration: that is replaced,
    nothing else."""
    texts = {}
    for name, examples in parts.items():
        builtin.write(examples, written := io.StringIO())
        texts[f"{name}.tsv"] = written.getvalue()
    try:
        record = Written(out)
        record.check(texts)
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with record.writing(name) as path:
                write_text(path, text)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written ({error.strerror})") from None


def look_inside(model: TranslationModel, out: Path, console: Console) -> None:
    """Draw what the model looks at, and write the page in which it runs."""
    sentences = [example.source for example in builtin.notes("es", "en")]
    record = Written(out)
    with record.writing(PICTURE) as picture:
        model.attend(sentences[0]).draw(picture)
    longest = max(sentences, key=lambda text: len(text.split()))  # in which "it" refers to a word far away
    with record.writing(PAGE) as path:
        page = model.explore(path, sentence=longest)
    console.line(
        f"\npictures: {model.path / 'curves.png'} (how it learned), {picture} (what it looks at)\n"
        f"to run the model in your browser, open {page.path} ({page.size / 1e6:.1f} MB, works offline)"
    )
