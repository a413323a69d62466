"""Language models as a person meets them: trained, measured, resumed, asked to write, given bad input."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

import pytest

import mirada
from mirada import cli, tasks
from mirada.errors import Interrupted
from mirada.tasks.language_model.model import LanguageModel
from mirada.training.loop import Event

TINY: dict[str, Any] = {
    "model": {"width": 32, "dropout": 0.0},
    "data": {"length": 16, "hold_out": 0.1},
    "train": {"batch_tokens": 256, "lr": 2e-2, "warmup": 10, "threads": 1, "validate_every": 10_000},
}
NOTES = "C4 E4 G4 E4\nF4 A4 C5 A4\nG4 B4 D5 B4\n" * 60


def train(folder: Path, text: str, steps: int = 200, **changes: dict[str, Any]) -> LanguageModel:
    (folder / "book.txt").write_text(text, encoding="utf-8")
    settings = {name: {**TINY.get(name, {}), **changes.get(name, {})} for name in TINY.keys() | changes.keys()}
    trained: LanguageModel = mirada.train(
        folder / "book.txt",
        out=folder / "writer",
        task="language_model",
        steps=steps,
        settings=settings,
        overwrite=True,
    )
    return trained


class Done(NamedTuple):
    code: int
    out: str
    errors: str

    @property
    def refusal(self) -> str:
        """The one line that a command was refused with."""
        said = [line for line in self.errors.splitlines() if line.startswith("mirada: ")]
        assert len(said) == 1, self.errors
        return said[0]


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`mirada …`, in this process: a new one spends seconds on loading torch."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["mirada", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return Done(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def musician(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """Three melodies, over and over, by their notes."""
    return train(tmp_path_factory.mktemp("music"), NOTES, tokenizer={"unit": "symbols"})


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """One line with letters of several bytes, over and over, by subwords."""
    text = "El año que viene, señor, no habrá otro niño así.\n" * 120
    return train(tmp_path_factory.mktemp("subwords"), text, 100, tokenizer={"unit": "subwords", "vocabulary": 320})


def bits(model: LanguageModel) -> float:
    """On the dev set, the first score on its card."""
    value: float = model.card["scores"]["scores"][0]["value"]
    return value


# --- what is learned ---


@pytest.fixture(scope="module")
def periodic(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return train(tmp_path_factory.mktemp("periodic"), "abcabcabd" * 400, 160)


def test_a_periodic_text_is_learned(periodic: LanguageModel) -> None:
    assert bits(periodic) < 0.1
    assert periodic.generate("abcabcabdabcabc", tokens=9, temperature=0.3).text == "abdabcabc"
    names = [score["name"] for score in periodic.card["scores"]["scores"]]
    assert names == ["bits/character", "perplexity", "unigram bits/character"]
    # a and b are a third each, c two ninths, d one ninth
    entropy = 2 / 3 * math.log2(3) + 2 / 9 * math.log2(9 / 2) + 1 / 9 * math.log2(9)
    assert periodic.card["scores"]["scores"][2]["value"] == pytest.approx(entropy, abs=0.02)


def test_noise_is_not_learned(tmp_path: Path) -> None:
    chance = random.Random(1)
    model = train(tmp_path, "".join(chance.choices("abcdefgh", k=20_000)), 60, model={"name": "gru"})
    assert bits(model) == pytest.approx(3.0, abs=0.1)


def de_bruijn(order: int) -> str:
    """A cycle of zeros and ones in which every word of so many digits occurs once (the greedy construction)."""
    digits, seen = "0" * order, {"0" * order}
    while True:
        for digit in "10":
            if (word := (digits + digit)[-order:]) not in seen:
                seen.add(word)
                digits += digit
                break
        else:
            return digits[order - 1 :]


def test_only_a_carried_state_sees_beyond_the_piece(tmp_path: Path) -> None:
    """Three digits of the cycle never tell the next: one has to know four, and a piece has three."""
    cycle = de_bruijn(4)
    assert len(cycle) == 16
    data = {"length": 3, "hold_out": 0.1}
    fast = {"batch_tokens": 128, "lr": 3e-2}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    carried = train(tmp_path / "a", cycle * 300, 300, data=data, train=fast, model={"name": "elman"})
    windows = train(
        tmp_path / "b", cycle * 300, 300, data={**data, "carry": False}, train=fast, model={"name": "elman"}
    )
    assert bits(carried) < 0.3
    assert bits(windows) > 0.9


# --- writing ---


def test_melodies(musician: LanguageModel) -> None:
    assert musician.card["scores"]["scores"][0]["name"] == "bits/symbol"
    found = musician.generate("F4 A4", temperature=0.2)
    assert str(found) == "F4 A4 C5 A4"
    assert found.ended
    assert musician.generate("F4 A4 C5 A4\nG4", beam=4).text == " B4 D5 B4"
    assert musician.generate("", temperature=0.2).text in NOTES.split("\n")


def test_subwords_are_faithful(writer: LanguageModel) -> None:
    assert bits(writer) < 0.3
    line = "El año que viene, señor, no habrá otro niño así.\n"
    found = writer.generate("El año que", tokens=60, beam=1)
    assert str(found).startswith(line + line[:20])
    assert "".join(writer.stream("El año que", tokens=60, beam=1)) == found.text


def test_generate_by_command(musician: LanguageModel, writer: LanguageModel, run: Run) -> None:
    ask = ["generate", musician.path, "F4 A4", "--temperature", 0.2]
    assert run(*ask) == (0, "F4 A4 C5 A4\n", "")
    several = run(*ask, "--count", 3, "--seed", 5).out
    assert several == "F4 A4 C5 A4\n---\nF4 A4 C5 A4\n---\nF4 A4 C5 A4\n"
    row = json.loads(run(*ask, "--json").out)
    assert row == {"prompt": "F4 A4", "text": " C5 A4", "tokens": 2, "ended": True}
    done = run("generate", musician.path, "F4 X9 A4 H1", "--beam", 2)
    assert done.code == 0
    assert done.errors == "mirada: the model does not know 'X9', 'H1'; read as <unk>\n"
    written = run("generate", writer.path, "El año", "--tokens", 30, "--seed", 3).out
    assert written == str(writer.generate("El año", tokens=30, seed=3)) + "\n"


def test_ctrl_c_ends_the_text_politely(periodic: LanguageModel) -> None:
    arguments = ["-m", "mirada.cli", "generate", str(periodic.path), "abc", "--tokens", "1000000"]
    process = Popen(
        [sys.executable, *arguments],
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background has it ignored
    )
    assert process.stdout is not None
    assert process.stdout.read(10)  # it writes while it thinks
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    text, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == b""
    assert text.endswith(b"\n")


# --- what it says of itself ---


def test_info_and_evaluate(musician: LanguageModel, tmp_path: Path, run: Run) -> None:
    about = run("info", musician.path).out
    assert "symbols" in about
    assert "bits/symbol" in about
    (tmp_path / "test.txt").write_text(NOTES[:120])
    scores = json.loads(run("evaluate", musician.path, tmp_path / "test.txt", "--json").out)
    assert scores["scores"][0]["value"] == pytest.approx(musician.score(NOTES[:120]).scores[0].value)
    assert "perplexity" in run("evaluate", musician.path, tmp_path / "test.txt").out
    again = musician.score(tasks.find("language_model").read_dev((musician.path / "data" / "dev.jsonl").read_text()))
    assert again.scores[0].value == pytest.approx(bits(musician))  # the bundle has all it was measured on


def test_a_base_goes_on_with_a_new_text(musician: LanguageModel, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("C4 E4 G4 D5\n" * 100)
    settings = {"train": {"threads": 1, "lr": 2e-2, "batch_tokens": 256}}
    model = mirada.train(tmp_path / "more.txt", out=tmp_path / "new", base=musician.path, steps=60, settings=settings)
    assert model.generate("C4 E4", temperature=0.2).text == " G4 D5"
    change = model.card["base"]
    assert change["after"]["new"]["bits/symbol"] < change["before"]["new"]["bits/symbol"]
    assert set(change["after"]) == {"new", "old"}


# --- interruption ---


def test_a_resumed_run_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    chance = random.Random(2)
    text = "".join(chance.choice(["hola ", "mundo ", "adiós\n"]) for _ in range(2500))
    (tmp_path / "book.txt").write_text(text)
    settings = {**TINY, "model": {"width": 32, "dropout": 0.1}}
    settings["train"] = {**TINY["train"], "checkpoint_every": 4, "average": 0.1}

    def interrupt(event: Event) -> None:
        if event.kind == "step" and event.figures["step"] in (6, 17):
            os.kill(os.getpid(), signal.SIGINT)

    common: dict[str, Any] = {"task": "language_model", "steps": 40, "settings": settings}
    whole, out = tmp_path / "whole", tmp_path / "out"
    mirada.train(tmp_path / "book.txt", out=whole, **common)
    with pytest.raises(Interrupted, match=f"mirada train --resume {out}"):
        mirada.train(tmp_path / "book.txt", out=out, listen=interrupt, **common)
    with pytest.raises(Interrupted):
        mirada.train(resume=out, listen=interrupt)
    mirada.train(resume=out)
    last = Path("run") / "checkpoints" / "step-00000040.safetensors"
    assert (out / last).read_bytes() == (whole / last).read_bytes()  # the carried state is in it
    assert b"carried.next" in (out / last).read_bytes()
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


# --- bad input ---


@pytest.mark.parametrize(
    ("content", "options", "code", "expected"),
    [
        (bytes(range(256)) * 40, [], 1, "book.txt, line 1"),
        (b"", [], 1, "book.txt: 0 characters in 0 lines; training needs at least 200"),
        (None, [], 1, "book.txt: no such file"),
        (b"hola\n" * 100, ["--set", "data.lenght=3", "--set", "data.length=1"], 2, "did you mean data.length?"),
        (b"hola\n" * 100, ["--set", "data.length=3000"], 2, "data.length=3000: the model takes 2000"),
        (b"hola\n" * 100, ["--model", "bag"], 2, "for language_model there are: elman, lstm, gru"),
        (b"hola\n" * 100, ["--dev", "none.txt"], 1, "none.txt: no such file"),
    ],
)
def test_what_train_refuses(
    content: bytes | None, options: list[str], code: int, expected: str, tmp_path: Path, run: Run
) -> None:
    if content is not None:
        (tmp_path / "book.txt").write_bytes(content)
    done = run(
        "train", tmp_path / "book.txt", "--task", "language_model", "--out", tmp_path / "out", "--steps", 2, *options
    )
    assert done.code == code
    assert expected in done.refusal
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--tokens", 0], "--tokens 0: must be at least 1"),
        (["--count", 0], "--count 0: must be at least 1"),
        (["--count", 2, "--beam", 2], "--count 2: beam search (--beam) finds one text"),
        (["--temperature", 0], "--temperature 0: must be above 0"),
        (["--temperature", 0.5, "--beam", 2], "--beam 2: searches for the likeliest text"),
        (["--temperature", "inf"], "--temperature inf: must be a finite number"),
    ],
)
def test_what_generate_refuses(options: list[object], expected: str, musician: LanguageModel, run: Run) -> None:
    done = run("generate", musician.path, "C4", *options)
    assert (done.code, done.out) == (2, "")
    assert expected in done.refusal


def test_other_verbs_say_which_is_right(musician: LanguageModel, run: Run) -> None:
    assert f"mirada generate {musician.path}" in run("classify", musician.path, "C4").refusal
