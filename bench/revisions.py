"""Compare this tree with an earlier revision: run the same command in both, in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mirada import builtin

HERE = Path(__file__).parent.parent


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """The files of a revision, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as parent:
        tree = Path(parent) / "tree"
        git = ["git", "-C", str(HERE), "worktree"]
        added = subprocess.run([*git, "add", "--detach", str(tree), revision], capture_output=True, text=True)
        if added.returncode:
            sys.exit(f"{revision}: cannot be checked out ({added.stderr.strip().splitlines()[-1]})")
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], capture_output=True, check=True)


def environment(tree: Path, **more: str) -> dict[str, str]:
    """This process's environment, but with the package of a tree."""
    return {**os.environ, "PYTHONPATH": str(tree), **more}


def start(tree: Path, *words: str | Path, **more: str) -> subprocess.Popen[str]:
    """Start a `mirada` command of a tree, with more in its environment; `communicate` returns all that it says."""
    command = [sys.executable, "-m", "mirada.cli", *map(str, words)]
    given, pipe, same = environment(tree, **more), subprocess.PIPE, subprocess.STDOUT
    return subprocess.Popen(command, cwd=tree, env=given, stdout=pipe, stderr=same, text=True, encoding="utf-8")


def write_builtin(file: Path, pairs: int) -> Path:
    """Pairs of the built-in corpus, Spanish and English, as a file."""
    rows: Sequence[str] = [f"{pair.source}\t{pair.targets[0]}\n" for pair in builtin.training("es", "en", pairs)]
    file.write_text("".join(rows), encoding="utf-8")
    return file
