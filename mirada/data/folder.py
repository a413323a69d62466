"""The folder that prepared data is kept in: its report is written last, with the size and sha256 of all other files.

So its presence means that all of it is there, and a change since then is found when a run is resumed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from mirada.card import FileName
from mirada.errors import BundleError, DataError
from mirada.files import open_regular, read_bytes, write_text
from mirada.former_names import current_report
from mirada.parsing import Malformed, check, read_json

LARGE_FILE = 256 * 2**20
"""The most bytes of a dev set or a series."""
UNCHECKED = ("prepared.json", "excluded.tsv")
"""The report itself, and a list that is for people."""


class _File(BaseModel):
    bytes: int = Field(ge=0)
    sha256: str


class FolderFiles(Mapping[str, bytes]):
    """The files of a folder by their names, read when they are asked for."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __getitem__(self, name: str) -> bytes:
        return read_bytes(self.folder / name, DataError, LARGE_FILE)

    def __contains__(self, name: object) -> bool:
        return os.path.lexists(self.folder / str(name))

    def __iter__(self) -> Iterator[str]:
        return (path.name for path in self.folder.iterdir())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def is_prepared(folder: Path) -> bool:
    """Whether a folder holds finished data."""
    return os.path.lexists(folder / "prepared.json")


def finish(folder: Path, report: Any) -> None:
    """Write the report of a folder whose other files are all there."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = {name: _described(folder / name) for name in names if name not in UNCHECKED}
    write_text(folder / "prepared.json", json.dumps({**asdict(report), "files": files}, indent=2))


def reopen(folder: Path, shape: Any) -> Any:
    """The report of a finished folder, whose other files have to be what they were."""
    path = folder / "prepared.json"
    values = read_json(path, dict[str, Any], DataError)
    try:
        files: dict[str, _File] = check(dict[FileName, _File], values.pop("files", {}))
        report = check(shape, current_report(values))
    except Malformed as fault:
        raise DataError(f"{path}: is damaged ({fault})") from None
    for name, file in files.items():
        inside = folder / name
        with open_regular(inside, DataError) as content:
            size = os.fstat(content.fileno()).st_size
            if size != file.bytes or _digest(content) != file.sha256:
                raise DataError(f"{inside}: has been altered or damaged since the data was prepared")
    return report


def _described(path: Path) -> dict[str, Any]:
    with open(path, "rb") as content:
        return {"bytes": path.stat().st_size, "sha256": _digest(content)}


def _digest(content: BinaryIO) -> str:
    return hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]  # it has what that needs


def check_dev(dev: Sized, path: Path) -> None:
    """Refuse an empty dev set."""
    if not len(dev):
        raise DataError(f"{path}: is damaged (it has no examples)")


@contextmanager
def reopening(folder: Path) -> Iterator[None]:
    """Say that whatever is wrong with prepared data can be fixed by preparing it again."""
    try:
        yield
    except (DataError, BundleError) as fault:
        raise DataError(f"{fault}; delete {folder} to have the data prepared again from its files") from None


def open_array(path: Path, dtype: type[np.generic], shape: tuple[int, ...] = ()) -> npt.NDArray[Any]:
    """Rows of the given shape from an .npy file, memory-mapped.

    Its header is compared with the one that such an array has, and never parsed.
    """
    kind = np.dtype(dtype)
    with open_regular(path, DataError) as file:
        size, row = os.fstat(file.fileno()).st_size, kind.itemsize * math.prod(shape)
        header = _header(kind, (0, *shape))
        rows = max(0, size - len(header)) // row
        header = _header(kind, (rows, *shape))
        if len(header) + rows * row != size or file.read(len(header)) != header:
            raise DataError(
                f"{path}: is damaged (it is not an array of {'×'.join(map(str, ('N', *shape)))} {kind.name})"
            )
    if not rows:
        return np.zeros((0, *shape), kind)
    found: npt.NDArray[Any] = np.memmap(path, kind, "r", offset=len(header), shape=(rows, *shape))
    return found


def _header(kind: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    written = io.BytesIO()
    about = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, about)
    return written.getvalue()


def open_numbers(path: Path, dtype: Any) -> npt.NDArray[Any]:
    """A file of bare numbers, memory-mapped."""
    kind = np.dtype(dtype)
    with open_regular(path, DataError) as file:
        size = os.fstat(file.fileno()).st_size
    if size % kind.itemsize:
        raise DataError(f"{path}: is damaged ({size:,} bytes are not a whole number of {kind.name})")
    return np.memmap(path, kind, "r") if size else np.zeros(0, kind)
