"""Captions as a person meets them: a table of images and texts, learned, asked, scored, drawn, resumed, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import mirada
from mirada.errors import ConfigError, InputError
from mirada.tasks.captioning.model import CaptionModel
from tests.command import refused, run

SMALL: dict[str, Any] = {
    "model": {"width": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 64, "dropout": 0.0},
    "tokenizer": {"unit": "words"},
    "train": {"batch_tokens": 512, "lr": 5e-2, "warmup": 5, "threads": 1},
}
SMALL["model"]["patch"] = 4
ONE = ("--threads", 1)


def corner(random: np.random.Generator) -> tuple[np.ndarray, str]:
    """An image of 8×8 in noise, with one red or blue corner, and what is to be said of it."""
    pixels = random.integers(0, 60, (8, 8, 3), dtype=np.uint8)
    row, column, blue = random.integers(2, size=3)
    pixels[4 * row : 4 * row + 4, 4 * column : 4 * column + 4, 2 * blue] += 180
    return pixels, f"{'azul' if blue else 'rojo'} {'abajo' if row else 'arriba'} {'derecha' if column else 'izquierda'}"


def album(folder: Path, count: int, seed: int) -> Path:
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        pixels, text = corner(random)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append(f"{number}.png\t{text}\n")
    (folder / "scenes.tsv").write_text("".join(rows), encoding="utf-8")
    return folder / "scenes.tsv"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return album(tmp_path_factory.mktemp("album") / "corners", 1000, 0)


@pytest.fixture(scope="module")
def model(table: Path, tmp_path_factory: pytest.TempPathFactory) -> CaptionModel:
    out = tmp_path_factory.mktemp("model") / "corners"
    return mirada.train(table, task="captioning", out=out, steps=300, settings=SMALL)


def test_it_says_what_is_in_pictures_it_has_never_seen(model: CaptionModel) -> None:
    assert isinstance(model, CaptionModel)
    random = np.random.default_rng(9)
    images, texts = zip(*(corner(random) for _ in range(40)), strict=True)
    assert [found.text for found in model.caption(list(images))] == list(texts)
    again = mirada.load(model.path)
    assert again.caption(images[0]) == model.caption(images[0])
    assert model.card["scores"]["scores"][0]["name"] == "exact match"


def test_batches_and_beams_do_not_mix_pictures_up(model: CaptionModel) -> None:
    random = np.random.default_rng(2)
    images = [corner(random)[0] for _ in range(9)]
    together = model.caption(images, beam=3, n_best=3)
    for image, found in zip(images, together, strict=True):
        alone = model.caption(image, beam=3, n_best=3)
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-4)
        assert len(found.alternatives) == 3
        assert found.alternatives[0] == (found.text, found.score)


def test_the_command_line_trains_asks_scores_and_tells(table: Path, tmp_path: Path) -> None:
    done = run("train", table, "--task", "captioning", "--out", tmp_path / "b", "--preset", "tiny", "--steps", 2, *ONE)
    assert done.returncode == 0, done.stderr
    assert "images: 900, 8×8, rgb; dev: 100 images, held out of the data" in done.stderr
    assert f"try: mirada caption {tmp_path / 'b'} image.png" in done.stderr
    about = run("info", tmp_path / "b").stdout
    assert "task        captioning" in about
    assert "images      900, 8×8, rgb" in about
    scored = run("evaluate", tmp_path / "b", table, *ONE).stdout
    assert scored.startswith("images: 1,000\ncaptions cut at the length limit: 1,000\n\nexact match")  # it only babbles
    assert "not among the references, the first:" in scored


def test_captions_come_out_in_order_with_their_faults(model: CaptionModel, table: Path, tmp_path: Path) -> None:
    truth = dict(line.split("\t") for line in table.read_text(encoding="utf-8").splitlines())
    (tmp_path / "notes.png").write_text("no image")
    first, second = table.parent / "0.png", table.parent / "1.png"
    done = run("caption", model.path, first, tmp_path / "notes.png", second, *ONE)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [truth["0.png"], "", truth["1.png"]]
    assert "notes.png: is not an image (PNG, JPEG, GIF, BMP, TIFF, WebP or PPM); its line is left empty" in done.stderr

    names = run("caption", model.path, *ONE, text=f"{first}\n{second}\n")
    assert names.stdout.splitlines() == [truth["0.png"], truth["1.png"]]
    row = json.loads(run("caption", model.path, first, "--json", *ONE).stdout)
    assert (row["image"], row["caption"], row["complete"]) == (str(first), truth["0.png"], True)
    several = run("caption", model.path, first, "--n-best", 2, *ONE).stdout.splitlines()
    assert [line.split("\t")[0] for line in several] == ["1", "1"]

    Image.open(first).resize((16, 16), Image.Resampling.NEAREST).save(tmp_path / "large.png")
    done = run("caption", model.path, tmp_path / "large.png", *ONE)
    assert done.stdout == truth["0.png"] + "\n"
    assert "large.png: resized from 16×16 to 8×8" in done.stderr


def test_it_shows_where_it_looked(model: CaptionModel, table: Path, tmp_path: Path) -> None:
    seen = model.attend(table.parent / "0.png")
    assert seen.output == model.caption(table.parent / "0.png").text
    assert seen.weights.shape == (1, 2, 4, 4)  # three words and the end, four patches
    assert seen.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert seen.mean.shape == (4, 4)
    assert seen.main.keys.pieces == ("0,0", "0,1", "1,0", "1,1")
    done = run("caption", model.path, table.parent / "0.png", "--look", tmp_path / "look.png", *ONE)
    assert done.returncode == 0, done.stderr
    drawn = np.asarray(Image.open(tmp_path / "look.png").convert("L"))
    assert drawn.std() > 10
    again = refused("caption", model.path, table.parent / "0.png", "--look", tmp_path / "look.png", code=2)
    assert "exists already" in again
    assert "shows one image" in refused("caption", model.path, "--look", tmp_path / "other.png", code=2)


def test_a_resumed_run_equals_an_uninterrupted_one(table: Path, tmp_path: Path) -> None:
    schedule = {**SMALL["train"], "schedule": "constant", "warmup": 0, "checkpoint_every": 4}
    settings = {**SMALL, "train": schedule, "model": {**SMALL["model"], "dropout": 0.1}}
    for out, steps in (("whole", 24), ("part", 17)):  # some 6 batches an epoch
        mirada.train(table, task="captioning", out=tmp_path / out, steps=steps, settings=settings)
    mirada.train(resume=tmp_path / "part", steps=24)
    last = "run/checkpoints/step-00000024.safetensors"
    assert (tmp_path / "part" / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()


def test_fine_tuning_keeps_units_and_size(model: CaptionModel, tmp_path: Path) -> None:
    more = album(tmp_path / "more", 60, 5)
    tuned = mirada.train(more, base=model.path, out=tmp_path / "tuned", steps=3, threads=1)
    assert tuned.preprocessor.format == model.preprocessor.format
    assert tuned.preprocessor.tokenizer.to_json() == model.preprocessor.tokenizer.to_json()
    assert tuned.card["base"]["before"]["new"]["exact match"] > 90


def test_bad_use_is_one_line(model: CaptionModel, table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.size=9 cannot be cut into patches of 2×2: set data\.size=8"):
        mirada.train(table, task="captioning", out=tmp_path / "a", settings={"data": {"size": 9}})
    with pytest.raises(ConfigError, match=r"data\.max_tokens=300: the model takes 255; .*model\.max_length=301"):
        mirada.train(table, task="captioning", out=tmp_path / "a", settings={"data": {"max_tokens": 300}})
    line = refused("train", table, "--task", "captioning", "--model", "vit", "--out", tmp_path / "a", code=2)
    assert line.startswith("mirada: --model vit: is not for captioning but for image_classification; ")
    with pytest.raises(InputError, match=r"image 1: has 4 frames; the model .* reads images"):
        model.caption(np.zeros((4, 8, 8, 3), dtype=np.uint8))
    assert "is a model for captioning" in refused("classify", model.path, "x.png", code=2)


def test_built_in_pictures_and_videos_are_written(tmp_path: Path) -> None:
    done = run("shapes", "--out", tmp_path / "s", "--language", "en", "--count", 4)
    assert done.returncode == 0, done.stderr
    assert f"wrote 4 images and their captions: {tmp_path / 's' / 'scenes.tsv'}" in done.stderr
    assert run("shapes", "--moving", "--out", tmp_path / "m.npz", "--count", 5).returncode == 0
    videos = np.load(tmp_path / "m.npz")
    assert videos["images"].shape == (5, 8, 16, 16)
    assert len(videos["labels"]) == 5
    run("shapes", "--moving", "--out", tmp_path / "t.npz", "--count", 5, "--part", "test")
    assert (np.load(tmp_path / "t.npz")["images"] != videos["images"]).any()
    assert "exists already" in refused("shapes", "--out", tmp_path / "s", code=2)
    assert "name it" in refused("shapes", "--moving", "--out", tmp_path / "m", code=2)
    assert "must be from 1 to" in refused("shapes", "--out", tmp_path / "n", "--count", 0, code=2)
    assert "--language fr" in refused("shapes", "--out", tmp_path / "n", "--language", "fr", code=2)
    assert not (tmp_path / "n").exists()
