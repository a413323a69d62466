"""Models that read one text, in a session of the page: what they are given, predict, trace and generate is Python's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page
from safetensors.numpy import save

from mirada.contracts import Sizes
from mirada.data.tokenizer import Tokenizer
from mirada.explorer.entry import entry_of
from mirada.explorer.weights import aliases_of, weights_file
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.models.encoder import EncoderConfig, TransformerEncoder
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.tasks.classification.data import ClassificationPreprocessor
from mirada.tasks.classification.model import ClassificationModel
from mirada.tasks.language_model.model import LanguageModel
from mirada.tasks.language_model.preprocessor import LanguageModelPreprocessor, TextCodec
from mirada.tasks.masked_lm.data import MaskedLMPreprocessor
from mirada.tasks.masked_lm.model import MaskedLanguageModel
from mirada.tasks.model import Model
from mirada.tasks.tagging.model import TaggingModel
from mirada.tasks.tagging.tags import TaggingPreprocessor
from tests import toy
from tests.web.browser import Site
from tests.web.networks import LABELS, shaken

CLOSE: dict[str, Any] = {"rel": 1e-3, "abs": 1e-4}
TEXTS = [
    *(text for pair in toy.pairs(12, seed=3) for text in pair),
    "¿El gato…?! (sí) -- 'rojo' 5.20 don't e-mail",
    "«el»  gato,,, negro\ttren. zzz ☃ </s> <mask>",
    "x",
    "...",
    "GATO rojo " * 15,
]
GAPPED = [
    "el [MASK] ve el tren",
    "[MASK] gato rojo [MASK].",
    "el [MASK]negro [MASK],[MASK] ve",
    " the ([MASK]) dog  ",
    "[MASK]",
]
PROMPTS = ["", "el gato", "el gato ", "el perro\nel tren rojo\n", "the 5 dogs.\n\n¿y?", "zzz ☃ gato", "el gato ve " * 6]
STACK = {"width": 16, "heads": 2, "layers": 2}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def tokenizer(unit: str, **more: Any) -> Tokenizer:
    texts = [text for pair in toy.pairs(200) for text in pair] + ["line\n", "«¿.,;!?()»"]
    return Tokenizer.learn(texts, 340, unit, **more)  # type: ignore[arg-type]


def built(kind: type[Model], task: str, network: Any, preprocessor: Any, **config: Any) -> Any:
    """A model with random weights."""
    values = network.config.model_dump()
    card = {"task": task, "model": values["name"]}
    return kind(Path("toy"), card, {"model": values, **config}, shaken(network), preprocessor, torch.device("cpu"))


def recurrent(name: str, sizes: Sizes, **more: Any) -> RecurrentEncoder:
    return RecurrentEncoder(RecurrentConfig.model_validate({"name": name, "width": 16, **more}), sizes)


def classifier(unit: str, build: Callable[[Sizes], Any]) -> ClassificationModel:
    kit = ClassificationPreprocessor(tokenizer(unit, lowercase=True, normalized=True), LABELS)
    model: ClassificationModel = built(
        ClassificationModel, "classification", build(kit.sizes), kit, data={"max_tokens": 20}
    )
    return model


def tagger(unit: str, build: Callable[[Sizes], Any]) -> TaggingModel:
    kit = TaggingPreprocessor(tokenizer(unit, normalized=True), LABELS)
    model: TaggingModel = built(TaggingModel, "tagging", build(kit.sizes), kit, data={"max_tokens": 200})
    return model


def masked(unit: str, **more: Any) -> MaskedLanguageModel:
    kit = MaskedLMPreprocessor(tokenizer(unit, mask=True, normalized=True))
    network = BertForPretraining(BertConfig.model_validate({**STACK, **more}), kit.sizes)
    model: MaskedLanguageModel = built(MaskedLanguageModel, "masked_lm", network, kit)
    return model


def language_model(unit: str, build: Callable[[Sizes], Any]) -> LanguageModel:
    kit = LanguageModelPreprocessor(TextCodec(tokenizer(unit)), np.zeros(1, np.int64))
    model: LanguageModel = built(LanguageModel, "language_model", build(kit.sizes), kit, data={"length": 16})
    return model


CLASSIFIERS: dict[str, Callable[[], ClassificationModel]] = {
    "lstm, words": lambda: classifier("words", lambda sizes: recurrent("lstm", sizes)),
    "jordan, characters": lambda: classifier("characters", lambda sizes: recurrent("jordan", sizes)),
    "encoder, subwords": lambda: classifier(
        "subwords", lambda sizes: TransformerEncoder(EncoderConfig(**STACK), sizes)
    ),
    "gpt, symbols": lambda: classifier("symbols", lambda sizes: GPT(GPTConfig(**STACK, max_length=22), sizes)),
    "bert, subwords": lambda: classifier("subwords", lambda sizes: Bert(BertConfig(**STACK), sizes)),
}
TAGGERS: dict[str, Callable[[], TaggingModel]] = {
    "gru, subwords": lambda: tagger("subwords", lambda sizes: recurrent("gru", sizes, layers=2)),
    "bert, words": lambda: tagger("words", lambda sizes: Bert(BertConfig(**STACK), sizes)),
    "encoder, characters": lambda: tagger(
        "characters", lambda sizes: TransformerEncoder(EncoderConfig(**STACK), sizes)
    ),
}
LANGUAGE_MODELS: dict[str, Callable[[], LanguageModel]] = {
    "elman, characters": lambda: language_model("characters", lambda sizes: recurrent("elman", sizes)),
    "lstm, subwords": lambda: language_model("subwords", lambda sizes: recurrent("lstm", sizes, layers=2)),
    "gru, words": lambda: language_model("words", lambda sizes: recurrent("gru", sizes)),
    "gpt, subwords": lambda: language_model("subwords", lambda sizes: GPT(GPTConfig(**STACK, max_length=200), sizes)),
    "gpt, a short context": lambda: language_model(
        "characters", lambda sizes: GPT(GPTConfig(**STACK, max_length=9, positions="rotary"), sizes)
    ),
    "gpt, words, a short context": lambda: language_model(
        "words", lambda sizes: GPT(GPTConfig(**STACK, max_length=6), sizes)
    ),
}


def opened(page: Page, site: Site, model: Model) -> dict[str, Any]:
    """Open the model in the page; what it says of itself."""
    weights = site.give("reader", weights_file(model.network, "float32"))
    entry = {**entry_of(model, "el gato"), "aliases": aliases_of(model.network)}
    program = "async (given) => (await import('/tests/sessions.js')).open(given)"
    said: dict[str, Any] = page.evaluate(program, {"entry": entry, "weights": weights})
    return said


def asked_each(page: Page, verb: str, texts: list[str], *more: Any) -> list[Any]:
    """What the session answers for each text."""
    program = """async ([verb, texts, more]) => {
        const {asked} = await import("/tests/sessions.js");
        return JSON.stringify(texts.map((text) => asked(verb, text, ...more)));
    }"""
    found: list[Any] = json.loads(page.evaluate(program, [verb, texts, more]))
    return found


def check_traces(page: Page, site: Site, model: Model, texts: list[str]) -> None:
    """The page's traces of the texts have PyTorch's tensors and tokens."""
    given = list[tuple[str, list[str], str]]()
    for number, text in enumerate(texts):
        trace = model.trace(text)
        content = save({path: np.ascontiguousarray(array) for path, array in trace.tensors.items()})
        given.append((text, trace.source, site.give(f"trace-{number}", content)))
    program = """async (given) => {
        const {traceDifferences} = await import("/tests/sessions.js");
        const found = [];
        for (const [text, , expected] of given) found.push(await traceDifferences(text, {}, expected));
        return found;
    }"""
    for (text, read, _), found in zip(given, page.evaluate(program, given), strict=True):
        assert not found["faults"], (text, found["faults"][:5])
        assert found["count"] > 3
        assert found["said"]["source"] == read, text


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes(name: str, lasting: Page, site: Site) -> None:
    model = CLASSIFIERS[name]()
    assert not opened(lasting, site, model)["generates"]
    expected = model.classify(TEXTS)
    assert len({round(one.probability, 3) for one in expected}) > 10
    for one, found in zip(expected, asked_each(lasting, "predict", TEXTS), strict=True):
        assert [each["label"] for each in found["labels"]] == list(one.probabilities)
        probabilities = [each["probability"] for each in found["labels"]]
        assert probabilities == pytest.approx(list(one.probabilities.values()), **CLOSE)
        assert found["cut"] == one.cut
    assert any(one.cut for one in expected)
    check_traces(lasting, site, model, [*TEXTS[::5], *TEXTS[-5:]])


@pytest.mark.parametrize("name", TAGGERS)
def test_tags(name: str, lasting: Page, site: Site) -> None:
    model = TAGGERS[name]()
    opened(lasting, site, model)
    for one, found in zip(model.tag(TEXTS), asked_each(lasting, "predict", TEXTS), strict=True):
        assert [(each["token"], each["label"]) for each in found["tags"]] == [(word, tag) for word, tag, _ in one]
        assert [each["probability"] for each in found["tags"]] == pytest.approx([p for *_, p in one], **CLOSE)
    texts = [*TEXTS[::5], *TEXTS[-5:]]
    check_traces(lasting, site, model, [" ".join(word for word, *_ in model.tag(text)) for text in texts])


@pytest.mark.parametrize("unit", ["subwords", "words", "characters"])
def test_words_for_gaps(unit: str, lasting: Page, site: Site) -> None:
    model = masked(unit)
    opened(lasting, site, model)
    for text, found in zip(GAPPED, asked_each(lasting, "predict", GAPPED), strict=True):
        expected = model.fill(text, 10)
        assert len(found["fills"]) == text.count("[MASK]")
        for one, fill in zip(expected, found["fills"], strict=True):
            assert [each["word"] for each in fill["words"]] == [word for word, _ in one]
            assert [each["probability"] for each in fill["words"]] == pytest.approx([p for _, p in one], **CLOSE)
            assert model.trace(text).source[fill["position"]] == "[MASK]"
    assert asked_each(lasting, "predict", ["el gato"]) == [{"fills": []}]
    check_traces(lasting, site, model, [*GAPPED, *TEXTS[:4]])


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_continuations(name: str, lasting: Page, site: Site) -> None:
    """Also of prompts and texts that are longer than the context."""
    model = LANGUAGE_MODELS[name]()
    assert opened(lasting, site, model)["generates"]
    for beam in (1, 4):
        found = asked_each(lasting, "generate", PROMPTS, {"beam": beam, "tokens": 25})
        for prompt, one in zip(PROMPTS, found, strict=True):
            expected = model.generate(prompt, tokens=25, beam=beam)
            (best,) = one["hypotheses"]
            assert best["ids"] == list(expected.tokens), prompt
            assert best["text"] == expected.text
    context = model.network.context or 1000
    short = [text for text in PROMPTS if text.strip() and len(model.preprocessor.codec.before(text)) <= context]
    check_traces(lasting, site, model, short or ["el"])


def test_a_text_after_the_prompt_is_read_too(lasting: Page, site: Site) -> None:
    """`target` of a trace: the tokens that a language model wrote."""
    model = LANGUAGE_MODELS["lstm, subwords"]()
    opened(lasting, site, model)
    (ids,) = model.preprocessor.tokenizer.encode(["ve el tren"])
    trace = model.trace("el gato", " ve el tren")
    said = asked_each(lasting, "trace", ["el gato"], {"target": ids})
    assert said[0]["source"] == trace.source
    assert said[0]["ids"] == ids


@pytest.mark.parametrize(
    ("make", "text", "message"),
    [
        (CLASSIFIERS["lstm, words"], " \n\u200a ", "the text is empty"),
        (LANGUAGE_MODELS["gpt, a short context"], "el gato rojo", "takes at most model.max_length=9"),
        (
            lambda: tagger("words", lambda sizes: Bert(BertConfig(**STACK, max_length=8), sizes)),
            "a b c d e f g h",
            "at most",
        ),
        (lambda: masked("words", max_length=8), "a b c d e f g h", "the model takes 6; shorten it"),
    ],
)
def test_texts_that_do_not_fit(make: Callable[[], Model], text: str, message: str, lasting: Page, site: Site) -> None:
    opened(lasting, site, make())
    program = """async (text) => {
        const {asked} = await import("/tests/sessions.js");
        try { asked("trace", text); return null; } catch (error) { return error.message; }
    }"""
    assert message in lasting.evaluate(program, text)
