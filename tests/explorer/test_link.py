"""The page's modules as one script: what is linked, and what is refused because it could not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.explorer.link import ENTRIES, WEB, LinkError, exports, link, modules_in_order


def folder(path: Path, **modules: str) -> Path:
    for name, text in modules.items():
        where = path / f"{name.replace('__', '/')}.js"
        where.parent.mkdir(exist_ok=True, parents=True)
        where.write_text(text, encoding="utf-8")
    return path


def test_modules_stand_after_those_that_they_import(tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        app='import {top} from "./views/top.js";\nimport {\n  low,\n  lower,\n} from "./low.js";\ntop(low + lower);\n',
        views__top='import {low} from "../low.js";\n\nexport function top(x) { return x + low; }\n',
        low="export const low = 1;\nexport const lower = 2;\n",
    )
    assert modules_in_order(root, ("app.js",)) == ["low.js", "views/top.js", "app.js"]
    script = link(root, ("app.js",))
    assert script == (
        '"use strict";\n(() => {\n'
        "// low.js\nconst m0 = (() => {\nconst low = 1;\nconst lower = 2;\nreturn {low, lower};\n})();\n\n"
        "// views/top.js\nconst m1 = (() => {\nconst {low} = m0;\n"
        "function top(x) { return x + low; }\nreturn {top};\n})();\n\n"
        "// app.js\nconst m2 = (() => {\nconst {top} = m1;\nconst {low, lower} = m0;\n"
        "top(low + lower);\nreturn {};\n})();\n})();\n"
    )


def test_several_entries_share_what_they_import(tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        app='import {low} from "./low.js";\nlow();\n',
        engine__worker='import {low} from "../low.js";\nlow(1);\n',
        low="export async function low() {}\n",
    )
    assert modules_in_order(root, ENTRIES) == ["low.js", "app.js", "engine/worker.js"]
    assert link(root).count("async function low") == 1


def test_what_a_module_exports() -> None:
    text = "export const a = 1;\nexport class B {\n  c() {}\n}\nexport async function d() {}\nconst e = 2;\n"
    assert exports(text) == ["a", "B", "d"]
    assert exports("export function* f() {}\nexport const {g, h: i, ...j} = k;\n") == ["f", "g", "i", "j"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('import {low as other} from "./low.js";\n', "renaming"),
        ('import low from "./low.js";\n', "an import that is not linked"),
        ('import * as low from "./low.js";\n', "an import that is not linked"),
        ('import "./low.js";\n', "an import that is not linked"),
        ('import {low} from "https://example.org/low.js";\n', "an import that is not linked"),
        ('import {low} from "./lost.js";\n', "lost.js: there is no such module"),
        ('import {low} from "../../low.js";\n', "outside of the folder"),
        ('import {lost} from "./low.js";\n', "imports lost, which low.js does not export"),
        ('import {hidden} from "./low.js";\n', "imports hidden, which low.js does not export"),
        ("export default function f() {}\n", "an export that is not linked"),
        ("const f = 1;\nexport {f};\n", "an export that is not linked"),
        ("export let f = 1;\n", "an export that is not linked"),
        ('import {again} from "./again.js";\n', "in a circle"),
        ("const f = await fetch('x');\n", "await at top level"),
        ("function f() { return new URL('x', import.meta.url); }\n", "import.meta"),
        ("function f() { return import('./low.js'); }\n", "an import while it runs"),
        ("export const f = '</script>';\n", "would end or hide"),
        ("export const f = '<!-- ';\n", "would end or hide"),
        ("export const f = 1;\r\n", "carriage returns"),
    ],
)
def test_what_cannot_be_linked_is_refused(text: str, what: str, tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        low="export const low = 1;\nconst hidden = 2;\n",
        again='import {app} from "./app.js";\nexport const again = app;\n',
    )
    (root / "app.js").write_bytes((text + "export const app = 1;\n").encode())
    with pytest.raises(LinkError, match=what):
        link(root, ("app.js",))


def test_the_page_can_be_linked_and_every_module_has_a_use() -> None:
    assert link()
    found = {path.relative_to(WEB).as_posix() for path in WEB.rglob("*.js")}
    assert found == set(modules_in_order(WEB, ENTRIES))
