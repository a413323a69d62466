"""Documents that are zip archives of XML files: DOCX and ODT. Only the parts with text change."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence

from mirada.data.text import shown_path
from mirada.documents.document import Segment, TextDocument, read_bytes
from mirada.errors import DataError

LARGEST_PART = 128 * 2**20
"""The most bytes of a part, unpacked."""
LARGEST_ALL = 512 * 2**20
MOST_PARTS = 10_000


class ArchiveDocument:
    """A zip archive, some of whose parts are texts with blocks."""

    markup = True

    def __init__(
        self,
        path: str,
        kind: str,
        choose: Callable[[Sequence[str]], Sequence[str]],
        read: Callable[[bytes, str], TextDocument],
    ):
        self.name = shown_path(path)
        self._content = read_bytes(path)
        self._parts = _unpacked(self._content, self.name, kind)
        chosen = choose([entry.filename for entry, _ in self._parts])
        if not chosen:
            raise DataError(f"{self.name}: is a zip archive, but not {kind}: the part with its text is missing")
        parts = {entry.filename: content for entry, content in self._parts}
        self._texts = {part: read(parts[part], f"{self.name} ({part})") for part in chosen}
        self.segments: Sequence[Segment] = [one for text in self._texts.values() for one in text.segments]
        self.notes: Sequence[str] = [note for text in self._texts.values() for note in text.notes]

    def write(self, translations: Sequence[str | None]) -> bytes:
        changed, done = {}, 0
        for part, text in self._texts.items():
            changed[part] = text.write(translations[done : done + len(text.segments)])
            done += len(text.segments)
        if all(changed.get(entry.filename, content) == content for entry, content in self._parts):
            return self._content
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for entry, content in self._parts:
                archive.writestr(_copied(entry), changed.get(entry.filename, content))
        return out.getvalue()


def _copied(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """An entry of the same name, date, attributes and compression."""
    new = zipfile.ZipInfo(entry.filename, entry.date_time)
    new.compress_type, new.comment = entry.compress_type, entry.comment
    new.external_attr, new.create_system = entry.external_attr, entry.create_system
    return new


def _unpacked(content: bytes, name: str, kind: str) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """The parts of an archive in their order. Sizes are checked while it is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_PARTS or len({entry.filename for entry in entries}) < len(entries):
                raise DataError(f"{name}: has more than {MOST_PARTS:,} parts, or two of one name; is this {kind}?")
            found, total = [], 0
            for entry in entries:
                if entry.flag_bits & 1:
                    raise DataError(f"{name}: is encrypted; save it without a password")
                with archive.open(entry) as stream:
                    part = stream.read(LARGEST_PART + 1)
                total += len(part)
                if len(part) > LARGEST_PART or total > LARGEST_ALL:
                    raise DataError(
                        f"{name}: {entry.filename} unpacks to more than {LARGEST_PART // 2**20} MiB, or all its parts "
                        f"to more than {LARGEST_ALL // 2**20} MiB; is this {kind}?"
                    )
                found.append((entry, part))
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as fault:
        raise DataError(f"{name}: is not {kind}, or it is damaged ({fault}); save or copy it again") from None
