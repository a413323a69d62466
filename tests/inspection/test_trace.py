"""A trace has every tensor of a pass under its path and axes, changes nothing, and comes back from its file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mirada
from mirada.errors import DataError, InputError, UsageError
from mirada.inspection.trace import METADATA, Trace
from mirada.parts import Switches, active_switches
from mirada.tasks.translation.model import TranslationModel
from tests.traced import MODELS, TEXT, first_pass, translator


@pytest.mark.parametrize("kind", MODELS)
def test_every_tensor_has_named_axes_and_the_output_is_that_of_an_untraced_pass(kind: str) -> None:
    one = first_pass(kind)
    with torch.inference_mode():
        plain = one.run()[0]
    trace = one.record()
    logits = next(array for path, array in trace.items() if path.endswith("output.logits"))
    np.testing.assert_allclose(logits.reshape(plain.shape), plain.numpy(), atol=1e-5)
    for path, array in trace.items():
        names = trace.axes[path]
        assert len(names) == array.ndim
        assert not any(name.startswith("axis") for name in names), path
        for name, size in zip(names, array.shape, strict=True):
            assert size == len(trace.tokens.get(name, range(size))), (path, name)
    if trace.axes.get("probabilities", ("value",))[-1] != "value":
        np.testing.assert_allclose(trace["probabilities"].sum(-1), 1, atol=1e-5)
    assert ("probabilities" in trace) == (kind not in ("gru, numbers", "encoder, forecasts", "jordan, forecasts"))


@pytest.mark.parametrize("kind", MODELS)
def test_weights_sum_to_1_over_what_the_mask_allows_and_are_0_elsewhere(kind: str) -> None:
    trace = first_pass(kind).record()
    for path in (path for path in trace if path.endswith(".weights")):
        hidden = np.isneginf(trace[path.replace("weights", "masked_scores")])
        assert (trace[path][hidden] == 0).all()
        assert (trace[path][~hidden] > 0).all()
        np.testing.assert_allclose(trace[path].sum(-1), 1, atol=1e-5)
        causal = path.startswith("decoder.") and ".self." in path
        causal = causal or (kind == "encoder, forecasts")
        rows, columns = hidden.shape[-2:]
        expected = np.triu(np.ones((rows, columns), dtype=bool), 1) if causal else np.zeros((rows, columns), bool)
        assert (hidden == expected).all()


def test_a_trace_is_of_what_is_translated(trained: TranslationModel) -> None:
    text = "el gato rojo ve el tren 12"
    trace, made = trained.trace(text), trained.translate(text)
    assert (trace.text, trace.output) == (text, made.text)
    assert trace.score == pytest.approx(made.score, abs=1e-4)
    target = trace.target
    assert target is not None
    assert "".join(target[:-1]).strip() == made.text
    assert (trace.source[-1], target[-1]) == ("</s>", "</s>")
    assert list(trace.tokens["input"].pieces) == ["<s>", *target[:-1]]
    rows = np.arange(len(target))
    chosen = trace["probabilities"][rows, trace.tokens["target"].ids]
    assert np.log(chosen).mean() == pytest.approx(made.score, abs=1e-4)
    tokens = trace.tokens["target"]
    assert [tokens.text[slice(*span)] for span in tokens.spans if span] == target[:1][0].split() + target[1:-1]


def test_a_given_target_is_replayed(trained: TranslationModel) -> None:
    trace = trained.trace("el gato ve el tren", "the dog sees the boat")
    assert (trace.output, trace.score) == ("the dog sees the boat", None)
    own = trained.trace("el gato ve el tren")
    assert own["encoder.output"].tolist() == trace["encoder.output"].tolist()
    again = trained.trace("el gato ve el tren", own.output)
    np.testing.assert_array_equal(again["output.logits"], own["output.logits"])


def test_only_the_paths_that_are_asked_for_are_recorded(trained: TranslationModel) -> None:
    trace = trained.trace("el gato", paths=("decoder.*.cross.weights", "probabilities"))
    assert sorted(trace) == ["decoder.0.cross.weights", "probabilities"]
    with pytest.raises(
        UsageError, match=r"decoder.0.cross.wieghts: the trace has no such tensor; it has decoder.0.cross.w"
    ):
        trace["decoder.0.cross.wieghts"]


def test_a_pattern_selects_the_probabilities_too() -> None:
    assert list(first_pass("gpt").record("prob*")) == ["probabilities"]


@pytest.mark.parametrize("kind", ["gpt", "lstm language model"])
def test_a_text_too_long_to_record_is_refused_before_it_is_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = first_pass(kind)
    monkeypatch.setattr("mirada.inspection.trace.MAX_NUMBERS", 2 * 330 * len(one.tokens["source"]) - 1)
    one.network.register_forward_pre_hook(lambda *_: pytest.fail("the text was read"))
    with pytest.raises(InputError, match=r"^a trace of \d+ tokens would hold [\d,]+ numbers, .*; shorten the text$"):
        one.record()


@pytest.mark.parametrize("options", [{"n_best": 3}, {"beam": 2}, {"to": "en"}])
def test_a_language_model_refuses_options_of_generation(options: dict[str, Any]) -> None:
    build, text = MODELS["gpt"]
    with pytest.raises(UsageError, match="has no such option"):
        build().trace(text, **options)


@pytest.mark.parametrize("name", ["caf\udce9", "a\nb"])
def test_a_bundle_of_any_name_can_be_traced(name: str, tmp_path: Path) -> None:
    model = translator()
    model.path = Path(name)
    model.trace(TEXT, "The animal").save(tmp_path / "trace.safetensors")
    assert Trace.load(tmp_path / "trace.safetensors").model["name"] == repr(name)


def test_what_cannot_be_traced_is_refused_in_one_line(trained: TranslationModel) -> None:
    with pytest.raises(InputError, match="is empty"):
        trained.trace(" ")
    with pytest.raises(InputError, match=r"the text is translated in 2 parts; the first is 'El gato ve el tren\.'"):
        trained.trace("El gato ve el tren. El perro ve el libro.")
    with pytest.raises(InputError, match="the target has 401 tokens; the model takes 255"):
        trained.trace("el gato", " cat" * 401)
    build, text = MODELS["encoder, classes"]
    with pytest.raises(UsageError, match="target=x: transformer is a model for classification, which has no such opti"):
        build().trace(text, "x")
    with pytest.raises(UsageError, match="beam=3: "):
        build().trace(text, beam=3)
    build, text = MODELS["gpt"]
    with pytest.raises(InputError, match=r"the text has [\d,]+ tokens; the model sees 256; shorten it"):
        build().trace(text * 40)


# ── switches ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("scale", "encoder.0.self.scores"),
        ("future_mask", "decoder.0.self.masked_scores"),
        ("positions", "source.inputs"),
        ("encoder.0.add_self", "encoder.0.add_self.output"),
        ("encoder.1.self.1", "encoder.1.self.heads"),
        ("decoder.1.cross.0", "decoder.1.cross.heads"),
        ("encoder.1", "encoder.output"),
        ("decoder.1", "decoder.output"),
    ],
)
def test_a_switch_changes_what_it_says_and_no_tensor_before_it(name: str, first: str) -> None:
    model = translator()
    whole = model.trace(TEXT, "The animal was tired.")
    with mirada.without(name):
        part = model.trace(TEXT, "The animal was tired.")
    assert part.without == (name,)
    order = sorted(whole, key=_order)
    changed = [path for path in order if path not in part or not np.array_equal(whole[path], part[path])]
    gone = [path for path in order if path not in part]
    before = order[: order.index(first)]
    assert first in changed
    assert not [path for path in changed if path in before and path not in gone]
    assert all(path.startswith(f"{name}.") or name == "positions" for path in gone)


COMPUTED = [
    *["vectors", "embeddings", "inputs", "norm", "q", "k", "v", "raw_scores", "scores", "masked_scores", "weights"],
    *["heads", "inner", "activated", "outer", "output", "added"],
]
"""What a part computes, in its order."""
SIDES = ["positions", "source", "encoder", "target", "decoder", "output", "probabilities"]
SUBLAYERS = ["self", "cross", "feed_forward"]


def _order(path: str) -> tuple[int, ...]:
    """Where a tensor of a pre-norm Transformer stands in the order in which they are computed."""
    side, *rest = path.split(".")
    if side in ("encoder", "decoder") and len(rest) == 3:
        layer, sublayer, name = rest
        number = SUBLAYERS.index(sublayer.removeprefix("add_"))
        after = sublayer.startswith("add_") and name != "norm"
        return (
            SIDES.index(side),
            int(layer),
            number,
            after,
            COMPUTED.index(name) if name != "output" or not after else 99,
        )
    return SIDES.index(side), 99, 0, 0, COMPUTED.index(rest[0]) if side in ("source", "target") else 0


def test_translations_without_a_part_are_computed_by_pytorch(trained: TranslationModel) -> None:
    text = "el gato rojo ve el tren"
    slow = mirada.load(trained.path, TranslationModel, engine="torch")
    fast = mirada.load(trained.path, TranslationModel)
    whole = fast.translate(text).text
    with mirada.without("decoder.0.cross.0", "positions"):
        assert fast.translate(text).text == slow.translate(text).text != whole
    assert active_switches() == Switches()


def test_switches_add_up_and_end_with_their_blocks() -> None:
    with mirada.without("scale"):
        with mirada.without("encoder.0", "encoder.0.self.1"):
            assert active_switches().names() == ["scale", "encoder.0.self.1", "encoder.0"]
        assert active_switches().names() == ["scale"]
    assert active_switches().names() == []


@pytest.mark.parametrize(
    "name", ["", "scales", "encoder", "encoder.x", "3", "encoder.0.self", "encoder.-1", "a b.0", "é\n.0"]
)
def test_an_unknown_switch_is_refused_at_once(name: str) -> None:
    with (
        pytest.raises(UsageError, match="there are scale, future_mask, positions, and by their paths"),
        mirada.without(name),
    ):
        pass


@pytest.mark.parametrize("name", ["encoder.9", "decoder.0.cross.2", "encoder.0.add_cross", "decoder.2"])
def test_a_switch_that_a_model_lacks_is_refused_by_name_when_it_is_used(trained: TranslationModel, name: str) -> None:
    with mirada.without(name), pytest.raises(UsageError, match=f"without {name}: transformer has"):
        trained.translate("el gato")
    build, text = MODELS["gru, numbers"]
    tagger = build()
    with mirada.without(name), pytest.raises(UsageError, match=f"{name}: gru has no"):
        tagger.tag(text)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", MODELS)
def test_a_saved_trace_is_the_same_when_it_is_loaded(kind: str, tmp_path: Path) -> None:
    trace = first_pass(kind).record()
    trace.save(tmp_path / "trace.safetensors")
    again = Trace.load(tmp_path / "trace.safetensors")
    assert again.as_dict() == json.loads(json.dumps(trace.as_dict()))
    assert dict(again.tokens) == dict(trace.tokens)
    for path in trace:
        np.testing.assert_array_equal(again[path], trace[path])


def test_files_that_are_no_traces_are_refused(tmp_path: Path, trained: TranslationModel) -> None:
    trace = trained.trace("el gato")
    with pytest.raises(UsageError, match=r"a trace is a \.safetensors file; name it look\.safetensors"):
        trace.save(tmp_path / "look.npz")
    with pytest.raises(UsageError, match=r"none/x.safetensors: cannot be written \(No such file or directory\)"):
        trace.save(tmp_path / "none" / "x.safetensors")
    with pytest.raises(DataError, match="is not a trace"):
        Trace.load(trained.path / "model.safetensors")
    with pytest.raises(DataError, match="cannot be read"):
        Trace.load(tmp_path / "none.safetensors")


def _file(content: bytes, header: Any) -> bytes:
    """A trace's file with another header."""
    length = struct.unpack("<Q", content[:8])[0]
    old = json.loads(content[8 : 8 + length])
    text = json.dumps(header(old)).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def _with(change: Any) -> Any:
    def header(old: dict[str, Any]) -> dict[str, Any]:
        about = json.loads(old["__metadata__"][METADATA])
        change(about)
        return {**old, "__metadata__": {METADATA: json.dumps(about)}}

    return header


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda about: about.update(format=2), "has format 2, this version of Mirada reads up to 1"),
        (lambda about: about.pop("axes"), "axes: field required"),
        (lambda about: about.update(more=1), "more: extra inputs"),
        (lambda about: about["axes"].pop("output.logits"), "'output.logits' has no axes"),
        (lambda about: about["axes"].update({"output.logits": ["target"]}), "'output.logits' does not fit its axes"),
        (lambda about: about["tokens"]["source"]["pieces"].pop(), "the tokens 'source' do not fit their text"),
        (lambda about: about["tokens"]["source"]["spans"].__setitem__(0, [2, 99]), "'source' do not fit their text"),
        (lambda about: about["tokens"].pop("text", about["tokens"]["target"].update(text=5)), "tokens.target.text"),
        (lambda about: about["tokens"].update(width=about["tokens"]["source"]), "does not fit its axes"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(
    tmp_path: Path, trained: TranslationModel, change: Any, said: str
) -> None:
    path = tmp_path / "trace.safetensors"
    path.write_bytes(_file(trained.trace("el gato").to_bytes(), _with(change)))
    with pytest.raises(DataError) as refused:
        Trace.load(path)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_values_that_are_no_numbers_are_refused(tmp_path: Path, trained: TranslationModel) -> None:
    content = trained.trace("el gato", paths=("encoder.output",)).to_bytes()
    path = tmp_path / "trace.safetensors"
    path.write_bytes(content[:-4] + struct.pack("<f", float("nan")))
    with pytest.raises(DataError, match=r"'encoder\.output' has values that are not finite numbers"):
        Trace.load(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_fuzzed_files_are_refused_in_one_line_or_read(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(CONTENT)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, min(len(content) - 1, 3000)))
        kind = data.draw(st.sampled_from(["set", "cut", "insert"]))
        if kind == "set":
            content[place] = data.draw(st.integers(0, 255))
        elif kind == "insert":
            content[place:place] = data.draw(st.binary(max_size=20))
        else:
            del content[place : place + data.draw(st.integers(1, 2000))]
        if not content:
            break
    path = tmp_path_factory.mktemp("fuzzed") / "trace.safetensors"
    path.write_bytes(content)
    said = _said(path)
    assert said is None or (str(path) in said and "\n" not in said)


def _said(path: Path) -> str | None:
    """Why a file is refused; None if it is read."""
    try:
        trace = Trace.load(path)
    except DataError as error:
        return str(error)
    return None if all(len(trace.axes[path]) == array.ndim for path, array in trace.items()) else "odd axes"


CONTENT = translator().trace(TEXT, "it", paths=("encoder.0.self.*scores", "encoder.output")).to_bytes()
