"""Images with captions: read from a table, split by image, each caption beside its own pixels; faults named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mirada.data.preparation import Prepared
from mirada.data.tokenizer import TokenizerConfig
from mirada.errors import DataError
from mirada.models.transformer import CaptionerConfig
from mirada.tasks.captioning.data import CaptionBatches, CaptionsConfig, read_captions
from tests.preparing import prepare

WORDS = TokenizerConfig(unit="words")


def image(path: Path, value: int, size: tuple[int, int] = (8, 8), colour: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((size[1], size[0], 3), value, dtype=np.uint8)
    if colour:
        pixels[..., 1:] = 0
    Image.fromarray(pixels).save(path)


def table(folder: Path, rows: list[str], name: str = "scenes.tsv") -> str:
    (folder / name).write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return str(folder / name)


def some(folder: Path, count: int = 30) -> list[str]:
    """Images whose grey is their number, with the number for a caption."""
    for number in range(count):
        image(folder / f"p/{number}.png", number)
    return [f"p/{number}.png\tgrey number{number}" for number in range(count)]


def ready(path: str, folder: Path, **settings: object) -> Prepared:
    data = CaptionsConfig.model_validate({"files": [path], **settings})
    return prepare("captioning", folder / "data", data=data, tokenizer=WORDS, model=CaptionerConfig(patch=4))


def test_every_caption_comes_with_the_pixels_of_its_picture(tmp_path: Path) -> None:
    rows = some(tmp_path)
    rows[3] += "\tgrey again3"  # a second caption in the same row
    rows.append("p/4.png\tgrey again4")  # and one in a row of its own
    found = ready(table(tmp_path, rows), tmp_path, hold_out=0.1)
    assert (found.about.images, found.about.dev, len(found.dev)) == (27, 3, 3)
    assert found.about.training == 32 - sum(map(len, found.dev.labels))
    batches = CaptionBatches(found.store.corpus, 200, 1, found.store.pixels, found.preprocessor.format, 4)
    seen = []
    for part in batches.epoch(0):
        batch = batches.load(part)
        assert batch.source.shape[1:] == (1, 1, 8, 8)
        assert batch.tokens == batch.size * 4 + batch.size * 3  # two words and EOS
        greys = batch.source[:, 0, 0, 0, 0] * found.preprocessor.format.std[0] + found.preprocessor.format.mean[0]
        texts = found.preprocessor.tokenizer.decode([[id for id in row if id > 2] for row in batch.target.tolist()])
        for grey, text in zip((greys * 255).round().int().tolist(), texts, strict=True):
            assert text in (f"grey number{grey}", f"grey again{grey}")
            seen.append(text)
    assert len(set(seen)) == len(seen) == found.about.training
    for pixels, captions in zip(found.dev.pixels, found.dev.labels, strict=True):
        assert captions[0] == f"grey number{pixels[0, 0, 0, 0]}"


def test_equal_pictures_are_held_out_together(tmp_path: Path) -> None:
    rows = []
    for number in range(40):  # two files of each image
        image(tmp_path / f"{number}.png", number // 2)
        rows.append(f"{number}.png\tcaption {number}")
    found = ready(table(tmp_path, rows), tmp_path, hold_out=0.2)
    held = {int(pixels[0, 0, 0, 0]) for pixels in found.dev.pixels}
    assert len(held) == 4
    assert len(found.dev) == 8
    assert not held & {int(pixels[0, 0, 0, 0]) for pixels in found.store.pixels}


def test_what_cannot_be_used_is_left_out_and_listed(tmp_path: Path) -> None:
    rows = some(tmp_path)
    (tmp_path / "notes.txt").write_text("no image")
    rows += ["p/none.png\tmissing", "notes.txt\ta note", "p/1.png\t", "", "p/2.png\tgrey number2"]
    rows.append("p/5.png\t" + "very " * 40 + "grey")
    found = ready(table(tmp_path, rows), tmp_path, max_tokens=20)
    assert found.about.excluded == {
        "one_sided": 1,
        "blank": 1,
        "duplicate": 1,
        "unreadable": 1,
        "not_image": 1,
        "too_many_tokens": 1,
    }
    listed = (tmp_path / "data" / "excluded.tsv").read_text(encoding="utf-8").splitlines()
    assert f"{tmp_path}/scenes.tsv\t31\tunreadable\tfiles that cannot be opened" in listed
    assert len(listed) == 6


def test_sizes_and_colours_are_brought_together(tmp_path: Path) -> None:
    rows = some(tmp_path)
    image(tmp_path / "wide.png", 200, size=(20, 10), colour=True)
    found = ready(table(tmp_path, [*rows, "wide.png\ta wide one"]), tmp_path)
    assert found.store.pixels.shape[1:] == (1, 8, 8, 3)
    assert found.about.notes == ["images of 8×8 to 20×10 are resized to 8×8 [--set data.size=…]"]
    grey = ready(table(tmp_path, [*rows, "wide.png\ta wide one"]), tmp_path / "grey", colour="grey", size=16)
    assert grey.store.pixels.shape[1:] == (1, 16, 16, 1)


def test_a_dev_part_of_its_own_is_kept_out_of_training(tmp_path: Path) -> None:
    rows = some(tmp_path)
    dev = table(tmp_path, ["p/0.png\tgrey number0", "p/1.png\tgrey number1"], "dev.tsv")
    found = ready(table(tmp_path, rows), tmp_path, dev=[dev])
    assert not found.about.held_out
    assert found.dev.labels == [["grey number0"], ["grey number1"]]
    assert found.about.excluded == {"in_dev": 2}
    assert {int(pixels[0, 0, 0, 0]) for pixels in found.store.pixels} == set(range(2, 30))


def test_a_table_with_columns_by_name(tmp_path: Path) -> None:
    rows = ["id,text,file", *(f"{number},grey number{number},p/{number}.png" for number in range(30))]
    some(tmp_path)
    found = ready(table(tmp_path, rows, "scenes.csv"), tmp_path, columns=["file", "text"])
    assert found.about.images + found.about.dev == 30


def test_data_that_nothing_can_be_learned_from_is_refused(tmp_path: Path) -> None:
    rows = some(tmp_path, 5)
    with pytest.raises(DataError, match=r"scenes\.tsv: 5 captions; training needs at least 20"):
        ready(table(tmp_path, rows), tmp_path)
    with pytest.raises(
        DataError, match=r"none of its 25 images can be read; the first of them, .*q/0\.png: cannot be opened"
    ):
        ready(table(tmp_path, [f"q/{number}.png\tcaption" for number in range(25)]), tmp_path)
    with pytest.raises(DataError, match="has one image"):
        ready(table(tmp_path, [f"p/0.png\tcaption {number}" for number in range(25)]), tmp_path)
    with pytest.raises(DataError, match=r"no caption is left to learn from .*data\.max_tokens"):
        ready(table(tmp_path, [f"{row} one two three" for row in some(tmp_path)]), tmp_path, max_tokens=4)


def test_a_test_set_has_to_be_whole(tmp_path: Path) -> None:
    path = table(tmp_path, [*some(tmp_path, 3), "p/9.png\tmissing"])
    with pytest.raises(DataError, match=r"scenes\.tsv, line 4: .*p/9\.png: cannot be opened \(No such"):
        list(read_captions(path))


def test_a_table_that_is_not_one_is_described_as_the_task_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("p/0.png\n" * 9)
    with pytest.raises(DataError, match=r"; put a tab between image and caption$"):
        ready(str(tmp_path / "a.tsv"), tmp_path)
