"""From the file a person has to a model: every format through the command line, and the commands of docs/data.md."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import polib
import pytest

import mirada
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

QUICK = [part for setting in [*toy.SETTINGS, "train.steps=4"] for part in ("--set", setting)]
DOCS = Path(__file__).parent.parent.parent / "docs"


def write_tmx(path: Path, rows: list[tuple[str, str]]) -> Path:
    units = "".join(
        f'<tu><tuv xml:lang="es-AR"><seg>{s}</seg></tuv><tuv xml:lang="en-US"><seg>{t}</seg></tuv></tu>'
        for s, t in rows
    )
    path.write_text(f'<tmx version="1.4"><header srclang="es-AR"/><body>{units}</body></tmx>')
    return path


def write_po(path: Path, rows: list[tuple[str, str]], language: str = "en") -> Path:
    catalog = polib.POFile()
    catalog.metadata = {"Language": language, "Content-Type": "text/plain; charset=UTF-8"}
    catalog.extend(polib.POEntry(msgid=source, msgstr=target) for source, target in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalog.save(str(path))
    return path


def write_csv(path: Path, rows: list[tuple[str, str]]) -> Path:
    with path.open("w", newline="") as out:
        csv.writer(out, delimiter=";").writerows([("id", "English", "Spanish"), *((1, t, s) for s, t in rows)])
    return path


def write_jsonl(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"translation": {"es": s, "en": t}}) + "\n" for s, t in rows))
    return path


def test_several_files_of_several_formats_train_one_model(tmp_path: Path) -> None:
    rows = toy.pairs(300)
    write_po(tmp_path / "locale" / "en" / "LC_MESSAGES" / "app.po", [*rows[:50], ("sin traducir", "")])
    write_po(tmp_path / "locale" / "de" / "LC_MESSAGES" / "app.po", [("uno", "eins")], "de")
    files = [
        tmp_path / "locale",
        write_tmx(tmp_path / "memory.tmx", rows[50:100]),
        write_csv(tmp_path / "sheet.csv", rows[100:200]),
        write_jsonl(tmp_path / "rows.jsonl", [*rows[200:], rows[0]]),
    ]
    out = tmp_path / "bundle"
    done = run("train", *files, "--from", "es", "--to", "en", "--out", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "1 catalog in another language skipped: de/LC_MESSAGES/app.po (de)" in done.stderr
    data = mirada.load(out).card["data"]
    assert data["read"] == 302
    assert data["training"] + data["dev"] == 300
    assert data["excluded"] == {"duplicate": 1, "untranslated": 1}
    listed = (out / "data" / "excluded.tsv").read_text().splitlines()
    assert [line.split("\t")[1:3] for line in listed] == [["157", "untranslated"], ["101", "duplicate"]]
    again = run("evaluate", out, tmp_path / "memory.tmx", "--json")
    assert json.loads(again.stdout)["size"] == 50


def test_check_says_what_training_does(tmp_path: Path) -> None:
    rows = toy.pairs(40)
    pairs = toy.write(tmp_path / "pairs.tsv", [*rows, rows[3], ("el gato", ""), ("tengo 45", "I have 54")])
    listed = tmp_path / "left.tsv"
    done = run("check", pairs, "--dev", toy.write(tmp_path / "dev.tsv", rows[:2]), "--list", listed)
    assert done.returncode == 0, done.stderr
    assert "43 pairs read: 39 to learn from, 4 left out (9.3%)" in done.stdout
    assert "2   4.7%  pairs that are also in the dev or test set   [--set check.in_dev=keep]" in done.stdout
    assert f"{pairs}:43  tengo 45 → I have 54" in done.stdout.replace("…" + str(pairs)[-39:], str(pairs))
    assert {tuple(line.split("\t")[1:3]) for line in listed.read_text().splitlines()} == {
        ("1", "in_dev"), ("2", "in_dev"), ("41", "duplicate"), ("42", "one_sided"),
    }  # fmt: skip
    about = json.loads(run("check", pairs, "--json", "--set", "check.duplicate=keep").stdout)
    assert (about["read"], about["left_out"]) == (43, 1)
    kinds = {finding["kind"]: finding["training"] for finding in about["findings"]}
    assert kinds == {"one_sided": "leaves them out", "duplicate": "keeps them", "numbers": "keeps them"}


def test_bad_input_gets_one_line(tmp_path: Path) -> None:
    pairs = toy.write(tmp_path / "pairs.tsv", toy.pairs(30))
    assert "--list" in refused("check", pairs, "--list", pairs, code=2)
    assert "there is no such setting (did you mean check.duplicate?)" in refused(
        "check", pairs, "--set", "check.duplicat=keep", code=2
    )
    assert "there is no data" in refused("check", code=2)
    assert "no such file" in refused("check", tmp_path / "none.tmx")
    (tmp_path / "empty").mkdir()
    assert "has no files to train on" in refused("check", tmp_path / "empty")
    sheet = write_csv(tmp_path / "sheet.csv", toy.pairs(30))
    assert "has no column 'French'" in refused("check", sheet, "--columns", "French,English")
    assert "directions" in refused("corpus", "es-fr", "--out", tmp_path / "c.tsv", code=2)
    assert "exists already" in refused("corpus", "es-en", "--out", pairs, code=2)
    assert "sure to have" in refused("corpus", "es-en", "--pairs", 10**9, "--out", tmp_path / "c.tsv", code=2)
    assert "data.format=xlsx" in refused("check", pairs, "--set", "data.format=xlsx", code=2)


def test_the_built_in_language_as_files(tmp_path: Path) -> None:
    for part, seed in (("training", 7), ("test", 8)):
        out, aligned = tmp_path / f"{part}.tsv", tmp_path / f"{part}.align"
        done = run(
            "corpus", "pt-es", "--pairs", 50, "--seed", seed, "--part", part, "--out", out, "--alignments", aligned
        )
        assert done.returncode == 0, done.stderr
        lines = out.read_text(encoding="utf-8").splitlines()
        assert len(lines) == 50
        assert len(set(lines)) == 50
        for line, alignment in zip(lines, aligned.read_text().splitlines(), strict=True):
            counts = [len(re.findall(r"\w+(?:[-'’]\w+)*|[^\w\s]", side)) for side in line.split("\t")[:2]]
            for link in alignment.split():
                word, other = map(int, link.split("-"))
                assert word < counts[0]
                assert other < counts[1]
    assert any(line.count("\t") > 1 for line in (tmp_path / "test.tsv").read_text(encoding="utf-8").splitlines())
    assert all(line.count("\t") == 1 for line in (tmp_path / "training.tsv").read_text(encoding="utf-8").splitlines())


def test_a_catalog_is_filled_and_the_rest_stays(tmp_path: Path, trained: TranslationModel) -> None:
    path = tmp_path / "app.po"
    path.write_text(
        '# A comment\nmsgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
        'msgid   "el perro"\nmsgstr "kept   as it was"\n\n'
        '#, c-format\nmsgid "el gato rojo ve el tren\\n"\n"el lobo tiene el libro"\nmsgstr ""\n\n'
        'msgid "el tren sigue el barco"\nmsgid_plural "el gato ve el libro"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
        '#~ msgid "viejo"\n#~ msgstr ""\n',
        encoding="utf-8",
    )
    out = tmp_path / "app.en.po"
    done = run("translate", trained.path, "--file", path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "filled 2 entries" in done.stderr
    filled = polib.pofile(str(out))
    assert [entry.msgstr for entry in filled if not entry.msgid_plural and not entry.obsolete] == [
        "kept   as it was", "the red cat sees the train\nthe wolf has the book",
    ]  # fmt: skip
    assert filled[2].msgstr_plural == {0: "the train follows the boat", 1: "the cat sees the book"}
    assert [entry.fuzzy for entry in filled] == [False, True, True, False]
    kept = [line for line in path.read_text().splitlines() if not line.startswith(("msgstr", "#, "))]
    assert [line for line in out.read_text().splitlines() if line in kept] == kept
    assert "--out" in refused("translate", trained.path, "--file", path, code=2)
    assert "exists already" in refused("translate", trained.path, "--file", path, "--out", out, code=2)


@pytest.mark.parametrize("page", ["data.md"])
def test_the_commands_of_the_page_run(tmp_path: Path, page: str, trained: TranslationModel) -> None:
    rows = toy.pairs(120)
    write_tmx(tmp_path / "memory.tmx", rows)
    toy.write(tmp_path / "more.tsv", toy.pairs(120, seed=3))
    write_po(tmp_path / "app.po", [("el gato", "")])
    write_po(tmp_path / "locale" / "en.po", [("el gato", "")])
    (tmp_path / "in.txt").write_text("el gato\n")
    (tmp_path / "test.es").write_text("".join(f"{source}\n" for source, _ in rows[:20]))
    (tmp_path / "test.en").write_text("".join(f"{target}\n" for _, target in rows[:20]))
    for name in ("es-en", "ui"):
        (tmp_path / name).symlink_to(trained.path)
    blocks = re.findall(r"```console\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 4
    for command in commands:
        program, verb, *rest = shlex.split(command.replace("50000", "50"))
        assert program == "mirada"
        more = ["--set", "train.steps=2", "--set", "train.threads=1"] if verb == "train" else []
        done = run(verb, *rest, *more, cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
