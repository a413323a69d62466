"""`mirada backtranslate` and `distill`: files that training reads, continued after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mirada
from mirada.data.tokenizer_learning import SYNTHETIC
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

SPANISH = dict(toy.pairs(1500))


@pytest.fixture(scope="module")
def mono(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Spanish sentences, one of them twice and one with a tab."""
    file = tmp_path_factory.mktemp("mono") / "mono.txt"
    lines = [*SPANISH, next(iter(SPANISH)), "a\tb"]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def more(trained: TranslationModel, mono: Path) -> Path:
    """Their back-translation."""
    out = mono.with_name("more.tsv")
    done = run("backtranslate", trained.path, mono, "--out", out, "--beam", 1)
    assert done.returncode == 0, done.stderr
    assert "1,500 pairs; 2 left out" in done.stderr
    return out


def test_the_translation_is_the_source(more: Path, mono: Path) -> None:
    header, *rows = (line.split("\t") for line in more.read_text(encoding="utf-8").splitlines())
    assert header == ["en", "es", "mirada:synthetic"]
    assert [(row[1], row[2]) for row in rows] == [(line, "en") for line in SPANISH]
    right = sum(row[0] == SPANISH[row[1]] for row in rows)
    assert right > 1350
    listed = [line.split("\t")[:3] for line in more.with_name("more.excluded.tsv").read_text().splitlines()]
    assert listed == [[str(mono), "1501", "duplicate"], [str(mono), "1502", "tab"]]


def test_training_mixes_and_tags_them(more: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{en}\t{es}\n" for es, en in toy.pairs(300, seed=5)), encoding="utf-8")
    command = ("check", pairs, more, "--from", "en", "--to", "es")
    assert "synthetic pairs (a model made their source)" in run(*command).stdout
    model = mirada.train(
        [pairs, more], out=tmp_path / "en-es", steps=2, settings=toy.TINY, source_language="en", target_language="es"
    )
    assert model.source_tokenizer.tags == {SYNTHETIC: 3}
    assert model.card["data"]["findings"]["synthetic"] > 1300
    assert "synthetic" in run("info", model.path).stdout
    store = tmp_path / "en-es" / "run" / "data" / "corpus" / "source.ids"
    assert store.read_bytes().count(b"\x03\x00") >= model.card["data"]["findings"]["synthetic"]


def test_a_killed_command_is_continued(trained: TranslationModel, mono: Path, more: Path, tmp_path: Path) -> None:
    out, partial = tmp_path / "more.tsv", tmp_path / "more.tsv.partial"
    command = ["backtranslate", trained.path, mono, "--out", out, "--beam", 1, "--threads", 1]
    process = subprocess.Popen([sys.executable, "-m", "mirada.cli", *map(str, command)], stderr=subprocess.PIPE)
    while process.poll() is None and not (partial.exists() and partial.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    assert partial.exists()
    assert "answers to another beam" in refused(*command[:6], 2, code=2)
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == more.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["more.excluded.tsv", "more.tsv"]


def test_samples_differ_from_the_best(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "mono.txt").write_text("".join(f"{line}\n" for line in [*SPANISH][:40]))
    command = ("backtranslate", trained.path, tmp_path / "mono.txt", "--out")
    for name, options in (("best", ()), ("one", ("--sample", "--temperature", 3)), ("two", ("--sample", "--top-k", 2))):
        assert run(*command, tmp_path / f"{name}.tsv", *options).returncode == 0
    best, one, two = ((tmp_path / f"{name}.tsv").read_text() for name in ("best", "one", "two"))
    assert best != one
    assert one != two


def test_an_ensemble_teaches(trained: TranslationModel, tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", [(source, f"{target} really") for source, target in toy.pairs(30)])
    teacher = f"{trained.path}+{trained.path}"
    done = run("distill", teacher, pairs, "--out", tmp_path / "d.tsv", "--originals", "--beam", 2)
    assert done.returncode == 0, done.stderr
    rows = [tuple(line.split("\t")) for line in (tmp_path / "d.tsv").read_text().splitlines()]
    assert rows[0] == ("source", "target")
    assert set(rows[1:]) >= {(source, f"{target} really") for source, target in toy.pairs(30)}
    assert len(set(rows[1:]) & set(toy.pairs(30))) > 25
    assert run("check", tmp_path / "d.tsv", "--from", "es", "--to", "en").returncode == 0


def test_faults(trained: TranslationModel, mono: Path, tmp_path: Path) -> None:
    command = ("backtranslate", trained.path, mono)
    assert "where should the pairs go?" in refused(*command, code=2)
    assert "are written as TSV" in refused(*command, "--out", tmp_path / "more.csv", code=2)
    assert "exists already" in refused(*command, "--out", mono, code=2)
    (tmp_path / "more.excluded.tsv").write_text("")
    assert "exists already" in refused(*command, "--out", tmp_path / "more.tsv", code=2)
    assert "--to fr" in refused(*command, "--out", tmp_path / "x.tsv", "--to", "fr", code=2)
    assert "is for sampling" in refused(*command, "--out", tmp_path / "x.tsv", "--top-k", 3, code=2)
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    table = refused("backtranslate", trained.path, tmp_path / "pairs.tsv", "--out", tmp_path / "x.tsv", code=2)
    assert "is a table (TSV)" in table
    assert "--file" not in table
    missing = ("backtranslate", trained.path, tmp_path / "none.txt", "--out", tmp_path / "x.tsv")
    assert "none.txt" in refused(*missing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["more.excluded.tsv", "pairs.tsv"]
