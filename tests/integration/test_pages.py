"""The commands of the page on tasks run, in the order they stand there."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path

import numpy as np
from PIL import Image

from tests import reviews
from tests.command import run

DOCS = Path(__file__).parents[2] / "docs"

QUICK = {
    "train": ["--set", "model.width=16", "--set", "train.steps=3", "--set", "train.threads=1"],
    "shapes": ["--count", "40"],
    "compare": ["--set", "model.width=16", "--set", "train.threads=1", "--set", "train.batch_tokens=1000"],
}


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    reviews.write(tmp_path / "reviews.csv", reviews.rows(120))
    tagged = [f"{word}\t{tag}\n" for word, tag in zip(["El", "perro", "ve", "al", "gato", "."], "DNVPNX", strict=True)]
    names = ["Ana", "Luis", "Eva", "Juan"]
    sentences = [[f"{name}{n}\tN\n", *tagged] for n in range(10) for name in names]
    (tmp_path / "tagged.conll").write_text("\n".join("".join(lines) for lines in sentences), encoding="utf-8")
    rows = [f"2024-{m:02d}-{d:02d},{100 + math.sin(m + d / 9):.3f}\n" for m in range(1, 13) for d in range(1, 29)]
    (tmp_path / "prices.csv").write_text("date,close\n" + "".join(rows), encoding="utf-8")
    book = "En un lugar de la costa, de cuyo nombre todos se acuerdan, vivía un pescador.\n"
    (tmp_path / "book.txt").write_text(book * 40, encoding="utf-8")
    texts = [
        f"El bebé está {how} en {where}." for how in ("llorando", "dormido") for where in ("casa", "cama", "Chile")
    ]
    (tmp_path / "corpus.txt").write_text("\n\n".join(texts * 5), encoding="utf-8")
    pixels = np.random.default_rng(0).integers(256, size=(40, 8, 8), dtype=np.uint8)
    for number, image in enumerate(pixels):
        path = tmp_path / "images" / ("cats", "dogs")[number % 2] / f"{number // 2}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    page = (DOCS / "tasks.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 10
    for command in commands:
        program, verb, *rest = shlex.split(command)
        assert program == "mirada"
        quick = [] if "bag" in rest else QUICK.get(verb, [])
        quick = ["--set", "train.threads=1"] if "--base" in rest else quick
        rest = [re.sub("^--(minutes|epochs)$", "--steps", part) for part in rest]
        done = run(verb, *rest, *quick, cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert (tmp_path / "forecast.png").stat().st_size > 1000
    assert (tmp_path / "look.png").stat().st_size > 1000
    assert (tmp_path / "gradients.png").stat().st_size > 1000
    assert (tmp_path / "report" / "report.html").stat().st_size > 1000
