"""Nearest neighbours of a word, and a map of words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mirada.errors import InputError, UsageError
from mirada.tasks.translation import TranslationModel
from tests.command import refused, run


def test_the_nearest_rows_come_first(trained: TranslationModel) -> None:
    embeddings = trained.embeddings()
    near = embeddings.neighbours("gato", 5)
    assert len(near) == 5
    assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
    word, cosine = near[0]
    a, b = embeddings.vector("gato"), embeddings.vector(word)
    assert cosine == pytest.approx(float(a @ b / (a.norm() * b.norm())), abs=1e-5)
    assert "gato" not in dict(near)


def test_a_word_of_several_subwords_is_their_mean(trained: TranslationModel) -> None:
    embeddings = trained.embeddings("target")
    ids = embeddings.tokenizer.encode(["xylophone"])[0]
    assert len(ids) > 1
    torch.testing.assert_close(embeddings.vector("xylophone"), embeddings.table[ids].mean(0))


def test_a_map_keeps_equal_words_together(trained: TranslationModel, tmp_path: Path) -> None:
    places = trained.embeddings().flat(["gato", "perro", "gato", "tren"])
    assert places[0] == pytest.approx(places[2])
    assert abs(places[0] - places[1]).max() > 1e-3
    trained.embeddings().draw(["gato", "perro", "tren"], tmp_path / "words.png")
    assert (tmp_path / "words.png").read_bytes().startswith(b"\x89PNG")


def test_bad_input_gets_one_line(trained: TranslationModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an empty word"):
        trained.embeddings().neighbours(" ")
    with pytest.raises(UsageError, match="at least three words"):
        trained.embeddings().draw(["gato"], tmp_path / "words.png")
    with pytest.raises(UsageError, match="cannot be written"):
        trained.embeddings().draw(["gato", "perro", "tren"], tmp_path / "none" / "words.png")
    assert "there are source and target" in refused("neighbours", trained.path, "gato", "--side", "left", code=2)


def test_the_verbs(trained: TranslationModel) -> None:
    done = run("neighbours", trained.path, "gato", "perro", "--count", 3)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["gato", "perro"]
    listed = run("models").stdout
    assert "seq2seq-lstm+additive" in listed
    assert "Attention Is All You Need" in listed
