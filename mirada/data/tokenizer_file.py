"""Validate the JSON of a tokenizer before the library gets it: invalid input can crash or hang the process.

Padding to a trillion, ids far beyond the vocabulary, normalizers that make a text longer with every step and patterns
that backtrack for ever are all valid to the library. A tokenizer of Mirada's has none of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from mirada.errors import BundleError
from mirada.files import read_bytes
from mirada.parsing import Malformed, check, parse_json, shown

MAX_UNITS = 2_000_000
MAX_EXPANSION = 64
"""How many times as long a text may become before it is cut."""
MAX_STEPS = 16
"""Normalizers, cutters or decoders, one after the other."""
WORDS = r"[\p{L}\p{M}\p{N}]+(?:['’\-‐‑][\p{L}\p{M}\p{N}]+)*|\S"
"""Letters, the marks on them and digits, joined by inner apostrophes and hyphens; or else one character. No other
that repeats a group which is taken: it is known to be quick."""

Id = Annotated[int, Field(ge=0, lt=MAX_UNITS, strict=True)]
Piece = Annotated[str, Field(max_length=4096)]
Parts = dict[str, Any]

NORMALIZERS = {
    "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt", "BertNormalizer", "Precompiled",
    "Prepend", "Replace", "ByteLevel", "Sequence",
}  # fmt: skip
CUTTERS = {
    "Split", "WhitespaceSplit", "Whitespace", "ByteLevel", "Digits", "Punctuation", "BertPreTokenizer", "Metaspace",
    "CharDelimiterSplit", "UnicodeScripts", "Sequence",
}  # fmt: skip
DECODERS = {"ByteLevel", "Strip", "Fuse", "Replace", "WordPiece", "Metaspace", "BPEDecoder", "ByteFallback", "Sequence"}


class _Added(BaseModel):
    id: Id
    content: Annotated[Piece, Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    type: Literal["BPE", "WordLevel", "WordPiece", "Unigram"]
    vocab: dict[Piece, Id] | list[tuple[Piece, Annotated[FiniteFloat, Field(ge=-1e6, le=1e6)]]]
    unk_token: str | None = None
    unk_id: int | None = None
    dropout: None = None
    max_input_chars_per_word: Annotated[int, Field(ge=1, le=100_000)] = 100

    @property
    def units(self) -> dict[str, int]:
        if isinstance(self.vocab, dict):
            return self.vocab
        return {piece: id for id, (piece, _) in enumerate(self.vocab)}


class _Tokenizer(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    truncation: None = None
    padding: None = None
    post_processor: None = None
    added_tokens: list[_Added] = []
    normalizer: Parts | None = None
    pre_tokenizer: Parts | None = None
    decoder: Parts | None = None
    model: _Model


def read_tokenizer(path: Path, content: bytes | None = None) -> str:
    """The JSON of a tokenizer that the library can be trusted with; its content, if that has been read already."""
    try:
        content = read_bytes(path, BundleError) if content is None else content
        found: _Tokenizer = check(_Tokenizer, parse_json(content))
    except (Malformed, BundleError) as fault:
        raise BundleError(f"{path}: is not a tokenizer ({str(fault).removeprefix(f'{path}: ')})") from None
    problem = _problem_of_units(found) or _problem_of_steps(found)
    if problem:
        raise BundleError(f"{path}: is not a tokenizer of Mirada's ({problem})")
    return content.decode("utf-8")


def _problem_of_units(found: _Tokenizer) -> str:
    units = found.model.units
    if isinstance(found.model.vocab, list) != (found.model.type == "Unigram"):
        return f"a vocabulary of {found.model.type} has another form"
    if len(units) < len(found.model.vocab):
        return "a unit comes twice"
    for token in found.added_tokens:
        if units.get(token.content, token.id) != token.id:
            return f"{shown(token.content, 40)!r} has two ids"
    ids = [*units.values(), *(token.id for token in found.added_tokens if token.content not in units)]
    if sorted(ids) != list(range(len(ids))):
        return f"its {len(ids)} units are not numbered from 0 to {len(ids) - 1}"
    if found.model.type == "Unigram" and not 0 <= (found.model.unk_id or 0) < len(found.model.vocab):
        return f"model.unk_id={found.model.unk_id} is not a unit"
    if found.model.unk_token is not None and found.model.unk_token not in units:
        return f"model.unk_token={shown(found.model.unk_token, 40)!r} is not a unit"
    return ""


def _problem_of_steps(found: _Tokenizer) -> str:
    expansion = 1
    for name, known, inside in (
        ("normalizer", NORMALIZERS, "normalizers"),
        ("pre_tokenizer", CUTTERS, "pretokenizers"),
        ("decoder", DECODERS, "decoders"),
    ):
        steps = _flat(getattr(found, name), inside)
        if steps is None or len(steps) > MAX_STEPS or any(step.get("type") not in known for step in steps):
            return f"its {name} has parts that are not known"
        for step in steps:
            texts = [step.get(key) for key in ("content", "prepend", "prefix", "suffix", "replacement") if key in step]
            if any(not isinstance(text, str) or len(text) > MAX_EXPANSION for text in texts):
                return f"its {name} has a text that is too long"
            if any(not 0 <= step[key] <= MAX_STEPS for key in ("start", "stop") if isinstance(step.get(key), int)):
                return f"its {name} strips too much"
            if not _quick(step.get("pattern")):
                return f"its {name} has a pattern that may take for ever"
            if step["type"] in ("Replace", "Prepend"):
                expansion *= 1 + sum(len(str(text)) for text in texts)
    if expansion > MAX_EXPANSION:
        return f"its normalizer may make a text {expansion} times as long"
    return ""


def _flat(part: Any, inside: str) -> list[Parts] | None:
    """All steps of a normalizer, a cutter or a decoder; None if it is none."""
    if part is None:
        return []
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return None
    if part["type"] != "Sequence":
        return [part]
    members = part.get(inside)
    if not isinstance(members, list) or len(members) > MAX_STEPS:
        return None
    flat = [_flat(member, inside) for member in members]
    return None if None in flat else [step for steps in flat for step in steps or ()]


def _quick(pattern: Any) -> bool:
    """Whether a pattern repeats no group, which may be matched in very many ways."""
    if pattern is None:
        return True
    if not isinstance(pattern, dict) or len(pattern) != 1:
        return False
    ((kind, text),) = pattern.items()
    if not isinstance(text, str) or not 0 < len(text) < 1000:
        return False
    return kind == "String" or text == WORDS or not any(f"){repeat}" in text for repeat in "*+{")
