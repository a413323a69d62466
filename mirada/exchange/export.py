"""Write a bundle for other toolkits: a checkpoint for `transformers`, or a model of CTranslate2.

Both have the tokenizer beside the weights, so that neither needs Mirada. `transformers` is not imported for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import save as save_tensors

from mirada import __version__
from mirada.data.tokenizer import Tokenizer
from mirada.engines import ctranslate2
from mirada.errors import UsageError
from mirada.exchange import bert, gpt2, marian, vit
from mirada.exchange.checkpoint import WEIGHTS, ExportedModel, not_exportable
from mirada.exchange.tokenizer_files import tokenizer_json
from mirada.files import new_directory, write_bytes, write_text
from mirada.loading import load
from mirada.tasks.inputs import check_choice
from mirada.tasks.model import Model
from mirada.tasks.translation.model import TranslationModel
from mirada.tasks.translation.preprocessor import SOURCE, TARGET

WRITERS: dict[tuple[str, str], Callable[[Any], ExportedModel]] = {
    ("transformer", "translation"): marian.write,
    ("bert", "masked_lm"): bert.write,
    ("bert", "classification"): bert.write,
    ("bert", "tagging"): bert.write,
    ("gpt", "language_model"): gpt2.write,
    ("vit", "image_classification"): vit.write,
}
"""Functions that write a checkpoint, by the architecture and the task of a model."""
FRAME = "$A </s>"
"""The template of CTranslate2's input: a sentence and its end."""


class Export(NamedTuple):
    """The result of an export."""

    loader: str
    """The class that loads it."""
    notes: tuple[str, ...] = ()
    """Messages for the user on differences there."""


def export_bundle(
    path: str | Path, out: str | Path, format: str = "huggingface", quantize: str | None = None
) -> Export:
    """Write a bundle to the new directory `out`, for other toolkits.

    huggingface   config.json, model.safetensors and the tokenizer, for `transformers`
    ctranslate2   a model for `ctranslate2.Translator` and the tokenizer; `quantize` int8, … makes it small and fast

    A model that cannot be written so that it computes the same is refused.
    """
    check_choice("format", format, tuple(FORMATS))
    if quantize is not None:
        check_choice("quantize", quantize, ctranslate2.QUANTIZATIONS)
        if format != "ctranslate2":
            raise UsageError(f"--quantize {quantize}: is for --format ctranslate2")
    model = load(path, Model, device="cpu", engine="torch")
    if isinstance(model, TranslationModel) and model.directions.both:
        raise UsageError(f"{path}: cannot be exported: it translates both ways by a tag that other toolkits do not put")
    return FORMATS[format](model, Path(out), quantize or "float32")


def _write_huggingface(model: Model, out: Path, quantization: str) -> Export:
    name, task = model.card["model"], model.card["task"]
    if (name, task) not in WRITERS:
        raise not_exportable(model.path, f"transformers has no class that computes what {name} does for {task}")
    exported = WRITERS[name, task](model)
    software = {"architectures": [exported.architecture], "dtype": "float32", "mirada_version": __version__}
    files = {"config.json": {**software, **exported.config}, **exported.files}
    with new_directory(out) as folder:
        write_bytes(folder / WEIGHTS, save_tensors(exported.tensors, {"format": "pt"}))
        for file, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            write_text(folder / file, text)
    return Export(exported.architecture, exported.notes)


def _write_ctranslate2(model: Model, out: Path, quantization: str) -> Export:
    if not isinstance(model, TranslationModel):
        raise UsageError(
            f"{model.path}: --format ctranslate2 is for translators, and this is a model for {model.card['task']}"
        )
    if why := ctranslate2.unsupported(model.network):
        raise UsageError(f"{model.path}: cannot be exported to CTranslate2: {why}")
    source, target = model.source_tokenizer, model.target_tokenizer
    network: Any = model.network
    tables = [network.source_embedding, network.target_embedding]
    names = [_names(each, table.num_embeddings) for each, table in zip((source, target), tables, strict=True)]
    with new_directory(out) as folder:
        ctranslate2.convert(network, folder, quantization, *names)
        write_text(folder / SOURCE, tokenizer_json(source, FRAME))
        if target is not source:
            write_text(folder / TARGET, tokenizer_json(target, FRAME))
    return Export("ctranslate2.Translator")


def _names(tokenizer: Tokenizer, rows: int) -> list[str]:
    """The name of every row of an embedding, which may have more rows than there are tokens."""
    tokens = {id: token for token, id in tokenizer.vocabulary().items()}
    return [tokens.get(id, f"<unused {id}>") for id in range(rows)]


FORMATS: dict[str, Callable[[Model, Path, str], Export]] = {
    "huggingface": _write_huggingface,
    "ctranslate2": _write_ctranslate2,
}
"""Functions that write a bundle, by format."""
