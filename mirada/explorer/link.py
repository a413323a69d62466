"""The ES modules of the page as one script: each becomes a function that returns what the module exports.

    const m2 = (() => {                         // views/top.js
    const {low} = m1;                           // import {low} from "../low.js"
    function top(x) { return x + low; }         // export function top(x) { … }
    return {top};
    })();

That is right for modules that keep to a few rules, which are checked: they import names from relative paths without
renaming them and not in a circle; they export declarations (`export function f`, `export class C`, `export const c`);
and nothing in them needs to be a module (`import.meta`, `await` at top level). A module's statements begin in the first
column, and nothing else there begins like a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

WEB = Path(__file__).parent.parent / "web"
ENTRIES = ("app.js", "engine/worker.js")
"""The modules that nothing imports: the page, and the worker that the model runs in."""

_IMPORT = re.compile(r'^import \{(?P<names>[^{}]*)\} from "(?P<path>\.{1,2}/[^"]+)";?[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_EXPORTED = re.compile(
    r"^export (?:(?:async )?function\*?|class|const)[ \t]*"
    r"(?:(?P<name>[A-Za-z_$][\w$]*)|(?P<several>[{\[][^}\]]*[}\]]))",
    re.MULTILINE,
)


class LinkError(AssertionError):
    """A module that does not keep to the rules: a fault of this program, not of its user."""


def link(root: Path = WEB, entries: tuple[str, ...] = ENTRIES) -> str:
    """The script of a folder's modules, those first that others need."""
    order = modules_in_order(root, entries)
    parts = []
    for number, name in enumerate(order):
        text = _read(root, name)
        taken = [f"const {{{', '.join(names)}}} = m{order.index(other)};" for other, names in imports(text, name)]
        head = "\n".join([f"// {name}", f"const m{number} = (() => {{", *taken])
        given = f"return {{{', '.join(exports(text))}}};"
        parts.append(f"{head}\n{stripped(text, name).strip()}\n{given}\n}})();\n")
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    if found := re.search(r"</script|<!--", script, re.IGNORECASE):
        raise LinkError(f"the script has {found[0]}, which would end or hide a part of it: write it as \\x3c…")
    return script


def modules_in_order(root: Path, entries: tuple[str, ...]) -> list[str]:
    """The entries and all that they import, a module after those that it imports."""
    order: list[str] = []
    path: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        if name in path:
            raise LinkError(f"{name}: is imported in a circle ({' → '.join([*path[path.index(name) :], name])})")
        path.append(name)
        text = _read(root, name)
        for wanted, names in imports(text, name):
            visit(wanted)
            missing = set(names) - set(exports(_read(root, wanted)))
            if missing:
                raise LinkError(f"{name}: imports {min(missing)}, which {wanted} does not export")
        path.pop()
        order.append(name)

    for entry in entries:
        visit(entry)
    return order


def imports(text: str, name: str) -> Iterator[tuple[str, list[str]]]:
    """The modules that a module imports, and the names it takes from each."""
    for found in _IMPORT.finditer(text):
        names = [part.strip() for part in found["names"].split(",") if part.strip()]
        for one in names:
            if not _NAME.fullmatch(one):
                raise LinkError(f"{name}: imports {one!r}: renaming is not linked")
        yield _resolved(name, found["path"]), names


def exports(text: str) -> list[str]:
    """The names that a module exports."""
    return [name for found in _EXPORTED.finditer(text) for name in _names(found)]


def stripped(text: str, name: str) -> str:
    """A module without its imports and without the word export."""
    text = _EXPORT.sub("", _IMPORT.sub("", text))
    for pattern, what in (
        (r"^import\b.*", "an import that is not linked"),
        (r"^export\b.*", "an export that is not linked"),
        (r"^(?:const|let|var) [\w$]+ = await\b.*|^await\b.*|^for await\b.*", "await at top level"),
        (r"\bimport\.meta\b", "import.meta"),
        (r"\bimport\s*\(", "an import while it runs"),
    ):
        if found := re.search(pattern, text, re.MULTILINE):
            raise LinkError(f"{name}: has {what} ({found[0][:60]})")
    return text


def _names(found: re.Match[str]) -> list[str]:
    """The names of a declaration, of a destructuring one those that are bound."""
    if found["name"]:
        return [found["name"]]
    parts = [part.partition("=")[0].rpartition(":")[2].strip(" \n\t.{}[]") for part in found["several"].split(",")]
    return [part for part in parts if part]


def _resolved(importer: str, path: str) -> str:
    """The module that a relative path means in another one, from the root."""
    parts: list[str] = []
    for part in (PurePosixPath(importer).parent / path).parts:
        if part == "..":
            if not parts:
                raise LinkError(f"{importer}: imports {path}, outside of the folder")
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _read(root: Path, name: str) -> str:
    path = root / name
    if not path.is_file():
        raise LinkError(f"{name}: there is no such module")
    text = path.read_bytes().decode("utf-8")
    if "\r" in text or "\0" in text:
        raise LinkError(f"{name}: has carriage returns or zeros, which a page changes")
    return text
