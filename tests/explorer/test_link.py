"""The page's modules as one script: what is linked, and what is refused because it could not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.explorer.link import ENTRIES, WEB, LinkError, declarations, link, modules_in_order


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
    assert script.startswith('"use strict";\n(() => {\n// low.js')
    assert script.endswith("top(low + lower);\n})();\n")
    assert "import" not in script
    assert "export" not in script


def test_several_entries_share_what_they_import(tmp_path: Path) -> None:
    root = folder(
        tmp_path,
        app='import {low} from "./low.js";\nlow();\n',
        engine__worker='import {low} from "../low.js";\nlow(1);\n',
        low="export async function low() {}\n",
    )
    assert modules_in_order(root, ENTRIES) == ["low.js", "app.js", "engine/worker.js"]
    assert link(root).count("async function low") == 1


def test_what_is_inside_of_something_is_no_declaration_of_the_module() -> None:
    text = "const a = 1;\nclass B {\n  c() { const d = 2; }\n}\nfunction e() {\n  let f;\n}\nlet [g, {h: i}] = j, k;\n"
    assert {"a", "B", "e", "g"} <= set(declarations(text))
    assert not {"c", "d", "f", "j"} & set(declarations(text))
    assert declarations("export const {m, n: o, ...p} = q;\n") == ["m", "o", "p"]


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
        ('import {low} from "./low.js";\nexport const hidden = low;\n', "declares hidden, as low.js does"),
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
