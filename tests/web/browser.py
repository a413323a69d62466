"""The server and the watched pages of the tests in a browser."""

from __future__ import annotations

import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request

import mirada

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WEB = Path(mirada.__file__).parent / "web"
OWN = Path(__file__).parent
EMPTY = b'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>test</title>'
TYPES = {".js": "text/javascript", ".html": "text/html", ".css": "text/css", ".json": "application/json"}


class Site:
    """A web server on the loopback interface."""

    def __init__(self) -> None:
        self.given: dict[str, bytes] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def give(self, name: str, content: bytes | str) -> str:
        """Serve a content; returns its address."""
        self.given[name] = content.encode() if isinstance(content, str) else content
        return f"{self.url}/given/{name}"

    def content(self, path: str) -> bytes | None:
        """What an address without its host stands for; None for nothing."""
        if path == "/empty.html":
            return EMPTY
        folder, _, name = path.lstrip("/").partition("/")
        if folder == "given":
            return self.given.get(name)
        root, relative = (OWN, name) if folder == "tests" else (WEB, path.lstrip("/"))
        file = (root / relative).resolve()
        return file.read_bytes() if file.is_file() and file.is_relative_to(root.resolve()) else None

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, site: Site, *given: Any, **more: Any):
        self.site = site
        super().__init__(*given, **more)

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        content = self.site.content(path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", TYPES.get(Path(path).suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Watched:
    """A page in a context of its own; when it is left, its errors are raised."""

    def __init__(self, browser: Browser, site: Site, address: str = "/empty.html"):
        self.context = browser.new_context()
        self.site, self.errors = site, list[str]()
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        self.page.on("request", self._request)
        self.page.goto(site.url + address)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.site.url, "data:", "blob:")):
            self.errors.append(f"a request to {request.url}")

    def __enter__(self) -> Page:
        return self.page

    def __exit__(self, *error: object) -> None:
        self.context.close()
        assert not self.errors, self.errors
