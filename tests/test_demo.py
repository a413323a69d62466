"""The end of `mirada demo`: the pictures, and the page in which the model runs."""

from __future__ import annotations

import io
from pathlib import Path

from mirada import TranslationModel, demo
from mirada.console import Console
from tests.explorer.pages import PageFile


def test_it_ends_with_the_model_in_a_page(trained: TranslationModel, tmp_path: Path) -> None:
    said = io.StringIO()
    with Console(out=said) as console:
        demo.look_inside(trained, tmp_path, console)
    page = tmp_path / "translator.html"
    assert f"open {page} (" in said.getvalue()
    (entry,) = PageFile(page).entries
    assert entry["sentence"] == "El animal no cruzó la calle porque estaba demasiado cansado."
    assert (tmp_path / "attention.png").stat().st_size > 1000
