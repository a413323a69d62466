"""Translation memories: exact matches are used, similar sentences reported, and faults named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirada import TranslationMemory
from mirada.errors import DataError, UsageError
from mirada.tasks.translation import memory as memories
from mirada.tasks.translation.memory import Match
from mirada.tasks.translation.model import TranslationModel
from tests.command import run

CAT, THE_CAT = "el gato ve el tren", "the cat sees the train"
UNITS = [
    ("El gato ve el tren rojo.", "The cat is looking at the red train.", 1),
    ("Página 3 de 12", "Page 3 of 12", 2),
    ("Faltan 5 minutos", "Five minutes left", 3),
    ("Falta 1 de 7", "1 of 7 is missing", 4),
    ("De 2 a 2", "From 2 to 2", 5),
    ("Son 1,500 m", "It is 1,500 m", 6),
    ("", "nothing", 7),
    ("El gato ve el tren rojo.", "The second one does not count.", 8),
]


def only(match: Match | None) -> tuple[float, str, bool] | None:
    return (round(match.score), match.target, match.used) if match else None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("El gato ve el tren rojo.", (100, "The cat is looking at the red train.", True)),
        ("  El gato  ve el tren rojo. ", (100, "The cat is looking at the red train.", True)),
        ("El gato ve el tren negro.", (84, "The cat is looking at the red train.", False)),
        ("Los niños cantan.", None),
        ("", None),
        ("Página 4 de 15", (99, "Page 4 of 15", True)),
        ("Página 12 de 12", (99, "Page 12 of 12", True)),
        ("Faltan 6 minutos", (94, "Five minutes left", False)),  # the number is not in the translation
        ("Falta 2 de 7", (92, "1 of 7 is missing", False)),  # 1 is not like others
        ("De 3 a 3", (99, "From 3 to 3", True)),
        ("De 3 a 4", (75, "From 2 to 2", False)),  # which 2 is which?
        ("Son 2,700 m", (99, "It is 2,700 m", True)),
        ("Son 2700 m", (73, "It is 1,500 m", False)),  # written otherwise
    ],
)
def test_matches(sentence: str, expected: tuple[float, str, bool] | None) -> None:
    (found,) = TranslationMemory(UNITS, "m.tmx").find([sentence], 70)
    assert only(found) == expected


def test_the_threshold_and_the_best_of_several() -> None:
    memory = TranslationMemory([("abcdefghij", "1", 1), ("abcdefghiX", "2", 2), ("abcdefgXXX", "3", 3)])
    assert only(memory.find(["abcdefghZX"], 80)[0]) == (90, "2", False)
    assert memory.find(["abcdefghZX"], 91) == [None]
    assert memory.find(["abcdefghZX"], 100) == [None]
    many = memory.find(["abcdefghij", "zzz", "abcdefgXXZ"], 75)
    assert [only(match) for match in many] == [(100, "1", True), None, (90, "3", False)]


def test_numbers_are_not_replaced_where_nouns_agree_with_them() -> None:
    units = [("2 files", "2 pliki", 1)]
    assert only(TranslationMemory(units, target_language="pl").find(["5 files"])[0]) == (86, "2 pliki", False)
    assert only(TranslationMemory(units, target_language="es").find(["5 files"])[0]) == (99, "5 pliki", True)


# ── in translations ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def memory() -> TranslationMemory:
    return TranslationMemory([(CAT, "the cat is watching", 3), ("el lobo ve el libro 4", "the wolf reads", 4)], "m.tsv")


def test_what_the_memory_has_is_used(trained: TranslationModel, memory: TranslationMemory) -> None:
    exact, similar, other = trained.translate([CAT, "el lobo ve el libro 45", "el perro tiene el barco"], memory=memory)
    assert (exact.text, exact.notes, exact.score) == ("the cat is watching", (), 0.0)
    assert exact.as_dict()["memory"] == [
        {"score": 100.0, "source": CAT, "target": "the cat is watching", "where": "m.tsv, line 3", "used": True}
    ]
    assert similar.text == "the wolf sees the book 45"
    assert [(round(match.score), match.used) for match in similar.memory] == [(95, False)]
    assert (other.text, other.memory) == ("the dog has the boat", ())
    assert "memory" not in other.as_dict()


def test_sentences_of_a_text_and_a_text_as_a_whole(trained: TranslationModel, memory: TranslationMemory) -> None:
    found = trained.translate(f"{CAT}\nel perro tiene el barco", memory=memory)
    assert found.text == "the cat is watching\nthe dog has the boat"
    both = f"{CAT}. El lobo ve."
    whole = TranslationMemory([(both, "All of it.", 1)])
    assert trained.translate(f" {both}\n", memory=whole).text == " All of it.\n"


def test_a_prefix_goes_before_the_memory_and_other_hypotheses_come_after_it(
    trained: TranslationModel, memory: TranslationMemory
) -> None:
    assert trained.translate(CAT, memory=memory, prefix="the cat").text == THE_CAT
    best = trained.translate(CAT, memory=memory, n_best=3).alternatives
    assert [text for text, _ in best][:2] == ["the cat is watching", THE_CAT]
    assert len(best) == 3


def test_the_memory_goes_before_the_glossary_which_says_what_is_missing(
    trained: TranslationModel, memory: TranslationMemory
) -> None:
    found = trained.translate(CAT, memory=memory, glossary={"tren": "zorbax"})
    assert found.text == "the cat is watching"
    assert len(found.notes) == 1


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="es"/><body>
<tu><tuv xml:lang="es"><seg>el gato ve el tren</seg></tuv><tuv xml:lang="{}"><seg>the cat watches</seg></tuv></tu>
</body></tmx>
"""


def test_the_command_reads_a_tmx(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "memory.tmx").write_text(TMX.format("en-US"), encoding="utf-8")
    (tmp_path / "in.txt").write_text(f"{CAT}\n{CAT} 7\nel perro\n", encoding="utf-8")
    words = ["translate", trained.path, "--file", "in.txt", "--memory", "memory.tmx"]
    done = run(*words, "--json", cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows[0]["translation"] == "the cat watches"
    assert [[match["score"] for match in row.get("memory", ())] for row in rows] == [[100.0], [90.0], []]
    assert done.stderr.splitlines()[-1].startswith("the memory was used for 1 of 3 lines, 1 had similar")
    quiet = run(*words, "--memory-threshold", "100", "-q", cwd=tmp_path)
    assert quiet.stdout.splitlines() == [row["translation"] for row in rows]
    assert quiet.stderr == ""


def test_a_threshold_needs_a_memory_and_v_shows_matches(trained: TranslationModel, tmp_path: Path) -> None:
    done = run("translate", trained.path, CAT, "--memory-threshold", "80", cwd=tmp_path)
    assert done.returncode == 2
    assert "--memory-threshold 80" in done.stderr
    (tmp_path / "memory.tsv").write_text(f"{CAT}\tthe cat watches\n", encoding="utf-8")
    done = run("translate", trained.path, CAT, "--memory", "memory.tsv", "-v", cwd=tmp_path)
    assert f"line 1: used, 100 %: memory.tsv, line 1: '{CAT}' → 'the cat watches'" in done.stderr


def test_a_memory_in_other_languages_is_refused(trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "memory.tmx").write_text(TMX.format("fr"), encoding="utf-8")
    with pytest.raises(DataError, match=r"memory\.tmx: has no text in en; it has .*fr.*; the model translates from es"):
        trained.translate(CAT, memory=tmp_path / "memory.tmx")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"el gato\tthe cat\nel ni\xf1o\tthe boy\n", r"memory\.tsv, line 2: not UTF-8"),
        (b"el gato\n", r"memory\.tsv: .*tab"),
        (b"\t\n", r"memory\.tsv: has no translated sentences"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "memory.tsv").write_bytes(content)
    with pytest.raises(DataError, match=says) as error:
        TranslationMemory.read(tmp_path / "memory.tsv", "es", "en")
    assert "training" not in str(error.value)


def test_a_memory_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "MAX_UNITS", 2)
    with pytest.raises(DataError, match=r"m\.tsv, line 3: .*larger than 2 units"):
        TranslationMemory([("a", "b", 1), ("c", "d", 2), ("e", "f", 3)], "m.tsv")


def test_without_rapidfuzz_there_are_exact_matches_only(
    trained: TranslationModel, memory: TranslationMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install mirada\[memory\].*--memory-threshold 100"):
        trained.translate(CAT, memory=memory)
    assert trained.translate(CAT, memory=memory, memory_threshold=100).text == "the cat is watching"


@pytest.mark.parametrize("threshold", [0, 101, "75"])
def test_the_threshold_is_a_percentage(trained: TranslationModel, memory: TranslationMemory, threshold: float) -> None:
    with pytest.raises(UsageError, match="percentage"):
        trained.translate(CAT, memory=memory, memory_threshold=threshold)
