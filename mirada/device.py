"""Devices, threads and memory."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import TYPE_CHECKING

from mirada.errors import UsageError

if TYPE_CHECKING:  # the command line configures the allocator before it imports PyTorch
    import torch

MAX_THREADS = 1024
"""More threads are a mistake, and some systems cannot start them."""

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


def select_device(device: str = "auto", threads: int | None = None) -> torch.device:
    """Select the device (`auto`: CUDA if available, else the CPU) and set the number of threads."""
    import torch

    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"--threads {threads}: must be at least 1 and at most {MAX_THREADS}")
    chosen = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        found = torch.device(chosen)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"--device {device}: cannot be used here ({reason}); try --device auto") from None
    if threads is not None:
        torch.set_num_threads(threads)
    return found


SPIN = 1000
"""Rounds that a waiting thread spins before it sleeps."""


def share_cores() -> None:
    """Let threads that wait for others sleep after a moment, instead of spinning.

    PyTorch's threads (OpenMP) wait for each other after every operation. By default they spin, which is a little faster
    when nothing else runs, and several times slower when another program needs a core. OpenMP reads its environment
    when PyTorch is imported: `import mirada` calls this, so import it before torch. Your own settings are respected.
    """
    if not any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
        os.environ["GOMP_SPINCOUNT"] = str(SPIN)


def fastest_threads(seconds: float = 0.1) -> int:
    """The number of threads that multiplies matrices fastest right now: other programs may be using some cores.

    Each count (all cores, half of them, … one) is tried for so many seconds; of equals, the lower is preferred.
    """
    import torch

    x, w = torch.ones(1024, 256), torch.ones(256, 1024)
    before, counts = torch.get_num_threads(), [max(1, cores() >> halvings) for halvings in range(cores().bit_length())]
    speeds: dict[int, float] = {}
    for count in counts if len(counts) > 1 else ():
        torch.set_num_threads(count)
        (x @ w).relu_()
        began, rounds = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - began) < seconds:
            (x @ w).relu_()
            rounds += 1
        speeds[count] = rounds / elapsed
    torch.set_num_threads(before)
    return max(sorted(speeds), key=speeds.__getitem__, default=1)


def keep_memory() -> None:
    """Make glibc keep freed memory instead of returning it to the system after every large tensor.

    By default each tensor of several megabytes is a new mapping whose pages are faulted in and zeroed every time;
    without that, training on a CPU is about twice as fast. This changes malloc for the whole process: the command line
    calls it, the library never does. Call it in your own program if it trains models.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_TOP_PAD, 64 * 2**20)


def peak_memory() -> int:
    """The peak memory of this process in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cores() -> int:
    """The number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gigaflops() -> float:
    """Measure the speed of matrix products in GFLOP/s; takes a few hundredths of a second."""
    import torch

    a = torch.ones(512, 512)
    torch.mm(a, a)
    began = time.perf_counter()
    rounds = 8
    for _ in range(rounds):
        torch.mm(a, a)
    return rounds * 2 * 512**3 / 1e9 / max(1e-9, time.perf_counter() - began)
