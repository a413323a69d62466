"""Training in target tokens per second: `seq2seq-lstm+additive` next to JoeyNMT's recurrent encoder–decoder.

All have the same sizes, batches, dropout, clipping, Adam and threads, without label smoothing. They alternate, a few
steps each, so that changes in the machine's speed affect all of them.

    mirada after    c_t = attend(s_t): no step depends on a context, so attention is computed for all steps at once
    mirada before   c_t = attend(s_{t−1}) is an input of the step: step by step
    joeynmt fed     its default (input feeding): step by step, c_t = attend(s_t), u_{t−1} is an input of the step;
                    `before` is closest to it
    joeynmt unfed   `input_feeding: False`: the formulas of `after`, still step by step
    helped …        JoeyNMT with two of Mirada's optimizations: an allocator that keeps memory, and fused Adam

JoeyNMT has its own environment, created on the first run in the user's cache, and runs in worker processes. Their part
of this file runs without Mirada and ours without JoeyNMT: each imports its own.
"""

from __future__ import annotations

import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

VERSION = "2.3.0"
INSTALLED = "MIRADA_BENCH_JOEYNMT"
"""The environment variable with the path of a Python that has JoeyNMT; without it, an environment is created."""
WIDTH, DROPOUT, CLIP, RATE = 256, 0.1, 1.0, 3e-4  # one layer, all embeddings tied
VOCABULARY = int(os.environ.get("MIRADA_BENCH_VOCABULARY", "8000"))
"""A larger vocabulary means more time in the output layer, which is the same product for all."""
ROUNDS, STEPS = 8, 2  # the first round warms up
SHORTEST, LONGEST, CELLS = 5, 30, 4000  # words in a sentence; tokens in a batch, about half of them target
PAIRS = (
    ("mirada after", "joeynmt fed"),
    ("mirada before", "joeynmt fed"),
    ("mirada after", "joeynmt unfed"),
    ("mirada after", "helped fed"),
    ("mirada before", "helped fed"),
    ("mirada after", "helped unfed"),
)

Block = Callable[[range], float]
"""Trains on the batches with these numbers; returns the seconds."""


def main() -> None:
    python = interpreter()
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        file = Path(folder) / "batches.npz"
        counts = write_batches(file)
        blocks, parameters = ours(file)
        with peer(python, file, "joeynmt") as plain, peer(python, file, "helped") as helped:
            for process in (plain, helped):
                hello = answer(process)
                assert hello["tokens"] == counts, "both sides must count the same tokens"
                parameters |= hello["parameters"]
                blocks |= {name: partial(ask, process, name) for name in hello["parameters"]}
            speeds = take_turns(blocks, counts)
    print(
        f"{torch.get_num_threads()} threads, width {WIDTH}, vocabulary {VOCABULARY:,}, about "
        f"{statistics.mean(counts):,.0f} target tokens a batch"
    )
    for name, found in speeds.items():
        print(f"{name:14} {statistics.median(found):8,.0f} target tokens/s {parameters[name]:12,} parameters")
    for mine, theirs in PAIRS:
        ratios = sorted(a / b for a, b in zip(speeds[mine], speeds[theirs], strict=True))
        print(f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) {mine} : {theirs}")


def take_turns(blocks: dict[str, Block], counts: list[int]) -> dict[str, list[float]]:
    """Target tokens per second of each model, in every round but the first."""
    speeds: dict[str, list[float]] = {name: [] for name in blocks}
    for round_ in range(ROUNDS):
        chosen = range(round_ * STEPS, (round_ + 1) * STEPS)
        tokens = sum(counts[number] for number in chosen)
        for name, block in blocks.items():
            seconds = block(chosen)
            if round_:
                speeds[name].append(tokens / seconds)
    return speeds


# ── batches for all ───────────────────────────────────────────────────────────────────────────────────────────────────


def write_batches(file: Path) -> list[int]:
    """Write random sentences of 5 to 30 words in batches of similar length; returns the target tokens of each batch."""
    from mirada.contracts import BOS, EOS, PAD
    from mirada.data.batching import by_length, cut

    random = np.random.default_rng(1)
    pairs = 2 * ROUNDS * STEPS * CELLS // (SHORTEST + LONGEST)
    source = random.integers(SHORTEST, LONGEST + 1, pairs, dtype=np.int32)
    target = np.clip(source + random.integers(-3, 4, pairs, dtype=np.int32), SHORTEST, LONGEST)
    runs = cut(source + 1, target + 1, by_length(source, target, np.arange(pairs)), CELLS)  # + 1: EOS

    def sentences(lengths: Any) -> Any:
        words = random.integers(EOS + 1, VOCABULARY - 1, (len(lengths), lengths.max() + 1))
        place, end = np.arange(words.shape[1]), lengths[:, None]
        return np.where(place < end, words, np.where(place == end, EOS, PAD))

    arrays: dict[str, Any] = {}
    chosen = [runs[number] for number in random.permutation(len(runs))[: ROUNDS * STEPS]]
    for number, rows in enumerate(chosen):
        arrays[f"source {number}"] = sentences(source[rows])  # [B, S]
        arrays[f"target {number}"] = np.insert(sentences(target[rows]), 0, BOS, axis=1)  # [B, T+1]
    np.savez(file, **arrays)
    return [int((target[rows] + 1).sum()) for rows in chosen]


def read_batches(file: Path) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The source and the target of every batch."""
    with np.load(file) as arrays:
        ids = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    return [(ids[f"source {number}"], ids[f"target {number}"]) for number in range(len(ids) // 2)]


def timed(step: Callable[[Any], None], batches: list[Any], chosen: range) -> float:
    began = time.perf_counter()
    for number in chosen:
        step(batches[number])
    return time.perf_counter() - began


# ── Mirada ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ours(file: Path) -> tuple[dict[str, Block], dict[str, int]]:
    """Mirada's models, with the steps of `training.loop`, and their numbers of parameters."""
    from mirada.contracts import Batch
    from mirada.device import keep_memory, select_device
    from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
    from mirada.training.config import TrainConfig
    from mirada.training.losses import TargetTokenLoss
    from mirada.training.optimizers import Optimizers, clip

    select_device("cpu", torch.get_num_threads())
    keep_memory()
    objective = TargetTokenLoss()
    blocks: dict[str, Block] = {}
    parameters: dict[str, int] = {}

    def step(model: Seq2Seq, optimizers: Optimizers, batch: Batch) -> None:
        loss = objective(model, batch)
        loss.total.backward()
        loss.total.item()
        weights = list(model.parameters())
        clip([weight.grad for weight in weights if weight.grad is not None], 1 / loss.count, CLIP)
        optimizers.step(RATE)
        for weight in weights:
            weight.grad = None

    torch.manual_seed(1)
    batches = [Batch(source, target) for source, target in read_batches(file)]
    for attend in ("after", "before"):
        config = Seq2SeqConfig(width=WIDTH, attention="additive", attend=attend, dropout=DROPOUT)
        model = Seq2Seq(config, VOCABULARY, VOCABULARY).train()
        optimizers = Optimizers(model, TrainConfig(optimizer="adam"))
        blocks[f"mirada {attend}"] = partial(timed, partial(step, model, optimizers), batches)
        parameters[f"mirada {attend}"] = sum(weight.numel() for weight in model.parameters())
    return blocks, parameters


# ── JoeyNMT, as this process sees it ──────────────────────────────────────────────────────────────────────────────────


def interpreter() -> str:
    """A Python that has JoeyNMT: the given one, or that of an environment in the cache, created if missing."""
    named = os.environ.get(INSTALLED)
    if named:
        if not serves(named):
            sys.exit(f"{INSTALLED}={named} is not a Python (3.11 or later) that can import JoeyNMT")
        return named
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / f"mirada-bench-joeynmt-{VERSION}"
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    if serves(python):
        return python
    print(f"installing JoeyNMT {VERSION} in {folder}; this takes some minutes, only once", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # The same torch as here. JoeyNMT does not declare importlib_metadata, nor the sentencepiece version it needs.
    wanted = [f"torch=={torch.__version__.partition('+')[0]}", "sentencepiece==0.2.0", "importlib_metadata"]
    command = [python, "-m", "pip", "install", "--quiet", f"joeynmt=={VERSION}", *wanted]
    installed = subprocess.run(command, capture_output=True, text=True)
    if installed.returncode or not serves(python):
        said = [line for line in installed.stderr.splitlines() if line.startswith("ERROR")]
        sys.exit(
            f"JoeyNMT {VERSION} could not be installed in {folder} ({said[-1] if said else 'it cannot be imported'}): "
            f"the first run needs a network connection; or set {INSTALLED} to a Python that has JoeyNMT"
        )
    return python


def serves(python: str) -> bool:
    try:
        return subprocess.run([python, "-P", "-c", "import joeynmt.model"], capture_output=True).returncode == 0
    except OSError:
        return False


def peer(python: str, file: Path, kind: str) -> subprocess.Popen[str]:
    """Start a JoeyNMT worker; `helped` has the allocator settings of `device.keep_memory`."""
    keep = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_TOP_PAD_": str(64 * 2**20)}
    environment = {**os.environ, **(keep if kind == "helped" else {})}
    # -P: do not import from the folder of this file
    command = [python, "-P", __file__, str(file), kind, str(torch.get_num_threads())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def ask(process: subprocess.Popen[str], name: str, chosen: range) -> float:
    assert process.stdin is not None
    print(json.dumps([name, chosen.start, chosen.stop]), file=process.stdin, flush=True)
    return float(answer(process))


def answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        sys.exit("JoeyNMT's process ended early; see its output above")
    return json.loads(line)


# ── JoeyNMT, in its own process ───────────────────────────────────────────────────────────────────────────────────────


def joeynmt_model(fed: bool) -> Any:
    """A JoeyNMT model of our sizes."""
    from joeynmt.model import build_model  # type: ignore[import-not-found]
    from joeynmt.vocabulary import Vocabulary  # type: ignore[import-not-found]

    names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>", "sep": None}
    special = {f"{name}_token": token for name, token in names.items()}
    numbers = {f"{name}_id": number for number, name in enumerate(names)}
    words = [f"word {number}" for number in range(4, VOCABULARY)]
    vocabulary = Vocabulary(words, SimpleNamespace(**special, **numbers, lang_tags=[]))
    embeddings = {"embedding_dim": WIDTH, "dropout": DROPOUT}
    shared = {"type": "recurrent", "rnn_type": "lstm", "num_layers": 1, "embeddings": embeddings, "dropout": DROPOUT}
    attends = {"attention": "bahdanau", "init_hidden": "bridge", "input_feeding": fed, "hidden_dropout": DROPOUT}
    config = {
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": {**shared, "hidden_size": WIDTH // 2, "bidirectional": True},
        "decoder": {**shared, "hidden_size": WIDTH, **attends},
    }
    model = build_model(config, vocabulary, vocabulary)
    model.loss_function = ("crossentropy", 0.0)
    return model.train()


def joeynmt_batch(source: torch.Tensor, target: torch.Tensor) -> Any:
    """A JoeyNMT batch; its ids are ours + 1, because its 0 is the unknown token."""
    from joeynmt.batch import Batch  # type: ignore[import-not-found]

    lengths, rows, cpu = (source != 0).sum(1), torch.arange(len(source)), torch.device("cpu")
    return Batch(source + 1, lengths, None, target + 1, None, rows, cpu, pad_index=1, eos_index=3)


def serve(file: Path, kind: str, threads: int) -> None:
    """Announce the models, then train on the requested batches, with the steps of JoeyNMT's `training.py`."""
    from joeynmt.builders import build_optimizer  # type: ignore[import-not-found]

    logging.disable(logging.INFO)
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    batches = [joeynmt_batch(source, target) for source, target in read_batches(file)]
    models = {f"{kind} fed": joeynmt_model(fed=True), f"{kind} unfed": joeynmt_model(fed=False)}
    optimizers = {}
    for name, model in models.items():
        own = build_optimizer({"optimizer": "adam", "learning_rate": RATE}, model.parameters())
        optimizers[name] = torch.optim.Adam(model.parameters(), RATE, fused=True) if kind == "helped" else own
    parameters = {name: sum(weight.numel() for weight in model.parameters()) for name, model in models.items()}
    print(json.dumps({"parameters": parameters, "tokens": [batch.ntokens for batch in batches]}), flush=True)

    def step(name: str, batch: Any) -> None:
        batch.sort_by_src_length()
        total, _, _, correct = models[name](return_type="loss", **vars(batch))
        loss = batch.normalize(total, "tokens")
        loss.backward()
        loss.item(), correct.item()
        torch.nn.utils.clip_grad_norm_(models[name].parameters(), CLIP)
        optimizers[name].step()
        models[name].zero_grad()

    for line in sys.stdin:
        name, first, end = json.loads(line)
        print(json.dumps(timed(partial(step, name), batches, range(first, end))), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
