"""Mutation testing: put small faults into the code, one at a time, and check that its tests notice.

    python -m bench mutants                                         every file below, all mutants: hours
    python -m bench mutants --sample 40 --seed 1                    forty of each file, drawn at random
    python -m bench mutants mirada/training/muon.py --jobs 2        one file

Each mutant runs in a fork of a process that has imported PyTorch already, so that it costs little more than its tests.
It is killed when a test fails or the tests take too long; the survivors are printed as diffs.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent


def tests_of(*names: str) -> list[str]:
    return [f"tests/training/test_{name}.py" for name in names]


LOOP = tests_of("mathematics", "loop", "workers")


TESTS: dict[str, list[str]] = {
    "mirada/training/muon.py": [*tests_of("muon"), *LOOP],
    "mirada/training/optimizers.py": [*tests_of("optimizers"), *LOOP],
    "mirada/training/loop.py": LOOP,
    "mirada/training/averaging.py": LOOP,
    "mirada/training/workers.py": LOOP,
    "mirada/training/config.py": tests_of("config", "schedule"),
    "mirada/training/schedule.py": tests_of("schedule"),
    "mirada/training/validation.py": tests_of("validation"),
    "mirada/training/checkpoints.py": [*tests_of("checkpoints"), *LOOP],
    "mirada/training/estimate.py": tests_of("estimate"),
    "mirada/training/automatic.py": tests_of("automatic"),
    "mirada/training/losses.py": [*tests_of("losses"), "tests/tasks/language_model/test_language_model.py"],
    "mirada/decoding.py": ["tests/test_decoding.py", "tests/test_sampling.py"],
    "mirada/data/batching.py": ["tests/data/test_batching.py"],
    "mirada/metrics/captioning.py": ["tests/metrics/test_captioning.py"],
    "mirada/metrics/forecasting.py": ["tests/metrics/test_forecasting.py"],
    "mirada/metrics/classification.py": ["tests/metrics/test_classification.py"],
    "mirada/metrics/score.py": ["tests/metrics"],
    "mirada/metrics/tagging.py": ["tests/metrics/test_tagging.py"],
    "mirada/metrics/perplexity.py": ["tests/metrics/test_perplexity.py"],
    "mirada/metrics/translation.py": ["tests/metrics/test_translation.py"],
}
"""The files that are mutated, and the tests that should notice."""
MEMORY = 16 * 2**30
"""Bytes of address space that a mutant may have: one that allocates without end must not take the machine along."""

HARMLESS = ("strict", "device", "fused", "kind")
"""Keyword arguments whose mutants cannot fail a test: a guard against our own mistakes, a device where there is one,
a faster kernel or a stable sort with the same result."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file with one fault."""

    path: str
    source: str
    begin: int  # in bytes of the UTF-8 source
    end: int
    text: str

    @property
    def mutated(self) -> str:
        content = self.source.encode()
        return (content[: self.begin] + self.text.encode() + content[self.end :]).decode()

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            self.source.splitlines(), self.mutated.splitlines(), self.path, self.path, lineterm="", n=0
        )
        return "\n".join(list(lines)[2:])


def mutants(path: str) -> list[Mutant]:
    """Every fault that is known, in the order of the file."""
    source = (ROOT / path).read_text(encoding="utf-8")
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[tuple[int, int, str], Mutant] = {}
    for node, text in _faults(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        found[begin, end, text] = Mutant(path, source, begin, end, text)
    return [found[key] for key in sorted(found)]


Place = ast.expr | ast.stmt | ast.keyword


def _faults(tree: ast.Module) -> Iterator[tuple[Place, str]]:
    """Nodes, and what stands there instead. Left alone: annotations, texts, assertions, and how errors are worded."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.stmt):
            yield from ((node, text) for text in _of_statement(node))
        if isinstance(node, ast.expr):
            yield from ((node, f"({text})") for text in _of_expression(node))
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is not None and keyword.arg not in HARMLESS:  # leave it to the default
                    rest = [other for other in node.keywords if other is not keyword]
                    yield node, ast.unparse(ast.Call(node.func, node.args, rest))
        skipped = {id(part) for part in _annotations(node)}
        if isinstance(node, ast.Call):
            skipped |= {id(keyword) for keyword in node.keywords if keyword.arg in HARMLESS}
        waiting += [child for child in ast.iter_child_nodes(node) if id(child) not in skipped]


def _annotations(node: ast.AST) -> list[ast.AST]:
    found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        found += node.decorator_list
    if isinstance(node, ast.ClassDef):
        found += node.bases
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar"):
        found += node.args
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
        name = ast.unparse(node.targets[0])
        found += [node.value] if name[0].isupper() and not name.isupper() else []  # Rows = npt.NDArray[np.int64]
    return [part for part in found if part is not None]


def _of_statement(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Yield)):
        yield "pass"  # something done for its effect
    if isinstance(node, ast.Assign) and any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in node.targets):
        yield "pass"
    if isinstance(node, ast.AugAssign):
        yield "pass"
        if type(node.op) in OPERATORS:
            yield ast.unparse(ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value))
    if isinstance(node, (ast.Break, ast.Continue)):
        yield "continue" if isinstance(node, ast.Break) else "break"


def _of_expression(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.unparse(ast.Compare(node.left, [COMPARISONS[type(node.ops[0])]()], node.comparators))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield ast.unparse(ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))
    if isinstance(node, ast.BoolOp):
        other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield ast.unparse(ast.BoolOp(other, node.values))
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield ast.unparse(node.operand)
    if isinstance(node, ast.IfExp):
        yield ast.unparse(ast.IfExp(node.test, node.orelse, node.body))
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield repr(not node.value)
        elif isinstance(node.value, int):
            yield repr(node.value + 1)
        elif isinstance(node.value, float):
            yield repr(2 * node.value + 1)


# ── running ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a mutant in the place of its module."""

    def __init__(self, mutant: Mutant):
        self.name = mutant.path.removesuffix(".py").replace("/", ".")
        self.mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(ROOT / self.mutant.path)
        exec(compile(self.mutant.mutated, module.__file__, "exec"), module.__dict__)


def warm_up(tests: list[str]) -> None:
    """Import all that the tests do, PyTorch above all, and forget what a mutant could change."""
    import pytest

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *tests])
    for name in list(sys.modules):
        if name.split(".")[0] in ("mirada", "tests"):
            del sys.modules[name]


def start(mutant: Mutant | None, tests: list[str], folder: Path) -> int:
    """Run the tests in a fork; its process id. Its exit code is 0 when they all pass."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()  # so that what it starts can be ended with it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.dup2(os.open(folder / "said", os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        if mutant:
            sys.meta_path.insert(0, Instead(mutant))
        import pytest

        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
        code = int(pytest.main([*quiet, f"--basetemp={folder / 'tmp'}", *tests]))
    finally:
        os._exit(code)


@dataclass
class Running:
    """A mutant whose tests are running."""

    mutant: Mutant
    folder: Path
    began: float


def survivors(chosen: list[Mutant], tests: list[str], jobs: int) -> list[Mutant]:
    """Those that all tests pass with."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="mirada-mutants-"))
    if os.waitpid(start(None, tests, folder), 0)[1]:
        sys.exit(f"the tests fail without any mutant:\n{(folder / 'said').read_text()[-3000:]}")
    shutil.rmtree(folder)
    limit = 10 + 5 * (time.monotonic() - began)
    waiting, running, alive = list(reversed(chosen)), dict[int, Running](), list[Mutant]()
    while waiting or running:
        while waiting and len(running) < jobs:
            folder = Path(tempfile.mkdtemp(prefix="mirada-mutants-"))
            mutant = waiting.pop()
            running[start(mutant, tests, folder)] = Running(mutant, folder, time.monotonic())
        time.sleep(0.02)
        for child, run in list(running.items()):
            done, status = os.waitpid(child, os.WNOHANG)
            late = not done and time.monotonic() - run.began > limit
            if late:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            if done or late:
                del running[child]
                shutil.rmtree(run.folder, ignore_errors=True)
                if not late and status == 0:
                    alive.append(run.mutant)
    return sorted(alive, key=lambda mutant: mutant.begin)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench mutants", description="Do the tests notice small faults?")
    parser.add_argument("files", nargs="*", default=list(TESTS), help="files to mutate (default: all)")
    parser.add_argument("--sample", type=int, help="number of random mutants per file (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--jobs", type=int, default=1, help="mutants to run in parallel")
    given = parser.parse_args(arguments)
    if unknown := [path for path in given.files if path not in TESTS]:
        parser.error(f"no tests are named for {', '.join(unknown)}; there are: {', '.join(TESTS)}")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    total = killed = 0
    for path in given.files:
        every = mutants(path)
        count = min(given.sample or len(every), len(every))
        chosen = random.Random(given.seed).sample(every, count)
        began = time.monotonic()
        warm_up(TESTS[path])
        alive = survivors(chosen, TESTS[path], given.jobs)
        total, killed = total + count, killed + count - len(alive)
        share = 100 * (count - len(alive)) / max(1, count)
        seconds = time.monotonic() - began
        print(f"{path}: {count - len(alive)} of {count} killed ({share:.0f} %); {seconds:.0f} s", flush=True)
        for mutant in alive:
            print("   " + mutant.diff.replace("\n", "\n   "), flush=True)
    print(f"all files: {killed} of {total} killed ({100 * killed / max(1, total):.1f} %)")
