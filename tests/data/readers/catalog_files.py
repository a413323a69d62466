"""Catalogs to read, made by hand, and what reading them gives."""

from pathlib import Path

from mirada.data.readers import Wanted
from mirada.data.readers.catalogs import Po
from mirada.data.records import Record
from tests.data.readers import fault, write

FILES = Path(__file__).parent / "files"
SAMPLE = (FILES / "sample.po").read_bytes()
ANY = Wanted()
HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=%s\\nLanguage: %s\\n"\n'
MULTILINE = (
    'First line\nsecond "line"\twith a tab\n',
    "Primera línea\nsegunda «línea»\tcon \\ barra\n",
)


def read(tmp_path: Path, content: str | bytes, wanted: Wanted = ANY) -> list[Record]:
    return list(Po(write(tmp_path / "a.po", content), wanted))


def po_fault(tmp_path: Path, content: str | bytes, wanted: Wanted = ANY) -> str:
    path = write(tmp_path / "a.po", content)
    message = fault(lambda: Po(path, wanted))
    assert str(path) in message
    return message
