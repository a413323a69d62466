"""`mirada attend` and `mirada trace`: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mirada.inspection.trace import Trace
from mirada.tasks.translation.model import TranslationModel
from tests.command import refused, run

TEXT = "el gato rojo ve el tren"
FIXTURES = Path(__file__).parent.parent / "fixtures" / "format-2"


def test_a_table_is_printed(trained: TranslationModel) -> None:
    done = run("attend", trained.path, TEXT, "--words")
    assert done.returncode == 0, done.stderr
    first, second, *rows = done.stdout.splitlines()
    assert first == f"{TEXT} → the red cat sees the train"
    assert second.startswith("decoder.cross, layer 0, the average of 2 heads")
    assert [row.split()[0] for row in rows] == ["the", "red", "cat", "sees", "the", "train", "</s>"]
    assert rows[2].split()[1] == "gato"
    several = run("attend", trained.path, TEXT, "--n-best", 2, "--part", "encoder", "--head", 1).stdout
    assert several.count("encoder.self, layer 0, head 1") == 2


def test_a_file_is_written_for_each_hypothesis(trained: TranslationModel, tmp_path: Path) -> None:
    done = run("attend", trained.path, TEXT, "--out", tmp_path / "look.png", "--n-best", 2, "--kind", "matrix")
    assert (tmp_path / "look.png").exists()
    assert (tmp_path / "look-2.png").exists()
    assert done.stderr == f"mirada: written to {tmp_path}/look.png, {tmp_path}/look-2.png\n"
    said = refused("attend", trained.path, TEXT, "--out", tmp_path / "look.png", code=2)
    assert said == f"mirada: --out {tmp_path}/look.png: exists already; choose another name"
    run("attend", trained.path, TEXT, "--out", tmp_path / "look.json", "--target", "the dog", "--quiet")
    data = json.loads((tmp_path / "look.json").read_text(encoding="utf-8"))
    assert (data["text"], data["output"], data["score"]) == (TEXT, "the dog", None)


def test_a_trace_is_listed_written_and_printed_as_json(trained: TranslationModel, tmp_path: Path) -> None:
    listed = run("trace", trained.path, TEXT).stdout.splitlines()
    assert "decoder.0.cross.weights" in {line.split()[0] for line in listed}
    assert next(line for line in listed if line.startswith("output.logits")).endswith("vocabulary 340")
    done = run("trace", trained.path, TEXT, "--out", tmp_path / "trace.safetensors", "--json")
    assert done.stderr == f"mirada: {len(listed)} tensors written to {tmp_path}/trace.safetensors\n"
    trace = Trace.load(tmp_path / "trace.safetensors")
    assert json.loads(done.stdout) == json.loads(json.dumps(trace.as_dict()))
    assert len(run("trace", trained.path, TEXT, "--path", "*.weights").stdout.splitlines()) == 3


def test_parts_are_switched_off(trained: TranslationModel, tmp_path: Path) -> None:
    off = "scale,decoder.0.cross.1"
    assert run("translate", trained.path, TEXT, "--without", off).stdout != run("translate", trained.path, TEXT).stdout
    run("trace", trained.path, TEXT, "--without", off, "--out", tmp_path / "off.safetensors", "--target", "the cat")
    run("trace", trained.path, TEXT, "--out", tmp_path / "on.safetensors", "--target", "the cat")
    one, other = (Trace.load(tmp_path / f"{name}.safetensors") for name in ("off", "on"))
    assert one.without == ("scale", "decoder.0.cross.1")
    np.testing.assert_array_equal(one["encoder.0.self.raw_scores"], other["encoder.0.self.raw_scores"])
    np.testing.assert_array_equal(one["encoder.0.self.scores"], one["encoder.0.self.raw_scores"])
    assert (one["decoder.0.cross.heads"][1] == 0).all()


def test_images_and_masked_words_are_looked_into(tmp_path: Path) -> None:
    from PIL import Image

    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(tmp_path / "8.png")
    done = run("attend", FIXTURES / "captioning", tmp_path / "8.png", "--out", tmp_path / "look.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "look.svg").stat().st_size > 5000
    Image.new("L", (20, 10)).save(tmp_path / "20.png")
    done = run("attend", FIXTURES / "pictures", tmp_path / "20.png")
    assert done.stderr == "mirada: resized from 20×10 to 8×8\n"
    assert done.stdout.splitlines()[1].startswith("encoder.self, ")
    assert "[MASK]" in run("attend", FIXTURES / "masked", "the [MASK] sees").stdout


def test_the_python_of_the_documentation_runs(
    trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (FIXTURES.parent.parent.parent / "docs" / "look-inside.md").read_text(encoding="utf-8")
    code = "".join(block.split("```")[0] for block in page.split("```python\n")[1:])
    monkeypatch.chdir(tmp_path)
    exec(code.replace('"es-en"', repr(str(trained.path))).replace('"gru"', repr(str(FIXTURES / "language"))), {})
    assert {path.name for path in tmp_path.iterdir()} >= {"look.svg", "look-3.svg", "trace.safetensors", "gates.png"}


REFUSED: list[tuple[list[str], str]] = [
    (["attend", " "], "the text is empty: there is nothing to look at"),
    (["attend", "el gato", "--layer", "1"], "layer 1: decoder.cross has layer 0 alone"),
    (["attend", "el gato", "--part", "encoder", "--head", "2"], "head 2: encoder.self has heads 0 to 1"),
    (["attend", "el gato", "--part", "x"], "part x: this model has encoder.self, decoder.self, decoder.cross"),
    (["attend", "el gato", "--without", "x"], "without 'x': there are scale, future_mask, positions, and by their"),
    (["attend", "el gato", "--without", "scale,,x"], "without '': there are scale"),
    (["attend", "el gato", "--target", "the cat", "--n-best", "3"], "n_best=3: a given translation"),
    (["attend", "el gato", "--target", "the cat", "--beam", "3"], "beam=3: a given translation is not searched for"),
    (["attend", "el gato", "--kind", "lines"], "--kind lines: is for pictures; give --out a file named .png"),
    (["attend", "el gato", "--kind", "lines", "--out", "x.json"], "--kind lines: is for pictures"),
    (["attend", "el gato", "--attribution", "leave-out", "--words"], "--words: cannot be combined with --attribution"),
    (["trace", "el gato", "--path", "nope.*", "--out", "x.safetensors"], "path nope.*: the trace has no such tensor"),
    (["attend", "el gato", "--without", "encoder.1"], "without encoder.1: transformer has no Transformer la"),
    (["attend", "el gato", "--out", "x.bmp"], "--out x.bmp: .bmp is not a kind of file; use .png, .svg, .pdf, .html"),
    (["attend", "el gato", "--out", "/none/x.svg"], "/none/x.svg: cannot be written (No such file or directory)"),
    (["attend", "el gato", "--out", "/none/x.html"], "/none/x.html: cannot be written (No such file or directory)"),
    (["attend", "el gato", "--kind", "stars"], "--kind stars: there are heads, matrix, lines"),
    (["attend", "el gato", "--n-best", "0"], "--n-best 0: must be at least 1"),
    (["attend", "el gato", "--to", "fr"], "fr"),
    (["attend", "gato " * 300], "the text is translated in"),
    (["attend", "gato" * 300], "give one sentence at a time: the text has a sentence with"),
    (["trace", "el gato", "--out", "x.npz"], "--out x.npz: a trace is a .safetensors file; name it x.safetensors"),
    (["trace", "el gato", "--out", "/none/x.safetensors"], "/none/x.safetensors: cannot be written"),
    (["trace", "el gato", "--cell", "decoder.0.forward"], "--cell decoder.0.forward: is for --gates"),
    (["trace", "el gato", "--gates", "g.png"], "--gates: the trace of transformer has no recurrent cell"),
]


@pytest.mark.parametrize(("command", "said"), REFUSED, ids=[" ".join(command)[:40] for command, _ in REFUSED])
def test_what_cannot_be_shown_is_refused_in_one_line(
    trained: TranslationModel, command: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verb, *rest = command
    done = run(verb, trained.path, *rest)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_bundle_without_attention_is_refused(tmp_path: Path) -> None:
    said = refused("attend", FIXTURES / "language", "el gato", code=2)
    assert said == f"mirada: {FIXTURES / 'language'}: gru has no attention; `mirada trace` shows what it computes"
    done = run("trace", FIXTURES / "language", "el gato", "--gates", tmp_path / "gates.png")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"mirada: drawn to {tmp_path / 'gates.png'}\n"
    assert (tmp_path / "gates.png").stat().st_size > 5000
    command = ["trace", FIXTURES / "language", "el gato", "--gates"]
    assert run(*command, tmp_path / "one.png", "--cell", "recurrent.0.forward").returncode == 0
    said = refused(*command, tmp_path / "two.png", "--cell", "decoder.0.forward", code=2)
    assert said == "mirada: --cell decoder.0.forward: the trace has recurrent.0.forward"
    said = refused("attend", FIXTURES / "masked", "el gato", "--target", "x", code=2)
    assert "target=x: " in said
    assert "which has no such option" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("neighbours", FIXTURES / "masked", "gato"),
        ("gradients", FIXTURES / "language", "--text", "el gato ve el tren"),
        ("forecast", FIXTURES / "masked", "prices.csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_picture_replaces_no_file(arguments: tuple[object, ...], tmp_path: Path) -> None:
    (mine := tmp_path / "mine.png").write_text("mine")
    said = refused(*arguments, "--picture", mine, code=2)
    assert said == f"mirada: --picture {mine}: exists already; choose another name"
    assert mine.read_text() == "mine"
