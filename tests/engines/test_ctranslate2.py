"""The CTranslate2 engine gives the hypotheses of the PyTorch engine, and leaves to it what it cannot do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch

import mirada
from mirada.contracts import BOS, EOS, PAD, Sizes
from mirada.decoding import DecodeConfig
from mirada.engines import GenerationSettings
from mirada.engines import ctranslate2 as engine_module
from mirada.engines.ctranslate2 import CTranslate2Engine, convert, open_converted, unsupported
from mirada.engines.torch import TorchEngine
from mirada.errors import UsageError
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

CPU = torch.device("cpu")
KINDS: dict[str, dict[str, object]] = {
    "pre-norm": {},
    "post-norm": {"norm": "post"},
    "gelu, learned positions": {"activation": "gelu", "positions": "learned"},
    "silu, no positions, output bias": {"activation": "silu", "positions": "none", "output_bias": True},
    "halves, tied output": {"positions": "halves", "tie": "output"},
    "untied": {"tie": "none"},
}


def network(**changes: object) -> Transformer:
    torch.manual_seed(1)
    sizes = {"width": 32, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "feed_forward": 48, "max_length": 40}
    found = Transformer(TransformerConfig.model_validate({**sizes, **changes}), Sizes(60, 60)).eval()
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            if "norm" in name or "bias" in name:  # at their initial values they would hide a mistake
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return found


def settings(limit: int, count: int, **changes: object) -> GenerationSettings:
    return GenerationSettings(DecodeConfig.model_validate({"beam": 4, "n_best": 4, **changes}), [limit] * count)


def engines(net: Transformer, folder: Path) -> tuple[TorchEngine, CTranslate2Engine]:
    folder.mkdir()
    convert(net, folder)
    slow = TorchEngine(net, CPU)
    return slow, CTranslate2Engine(ctranslate2.Translator(str(folder), intra_threads=1), slow)


SOURCES = [[7, 9, 23, 50], [4, 4], [59, 12, 33, 5, 8, 41, 17, 20], [30]]


@pytest.mark.parametrize("kind", KINDS)
def test_both_engines_compute_the_same_probabilities(kind: str, tmp_path: Path) -> None:
    """Every score of CTranslate2 is the log probability that the PyTorch network gives those tokens."""
    net = network(**{**KINDS[kind], "output_bias": True})
    with torch.no_grad():
        net.output.bias[[PAD, BOS]] = -100.0  # as in a trained model: otherwise PyTorch would search instead
    _, fast = engines(net, tmp_path / "model")
    prefixes: list[list[int]] = [[] for _ in SOURCES]
    for source, found in zip(SOURCES, fast.generate(SOURCES, prefixes, settings(9, len(SOURCES))), strict=True):
        assert len(found) == 4
        for one in found:
            target = torch.tensor([[BOS, *one.tokens, EOS]])
            batch = TorchEngine(net, CPU)._batch([source], [[]])
            log_p = net(batch.__class__(batch.source, target)).log_softmax(-1)
            steps = log_p.gather(2, target[:, 1:, None]).flatten()  # the last is the end, which a cut one has not
            total = (steps if one.complete else steps[:-1]).sum().item()
            assert one.log_probability == pytest.approx(total, abs=2e-3)


def test_both_engines_choose_the_same(trained: TranslationModel, tmp_path: Path) -> None:
    net = trained.network
    assert isinstance(net, Transformer)
    slow, fast = engines(net, tmp_path / "model")
    sources = trained.source_tokenizer.encode([source for source, _ in toy.pairs(60, seed=5)])
    nothing: list[list[int]] = [[] for _ in sources]
    searches: list[dict[str, object]] = [{"beam": 1, "n_best": 1}, {}, {"length_penalty": 0.0}]
    for options in searches:
        ours, theirs = (e.generate(sources, nothing, settings(30, len(sources), **options)) for e in (slow, fast))
        same = [a[0].tokens == b[0].tokens for a, b in zip(ours, theirs, strict=True)]
        assert sum(same) >= 59
        for a, b in zip(ours, theirs, strict=True):
            if a[0].tokens == b[0].tokens:
                assert a[0].score == pytest.approx(b[0].score, abs=1e-4)
                assert a[0].complete == b[0].complete


def test_a_prefix_is_forced(trained: TranslationModel, tmp_path: Path) -> None:
    assert isinstance(trained.network, Transformer)
    slow, fast = engines(trained.network, tmp_path / "model")
    sources = trained.source_tokenizer.encode(["el gato negro ve el tren"] * 2)
    prefixes = trained.target_tokenizer.encode(["the old", "a"])
    ours, theirs = (e.generate(sources, prefixes, settings(20, 2, n_best=1)) for e in (slow, fast))
    for prefix, a, b in zip(prefixes, ours, theirs, strict=True):
        assert b[0].tokens[: len(prefix)] == prefix
        assert a[0].tokens == b[0].tokens
        assert a[0].score == pytest.approx(b[0].score, abs=1e-4)


def test_each_sentence_has_its_own_limit(tmp_path: Path) -> None:
    net = network()
    with torch.no_grad():
        net.target_embedding.weight[EOS] = -net.target_embedding.weight.mean(0) * 50  # it never ends by itself
    _, fast = engines(net, tmp_path / "model")
    given = GenerationSettings(DecodeConfig(beam=2), [3, 8])
    found = fast.generate(SOURCES[:2], [[], []], given)
    assert [len(one[0].tokens) <= limit for one, limit in zip(found, (3, 8), strict=True)] == [True, True]
    assert not any(one[0].complete for one in found)


def test_nothing_is_generated_from_no_sources(tmp_path: Path) -> None:
    given = GenerationSettings(DecodeConfig(), [])
    assert [engine.generate([], [], given) for engine in engines(network(), tmp_path / "model")] == [[], []]


def test_padding_is_never_generated(tmp_path: Path) -> None:
    net = network(output_bias=True)
    with torch.no_grad():
        net.output.bias[[PAD, BOS]] = 20.0
    slow, fast = engines(net, tmp_path / "model")
    nothing: list[list[int]] = [[] for _ in SOURCES]
    ours, theirs = (engine.generate(SOURCES, nothing, settings(9, len(SOURCES))) for engine in (slow, fast))
    assert [[one.tokens for one in found] for found in ours] == [[one.tokens for one in found] for found in theirs]
    assert not {PAD, BOS} & {token for found in theirs for one in found for token in one.tokens}


def test_what_it_cannot_do_runs_on_pytorch(tmp_path: Path) -> None:
    slow, fast = engines(network(), tmp_path / "model")
    for given in (
        GenerationSettings(DecodeConfig(sample=True, seed=3), [6]),
        GenerationSettings(DecodeConfig(beam=2), [6], attention=True),
    ):
        (a,), (b,) = (e.generate(SOURCES[:1], [[]], given) for e in (slow, fast))
        assert a[0].tokens == b[0].tokens
        assert (b[0].attention is not None) == given.attention


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRADA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


def opened(weights: str, quantization: str = "float32") -> Any:
    return open_converted(weights, network(), quantization, threads=1)


def test_a_converted_model_is_kept_and_never_stale(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened("weights 1")
    (first,) = cache.iterdir()
    monkeypatch.setattr(engine_module, "convert", lambda *given: pytest.fail("it was converted before"))
    opened("weights 1")
    monkeypatch.undo()
    monkeypatch.setenv("MIRADA_CACHE", str(cache.parent))
    opened("weights 1", "int8")
    opened("weights 2")
    open_converted("weights 1", network(heads=2), "float32", threads=1)  # the same weights mean something else
    assert len(list(cache.iterdir())) == 4
    sizes = [(folder / "model.bin").stat().st_size for folder in cache.iterdir()]
    assert min(sizes) < max(sizes)  # int8
    monkeypatch.setattr(engine_module, "MAX_KEPT", 2)
    os.utime(first, (1, 1))
    opened("weights 3")
    assert len(list(cache.glob("*/model.bin"))) == 2
    assert first not in cache.iterdir()


@pytest.mark.parametrize("name", ["model.bin", "config.json", "shared_vocabulary.json"])
@pytest.mark.parametrize("content", [b"", b"[]", bytes(100)], ids=["empty", "a list", "zeros"])
def test_a_damaged_cache_is_converted_again(name: str, content: bytes, cache: Path) -> None:
    opened("weights")
    (kept,) = cache.iterdir()
    (kept / name).write_bytes(content)
    found = opened("weights")
    assert found.translate_batch([["7", "9", str(EOS)]], beam_size=1, max_decoding_length=5)


def test_without_a_cache_a_model_is_converted_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no directory can be here")
    monkeypatch.setenv("MIRADA_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert opened("weights").translate_batch([["7", str(EOS)]], beam_size=1, max_decoding_length=5)


def test_what_cannot_be_converted_is_refused_by_name(tmp_path: Path) -> None:
    rotary = network(positions="rotary")
    assert "rotary" in (unsupported(rotary) or "")
    with pytest.raises(UsageError, match="rotary"):
        convert(rotary, tmp_path)
    assert "Seq2Seq" in (unsupported(Seq2Seq(Seq2SeqConfig(name="seq2seq-gru", width=8), 9, 9)) or "")
    assert unsupported(network()) is None


def bundle_of(trained: TranslationModel, folder: Path) -> Path:
    return shutil.copytree(trained.path, folder / "bundle", ignore=shutil.ignore_patterns("run"))


def test_a_model_is_opened_with_the_engine_that_is_asked_for(trained: TranslationModel, tmp_path: Path) -> None:
    path = bundle_of(trained, tmp_path)
    texts = [source for source, _ in toy.pairs(20, seed=6)]
    slow = mirada.load(path, TranslationModel, engine="torch")
    assert isinstance(slow.translator.engine, TorchEngine)
    choices: list[dict[str, Any]] = [{}, {"engine": "ctranslate2"}, {"quantize": "int8"}]
    for options in choices:
        fast = mirada.load(path, TranslationModel, **options)
        assert isinstance(fast.translator.engine, CTranslate2Engine)
        same = [a.text == b.text for a, b in zip(slow.translate(texts), fast.translate(texts), strict=True)]
        assert sum(same) >= 19
        assert fast.attend(texts[0]).weights.shape == slow.attend(texts[0]).weights.shape
    rough = mirada.load(path, TranslationModel, precision="bfloat16")
    assert isinstance(rough.translator.engine, TorchEngine)
    assert sum(a.text == b.text for a, b in zip(slow.translate(texts), rough.translate(texts), strict=True)) >= 19


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "onnx"}, "torch, ctranslate2"),
        ({"quantize": "int3"}, "int8"),
        ({"engine": "torch", "quantize": "int8"}, "needs the engine ctranslate2"),
        ({"engine": "ctranslate2", "precision": "bfloat16"}, "needs the engine torch"),
        ({"precision": "float16"}, "bfloat16"),
    ],
)
def test_an_engine_that_cannot_be_used_is_refused(
    options: dict[str, Any], message: str, trained: TranslationModel, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        mirada.load(trained.path, TranslationModel, **options)


def test_the_command_line_chooses_the_engine(trained: TranslationModel, tmp_path: Path) -> None:
    path = bundle_of(trained, tmp_path)
    texts = [source for source, _ in toy.pairs(4, seed=7)]
    answers = [
        run("translate", path, *texts, *options).stdout
        for options in (["--engine", "torch"], ["--engine", "ctranslate2"], ["--quantize", "int8"], [])
    ]
    assert len(set(answers)) == 1
    assert "--engine" in run("translate", "--help").stdout
    assert "rust" in refused("translate", path, "x", "--engine", "rust", code=2)
