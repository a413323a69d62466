"""Arithmetic: float32, or bfloat16 products where the processor has them.

bfloat16 is float32 with 8 instead of 24 significant bits. Operands of matrix products are rounded to it and summed in
float32; weights, optimizer state, residual sums, normalizations and the loss stay float32 (`torch.autocast`).

`auto` is decided by an experiment: a child process times products of the model's shapes both ways. A child, because
some processors report bfloat16 and then die of an illegal instruction, and others emulate it slowly. Its answer is kept
in the user's cache directory (or in $MIRADA_CACHE), for this processor, number of threads and version of PyTorch.

    python -m mirada.precision THREADS ROWSxINPUTSxOUTPUTS …        what the child process runs
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mirada.errors import MiradaError, UsageError
from mirada.files import cache_folder, write_text
from mirada.parsing import load_json, read_json

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

Precision = Literal["auto", "float32", "bfloat16"]
Shape = tuple[int, int, int]
"""A product [rows, inputs] · [inputs, outputs]."""

FASTER = 1.2
"""The speed relative to float32 from which on bfloat16 is chosen."""
SMALL = 250_000
"""The fewest weights in matrix products for which bfloat16 is tried; smaller models gain little."""
LARGEST_ERROR = 0.02
"""The largest error of a product in bfloat16, relative to its largest value; rounding alone gives 0.004."""
SHAPES = 4
"""The number of shapes that are timed, those with the most work."""
ROUNDED = 1024
"""Sizes beyond this are rounded to a power of two for the trial, so that one answer serves many vocabularies."""
SECONDS = 60.0
"""The time limit of the child process."""


@dataclass(frozen=True)
class Trial:
    """The result of the trial of bfloat16 on this processor."""

    speed: float
    """Its speed relative to float32; 0 if it cannot compute in bfloat16."""
    fault: str = ""
    """The reason, if it cannot."""


@dataclass(frozen=True)
class Choice:
    """The arithmetic of a model, and why."""

    precision: Literal["float32", "bfloat16"]
    reason: str = ""


def arithmetic(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """A context in which forward passes compute their matrix products in `precision`."""
    import torch

    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def rounded(x: Tensor) -> Tensor:
    """x, rounded once if it enters several products in bfloat16; otherwise each product would round it again."""
    import torch

    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


def choose(wanted: str, network: nn.Module, rows: int, device: torch.device, needs_float32: bool = False) -> Choice:
    """Choose the arithmetic for a network that multiplies about `rows` vectors at a time."""
    import torch

    if wanted == "float32":
        return Choice("float32")
    if needs_float32:
        return _refused(wanted, "a model that predicts numbers needs float32")
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return Choice("bfloat16", "supported by this GPU")
        return _refused(wanted, "this GPU does not support bfloat16")
    if device.type != "cpu":
        return _refused(wanted, f"bfloat16 is not used on {device.type}")
    work = products(network, rows)
    if wanted == "auto" and sum(work.values()) < SMALL:
        return Choice("float32")
    shapes = [rounded_shape(shape) for shape in sorted(work, key=lambda shape: -work[shape])[:SHAPES]]
    found = trial(shapes, torch.get_num_threads())
    if not found.speed:
        return _refused(wanted, found.fault)
    reason = f"{found.speed:.1f} times as fast as float32 here"
    if wanted == "auto" and found.speed < FASTER:
        return Choice("float32", f"bfloat16 is only {reason}")
    return Choice("bfloat16", reason)


def _refused(wanted: str, why: str) -> Choice:
    if wanted == "bfloat16":
        raise UsageError(f"--precision bfloat16: {why}; use --precision float32, or auto")
    return Choice("float32", why)


def products(network: nn.Module, rows: int) -> dict[Shape, int]:
    """The products of `rows` vectors with the network's matrices, and how many weights are in those of each shape."""
    from torch import nn

    from mirada.parts import parameter_roles

    heads = {module.weight for module in network.modules() if isinstance(module, nn.Linear)}  # tied ones, too
    work: dict[Shape, int] = {}
    for weight, role in parameter_roles(network).items():
        if weight.ndim == 2 and (role in ("hidden", "head") or weight in heads):
            outputs, inputs = weight.shape
            work[rows, inputs, outputs] = work.get((rows, inputs, outputs), 0) + weight.numel()
    return work


def rounded_shape(shape: Shape) -> Shape:
    """The shape of a product as it is timed: large sizes are rounded."""
    rows, inputs, outputs = (size if size <= ROUNDED else 2 ** round(math.log2(size)) for size in shape)
    return rows, inputs, outputs


def trial(shapes: Sequence[Shape], threads: int) -> Trial:
    """The answer of a child process, or what an earlier one answered on this machine."""
    import torch

    words = [str(threads), *("x".join(map(str, shape)) for shape in shapes)]
    key = hashlib.sha256(json.dumps([_processor(), torch.__version__, words]).encode()).hexdigest()[:16]
    kept = cache_folder() / f"bfloat16-{key}.json"
    with suppress(MiradaError):
        earlier: Trial = read_json(kept, Trial, UsageError, 10_000)
        return earlier
    try:
        found = _ask(words)
    except (subprocess.TimeoutExpired, OSError, MiradaError) as error:  # not kept: it may be otherwise tomorrow
        return Trial(0.0, f"bfloat16 could not be tried here ({type(error).__name__})")
    with suppress(OSError):  # without a cache the next run asks again
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps(asdict(found)))
    return found


def _ask(words: Sequence[str]) -> Trial:
    """Ask a child process, which imports this very package, and nothing from the current directory (-P)."""
    command = [sys.executable or "python3", "-P", "-m", "mirada.precision", *words]
    path = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=False)
    if done.returncode:
        return Trial(0.0, f"this processor cannot compute in bfloat16 (a trial ended with exit code {done.returncode})")
    found: Trial = load_json(done.stdout, Trial, "the answer of the trial of bfloat16", UsageError)
    return found


def _processor() -> str:
    """The processor and its instructions, as the system describes them."""
    try:
        described = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0]
        return "\n".join(
            line for line in described.splitlines() if line.startswith(("model name", "flags", "Features"))
        )
    except OSError:
        return f"{platform.machine()} {platform.processor()}"


# ── in the child process ──────────────────────────────────────────────────────────────────────────────────────────


def measure(shapes: Sequence[Shape]) -> Trial:
    """Time products of these shapes, forward and backward, in both precisions; the casts are part of it."""
    import torch
    import torch.nn.functional as F

    seconds = {"float32": 0.0, "bfloat16": 0.0}
    for rows, inputs, outputs in shapes:
        x = torch.randn(rows, inputs).requires_grad_()
        weight = torch.randn(outputs, inputs).requires_grad_()

        def product(x: Tensor = x, weight: Tensor = weight) -> Tensor:
            return F.linear(x, weight)

        for name in seconds:
            with arithmetic(name, x.device):
                seconds[name] += _fastest(lambda: product().float().sum().backward())
        with torch.no_grad():
            exact = product()
            with arithmetic("bfloat16", x.device):
                error = float((product() - exact).abs().max() / exact.abs().max())
        if not error <= LARGEST_ERROR:
            return Trial(0.0, f"this processor computes wrongly in bfloat16 (relative error {error:.2g})")
    return Trial(round(seconds["float32"] / seconds["bfloat16"], 2))


def _fastest(call: Callable[[], object], rounds: int = 5) -> float:
    call()  # the first call allocates memory and chooses kernels
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)


def main(words: Sequence[str]) -> None:
    import torch

    torch.set_num_threads(int(words[0]))
    torch.manual_seed(0)
    shapes = [(int(rows), int(i), int(o)) for rows, i, o in (word.split("x") for word in words[1:])]
    print(json.dumps(asdict(measure(shapes))))


if __name__ == "__main__":
    main(sys.argv[1:])
