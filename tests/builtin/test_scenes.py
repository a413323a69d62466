"""The built-in pictures: what a caption says can be seen, grammar holds, and the test set has things never shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirada.builtin.scenes import COLOURS, THINGS, Thing, scenes, write
from mirada.errors import UsageError

PLACES = {"left": (1, -1), "right": (1, 1), "top": (0, -1), "bottom": (0, 1)}
"""A word, its axis (0 down, 1 right) and the way."""


def test_a_seed_gives_the_same_pictures_every_time() -> None:
    some, again, other = (list(scenes("en", "training", 12, seed)) for seed in (3, 3, 4))
    assert all((a.pixels == b.pixels).all() and a.captions == b.captions for a, b in zip(some, again, strict=True))
    assert any((a.pixels != b.pixels).any() for a, b in zip(some, other, strict=True))
    assert some[0].pixels.shape == (32, 32, 3)


def named(part: str, count: int = 300) -> list[set[Thing]]:
    """The things in each picture, read off its caption."""
    names = {thing.name("en"): thing for thing in THINGS}
    found = [{names[name] for name in names if name in scene.captions[0]} for scene in scenes("en", part, count, 0)]
    assert all(1 <= len(things) <= 2 for things in found)
    return found


def test_every_test_picture_has_something_that_training_never_shows() -> None:
    kept = {thing for thing in THINGS if thing.tested}
    assert len(kept) == 6
    assert not set.union(*named("training")) & kept
    assert all(things & kept for things in named("test"))
    assert set.union(*named("training", 1000)) == set(THINGS) - kept
    for word in {word for thing in kept for word in (thing.size, thing.colour, thing.shape)}:
        assert any(word in (thing.size, thing.colour, thing.shape) for thing in set(THINGS) - kept), word


def centre(pixels: np.ndarray) -> np.ndarray:
    """Of what is brighter than the ground: down, right, in pixels."""
    bright = pixels.astype(float).max(2)
    weight = (bright > np.median(bright) + 60).astype(float)
    grid = np.indices(weight.shape)
    return (grid * weight).sum((1, 2)) / weight.sum()


def test_things_are_where_the_caption_says() -> None:
    checked = 0
    for scene in scenes("en", "training", 120, 1):
        words = scene.captions[0].split()
        if len(scene.captions) > 1:
            continue
        place = centre(scene.pixels) - 15.5
        for word, (axis, way) in PLACES.items():
            assert (place[axis] * way > 5) == (word in words), scene.captions
        assert ("centre" in words) == (abs(place) < 3).all()
        checked += 1
    assert checked > 40


def test_two_things_stand_as_the_caption_says_whichever_is_named_first() -> None:
    checked = 0
    for scene in scenes("en", "training", 300, 2):
        if len(scene.captions) < 2:
            continue
        for caption in scene.captions:
            relation = next(word for word in ("left", "right", "above", "below") if word in caption.split())
            first, second = caption.split(f" to the {relation} of " if relation in PLACES else f" {relation} ")
            colours = [next(c for c in COLOURS if c in name) for name in (first, second)]
            if colours[0] == colours[1] or "white" in colours or "purple" in colours:
                continue
            places = _where(scene.pixels, colours)
            axis, way = {"left": (1, -1), "right": (1, 1), "above": (0, -1), "below": (0, 1)}[relation]
            assert (places[0] - places[1])[axis] * way > 5, caption
            checked += 1
    assert checked > 60


def _where(pixels: np.ndarray, colours: list[str]) -> list[np.ndarray]:
    """The middles of the pixels that are more like the one colour, and like the other; the ground is like none."""
    vectors = pixels.astype(float) - np.median(pixels, (0, 1))
    alike = [vectors @ np.array(COLOURS[colour]) / np.linalg.norm(COLOURS[colour]) for colour in colours]
    painted = np.linalg.norm(vectors, axis=2) > 60
    first = alike[0] > alike[1]
    return [np.argwhere(painted & chosen).mean(0) for chosen in (first, ~first)]


@pytest.mark.parametrize(
    ("thing", "language", "name"),
    [
        (Thing("small", "red", "star"), "es", "una estrella roja pequeña"),
        (Thing("small", "red", "star"), "pt", "uma estrela vermelha pequena"),
        (Thing("small", "red", "star"), "en", "a small red star"),
        (Thing("big", "yellow", "cross"), "es", "una cruz amarilla grande"),
        (Thing("big", "white", "circle"), "pt", "um círculo branco grande"),
        (Thing("small", "purple", "triangle"), "es", "un triángulo morado pequeño"),
    ],
)
def test_articles_and_adjectives_agree(thing: Thing, language: str, name: str) -> None:
    assert thing.name(language) == name


def test_files_are_written_beside_their_table(tmp_path: Path) -> None:
    assert write(scenes("pt", "test", 3, 0), tmp_path) == 3
    rows = [line.split("\t") for line in (tmp_path / "scenes.tsv").read_text().splitlines()]
    assert [row[0] for row in rows] == ["000001.png", "000002.png", "000003.png"]
    assert all((tmp_path / row[0]).is_file() and row[1].startswith(("um ", "uma ")) for row in rows)


def test_unknown_languages_and_parts_are_refused() -> None:
    with pytest.raises(UsageError, match="--language fr: there are es, en, pt"):
        next(scenes("fr", "training", 1, 0))
    with pytest.raises(UsageError, match="--part tests"):
        next(scenes("es", "tests", 1, 0))
