"""What a page knows of a model: its entry, its weights, and the trace that proves the page's own computation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from mirada import bundle as bundles
from mirada.contracts import EOS
from mirada.data.text import shown_path
from mirada.data.tokenizer import Tokenizer
from mirada.errors import InputError, UsageError
from mirada.explorer.samples import sample_sentence
from mirada.explorer.weights import Precision, aliases_of, file_of, packed, rounded, suggest_precision, weights_file
from mirada.inspection.snapshots import load_history
from mirada.inspection.trace import Trace

RECURRENT = frozenset({"elman", "lstm", "gru"})
READERS = RECURRENT | {"memoryless", "jordan", "transformer", "gpt", "bert"}
ARCHITECTURES = {
    "translation": frozenset({"transformer", "seq2seq-elman", "seq2seq-lstm", "seq2seq-gru"}),
    "language_model": RECURRENT | {"gpt"},
    "classification": READERS,
    "tagging": READERS,
    "masked_lm": frozenset({"bert"}),
}
"""What the engine of the page computes, by task."""
DECODE = {"beam": 5, "length_penalty": 1.0, "max_ratio": 3.0}
MOST_CHARACTERS = 20_000
"""The longest sentence; a model's own limit is lower."""


class Explored(Protocol):
    """A trained model, as far as a page is made of it: a `mirada.Model`."""

    @property
    def path(self) -> Path: ...
    @property
    def card(self) -> Mapping[str, Any]: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def preprocessor(self) -> Any: ...
    @property
    def network(self) -> nn.Module: ...
    @property
    def parameters(self) -> int: ...
    def trace(self, text: Any, /, **options: Any) -> Trace: ...


@dataclass
class Packed:
    """A model as it stands in a page: its entry, and its blobs by their names without the number of the model."""

    entry: dict[str, Any]
    blobs: dict[str, str] = field(default_factory=dict)
    """As `packed` writes them: `weights`, `proof`, `training`, `recorded-k`."""


def pack(model: Explored, sentence: str | None, precision: Precision | None) -> Packed:
    """A model that runs in the page."""
    precision = precision or suggest_precision(model.parameters)
    sentence = sentence_for(model, sentence)
    found = Packed(entry_of(model, sentence))
    found.entry |= {"precision": precision, "aliases": aliases_of(model.network)}
    found.blobs["weights"] = packed(weights_file(model.network, precision))
    with rounded(model.network, precision):
        trace = model.trace(sentence, **first_direction(model))
    target = None if trace.target is None else [id for id in trace.tokens["target"].ids if id != EOS]
    text = _as_read(model.preprocessor, trace)
    found.entry["proof"] = {"text": text, "target": target, "source": trace.source, "output": trace.output}
    found.blobs["proof"] = packed(file_of(trace.tensors))
    add_training(found, model.path)
    return found


def entry_of(model: Explored, sentence: str) -> dict[str, Any]:
    """All of a model's entry that does not depend on its weights."""
    task, preprocessor, limits = model.card["task"], model.preprocessor, model.config.get("decode", {})
    source, target = tokenizers_of(preprocessor)
    config = dict(model.config["model"])
    longest = config.get("max_length")
    return {
        "name": shown_path(model.path.name or model.path),
        "task": task,
        "architecture": config["name"],
        "config": config,
        "sizes": asdict(preprocessor.sizes),
        "tokenizers": {"source": _json(source), "target": None if target is source else _json(target)},
        "normalizes": {"source": source.normalizes, "target": target.normalizes},
        "labels": getattr(preprocessor, "labels", None),
        "max_tokens": model.config.get("data", {}).get("max_tokens"),
        "decode": {name: limits.get(name, usual) for name, usual in DECODE.items()} | {"max_length": longest},
        **_directions(model),
        "opening": getattr(getattr(preprocessor, "codec", None), "opening", None),
        "sentence": sentence,
        "proof": None,
        "precision": "float32",
        "parameters": model.parameters,
        "scores": _scores(model.card),
        "facts": _facts(model.card),
        "aliases": {},
        "training": None,
        "recorded": None,
    }


def sentence_for(model: Explored, given: str | None) -> str:
    """The sentence that the page shows at first: the given one, or one that suits the model."""
    if given is not None:
        if not given.strip():
            raise InputError('--sentence "": is empty; give a sentence, or leave the option out')
        if len(given) > MOST_CHARACTERS:
            raise InputError(f"--sentence: has {len(given):,} characters, and a page shows {MOST_CHARACTERS:,} at most")
        return " ".join(given.split())
    language = (model.card.get("languages") or {}).get("source")
    found = sample_sentence(model.path, model.card["task"], language)
    if found is None:
        raise UsageError(f'{model.path}: has no dev set to take a sentence from; give one: --sentence "…"')
    return found


def why_not(model: Explored) -> str | None:
    """Why the page's engine cannot run a model; None if it can."""
    task, name, preprocessor = model.card["task"], model.config["model"]["name"], model.preprocessor
    if name not in ARCHITECTURES.get(task, ()):
        return f"{name} for {task} does not run in a page"
    units = [side.unit for side in tokenizers_of(preprocessor)]
    if "pieces" in units or getattr(getattr(preprocessor, "codec", None), "whole", False):
        return f"{name} with a published tokenizer does not run in a page"
    if preprocessor.sizes.numeric_outputs:
        return f"{name} for numbers does not run in a page"
    if getattr(preprocessor, "parts", 1) > 1:
        return f"{name} for pairs of texts does not run in a page"
    return None


def reads_text(model: Explored) -> bool:
    """Whether a model reads sentences, so that some can be recorded."""
    return model.card["task"] in ARCHITECTURES


def tokenizers_of(preprocessor: Any) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of what a model reads and of what it writes."""
    own = getattr(preprocessor, "tokenizer", None)
    return (own, own) if own is not None else (preprocessor.source, preprocessor.target)


def add_training(found: Packed, path: Path) -> None:
    """Add how the attention came to be, if the bundle has that."""
    content = bundles.read_optional(path, bundles.ATTENTION)
    if content is not None:
        history = load_history(content, path / bundles.ATTENTION)
        found.entry["training"] = history.about()
        found.blobs["training"] = packed(content)


def _as_read(preprocessor: Any, trace: Trace) -> str:
    """The text whose tokens are those of a trace: of a text in which markers stand for names, the one with markers."""
    if trace.target is None:
        return trace.text
    tokenizer = tokenizers_of(preprocessor)[0]
    special = {EOS, *tokenizer.tags.values()}
    ids = [id for id in trace.tokens["source"].ids if id not in special]
    return trace.text if tokenizer.encode([trace.text])[0] == ids else tokenizer.decode([ids])[0]


def _json(tokenizer: Tokenizer) -> Any:
    return json.loads(tokenizer.to_json())


def _directions(model: Explored) -> dict[str, Any]:
    """The languages of a model, and of a translator of two directions the tag of each."""
    languages = model.card.get("languages") or {}
    found: dict[str, Any] = {"languages": {side: languages.get(side) for side in ("source", "target")}}
    directions = getattr(model, "directions", None)
    ways: Sequence[str] = directions.codes if directions is not None else ()
    found["directions"] = [_direction(directions, to) for to in ways] or None
    return found


def first_direction(model: Explored) -> dict[str, str]:
    """The direction that the page takes unless another is chosen, as an option of `trace`; none if there is but one."""
    directions = getattr(model, "directions", None)
    return {"to": directions.codes[0]} if directions is not None and directions.codes else {}


def _direction(directions: Any, to: str) -> dict[str, Any]:
    source, target = directions.pair(to)
    return {"source": source, "target": target, "tag": directions.tag(to)[0]}


def _scores(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    scores = (card.get("scores") or {}).get("scores") or []
    kept = ({"name": one["name"], "value": one["value"], "digits": one.get("digits", 2)} for one in scores)
    return [one for one in kept if math.isfinite(one["value"])]


def _facts(card: Mapping[str, Any]) -> list[list[str]]:
    """What there is to say of a model, as names and texts."""
    training, data = card.get("training") or {}, card.get("data") or {}
    facts = [["model", str(card.get("model", "?"))], ["parameters", f"{card.get('parameters', 0):,}"]]
    if isinstance(count := data.get("training"), int):
        facts.append(["training examples", f"{count:,}"])
    if training.get("steps"):
        minutes = f"{training.get('seconds', 0) / 60:.1f}"
        facts.append(["training", f"{training['steps']:,} steps, {training.get('epochs', 0):g} epochs, {minutes} min"])
    if origin := card.get("imported"):
        facts.append(["imported", f"{origin.get('type', '?')} from {origin.get('from', '?')}"])
    software = card.get("software") or {}
    return [*facts, ["software", ", ".join(f"{name} {version}" for name, version in software.items())]]
