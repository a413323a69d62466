"""Files are written whole or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mirada.errors import UsageError
from mirada.files import new_directory, write_bytes

SIZE = 1 << 20


def test_a_reader_sees_the_old_file_or_the_new_one_never_half(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"a" * SIZE)
    done = threading.Event()
    torn: list[int] = []

    def read() -> None:
        while not done.is_set():
            content = path.read_bytes()
            if len(content) != SIZE or len(set(content)) != 1:
                torn.append(len(content))

    reader = threading.Thread(target=read)
    reader.start()
    for letter in b"bcdefghij" * 10:
        write_bytes(path, bytes([letter]) * SIZE)
    done.set()
    reader.join()
    assert torn == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    with pytest.raises(TypeError):
        write_bytes(path, "not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_directory_is_there_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "below" / "new"
    with pytest.raises(UsageError, match="cannot be written"), new_directory(path) as folder:
        (folder / "half" / "file").write_bytes(b"")
    assert not list((tmp_path / "below").iterdir())
    with new_directory(path) as folder:
        (folder / "whole").touch()
        assert not path.exists()
    assert [one.name for one in (tmp_path / "below").iterdir()] == ["new"]
    assert (path / "whole").exists()
    with pytest.raises(UsageError, match="exists already"), new_directory(path):
        pass
    with pytest.raises(UsageError, match="cannot be written"), new_directory(path / "whole" / "file"):
        pass
