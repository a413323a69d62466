"""Ways to damage the files of bundles and run folders, each chosen by a seeded `random.Random`.

A file is damaged as bytes, as what it is (JSON, YAML, safetensors, a tokenizer, an array), or replaced by something
that is not a regular file. Checksums that other files keep of it are corrected, so that the change gets past them.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path

from tests.tampering.documents import BOMB, as_json, as_lines, as_yaml
from tests.tampering.files import REPLACEMENTS, Change, as_array, as_bytes
from tests.tampering.tensors import as_tensors
from tests.tampering.tokenizers import PARTS, as_tokenizer

__all__ = ["BOMB", "PARTS", "damage"]

SPARSE = 2**26
"""Bytes of a sparse file that stands where a small one should."""
KEEPERS = ("card.json", "prepared.json")
UNREAD = ("curves.png", "excluded.tsv")
RESUMED = ("config.yaml", "log.jsonl", "card.json")


def damage(folder: Path, chance: random.Random) -> str:
    """Damage one file of a folder (seldom two); what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in UNREAD)
    if (folder / "run").exists():  # to be resumed: what the bundle holds besides is written again
        files = [path for path in files if path.is_relative_to(folder / "run") or path.name in RESUMED]
    done = []
    for _ in range(chance.choice([1, 1, 1, 1, 2])):
        path = chance.choice(files)
        if not path.is_file() or path.stat().st_size >= SPARSE:  # damaged a moment ago
            continue
        change = chance.choice(_changes(path)) if chance.random() < 0.85 else chance.choice([*REPLACEMENTS, as_bytes])
        try:
            how = change(path, chance)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):  # it was damaged before
            how = as_bytes(path, chance)
        done.append(f"{path.relative_to(folder)}: {how}")
        if path.is_file() and not path.is_symlink() and path.stat().st_size < SPARSE and chance.random() < 0.9:
            correct(folder, path)
    return "; ".join(done)


def correct(folder: Path, path: Path) -> None:
    """Write a damaged file's checksum into whatever file beside or above it keeps one."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for keeper in [path.with_suffix(".json"), *(above / name for above in path.parents for name in KEEPERS)]:
        if keeper == path or not keeper.is_relative_to(folder) or keeper.is_symlink() or not keeper.is_file():
            continue
        if keeper.stat().st_size >= SPARSE:  # damaged before
            continue
        try:
            about = json.loads(keeper.read_bytes())
            if path.suffix == ".safetensors" and "sha256" in about:
                about["sha256"] = digest
            name = path.relative_to(keeper.parent).as_posix()
            for kept in (about.get("files"), about.get("optional")):
                if isinstance(kept, dict) and name in kept:
                    prepared = isinstance(kept[name], dict)
                    kept[name] = {"bytes": path.stat().st_size, "sha256": digest} if prepared else digest
            keeper.write_text(json.dumps(about, indent=2), encoding="utf-8", errors="surrogatepass")
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue


def _changes(path: Path) -> Sequence[Change]:
    if path.name.startswith("tokenizer.") or path.name in ("target.json", "source.json"):
        return [as_tokenizer, as_tokenizer, as_json]
    kinds: dict[str, Sequence[Change]] = {
        ".json": [as_json],
        ".jsonl": [as_lines],
        ".yaml": [as_yaml],
        ".safetensors": [as_tensors],
    }
    return kinds.get(path.suffix, [as_array, as_bytes])
