"""Bundles and run folders of every kind, each file damaged thousands of ways: an error of ours or a result, never more.

    python -m bench tamper [--ways 2000] [--seed 1] [--kinds lstm,gpt] [--case lstm/run/17]

Each damaged folder is opened in a process of its own, forked from one that has loaded everything: a bundle is asked for
`info` and used on one input, a run folder is resumed for two more steps. What may come of it is a result or a
MiradaError of one line; a trace, an abort, a hang or more than 2 GiB of memory is a failure, and is told with the words
that repeat it. Drawing the curves is most of what resuming costs here and reads nothing but the log: one case in ten
renders them, the others stop before the pixels.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tests import reviews, tampering, toy

MEMORY = 2 * 2**30
ADDRESSES = 12 * 2**30
"""Bytes of address space, so that the machine survives a case that would take all memory."""
CPU_SECONDS, SECONDS = 30, 600
"""Processor time, which a busy machine does not use up; and wall-clock time, for a case that waits for something."""
PARTS = ("bundle", "run")
ONE_STEP: dict[str, Any] = {
    "threads": 1, "batch_tokens": 600, "checkpoint_every": 2, "validate_every": 2, "validate_sentences": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of model: how one is trained, and used."""

    data: Callable[[Path], Path]
    use: Callable[[Any], Any]
    task: str = "translation"
    model: str | None = None
    settings: dict[str, Any] | None = None


def _pairs(folder: Path) -> Path:
    return toy.write(folder / "pairs.tsv", toy.pairs(150))


def _reviews(folder: Path) -> Path:
    return reviews.write(folder / "reviews.csv", reviews.rows(80))


def _tagged(folder: Path) -> Path:
    from tests.tasks.tagging.test_tagging import language, write

    return write(folder / "tagged.conll", language(60))


def _book(folder: Path) -> Path:
    (folder / "book.txt").write_text("C4 E4 G4 E4\nF4 A4 C5 A4\nG4 B4 D5 B4\n\n" * 40, encoding="utf-8")
    return folder / "book.txt"


def _documents(folder: Path) -> Path:
    texts = (f"{source}. {other}." for (source, _), (other, _) in zip(toy.pairs(80), toy.pairs(80, 1), strict=True))
    (folder / "documents.txt").write_text("\n\n".join(texts), encoding="utf-8")
    return folder / "documents.txt"


def _series(folder: Path) -> Path:
    rows = "".join(f"2024-{1 + n // 28:02}-{1 + n % 28:02},{10 + n % 7 + n / 50}\n" for n in range(300))
    (folder / "series.csv").write_text("day,sold\n" + rows, encoding="utf-8")
    return folder / "series.csv"


def _pictures(folder: Path) -> Path:
    from tests.integration.test_pictures import bars

    pixels, labels = bars(40)
    np.savez(folder / "bars.npz", images=pixels, labels=np.array(labels))
    return folder / "bars.npz"


def _album(folder: Path) -> Path:
    from tests.integration.test_captioning import album

    return album(folder / "album", 40, 0)


def _imported(save: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from mirada.exchange import import_checkpoint
        from tests.exchange import checkpoints

        getattr(checkpoints, save)(folder / "published")
        import_checkpoint(folder / "published", folder / "bundle")
        return folder / "bundle"

    return make


SMALL = {"width": 16, "dropout": 0.0}
ONE_LAYER = {**SMALL, "heads": 2, "layers": 1}
LAYERS = {**SMALL, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 16}
WORDS = {"tokenizer": {"unit": "words"}}


def _translate(model: Any) -> None:
    model.translate("el gato ve el tren")


def _classify(model: Any) -> None:
    model.classify("sí, me gustó")


def _generate(model: Any) -> None:
    model.generate("C4 E4", tokens=8)


def _fill(model: Any) -> None:
    model.fill("el [MASK] ve")


def _forecast(model: Any) -> None:
    model.forecast([1.0, 2.0, 3.0] * 30, steps=3, samples=5)


KINDS: dict[str, Kind] = {
    "transformer": Kind(
        _pairs, _translate, settings={"model": {**LAYERS, "tie": "output"}, "tokenizer": {"joint": False}}
    ),
    "seq2seq": Kind(_pairs, _translate, model="seq2seq-lstm+additive", settings={"model": SMALL, **WORDS}),
    "bag": Kind(_reviews, _classify, "classification", "bag", {"model": {"features": 200, "ngrams": 2}}),
    "lstm": Kind(_reviews, _classify, "classification", "lstm", {"model": SMALL}),
    "jordan": Kind(_tagged, lambda m: m.tag("the dog sees a cat"), "tagging", "jordan", {"model": SMALL}),
    "gpt": Kind(
        _book, _generate, "language_model", "gpt",
        {"model": {**ONE_LAYER, "max_length": 32}, "tokenizer": {"unit": "symbols"}},
    ),
    "gru": Kind(
        _book, _generate, "language_model", "gru",
        {"model": SMALL, "tokenizer": {"unit": "characters"}, "data": {"length": 16}},
    ),
    "bert": Kind(
        _documents, _fill, "masked_lm", None, {"model": {**ONE_LAYER, "max_length": 64}, "data": {"length": 32}}
    ),
    "elman": Kind(
        _series, _forecast, "forecasting", "elman",
        {"model": SMALL, "data": {"horizon": 5, "window": 16, "period": 7}},
    ),
    "vit": Kind(
        _pictures, lambda m: m.classify(np.zeros((8, 8), np.uint8)), "classification", "vit", {"model": ONE_LAYER}
    ),
    "captioner": Kind(
        _album, lambda m: m.caption(np.zeros((8, 8, 3), np.uint8)), "captioning", None,
        {"model": {**LAYERS, "patch": 4}, **WORDS},
    ),
    "imported-bert": Kind(_imported("save_bert"), _fill, "imported"),
    "imported-marian": Kind(_imported("save_marian"), _translate, "imported"),
    "imported-gpt2": Kind(_imported("save_gpt2"), _generate, "imported"),
}  # fmt: skip


def make(name: str, folder: Path) -> None:
    """Train one of a kind in `folder/bundle`, for four steps."""
    import mirada

    kind = KINDS[name]
    folder.mkdir(parents=True)
    data = kind.data(folder)
    if kind.task == "imported":
        return
    settings = {**(kind.settings or {}), "train": ONE_STEP}
    mirada.train(data, task=kind.task, model=kind.model, out=folder / "bundle", steps=4, settings=settings)


def attempt(name: str, part: str, folder: Path) -> None:
    """Open a folder as a person would; the last refusal is raised."""
    import mirada
    from mirada import api

    if part == "run":
        mirada.train(resume=folder, steps=6)
        return
    refusals = []
    for ask in (api.info, api.info_text, _read_dev, lambda path: KINDS[name].use(mirada.load(path, threads=1))):
        try:
            ask(folder)
        except mirada.MiradaError as error:
            check_message(str(error))
            refusals.append(error)
    if refusals:
        raise refusals[-1]


def _read_dev(folder: Path) -> None:
    """The dev set as a fine-tuning reads it."""
    from mirada import tasks
    from mirada.errors import BundleError
    from mirada.files import read_bytes

    for path in (folder / "dev.jsonl", folder / "data" / "dev.jsonl"):
        if os.path.lexists(path):
            text = read_bytes(path, BundleError).decode("utf-8", "replace")
            tasks.find(_task_of(folder)).read_dev(text)


def _task_of(folder: Path) -> str:
    from mirada.bundle import read_card

    return str(read_card(folder)["task"])


def check_message(text: str) -> None:
    assert text.strip(), "an empty message"
    assert text.isprintable(), f"not one printable line: {text[:300]!r}"
    assert len(text) < 10_000, f"a message of {len(text)} characters: {text[:300]!r}"


def trial(made: Path, name: str, part: str, number: int, seed: int, work: Path) -> tuple[str, str]:
    """One damaged folder: what came of it (opened, refused, or a failure), and the damage or what went wrong."""
    chance = random.Random(f"{seed} {name} {part} {number}")
    folder = work / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made / name / "bundle", folder, ignore=shutil.ignore_patterns("run") if part == "bundle" else None)
    done = tampering.damage(folder, chance)
    report = work / "report"
    report.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _child(name, part, folder, report, render=number % 10 == 0)
    status, usage = _wait(child)
    if status is None:
        return "failed", f"{done}\n    hung"
    said = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
    if os.WIFSIGNALED(status):
        return "failed", f"{done}\n    ended by signal {os.WTERMSIG(status)}\n{said}"
    if usage.ru_maxrss * 1024 > MEMORY:
        return "failed", f"{done}\n    took {usage.ru_maxrss // 1024} MiB\n{said}"
    outcome, _, text = said.partition("\n")
    return (outcome, f"{done}\n    {text}") if outcome in ("opened", "refused") else ("failed", f"{done}\n{said}")


def _child(name: str, part: str, folder: Path, report: Path, render: bool) -> None:
    """Does not return."""
    from matplotlib.figure import Figure

    import mirada

    if not render:
        Figure.savefig = lambda self, path, **_: Path(path).touch()  # type: ignore[method-assign]

    sink = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    said = os.open(f"{report}.said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (0, 1, 2):
        os.dup2(said, stream)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    text = "opened\n"
    try:
        attempt(name, part, folder)
    except mirada.MiradaError as error:
        try:
            check_message(str(error))
            text = f"refused\n{error}"
        except AssertionError:
            text = traceback.format_exc()
    except BaseException:
        text = traceback.format_exc()
    os.write(sink, text.encode("utf-8", "replace"))
    os._exit(0)


def _wait(child: int) -> tuple[int | None, resource.struct_rusage]:
    end = time.monotonic() + SECONDS
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            return None, os.wait4(child, 0)[2]
        time.sleep(0.002)


Job = tuple[Path, str, str, range, int]
CHUNK = 20


def work(job: Job) -> list[tuple[str, str, str, int, str]]:
    made, name, part, numbers, seed = job
    with tempfile.TemporaryDirectory(prefix="mirada-tamper-") as folder:
        found = []
        for number in numbers:
            outcome, text = trial(made, name, part, number, seed, Path(folder))
            found.append((name, part, outcome, number, text))
        return found


def start() -> None:
    """Load everything that a case needs, once a worker, on one thread: what is forked must have no others."""
    import torch

    from mirada import tasks

    for name in ("mirada.api", "matplotlib.figure"):
        import_module(name)
    torch.set_num_threads(1)
    for name in tasks.packages():
        tasks.find(name)


def jobs(made: Path, names: list[str], ways: int, seed: int) -> Iterator[Job]:
    for name in names:
        for part in PARTS if (made / name / "bundle" / "run").exists() else PARTS[:1]:
            for first in range(0, ways, CHUNK):
                yield made, name, part, range(first, min(first + CHUNK, ways)), seed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tamper")
    parser.add_argument("--ways", type=int, default=2000, help="ways to damage each kind of bundle and run folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--case", help="repeat one case, as named by a failure: lstm/run/17")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options, _ = parser.parse_known_args(sys.argv[2:])
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    names = [options.case.split("/")[0]] if options.case else options.kinds.split(",")
    failures = 0
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mirada-tamper-")))
        workers = ProcessPoolExecutor(options.processes, get_context("spawn"), start)  # says so if a worker dies
        pool = stack.enter_context(workers)
        list(pool.map(make, names, [folder / name for name in names]))
        if options.case:
            name, part, number = options.case.split("/")
            print(*trial_in(pool, folder, name, part, int(number), options.seed), sep="\n")
            return
        print(f"seed {options.seed}, {options.ways} ways for each", flush=True)
        counts: dict[tuple[str, str], Counter[str]] = {}
        total: Counter[str] = Counter()
        waiting = [pool.submit(work, job) for job in jobs(folder, names, options.ways, options.seed)]
        for done in as_completed(waiting):
            for name, part, outcome, number, text in done.result():
                counts.setdefault((name, part), Counter())[outcome] += 1
                total[outcome] += 1
                if counts[name, part].total() == options.ways:
                    print(f"{name} {part}: {_counted(counts[name, part])}", flush=True)
                if outcome == "failed":
                    failures += 1
                    print(f"FAILED --seed {options.seed} --case {name}/{part}/{number}: {text}\n", flush=True)
        print(f"{total.total():,} cases: {_counted(total)}")
    if failures:
        sys.exit(f"{failures} failures")


def _counted(count: Counter[str]) -> str:
    return ", ".join(f"{count[outcome]:,} {outcome}" for outcome in ("opened", "refused", "failed"))


def trial_in(pool: Executor, made: Path, name: str, part: str, number: int, seed: int) -> tuple[str, str]:
    """One case, in a worker."""
    _, _, outcome, _, text = pool.submit(work, (made, name, part, range(number, number + 1), seed)).result()[0]
    return outcome, text
