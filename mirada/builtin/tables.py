"""The word tables: text files in `words/`, the three languages side by side; each says at its top how it is read."""

from importlib.resources import files

Rows = list[list[str]]


def read(name: str) -> dict[str, Rows]:
    """The sections of a table file; a row is a line's cells."""
    sections: dict[str, Rows] = {}
    for line in (files("mirada.builtin") / "words" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = sections[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            rows.append([cell.strip() for cell in line.split("|")])
    return sections


def words(rows: Rows) -> frozenset[str]:
    """All words of a section that is a plain list."""
    return frozenset(word for row in rows for word in row[0].split())


LIVING, THINGS, PLACES, ADJECTIVES, VERBS, PHRASES = (
    read(name) for name in ("living", "things", "places", "adjectives", "verbs", "phrases")
)
