"""A reader: sentence pairs with an arrow between them, `el gato => the cat`."""

from __future__ import annotations

from collections.abc import Iterator

from mirada.data.readers.pair import Format, Wanted
from mirada.data.records import Record
from mirada.data.text import lines


class Arrows:
    """The pairs of a file; a line without an arrow has an empty target."""

    about = "arrows: source => target"

    def __init__(self, path: str, wanted: Wanted):
        self.path, self.lenient = path, wanted.lenient

    def __iter__(self) -> Iterator[Record]:
        for number, line in enumerate(lines(self.path, lenient=self.lenient), 1):
            source, _, target = line.partition("=>")
            yield Record((source.strip(), target.strip()), self.path, number)


FORMATS = {"arrows": Format(Arrows, (".arrows",), (b"# arrows",))}
