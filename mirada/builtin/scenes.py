"""Built-in small images with captions in Spanish, English and Portuguese: shapes of a colour and a size.

    one thing     where it is       a small red circle at the top left
    two things    how they stand    a big blue star above a small green square

A thing is size, colour and shape. A tenth of all things are in the test set alone: whoever describes a big blue star
without having seen one has understood what big, blue and star mean.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from mirada.config import nearest
from mirada.errors import UsageError

SIDE = 32
"""The width and height of an image in pixels."""
FINE = 4
"""Points along a pixel's side that decide how much of it a shape covers."""
TESTED = 10
"""One thing in so many is for the test set."""

Mask = npt.NDArray[np.float64]
Names = tuple[str, str, str]
"""In Spanish, English, Portuguese."""
LANGUAGES = ("es", "en", "pt")

SIZES: dict[str, tuple[float, float]] = {"small": (3.0, 4.0), "big": (6.0, 7.5)}
"""From the centre of a shape to its edge, in pixels."""
COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 40, 40),
    "green": (40, 160, 70),
    "blue": (40, 90, 220),
    "yellow": (240, 210, 50),
    "purple": (140, 60, 180),
    "white": (245, 245, 245),
}
SHAPES = ("circle", "square", "triangle", "star", "cross")
FEMININE = ("star", "cross")
"""In Spanish and Portuguese."""

_SHAPES: dict[str, Names] = {
    "circle": ("círculo", "circle", "círculo"),
    "square": ("cuadrado", "square", "quadrado"),
    "triangle": ("triángulo", "triangle", "triângulo"),
    "star": ("estrella", "star", "estrela"),
    "cross": ("cruz", "cross", "cruz"),
}
_ADJECTIVES: dict[str, tuple[Names, str, str]] = {  # the feminine of Spanish and of Portuguese
    "small": (("pequeño", "small", "pequeno"), "pequeña", "pequena"),
    "big": (("grande", "big", "grande"), "grande", "grande"),
    "red": (("rojo", "red", "vermelho"), "roja", "vermelha"),
    "green": (("verde", "green", "verde"), "verde", "verde"),
    "blue": (("azul", "blue", "azul"), "azul", "azul"),
    "yellow": (("amarillo", "yellow", "amarelo"), "amarilla", "amarela"),
    "purple": (("morado", "purple", "roxo"), "morada", "roxa"),
    "white": (("blanco", "white", "branco"), "blanca", "branca"),
}
_PLACES: list[Names] = [  # row by row
    ("arriba a la izquierda", "at the top left", "em cima à esquerda"),
    ("arriba", "at the top", "em cima"),
    ("arriba a la derecha", "at the top right", "em cima à direita"),
    ("a la izquierda", "on the left", "à esquerda"),
    ("en el centro", "in the centre", "no centro"),
    ("a la derecha", "on the right", "à direita"),
    ("abajo a la izquierda", "at the bottom left", "embaixo à esquerda"),
    ("abajo", "at the bottom", "embaixo"),
    ("abajo a la derecha", "at the bottom right", "embaixo à direita"),
]
_RELATIONS: dict[tuple[int, int], Names] = {  # where the first thing stands, seen from the second: down, right
    (0, -1): ("a la izquierda de", "to the left of", "à esquerda de"),
    (0, 1): ("a la derecha de", "to the right of", "à direita de"),
    (-1, 0): ("encima de", "above", "acima de"),
    (1, 0): ("debajo de", "below", "abaixo de"),
}


@dataclass(frozen=True)
class Thing:
    """What a shape is."""

    size: str
    colour: str
    shape: str

    @property
    def tested(self) -> bool:
        """Whether it is kept for the test set: decided by its name, the same everywhere."""
        return zlib.crc32(f"{self.size} {self.colour} {self.shape}".encode()) % TESTED == 0

    def name(self, language: str) -> str:
        """una estrella roja pequeña, a small red star, uma estrela vermelha pequena"""
        number, feminine = LANGUAGES.index(language), self.shape in FEMININE
        size, colour = (self._adjective(word, number) for word in (self.size, self.colour))
        noun = _SHAPES[self.shape][number]
        if language == "en":
            return f"a {size} {colour} {noun}"
        article = {"es": ("un", "una"), "pt": ("um", "uma")}[language][feminine]
        return f"{article} {noun} {colour} {size}"

    def _adjective(self, word: str, number: int) -> str:
        masculine, spanish, portuguese = _ADJECTIVES[word]
        feminine = self.shape in FEMININE
        return (spanish, masculine[1], portuguese)[number] if feminine else masculine[number]


THINGS = [Thing(*parts) for parts in product(SIZES, COLOURS, SHAPES)]


@dataclass(frozen=True)
class Scene:
    """An image with all its correct captions."""

    pixels: npt.NDArray[np.uint8]  # [H, W, 3]
    captions: list[str]


def scenes(language: str, part: str, count: int, seed: int) -> Iterator[Scene]:
    """Generate images by seed and number: half of them with one shape, half with two.

    Every image of the test set has something in it that no image of the training set has.
    """
    if language not in LANGUAGES:
        raise UsageError(f"--language {language}: there are {', '.join(LANGUAGES)}")
    if part not in ("training", "test"):
        raise UsageError(f"--part {part}: there is no such part{nearest(part, ['training', 'test'])}")
    return _scenes(language, part == "test", count, seed)


def _scenes(language: str, test: bool, count: int, seed: int) -> Iterator[Scene]:
    known = [thing for thing in THINGS if not thing.tested]
    shown = [thing for thing in THINGS if thing.tested] if test else known
    for number in range(count):
        random = np.random.default_rng([seed, number, test])
        first, second = (things[int(random.integers(len(things)))] for things in (shown, known))
        yield _one(first, language, random) if random.random() < 0.5 else _two(first, second, language, random)


def _one(thing: Thing, language: str, random: np.random.Generator) -> Scene:
    """A thing in one of nine places, a little off its middle."""
    place = int(random.integers(len(_PLACES)))
    centre = np.array(divmod(place, 3)) * 8.5 + 7.5 + random.uniform(-1, 1, 2)
    where = _PLACES[place][LANGUAGES.index(language)]
    return Scene(_painted([(thing, centre)], random), [f"{thing.name(language)} {where}"])


def _two(first: Thing, second: Thing, language: str, random: np.random.Generator) -> Scene:
    """Two things side by side or one above the other; either may be named first."""
    down, right = list(_RELATIONS)[int(random.integers(len(_RELATIONS)))]
    direction = np.array([down, right])
    middle = SIDE / 2 - 0.5 + random.uniform(-1.5, 1.5, 2)
    apart = random.uniform(7.5, 8.5)
    aside = direction[::-1] * random.uniform(-1, 1)
    things = [(first, middle + apart * direction + aside), (second, middle - apart * direction - aside)]
    number, names = LANGUAGES.index(language), (first.name(language), second.name(language))
    captions = [
        f"{names[0]} {_RELATIONS[down, right][number]} {names[1]}",
        f"{names[1]} {_RELATIONS[-down, -right][number]} {names[0]}",
    ]
    if random.random() < 0.5:  # or the new thing would always be named first
        captions.reverse()
    return Scene(_painted(things, random), captions)


def _painted(things: list[tuple[Thing, npt.NDArray[np.float64]]], random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The things on a dark, noisy ground."""
    image = np.full((SIDE, SIDE, 3), random.uniform(20, 60)) + random.normal(0, 6, (SIDE, SIDE, 3))
    points = (np.arange(SIDE * FINE) + 0.5) / FINE - 0.5
    for thing, (top, left) in things:
        radius = random.uniform(*SIZES[thing.size])
        fine = _inside(thing.shape, (points - top)[:, None] / radius, (points - left)[None, :] / radius)
        cover: Mask = fine.reshape(SIDE, FINE, SIDE, FINE).mean((1, 3))[:, :, None]  # how much of each pixel
        colour = np.array(COLOURS[thing.colour]) * random.uniform(0.85, 1.05)
        image = image * (1 - cover) + colour * cover
    return np.clip(image, 0, 255).astype(np.uint8)


def _inside(shape: str, down: Mask, right: Mask) -> npt.NDArray[np.bool_]:
    """Which points belong to a shape of radius 1 around 0."""
    if shape == "circle":
        return down**2 + right**2 <= 1
    if shape == "square":
        return (abs(down) <= 0.9) & (abs(right) <= 0.9)
    if shape == "triangle":
        return (abs(down) <= 1) & (2 * abs(right) <= down + 1)
    if shape == "cross":
        return (np.minimum(abs(down), abs(right)) <= 0.33) & (np.maximum(abs(down), abs(right)) <= 1)
    angle = (np.arctan2(right, -down) % (2 * np.pi / 5)) - np.pi / 5  # a star: five tips, one of them above
    edge = np.cos(np.pi / 5 * 2) / np.cos(2 * np.pi / 5 - (np.pi / 5 - abs(angle)))
    return np.hypot(down, right) <= 1.15 * edge


def write(found: Iterator[Scene], folder: Path) -> int:
    """Write a PNG per image, and `scenes.tsv`: file, tab, all correct captions. Returns their number."""
    count = 0
    with open(folder / "scenes.tsv", "x", encoding="utf-8", newline="\n") as table:
        for count, scene in enumerate(found, 1):
            name = f"{count:06}.png"
            Image.fromarray(scene.pixels).save(folder / name)
            table.write("\t".join([name, *scene.captions]) + "\n")
    return count
