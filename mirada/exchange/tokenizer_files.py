"""Write a tokenizer so that `tokenizers` and `transformers` read texts as Mirada does, without Mirada."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import tokenizers
from tokenizers import processors

from mirada.config import Values
from mirada.data.normalize import INVISIBLE
from mirada.data.tokenizer import Tokenizer
from mirada.data.tokenizer_learning import MASK, UNKNOWN
from mirada.errors import UsageError
from mirada.exchange.vocabulary import BOS_NAME, EOS_NAME, PAD_NAME, Parts

ROLES = {PAD_NAME: "pad_token", BOS_NAME: "bos_token", EOS_NAME: "eos_token", UNKNOWN: "unk_token", MASK: "mask_token"}
"""Special tokens, and their names in tokenizer_config.json."""
LINES = ("\n(?!\\z)", "\n ")
"""A space before every line but the first, which has one."""


def tokenizer_json(
    tokenizer: Tokenizer,
    frame: str = "$A",
    pair: str | None = None,
    names: Mapping[str, str] | None = None,
    lines: bool = False,
    dropped: Sequence[int] = (),
    opening: Sequence[int] = (),
) -> str:
    """A tokenizer.json that normalizes texts itself and adds special tokens: `frame` for a text, `pair` for two.

    `opening` are the ids that a text begins with, whatever the frame is. Special tokens get new `names`. With `lines`,
    every line of a text is encoded as if it were alone. Ids may be `dropped`: those after them move up.
    """
    names, parts, known = names or {}, json.loads(tokenizer.to_json()), tokenizer.vocabulary()
    if taken := [new for old, new in names.items() if old in known and new in known]:
        raise UsageError(f"cannot be exported: the vocabulary has {taken[0]}, the name of a special token there")
    if tokenizer.normalizes:
        parts["normalizer"] = _sequence("normalizers", _normalizing(), parts["normalizer"])
    if lines:
        parts["normalizer"] = _sequence("normalizers", [_replace(*LINES)], parts["normalizer"])
        bytes_, *later = parts["decoder"].get("decoders", [parts["decoder"]])
        parts["decoder"] = _sequence("decoders", [bytes_, _replace("\n ", "\n", "String")], {"decoders": later})
    model, shift = parts["model"], {id: sum(other < id for other in dropped) for id in range(tokenizer.size)}
    if isinstance(model["vocab"], dict):
        kept = ((token, id) for token, id in model["vocab"].items() if id not in dropped)
        model["vocab"] = {names.get(token, token): id - shift[id] for token, id in kept}
    else:
        model["vocab"] = [[names.get(token, token), score] for token, score in model["vocab"]]
    if "unk_token" in model:
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    parts["added_tokens"] = [
        {**token, "content": names.get(token["content"], token["content"]), "id": token["id"] - shift[token["id"]]}
        for token in parts["added_tokens"]
        if token["id"] not in dropped
    ]
    backend = tokenizers.Tokenizer.from_str(json.dumps(parts))
    if opening:
        tokens = [backend.id_to_token(id) for id in opening]
        begin = {"id": BOS_NAME, "ids": list(opening), "tokens": tokens}
        backend.post_processor = processors.TemplateProcessing(single=f"{BOS_NAME} $A", special_tokens=[begin])
    elif frame != "$A":
        used = {word.split(":")[0] for word in f"{frame} {pair or ''}".split()} - {"$A", "$B"}
        ids = [(name, backend.token_to_id(name)) for name in sorted(used)]
        backend.post_processor = processors.TemplateProcessing(single=frame, pair=pair, special_tokens=ids)
    return str(backend.to_str(pretty=True))


def tokenizer_files(
    tokenizer: Tokenizer, longest: int, markers: bool = False, more: Values | None = None, **options: Any
) -> dict[str, Values | str]:
    """tokenizer.json and the tokenizer_config.json that makes `AutoTokenizer` read it; see `tokenizer_json`.

    With `markers`, special tokens can be written in a text, as [MASK]; otherwise they are text there, as in Mirada.
    `more` are further entries of tokenizer_config.json.
    """
    text, names = tokenizer_json(tokenizer, **options), options.get("names") or {}
    known = {token["content"] for token in json.loads(text)["added_tokens"]}
    specials = {role: names.get(token, token) for token, role in ROLES.items() if names.get(token, token) in known}
    if names.get(BOS_NAME) == "[CLS]":
        specials["cls_token"], specials["sep_token"] = specials.pop("bos_token"), specials.pop("eos_token")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": longest,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": not markers,
        "model_input_names": ["input_ids", *["token_type_ids"] * ("cls_token" in specials), "attention_mask"],
        **specials,
        **(more or {}),
    }
    return {"tokenizer.json": text, "tokenizer_config.json": settings}


def _normalizing() -> list[Parts]:
    """The steps of `mirada.data.normalize` before NFC, as normalizers of the library."""
    return [
        _replace(f"[{INVISIBLE}]", ""),
        _replace("[\\s\x1c-\x1f]+", " "),
        {"type": "Strip", "strip_left": True, "strip_right": True},
    ]


def _replace(pattern: str, content: str, kind: str = "Regex") -> Parts:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def _sequence(key: str, steps: Sequence[Parts], then: Parts | None) -> Parts:
    """A sequence of some steps before the existing ones, each once."""
    later = then.get(key, [then]) if then else []
    return {"type": "Sequence", key: [*(step for step in steps if step not in later), *later]}
