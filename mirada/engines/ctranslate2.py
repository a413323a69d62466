"""The CTranslate2 engine: translates with a converted Transformer, faster on a CPU than PyTorch.

CTranslate2 (OpenNMT) is an optional dependency: `pip install mirada[ctranslate2]`. It searches as `mirada.decoding`
does, so both engines give the same hypotheses but for ties. What it cannot do (attention weights of every head,
sampling with a seed per sentence, parts switched off) runs on the PyTorch engine instead.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mirada import __version__
from mirada.contracts import BOS, EOS, PAD
from mirada.data.tokenizer_learning import UNK
from mirada.decoding import Hypothesis
from mirada.engines import AttentionWeights, Engine, GenerationSettings
from mirada.errors import UsageError
from mirada.files import cache_folder
from mirada.models.transformer import Transformer
from mirada.nn.blocks import FeedForward, Layer, MultiHead, Stack
from mirada.nn.positions import AddedPositions, Rotary
from mirada.parts import ALL_ON, active_switches

QUANTIZATIONS = ("float32", "int8", "int16", "bfloat16")
PATIENCE = 2.0
"""A search ends when so many times `beam` hypotheses have ended: it then finds what `mirada.decoding` finds, which
continues while an open hypothesis has a better average than those that have ended."""
SIZES = "sizes.txt"
MAX_KEPT = 16
"""Converted models in the user's cache."""
CPU = torch.device("cpu")


def unsupported(network: nn.Module, device: torch.device = CPU) -> str | None:
    """Why CTranslate2 cannot run a network, or None if it can."""
    if find_spec("ctranslate2") is None:
        return "CTranslate2 is not installed: pip install ctranslate2"
    if device.type != "cpu":
        return f"CTranslate2 is used on the CPU here, and the device is {device}"
    if not isinstance(network, Transformer):
        return f"CTranslate2 runs Transformers for translation, not {type(network).__name__}"
    if isinstance(network.positions, Rotary):
        return "CTranslate2 has no rotary positions for translation (model.positions=rotary)"
    return None


class CTranslate2Engine(Engine):
    """Generates with a translator of CTranslate2 (see `open_converted`); `fallback` does what it cannot."""

    cells = 16384

    def __init__(self, translator: Any, fallback: Engine):
        self.translator, self.fallback = translator, fallback

    def generate(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        config = settings.decode
        own = settings.suppressed or settings.endless or settings.free_end
        if settings.attention or config.sample or own or active_switches() is not ALL_ON:
            return self.fallback.generate(sources, prefixes, settings)
        found = self._search(sources, prefixes, max(settings.limits, default=1), settings)
        # The limit holds for all sentences of a call: those that passed their own are searched again with it.
        for row, limit in enumerate(settings.limits):
            if any(len(one.tokens) - len(prefixes[row]) + one.complete > limit for one in found[row]):
                (found[row],) = self._search([sources[row]], [prefixes[row]], limit, settings)
            # Padding and BOS are never generated; here they can be, by a model that has learned nothing.
            if any({PAD, BOS} & set(one.tokens[len(prefixes[row]) :]) for one in found[row]):
                alone = replace(settings, limits=[limit])
                (found[row],) = self.fallback.generate([sources[row]], [prefixes[row]], alone)
        return found

    def score(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        return self.fallback.score(sources, targets)

    def attention(self, sources: Sequence[Any], targets: Sequence[Sequence[int]]) -> AttentionWeights | None:
        return self.fallback.attention(sources, targets)

    def _search(
        self, sources: Sequence[Any], prefixes: Sequence[Sequence[int]], limit: int, settings: GenerationSettings
    ) -> list[list[Hypothesis]]:
        config = settings.decode
        results = self.translator.translate_batch(
            [[*map(str, source), str(EOS)] for source in sources],
            target_prefix=[[str(id) for id in prefix] for prefix in prefixes],
            beam_size=config.beam,
            patience=PATIENCE,
            num_hypotheses=config.n_best,
            length_penalty=config.length_penalty,
            no_repeat_ngram_size=settings.no_repeat_ngram,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(map(len, prefixes), default=0) + limit,
            return_scores=True,
            return_end_token=True,
        )
        found = [
            [
                _hypothesis([int(token) for token in tokens], score, len(prefix), config.length_penalty)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result, prefix in zip(results, prefixes, strict=True)
        ]
        return [sorted(hypotheses, key=lambda one: -one.score) for hypotheses in found]


def _hypothesis(tokens: list[int], score: float, prefix: int, penalty: float) -> Hypothesis:
    """CTranslate2 divides by a length that includes the prefix, and EOS if it is there."""
    complete = tokens[-1:] == [EOS]
    log_probability = score * len(tokens) ** penalty
    score = log_probability / max(1, len(tokens) - prefix) ** penalty
    return Hypothesis(tokens[:-1] if complete else tokens, log_probability, score, complete)


# ── conversion ────────────────────────────────────────────────────────────────────────────────────────────────────


def open_converted(checksum: str, network: nn.Module, quantization: str, threads: int) -> Any:
    """A translator of CTranslate2 for a network; `checksum` is that of its weights in the bundle.

    A converted model is kept in the user's cache under a name made of all that it depends on, so that it is never
    stale. It is not kept in the bundle: what others hand on is not loaded by a library that trusts its files.
    """
    import ctranslate2

    config = network.config.model_dump_json() if isinstance(network, Transformer) else ""
    depends = (checksum, config, quantization, ctranslate2.__version__, __version__)
    key = hashlib.sha256(repr(depends).encode()).hexdigest()[:32]
    cache = cache_folder() / "ctranslate2"
    kept = cache / key

    def opened(folder: Path) -> Any:
        return ctranslate2.Translator(str(folder), device="cpu", compute_type=quantization, intra_threads=threads)

    if kept.is_dir():
        try:
            if _sizes(kept) == (kept / SIZES).read_text():
                os.utime(kept)
                return opened(kept)
        except (RuntimeError, ValueError, LookupError, OSError):  # it is damaged
            pass
        shutil.rmtree(kept, ignore_errors=True)
    with suppress(OSError):  # where nothing can be kept, it is converted for this process alone
        cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache if os.access(cache, os.W_OK) else None) as folder:
        fresh = Path(folder) / "model"
        fresh.mkdir()
        convert(network, fresh, quantization)
        (fresh / SIZES).write_text(_sizes(fresh))
        translator = opened(fresh)
        with suppress(OSError):  # another process may have been faster
            fresh.rename(kept)
            _forget_oldest(cache)
    return translator


def _sizes(folder: Path) -> str:
    """The files of a converted model with their sizes, which tell whether it is whole."""
    return "\n".join(f"{path.name} {path.stat().st_size}" for path in sorted(folder.iterdir()) if path.name != SIZES)


def _forget_oldest(cache: Path) -> None:
    """Keep the models that were used last."""
    models = sorted((path.parent for path in cache.glob("*/model.bin")), key=lambda path: -path.stat().st_mtime)
    for old in models[MAX_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def convert(
    network: nn.Module,
    folder: Path,
    quantization: str = "float32",
    source_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
) -> None:
    """Write a Transformer as a model of CTranslate2; tokens are named by their ids unless names are given."""
    from ctranslate2.specs import common_spec, transformer_spec

    if why := unsupported(network):
        raise UsageError(why)
    assert isinstance(network, Transformer)
    c = network.config
    spec = transformer_spec.TransformerSpec.from_config(
        (c.encoder_layers, c.decoder_layers),
        c.heads,
        pre_norm=c.norm == "pre",
        activation={
            "relu": common_spec.Activation.RELU,
            "gelu": common_spec.Activation.GELU,
            "silu": common_spec.Activation.SWISH,
        }[c.activation],
    )
    positions = _positions(network)
    spec.encoder.embeddings[0].weight = _array(network.source_embedding.weight)
    spec.decoder.embeddings.weight = _array(network.target_embedding.weight)
    spec.decoder.start_from_zero_embedding = False
    _put(spec.decoder.projection, network.output)
    for part, stack in ((spec.encoder, network.encoder), (spec.decoder, network.decoder)):
        part.position_encodings.encodings = positions
        _put_stack(part, stack)
    for register, names, embedding in (
        (spec.register_source_vocabulary, source_names, network.source_embedding),
        (spec.register_target_vocabulary, target_names, network.target_embedding),
    ):
        register(list(names) if names is not None else [str(id) for id in range(embedding.num_embeddings)])
    name = (lambda id: target_names[id]) if target_names is not None else str
    spec.config.bos_token = spec.config.decoder_start_token = name(BOS)
    spec.config.eos_token, spec.config.unk_token = name(EOS), name(UNK)  # a name is needed, also where no token is UNK
    spec.config.layer_norm_epsilon = _eps(network)
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)
    spec.save(str(folder))


def _eps(network: Transformer) -> float:
    layer = network.encoder.layers[0]
    assert isinstance(layer, Layer)
    return layer.add_self.norm.eps


def _positions(network: Transformer) -> np.ndarray[Any, Any]:
    if isinstance(network.positions, AddedPositions):
        return _array(network.positions.table)
    return np.zeros((network.config.max_length + 1, network.config.width), np.float32)


def _put_stack(spec: Any, stack: Stack) -> None:
    if hasattr(spec, "layer_norm"):
        _put_norm(spec.layer_norm, stack.final_norm)
    for part, layer in zip(spec.layer, stack.layers, strict=True):
        assert isinstance(layer, Layer)
        _put_attention(part.self_attention, layer.self_, layer.add_self.norm, joined=3)
        if hasattr(part, "attention"):
            _put_attention(part.attention, layer.cross, layer.add_cross.norm, joined=2)
        _put_feed_forward(part.ffn, layer.feed_forward, layer.add_feed_forward.norm)


def _put_attention(spec: Any, attention: MultiHead, norm: nn.Module, joined: int) -> None:
    """Query, key and value in one matrix, or the query apart from the other two."""
    parts = [attention.query, attention.key, attention.value]
    if joined == 2:
        _put(spec.linear[0], parts.pop(0))
    place = spec.linear[3 - joined]
    place.weight = np.concatenate([_array(part.weight) for part in parts])
    place.bias = np.concatenate([_array(part.bias) for part in parts])
    _put(spec.linear[-1], attention.output)
    _put_norm(spec.layer_norm, norm)


def _put_feed_forward(spec: Any, part: FeedForward, norm: nn.Module) -> None:
    _put(spec.linear_0, part.inner)
    _put(spec.linear_1, part.outer)
    _put_norm(spec.layer_norm, norm)


def _put(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _array(linear.weight)
    if linear.bias is not None:
        spec.bias = _array(linear.bias)


def _put_norm(spec: Any, norm: nn.Module) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor | nn.Module) -> np.ndarray[Any, Any]:
    assert isinstance(tensor, Tensor)
    return np.array(tensor.detach().float().cpu().numpy(), order="C")  # a copy: quantization scales it in place
