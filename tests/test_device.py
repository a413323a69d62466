"""The machine: tensors on the network's device, no float64 where there is none, and whose allocator it is."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import mirada
from mirada import bundle as bundles
from mirada import device
from mirada.contracts import Sizes
from mirada.inspection.gradients import fading_of
from mirada.inspection.vectors import table
from mirada.models.bag import Bag, BagConfig
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.tasks.forecasting.windows import features
from mirada.tasks.language_model.model import token_bits
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.devices import Reached, WithoutFloat64

WORDS = 12
LANGUAGE = Sizes(WORDS, WORDS, causal=True)


def network(kind: str) -> RecurrentEncoder | GPT:
    torch.manual_seed(0)
    if kind == "gpt":
        return GPT(GPTConfig(width=8, heads=2, layers=1, max_length=16), LANGUAGE).eval()
    return RecurrentEncoder(RecurrentConfig.model_validate({"name": kind, "width": 8}), LANGUAGE).eval()


def test_the_stand_in_for_mps_refuses_float64() -> None:
    x = torch.randn(3)
    with WithoutFloat64():
        with pytest.raises(TypeError, match="no float64"):
            x.double()
        with pytest.raises(TypeError, match="no float64"):
            (x + 1).to(torch.float64)
        assert (x + 1).cpu().double().dtype == torch.float64


@pytest.mark.parametrize("kind", ["lstm", "gpt"])
def test_token_bits_need_no_float64_on_the_device(kind: str) -> None:
    reader, ids = network(kind), torch.arange(40) % WORDS
    expected = token_bits(reader, ids, 8)
    with WithoutFloat64():
        found = token_bits(reader, ids, 8)
    assert torch.equal(found, expected)
    assert found.dtype == torch.float64


def test_tables_for_pictures_need_no_float64_on_the_device() -> None:
    with WithoutFloat64():
        assert table(torch.eye(2), "vectors").dtype == "float64"


def test_features_of_a_series_need_no_float64_on_mps() -> None:
    """The rest of the formula is the same, to the precision of 32 bits."""

    class OnMPS(Tensor):
        device = torch.device("mps")

    x = torch.randn(2, 33, 3, generator=torch.Generator().manual_seed(0))
    wide = features(x, torch.ones(3), None)
    seen: list[torch.dtype] = []

    class Watch(WithoutFloat64):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = {key: value for key, value in (kwargs or {}).items() if key != "device"}  # there is no MPS here
            if func is torch.Tensor.cumsum:
                seen.append(kwargs["dtype"])
            return super().__torch_function__(func, types, args, kwargs)

    with Watch():
        narrow = features(x.as_subclass(OnMPS), torch.ones(3), None)
    assert seen == [torch.float32]
    torch.testing.assert_close(narrow.as_subclass(Tensor), wide, rtol=1e-4, atol=1e-5)


def test_gradients_through_time_read_ids_on_the_networks_device() -> None:
    reader = RecurrentEncoder(RecurrentConfig(name="lstm", width=8), Sizes(WORDS, 3)).to("meta")

    def stop(module: object, given: tuple[Tensor, ...]) -> None:
        raise Reached(given[0].device)

    reader.embedding.register_forward_pre_hook(stop)
    with pytest.raises(Reached, match="meta"):
        fading_of("lstm", reader, [4, 5, 6])


def test_a_bag_explains_ids_on_its_own_device() -> None:
    bag = Bag(BagConfig(features=8), Sizes(WORDS, 3)).to("meta")
    bag.features = lambda batch: (_ for _ in ()).throw(Reached(batch.inputs.device, batch.lengths.device))  # type: ignore[method-assign]
    with pytest.raises(Reached, match=r"meta.*meta"):
        bag.why(torch.tensor([4, 5, 6]))


# --- whose allocator it is ---

MAPPINGS = """
import ctypes, sys

class Usage(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Usage
libc.malloc.restype = ctypes.c_void_p

def own_mapping():
    "Whether a block of 64 MiB is a mapping of its own, as by glibc's default."
    before = libc.mallinfo2().hblks
    libc.malloc(ctypes.c_size_t(64 * 2**20))
    return libc.mallinfo2().hblks > before
"""


def mapped_after(code: str, *arguments: object) -> bool:
    """What `own_mapping` says in a new process after some code has run there."""
    program = f"{MAPPINGS}\n{code}\nprint('mapped' if own_mapping() else 'kept')"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1] == "mapped"


glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="its malloc is not glibc's")


@glibc
def test_the_command_line_keeps_memory() -> None:
    code = """
sys.argv = ["mirada", "--help"]
from mirada.cli import main
try:
    main()
except SystemExit:
    pass
assert "torch" not in sys.modules
"""
    assert mapped_after("")
    assert not mapped_after(code)


@glibc
def test_the_library_leaves_the_hosts_malloc_alone(trained: TranslationModel, toy_tsv: Path, tmp_path: Path) -> None:
    code = """
import mirada
mirada.load(sys.argv[1], threads=1).translate("el gato ve el perro")
from tests.toy import TINY
mirada.train(sys.argv[2], out=sys.argv[3], steps=1, settings=TINY, source_language="es", target_language="en")
"""
    assert mapped_after(code, trained.path, toy_tsv, tmp_path / "out")


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "1000 None"), ({"GOMP_SPINCOUNT": "7"}, "7 None"), ({"OMP_WAIT_POLICY": "active"}, "None active")],
)
def test_waiting_threads_sleep_unless_the_user_says_otherwise(given: dict[str, str], expected: str) -> None:
    script = "import mirada, os; print(os.environ.get('GOMP_SPINCOUNT'), os.environ.get('OMP_WAIT_POLICY'))"
    ours = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([sys.executable, "-c", script], env={**ours, **given}, capture_output=True, check=True)
    assert done.stdout.decode().strip() == expected


def test_as_many_threads_as_are_fastest_now(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.setattr(device, "cores", lambda: 4)
    assert device.fastest_threads(seconds=0.01) in (1, 2, 4)
    assert torch.get_num_threads() == before
    monkeypatch.setattr(device, "cores", lambda: 1)
    assert device.fastest_threads() == 1


def test_the_number_of_threads_is_kept_for_a_resumed_run(toy_tsv: Path, tmp_path: Path) -> None:
    settings = {**toy.TINY, "train": {**toy.TINY["train"], "threads": None}}
    before = torch.get_num_threads()
    mirada.train(toy_tsv, out=tmp_path / "run", steps=2, settings=settings)
    torch.set_num_threads(before)
    found = bundles.read(tmp_path / "run")
    assert found.config["train"]["threads"] == found.card["training"]["threads"] >= 1
