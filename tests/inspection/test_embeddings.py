"""Nearest neighbours of a word, and a map of words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mirada.data.tokenizer import Tokenizer
from mirada.errors import InputError, UsageError
from mirada.inspection.embeddings import Embeddings
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run

SPANISH = {"el", *toy.NOUNS, *toy.ADJECTIVES, *toy.VERBS}
ENGLISH = {"the", *toy.NOUNS.values(), *toy.ADJECTIVES.values(), *toy.VERBS.values()}


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


def test_fragments_are_listed_only_when_asked_for(trained: TranslationModel) -> None:
    for side, words in (("source", SPANISH), ("target", ENGLISH)):
        embeddings = trained.embeddings(side)
        listed = {word for word, _ in embeddings.neighbours("el", 1000)}
        assert listed <= SPANISH | ENGLISH  # one vocabulary for both
        whole = {word for word in words if len(embeddings.pieces(word)) == 1}
        assert len(whole) > 8
        assert whole - {"el"} <= listed
        everything = {word for word, _ in embeddings.neighbours("el", 1000, fragments=True)}
        assert listed < everything
        assert any(word.startswith(part) for part in everything - listed for word in words)


def test_without_a_dev_set_all_are_listed(trained: TranslationModel, tmp_path: Path) -> None:
    embeddings = trained.embeddings()
    bare = Embeddings(embeddings.tokenizer, embeddings.table)
    assert bare.whole_words is None
    assert bare.neighbours("gato", 50) == embeddings.neighbours("gato", 50, fragments=True)
    (tmp_path / "dev.jsonl").write_text('["el gato"', encoding="utf-8")
    assert Embeddings(embeddings.tokenizer, embeddings.table, tmp_path).whole_words is None


def test_a_word_of_several_subwords_is_named_as_such(trained: TranslationModel) -> None:
    done = run("neighbours", trained.path, "gatos", "--count", 2)
    pieces = trained.embeddings().pieces("gatos")
    assert "".join(pieces) == "gatos"
    assert done.stdout.startswith(f"gatos (average of {len(pieces)} subwords): ")
    assert f"no embedding of 'gatos', it reads {' + '.join(pieces)}" in done.stderr
    assert run("neighbours", trained.path, "gato").stderr == ""


def test_a_word_that_is_not_in_the_vocabulary_is_refused() -> None:
    tokenizer = Tokenizer.learn(["el gato ve el tren"], 100, unit="words")
    embeddings = Embeddings(tokenizer, torch.eye(tokenizer.size))
    assert "ve" in dict(embeddings.neighbours("gato"))
    with pytest.raises(InputError, match="'perro': is not in the model's vocabulary"):
        embeddings.neighbours("perro")
    with pytest.raises(InputError, match="'perro'"):
        embeddings.flat(["gato", "ve", "perro"])


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
