"""Tagging as a person meets it: `mirada train … --task tagging`, `mirada tag`, and what bad input is answered with."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

import mirada
from mirada import cli
from mirada.errors import Interrupted
from mirada.training.loop import Event
from tests.command import run
from tests.tasks.tagging.test_tagging import TINY, language, measured, write

SETTINGS = [
    part for section, values in TINY.items() for key, value in values.items()
    for part in ("--set", f"{section}.{key}={value}")
]  # fmt: skip


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained by the command line, from files with a duplicate and a damaged sentence."""
    folder = tmp_path_factory.mktemp("tagging")
    rows = language(300)
    file = write(folder / "tagged.conll", [*rows, rows[0]])
    file.write_text(file.read_text() + "\nthe\tD\ndog\n")
    out = folder / "tags"
    done = run("train", file, "--task", "tagging", "--model", "lstm", "--out", out, "--steps", 80, *SETTINGS)
    assert done.returncode == 0, done.stderr
    assert "tags: D 540, N 540, V 540, P 270; data: 270 sentences, 1,890 words" in done.stderr
    assert "tagged text, tab between cells, words in column 1 and tags in column 2 of 2" in done.stderr
    assert "1  exact duplicates of an earlier sentence" in done.stderr
    assert "1  sentences with a line that has a different number of cells" in done.stderr
    assert "dev accuracy" in done.stderr
    assert f'try: mirada tag {out} "…"' in done.stderr
    return out


def ask(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, list[str]]:
    """`mirada …` in this process, which is quicker: exit code, what it printed, what it said."""
    given, sys.argv = sys.argv, ["mirada", *map(str, arguments)]
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = given
    out, said = capsys.readouterr()
    return code, out, said.splitlines()


def test_tag(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "the walk sees a lighthouse walk!\n\nevery dog walk.\n"
    expected = "the\tD\nwalk\tN\nsees\tV\na\tD\nlighthouse\tN\nwalk\tV\n!\tP\n\n\nevery\tD\ndog\tN\nwalk\tV\n.\tP\n\n"
    assert run("tag", bundle, text=text).stdout == expected
    (tmp_path / "in.txt").write_text(text)
    assert ask(capsys, "tag", bundle, "--file", tmp_path / "in.txt", "--out", tmp_path / "out.conll")[0] == 0
    assert (tmp_path / "out.conll").read_text() == expected
    code, out, _ = ask(capsys, "tag", bundle, "the walk", "", "--json")
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert (first["words"], first["tags"]) == (["the", "walk"], ["D", "N"])
    assert all(0.5 < p <= 1 for p in first["probabilities"])
    assert second == {"words": [], "tags": [], "probabilities": []}
    # what it wrote is tagged text, which it can be measured with
    code, out, _ = ask(capsys, "evaluate", bundle, tmp_path / "out.conll", "--json")
    assert json.loads(out)["scores"][0]["value"] == 100
    code, out, _ = ask(capsys, "info", bundle)
    assert "D 540, N 540, V 540, P 270" in out
    assert "270 sentences, 1,890 words, 2 left out" in out


def test_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = write(tmp_path / "n.conll", measured(100)), tmp_path / "numbers"
    code, _, said = ask(
        capsys, "train", file, "--task", "tagging", "--model", "elman", "--out", out, "--steps", 3, *SETTINGS
    )
    assert code == 0, said
    assert any(
        "the tags are read as numbers, as all of them are; to change this: --set data.tags=labels" in s for s in said
    )
    assert any("dev RMSE" in line for line in said)
    code, printed, _ = ask(capsys, "tag", out, "small very")
    rows = [line.split("\t") for line in printed.splitlines()]
    assert [row[0] for row in rows] == ["small", "very", ""]
    assert all(len(row[1].partition(".")[2]) == 4 for row in rows[:2])
    code, printed, _ = ask(capsys, "tag", out, "small very", "--json")
    assert [f"{n:.4f}" for n in json.loads(printed)["numbers"]] == [row[1] for row in rows[:2]]
    code, printed, _ = ask(capsys, "info", out)
    assert "numbers, 1" in printed


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    file = write(tmp_path / "n.conll", measured(100))

    def interrupt(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    weights = []
    for name in ("whole", "parts"):
        out = tmp_path / name
        try:
            mirada.train(
                file, out=out, task="tagging", model="jordan", steps=12, settings=TINY,
                listen=interrupt if name == "parts" else lambda event: None,
            )  # fmt: skip
        except Interrupted:
            mirada.train(resume=out)
        weights.append((out / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]


def test_bad_input_gets_one_line(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = language(40)
    file = write(tmp_path / "a.conll", rows)
    strange = write(tmp_path / "strange.conll", [[("the", "D"), ("dog", "NOUN")]])
    few = write(tmp_path / "few.conll", rows[:5])
    damaged = tmp_path / "damaged.conll"
    damaged.write_text("the\tD\n\ndog\n\n" * 20)
    (tmp_path / "plain.txt").write_text("The\ndog\nsees\n.\n")
    out = tmp_path / "b"

    def refused(*arguments: object, code: int = 1) -> str:
        ended, _, said = ask(capsys, *arguments)
        assert ended == code, said
        ours = [line for line in said if line.startswith("mirada: ")]
        assert len(ours) == 1, said
        return ours[0]

    def untrained(*arguments: object, code: int = 1) -> str:
        line = refused("train", *arguments, "--task", "tagging", "--out", out, "--steps", 2, *SETTINGS, code=code)
        assert not out.exists()
        return line

    assert "few.conll: 5 tagged sentences; training needs at least 10" in untrained(few)
    line = untrained(damaged)
    assert (
        "1 tagged sentences (left out: 20 sentences with a line that has a different number of cells, 19 exact" in line
    )
    assert "strange.conll, line 1: the dev set has the tags 'NOUN', which no training sentence has" in untrained(
        file, "--dev", strange
    )
    assert "plain.txt: does not look like tagged text" in untrained(tmp_path / "plain.txt")
    assert "none.conll: no such file" in untrained(tmp_path / "none.conll")
    assert "there is no data: give a file with a word and its tag" in untrained(code=2)
    assert "has no column 7" in untrained(file, "--columns", "1,7")
    assert "is not a number, but the tags are read as numbers" in untrained(file, "--set", "data.tags=numbers")
    assert "data.tags='words'" in untrained(file, "--set", "data.tags=words", code=2)
    assert "data.max_token: there is no such setting (did you mean data.max_tokens?)" in untrained(
        file, "--set", "data.max_token=9", code=2
    )
    assert "--model seq2seq-lstm: is not for tagging" in untrained(file, "--model", "seq2seq-lstm", code=2)
    assert "the base does not have the tags 'NOUN'" in refused(
        "train", write(tmp_path / "new.conll", [*rows, [("a", "NOUN")]]), "--base", bundle, "--out", out
    )
    assert "use it with: mirada tag" in refused("classify", bundle, "the dog", code=2)
    assert "give texts or a file, not both" in refused("tag", bundle, "a", "--file", file, code=2)
    assert "exists already" in refused("tag", bundle, "a", "--out", file, code=2)
    assert "line 3: sentences with a line that has" in refused("evaluate", bundle, damaged)
    other = write(tmp_path / "other.conll", [[("the", "DET"), ("dog", "NOUN")]] * 2)
    unknown = refused("evaluate", bundle, other)
    assert (
        f"other.conll: the model {bundle} knows none of its tags, 'DET', 'NOUN': it knows 'D', 'N', 'P', 'V'" in unknown
    )
    _, said, _ = ask(capsys, "evaluate", bundle, write(other, [[("the", "DET"), ("dog", "N")]]))
    assert "tags that the model does not know, and so gets wrong: 'DET'" in said
    assert "text 1 has bytes that are not UTF-8" in refused("tag", bundle, "the \udcff", code=2)
