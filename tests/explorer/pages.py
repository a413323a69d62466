"""What a page has in it, read as a browser reads it."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from safetensors.torch import load
from torch import Tensor


class PageFile(HTMLParser):
    """The elements of a page that matter: scripts by their ids, the style, the policy, the title."""

    def __init__(self, path: Path):
        super().__init__(convert_charrefs=True)
        self.scripts: dict[str, str] = {}
        self.style = self.policy = self.title = self._open = ""
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.addresses += [given[name] or "" for name in ("src", "href") if name in given]
        self._open = f"script {given.get('id')}" if tag == "script" else tag
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open.startswith("script "):
            name = self._open.removeprefix("script ")
            self.scripts[name] = self.scripts.get(name, "") + data
        elif self._open in ("style", "title"):
            setattr(self, self._open, getattr(self, self._open) + data)

    @property
    def entries(self) -> list[dict[str, Any]]:
        found = json.loads(self.scripts["models"])
        assert found["format"] == 1
        return list(found["models"])

    def tensors(self, name: str) -> dict[str, Tensor]:
        """The tensors of a blob."""
        planes = gzip.decompress(base64.b64decode(self.scripts[name], validate=True))
        content = bytearray(len(planes))
        for byte in range(4):  # first the first bytes of all numbers
            size = len(content[byte::4])
            content[byte::4], planes = planes[:size], planes[size:]
        return dict(load(bytes(content)))
