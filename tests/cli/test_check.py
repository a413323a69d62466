"""`mirada check` and `api.check` on the data of every task: what is found, and the exit code when it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mirada import api
from tests.command import run


def texts(folder: Path) -> Path:
    rows = [f"text number {n},{'good' if n % 3 else 'bad'}" for n in range(30)]
    path = folder / "texts.csv"
    path.write_text("\n".join(["text,label", *rows, rows[0], "text number 1,bad", ",good", "nothing,"]) + "\n")
    return path


def tagged(folder: Path) -> Path:
    path = folder / "tagged.conll"
    rows = [f"the\tD\ndog{n}\tN\n" for n in range(20)]
    path.write_text("\n".join([*rows, rows[0], "the\tD\ndog\n"]))
    return path


def documents(folder: Path) -> Path:
    path = folder / "documents.txt"
    rows = [f"a document with number {n}" for n in range(20)]
    path.write_text("\n\n".join([*rows, rows[0]]) + "\n")
    return path


def text(folder: Path) -> Path:
    path = folder / "text.txt"
    path.write_bytes(b"a line of text\n" * 30 + b"ni\xf1o\n")
    return path


def images(folder: Path) -> Path:
    chance = np.random.default_rng(1)
    for label in "ab":
        (folder / "images" / label).mkdir(parents=True)
        for number in range(8):
            pixels = chance.integers(0, 256, (8, 8), np.uint8)
            Image.fromarray(pixels).save(folder / "images" / label / f"{number}.png")
    (folder / "images" / "a" / "notes.txt").write_text("hello")
    return folder / "images"


def captions(folder: Path) -> Path:
    images(folder)
    rows = [f"images/{label}/{n}.png\tcaption {n} of {label}" for label in "ab" for n in range(8)]
    path = folder / "captions.tsv"
    path.write_text("\n".join([*rows, *(f"{row} again" for row in rows), rows[0], "images/none.png\tmissing"]) + "\n")
    return path


def series(folder: Path) -> Path:
    path = folder / "series.csv"
    path.write_text("day,value\n" + "".join(f"2024-{n // 28 + 1:02}-{n % 28 + 1:02},{n % 7 + n}\n" for n in range(200)))
    return path


CASES: dict[str, tuple[Any, dict[str, int]]] = {
    "classification": (texts, {"no_text": 1, "no_label": 1, "contradiction": 2, "duplicate": 1}),
    "tagging": (tagged, {"cell_count": 1, "duplicate": 1}),
    "masked_lm": (documents, {"duplicate": 1}),
    "image_classification": (images, {"not_image": 1}),
    "captioning": (captions, {"unreadable": 1, "duplicate": 1}),
    "forecasting": (series, {}),
}


@pytest.mark.parametrize("task", CASES)
def test_the_data_of_every_task_is_checked(tmp_path: Path, task: str) -> None:
    write, expected = CASES[task]
    listed = tmp_path / "left.tsv"
    with listed.open("w") as out:
        report = api.check(write(tmp_path), task=task, excluded=out)
    assert not report.refused
    assert {finding.kind: finding.count for finding in report.findings} == expected
    assert report.left_out == sum(expected.values())
    assert sorted(line.split("\t")[2] for line in listed.read_text().splitlines()) == sorted(
        kind for kind, count in expected.items() for _ in range(count)
    )
    assert json.loads(json.dumps(report.as_dict()))["read"] == report.read


def test_a_folder_of_images_is_classification_too(tmp_path: Path) -> None:
    assert api.check(images(tmp_path), task="classification").figures["classes"] == {"a": 8, "b": 8}


def test_what_training_would_refuse_ends_with_an_exit_code(tmp_path: Path) -> None:
    task = "--task", "language_model"
    done = run("check", text(tmp_path), *task)
    assert done.returncode == 1, done.stderr
    assert "training refuses the file because of:" in done.stdout
    sound = run(
        "check", tmp_path / "text.txt", "--task", "language_model", "--set", "data.invalid_bytes=drop", "--json"
    )
    assert sound.returncode == 0, sound.stderr
    assert [finding["kind"] for finding in json.loads(sound.stdout)["findings"]] == ["invalid_bytes"]


def test_gaps_in_a_series_are_refused(tmp_path: Path) -> None:
    path = series(tmp_path)
    path.write_text(path.read_text().replace(",13\n", ",\n", 1))
    (finding,) = api.check(path, task="forecasting").findings
    assert finding.kind == "refused"
    assert "data.missing=interpolate" in finding.title
    assert not api.check(path, task="forecasting", settings={"data": {"missing": "drop"}}).refused
