"""Translating a test set with each engine of a trained bundle, beam 5: sentences per second, equal texts, BLEU.

    python -m bench translating es-en test.tsv [--sentences 1000] [--rounds 3]

The engines alternate, and so do two peers with the same weights. "transformers" is what `mirada export` writes, with
`generate` on batches of sentences of similar length. "ctranslate2, direct" is CTranslate2 without Mirada, given the
same tokens in batches of its own choice: what is lost to splitting, tokenizing and batching shows in the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import mirada
from mirada.contracts import EOS
from mirada.data.batching import similar
from mirada.data.sources import DataConfig
from mirada.device import keep_memory
from mirada.engines.ctranslate2 import PATIENCE, CTranslate2Engine
from mirada.exchange.export import export_bundle
from mirada.metrics.translation import bleu, bleu_tokenizer
from mirada.tasks.translation.data import read_examples
from mirada.tasks.translation.model import TranslationModel

TOKENS = 1024
"""Source tokens in a batch of transformers."""
ENGINES: dict[str, dict[str, Any]] = {
    "torch": {"engine": "torch"},
    "torch, bfloat16": {"engine": "torch", "precision": "bfloat16"},
    "ctranslate2": {"engine": "ctranslate2"},
    "ctranslate2, int8": {"quantize": "int8"},
}


def direct(model: TranslationModel, texts: Sequence[str]) -> Callable[[], list[str]]:
    """CTranslate2 on the same tokens."""
    engine = model.translator.engine
    assert isinstance(engine, CTranslate2Engine)
    tokens = [[*map(str, ids), str(EOS)] for ids in model.source_tokenizer.encode(texts)]

    def translate() -> list[str]:
        found = engine.translator.translate_batch(
            tokens, beam_size=5, patience=PATIENCE, max_batch_size=1024, batch_type="tokens", min_decoding_length=0
        )
        return model.target_tokenizer.decode([[int(token) for token in result.hypotheses[0]] for result in found])

    return translate


def exported(model: TranslationModel, texts: Sequence[str], folder: Path) -> Callable[[], list[str]]:
    """transformers with the same weights."""
    export_bundle(model.path, folder)
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer  # the tests install it

    words: Any = AutoTokenizer.from_pretrained(folder)
    network: Any = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    @torch.inference_mode()
    def translate() -> list[str]:
        found = [""] * len(texts)
        lengths = [len(ids) for ids in words(list(texts)).input_ids]
        for group in similar(lengths, TOKENS):
            batch = words([texts[number] for number in group], padding=True, return_tensors="pt")
            longest = 3 * batch.input_ids.shape[1] + 20  # as decode.max_ratio
            said = network.generate(**batch, num_beams=5, max_new_tokens=longest)
            for number, text in zip(group, words.batch_decode(said, skip_special_tokens=True), strict=True):
                found[number] = text
        return found

    return translate


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench translating")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("file", type=Path, help="pairs, as `mirada evaluate` takes them")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    keep_memory()
    models = {name: mirada.load(options.bundle, TranslationModel, **how) for name, how in ENGINES.items()}
    first = models["torch"]
    examples = read_examples(DataConfig.model_validate({"files": [str(options.file)]}).open())[0][: options.sentences]
    sources, references = [source for source, _ in examples], [list(given) for _, given in examples]
    runs: dict[str, Callable[[], list[str]]] = {
        name: lambda model=model: [found.text for found in model.translate(sources, split=False)]  # type: ignore[misc]
        for name, model in models.items()
    }
    runs["ctranslate2, direct"] = direct(models["ctranslate2"], sources)
    with tempfile.TemporaryDirectory(prefix="mirada-bench-") as folder:
        runs["transformers"] = exported(first, sources, Path(folder) / "exported")
    texts: dict[str, list[str]] = {}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(options.rounds + 1):
        for name, run in runs.items():
            began = time.perf_counter()
            texts[name] = run()
            if round_:  # the first round warms up
                seconds[name].append(time.perf_counter() - began)
    kind = bleu_tokenizer(first.card["languages"]["target"], references)
    for name, found in texts.items():
        equal = sum(one == other for one, other in zip(found, texts["torch"], strict=True))
        speeds = [len(sources) / spent for spent in seconds[name]]
        print(
            f"{name:20} {statistics.median(speeds):7.1f} sentences/s ({min(speeds):.1f} to {max(speeds):.1f})   "
            f"{equal:,} of {len(sources):,} texts equal torch's   BLEU {bleu(found, references, kind):.2f}"
        )
    for name, peer in (
        ("torch", "transformers"),
        ("ctranslate2", "transformers"),
        ("ctranslate2", "ctranslate2, direct"),
    ):
        ratios = sorted(b / a for a, b in zip(seconds[name], seconds[peer], strict=True))
        print(f"{name} : {peer}   ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    print(f"{torch.get_num_threads()} thread(s)")
