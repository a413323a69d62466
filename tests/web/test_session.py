"""A trained translator in the page: its translations, scores, traces and continuations are Python's."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page
from safetensors.numpy import save

from mirada.contracts import EOS
from mirada.data.batching import collate
from mirada.decoding import DecodeConfig, Hypothesis
from mirada.engines import GenerationSettings
from mirada.engines.torch import TorchEngine
from mirada.explorer.entry import entry_of
from mirada.explorer.weights import aliases_of, weights_file
from mirada.inspection.attribution import spearman
from mirada.parts import Switches, switched
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.web.browser import Site

CLOSE: dict[str, Any] = {"rel": 1e-4, "abs": 1e-4}
ODD = ["El  gato\tve", "GATO rojo, tren", "zzz", "un niño ve el 12345", "¿el lobo?", "</s>", "el gato </s> ve"]
SENTENCES = [source for source, _ in toy.pairs(193, seed=5)] + ODD
SENTENCE = "el perro negro ve el tren viejo"


def entry(model: TranslationModel) -> dict[str, Any]:
    return {**entry_of(model, SENTENCE), "aliases": aliases_of(model.network)}


@pytest.fixture(scope="module")
def model_page(trained: TranslationModel, lasting: Page, site: Site) -> Page:
    """A page in which the trained model is open."""
    weights = site.give("trained", weights_file(trained.network, "float32"))
    program = "async (given) => (await import('/tests/sessions.js')).open(given)"
    lasting.evaluate(program, {"entry": entry(trained), "weights": weights})
    return lasting


def _generations(page: Page, texts: list[str], **options: Any) -> list[dict[str, Any]]:
    program = "async (given) => (await import('/tests/sessions.js')).generations(...given)"
    found: list[dict[str, Any]] = json.loads(page.evaluate(program, [texts, options]))
    return found


def _asked(page: Page, verb: str, *given: Any) -> Any:
    return page.evaluate("async (given) => (await import('/tests/sessions.js')).asked(...given)", [verb, *given])


def _expected(
    model: TranslationModel, texts: list[str], beam: int, n_best: int, prefix: list[int]
) -> list[list[Hypothesis]]:
    ids = model.source_tokenizer.encode(texts)
    limits = [min(3 * len(row) + 20, model.config["model"]["max_length"] - len(prefix)) for row in ids]
    engine, config = TorchEngine(model.network, torch.device("cpu")), DecodeConfig(beam=beam, n_best=n_best)
    return engine.generate(ids, [prefix] * len(ids), GenerationSettings(config, limits))


@pytest.mark.parametrize(("beam", "n_best", "count"), [(1, 1, 200), (5, 1, 200), (5, 5, 40)])
def test_translations_are_those_of_pytorch(
    beam: int, n_best: int, count: int, trained: TranslationModel, model_page: Page
) -> None:
    texts = SENTENCES[-count:]
    found = _generations(model_page, texts, beam=beam, nBest=n_best)
    for text, one, expected in zip(texts, found, _expected(trained, texts, beam, n_best, []), strict=True):
        _check_same(trained, text, one, expected)


def test_a_forced_prefix(trained: TranslationModel, model_page: Page) -> None:
    (prefix,) = trained.target_tokenizer.encode(["the black"])
    found = _generations(model_page, SENTENCES[:20], beam=5, nBest=2, prefix=prefix)
    for text, one, expected in zip(SENTENCES, found, _expected(trained, SENTENCES[:20], 5, 2, prefix), strict=False):
        _check_same(trained, text, one, expected)
        assert all(each["ids"][: len(prefix)] == prefix for each in one["hypotheses"])


def test_the_probability_of_each_token(trained: TranslationModel, model_page: Page) -> None:
    engine = TorchEngine(trained.network, torch.device("cpu"))
    (prefix,) = trained.target_tokenizer.encode(["the black"])
    for forced in ([], prefix):
        (found,) = _generations(model_page, [SENTENCE], beam=5, nBest=5, prefix=forced)
        (ids,), own = trained.source_tokenizer.encode([SENTENCE]), found["hypotheses"]
        for each, log_p in zip(own, engine.score([ids] * 5, [one["ids"] for one in own]), strict=True):
            assert each["tokenLogProbabilities"] == pytest.approx(log_p, **CLOSE)


def _check_same(model: TranslationModel, text: str, found: dict[str, Any], expected: list[Hypothesis]) -> None:
    (ids,) = model.source_tokenizer.encode([text])
    assert found["source"] == [*model.source_tokenizer.spelt(ids), "</s>"]
    own = found["hypotheses"]
    assert [each["ids"] for each in own] == [each.tokens for each in expected], text
    assert [each["text"] for each in own] == model.target_tokenizer.decode([each.tokens for each in expected])
    assert [each["pieces"] for each in own] == [
        [*model.target_tokenizer.spelt(each.tokens), "</s>"] for each in expected
    ]
    assert [each["complete"] for each in own] == [each.complete for each in expected]
    assert [each["score"] for each in own] == pytest.approx([each.score for each in expected], **CLOSE)


def test_a_translation_is_what_the_program_says(trained: TranslationModel, model_page: Page) -> None:
    texts = [source for source, _ in toy.pairs(30, seed=6)]
    found = _generations(model_page, texts)
    expected = trained.translate(texts, recover=False)
    assert [one["hypotheses"][0]["text"] for one in found] == [one.text for one in expected]


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────

SWITCHES = [
    Switches(),
    Switches(scale=False, heads_off=frozenset({("decoder.0.cross", 1)})),
    Switches(positions=False, future_mask=False, residual_off=frozenset({"encoder.0.add_self"})),
    Switches(layers_off=frozenset({"decoder.0"})),
]


@pytest.mark.parametrize("switches", SWITCHES, ids=["all on", "attention", "others", "layer"])
def test_a_trace_has_every_tensor_of_pytorch(
    switches: Switches, trained: TranslationModel, model_page: Page, site: Site
) -> None:
    target = "the old train sees the dog"
    with switched(trained.network, switches):
        expected = trained.trace(SENTENCE, target)
    (ids,) = trained.target_tokenizer.encode([target])
    given = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in _plain(switches).items()}
    address = site.give("trace", save({path: np.ascontiguousarray(a) for path, a in expected.tensors.items()}))
    program = "async (given) => (await import('/tests/sessions.js')).traceDifferences(...given)"
    found = model_page.evaluate(program, [SENTENCE, {"target": ids, "switches": given}, address])
    assert not found["faults"], found["faults"][:5]
    assert found["count"] == len(expected.tensors) > 10
    assert found["said"] == {"source": list(expected.source), "target": list(expected.target or ()), "ids": ids}


def _plain(switches: Switches) -> dict[str, Any]:
    return {field.name: getattr(switches, field.name) for field in dataclasses.fields(switches)}


def test_a_trace_without_a_target_is_of_the_translation(model_page: Page) -> None:
    (generation,) = _generations(model_page, [SENTENCE])
    program = "async (given) => { const {tensors, ...said} = (await import('/tests/sessions.js')).asked(...given); "
    said = model_page.evaluate(program + "return said; }", ["trace", SENTENCE])
    assert said["ids"] == generation["hypotheses"][0]["ids"]


# ── what else is asked ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_likeliest_next_tokens(trained: TranslationModel, model_page: Page) -> None:
    (ids,) = trained.source_tokenizer.encode([SENTENCE])
    (prefix,) = trained.target_tokenizer.encode(["the black"])
    with torch.inference_mode():
        step = trained.network.start(collate([ids], [prefix]))
    top = step.logits.softmax(-1)[0].topk(5)
    found = _asked(model_page, "next", SENTENCE, {"prefix": prefix, "count": 5})
    assert [each["id"] for each in found] == top.indices.tolist()
    assert [each["probability"] for each in found] == pytest.approx(top.values.tolist(), **CLOSE)
    assert [each["piece"] for each in found] == trained.target_tokenizer.pieces(top.indices.tolist())


def test_scores_without_words_of_the_source(trained: TranslationModel, model_page: Page) -> None:
    (ids,), (target,) = trained.source_tokenizer.encode([SENTENCE]), trained.target_tokenizer.encode(["the black dog"])
    engine = TorchEngine(trained.network, torch.device("cpu"))
    for start, end in ((0, 0), (0, 1), (1, 4), (len(ids) - 1, len(ids))):
        found = _asked(model_page, "score", SENTENCE, {"target": target, "without": [start, end]})
        (expected,) = engine.score([ids[:start] + ids[end:]], [target])
        assert found == pytest.approx(expected, **CLOSE)
        assert len(found) == len(target) + 1


@pytest.mark.parametrize(
    ("x", "y"),
    [([3, 1, 2], [1, 2, 3]), ([0.5, 0.5, 2, 7, 7, 7], [1, 3, 2, 2, 0, 9]), ([1, 1, 1], [1, 2, 3]), ([4], [4])],
)
def test_rank_correlations_are_those_of_python(x: list[float], y: list[float], page: Page) -> None:
    program = "async (given) => String((await import('/engine/attribution.js')).spearman(...given))"
    assert float(page.evaluate(program, [x, y])) == pytest.approx(spearman(x, y), nan_ok=True)


def test_a_switch_changes_what_is_generated(model_page: Page) -> None:
    (plain,), (turned,) = (
        _generations(model_page, [SENTENCE], switches=switches) for switches in ({}, {"positions": False})
    )
    assert plain["hypotheses"][0]["score"] != turned["hypotheses"][0]["score"]
    assert _generations(model_page, [SENTENCE]) == [plain], "a switch holds for one question only"


def test_a_number_is_explained(model_page: Page) -> None:
    found = _asked(model_page, "explain", "decoder.0.cross.raw_scores", [0, 1, 2], {"text": SENTENCE, "switches": {}})
    assert found["total"] == pytest.approx(found["value"], rel=1e-4, abs=1e-5)


def test_what_the_model_says_of_itself(model_page: Page) -> None:
    said = _asked(model_page, "describe")
    assert all(said[name] for name in ("generates", "hasEncoder", "hasDecoder"))
    assert said["switches"] == ["scale", "future_mask", "positions", "residual_off", "heads_off", "layers_off"]
    attention = {part["path"]: part["heads"] for part in said["parts"] if part["kind"] == "attention"}
    assert attention == {"encoder.0.self": 2, "decoder.0.self": 2, "decoder.0.cross": 2}


@pytest.mark.parametrize(
    ("verb", "given", "message"),
    [
        ("generate", [" \u200b "], "the text is empty"),
        ("generate", ["x" * 20_001], "the text has 20001 characters, and the page takes 20000"),
        ("generate", ["el gato " * 400], "tokens; the model takes 255; shorten it"),
        ("generate", [SENTENCE, {"beam": 1000}], "beam=1000: must be a whole number from 1 to 64"),
        ("generate", [SENTENCE, {"prefix": [99999]}], "prefix: 99999 is no id of the vocabulary"),
        ("trace", [SENTENCE, {"target": [5] * 256}], "the target has 256 tokens; the model takes 255"),
        ("generate", [SENTENCE, {"prefix": [5] * 256}], "the target has 256 tokens; the model takes 255"),
        ("generate", [SENTENCE, {"switches": {"heads": []}}], "switch heads: there are scale, future_mask, positions"),
        ("trace", [SENTENCE, {"switches": {"layers_off": ["encoder.7"]}}], "without encoder.7: transformer"),
        ("explain", ["nothing", [0], {"text": SENTENCE}], "the trace has no nothing"),
        ("predict", [SENTENCE], "a model for translation generates"),
        ("score", [SENTENCE, {"target": [99999]}], "prefix: 99999 is no id of the vocabulary"),
        ("score", ["el gato", {"without": [1, 3]}], "without=1,3: the source has the tokens 0 to "),
    ],
)
def test_mistakes_are_named(verb: str, given: list[Any], message: str, model_page: Page) -> None:
    program = """async (given) => {
        const {asked} = await import("/tests/sessions.js");
        try { asked(...given); return null; } catch (error) { return error.message; }
    }"""
    assert message in model_page.evaluate(program, [verb, *given])


def test_two_directions(both_ways: TranslationModel, page: Page, site: Site) -> None:
    weights = site.give("both", weights_file(both_ways.network, "float32"))
    program = "async (given) => (await import('/tests/sessions.js')).open(given)"
    page.evaluate(program, {"entry": entry(both_ways), "weights": weights})
    for to in ("en", "es"):
        (found,) = _generations(page, [SENTENCE], to=to, beam=2)
        ids = [*both_ways.directions.tag(to), *both_ways.source_tokenizer.encode([SENTENCE])[0]]
        engine, limit = TorchEngine(both_ways.network, torch.device("cpu")), min(3 * len(ids) + 20, 256)
        ((best,),) = engine.generate([ids], [[]], GenerationSettings(DecodeConfig(beam=2), [limit]))
        assert found["hypotheses"][0]["ids"] == best.tokens
        assert found["source"][0] == f"<to:{to}>"


# ── the worker ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_worker_answers_and_drops_what_is_outdated(trained: TranslationModel, page: Page, site: Site) -> None:
    content = weights_file(trained.network, "float32")
    address = site.give("trained", content)
    program = """async ([entry, address, calls]) => {
        const {messages} = await import("/tests/sessions.js");
        const {fetched} = await import("/tests/comparing.js");
        const sent = [{id: 0, verb: "open", arguments: [entry, await fetched(address)]}];
        calls.forEach(([verb, ...given], n) => sent.push({id: n + 1, verb, arguments: given}));
        return messages(sent);
    }"""
    calls = [
        ["generate", "el gato ve el tren", {"beam": 1}],
        ["next", "el gato", {"count": 2}],
        ["generate", SENTENCE, {"beam": 1}],
        ["generate", SENTENCE, {"beam": 2}],
        ["shout", SENTENCE],
        ["trace", SENTENCE, {"switches": {"layers_off": ["nowhere"]}}],
    ]
    answers = {one["id"]: one for one in page.evaluate(program, [entry(trained), address, calls])}
    assert answers[0]["result"] is True
    assert answers[1]["error"].startswith("superseded")
    assert len(answers[2]["result"]) == 2
    assert [len(answers[id]["result"]["hypotheses"]) for id in (3, 4)] == [1, 1]
    assert answers[5]["error"].startswith("shout: there are open, describe, tokens")
    assert answers[6]["error"].startswith("without nowhere")
    assert json.dumps(answers)


def test_weights_in_half_precision(trained: TranslationModel, page: Page, site: Site) -> None:
    weights = site.give("half", weights_file(trained.network, "float16"))
    program = """async (address) => {
        const {readSafetensors} = await import("/engine/safetensors.js");
        const {fetched} = await import("/tests/comparing.js");
        const found = readSafetensors(await fetched(address));
        return [...found].map(([name, {shape, data}]) => [name, shape, Array.from(data.slice(0, 2000))]);
    }"""
    state = trained.network.state_dict()
    found = page.evaluate(program, weights)
    assert len(found) > 20
    for name, shape, numbers in found:
        half = state[name].half().float().flatten()
        assert shape == list(state[name].shape)
        assert numbers == half[:2000].tolist()


def test_every_number_of_half_precision(page: Page) -> None:
    program = """async () => {
        const {float16} = await import("/engine/safetensors.js");
        return Array.from({length: 65536}, (_, bits) => String(float16(bits)));
    }"""
    found = np.array([float(number) for number in page.evaluate(program)])
    expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("cut", [4, 20, -5])
def test_weights_that_are_cut_off(cut: int, trained: TranslationModel, page: Page, site: Site) -> None:
    address = site.give("cut", weights_file(trained.network, "float32")[:cut])
    program = """async (address) => {
        const {readSafetensors} = await import("/engine/safetensors.js");
        const {fetched} = await import("/tests/comparing.js");
        try { readSafetensors(await fetched(address)); return null; } catch (error) { return error.message; }
    }"""
    assert "cut off" in page.evaluate(program, address)


def test_the_end_is_the_same_number_everywhere(page: Page) -> None:
    assert page.evaluate("async () => (await import('/engine/tokenizer.js')).EOS") == EOS
