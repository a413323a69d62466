"""Pairs that a model makes: what is left out and why, and the file that training reads."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mirada.data.readers import open_pairs
from mirada.data.records import Record
from mirada.errors import DataError
from mirada.tasks.translation.prediction import Translation
from mirada.tasks.translation.synthesis import Item, Made, excluded_file, loops, make, monolingual, sources, write_pairs


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("no no no", False),
        ("no no no no no no", True),
        ("the cat the cat", False),
        ("so the cat the cat the cat sat", True),
        ("a b c a b c a b c", True),
        ("a b c a b c a b d", False),
        ("哈哈哈", False),
        ("我们我们我们", True),
        ("", False),
    ],
)
def test_phrases_in_a_loop(text: str, repeats: bool) -> None:
    assert loops(text) is repeats


def test_outputs_that_nothing_can_be_learned_from_are_left_out() -> None:
    outputs = {
        "a fine text": Translation("un buen texto"),
        "nothing comes": Translation("  "),
        "it never ends": Translation("no acaba", complete=False),
        "round and round": Translation("y vuelta " * 5),
        "ha ha ha ha ha ha": Translation("ja ja ja ja ja ja"),
        "a name to be copied": Translation("A name to be copied"),
        "Hotel Madrid": Translation("Hotel Madrid"),
        "too long": Translation("", problem="is too long"),
        "two\nlines": Translation("dos\n\tlíneas"),
    }
    items = [Item(text, "in.txt", line) for line, text in enumerate(outputs, 1)]
    items.append(Item("", "in.txt", 10, fault="blank"))
    asked: list[str] = []

    def translate(texts: list[str]) -> Sequence[Translation]:
        asked.extend(texts)
        return [outputs[text] for text in texts]

    made = make(items, translate)
    assert asked == list(outputs)  # the blank one is not
    assert [(one.item.text, one.left_out) for one in made if one.left_out] == [
        ("nothing comes", "empty_output"),
        ("it never ends", "cut"),
        ("round and round", "looping"),
        ("a name to be copied", "copied"),
        ("too long", "refused"),
        ("", "blank"),
    ]
    assert made[8].translation == "dos  líneas"
    assert made[0].item is items[0]


def test_lines_are_numbered_and_each_is_taken_once(tmp_path: Path) -> None:
    file = tmp_path / "mono.txt.gz"
    file.write_bytes(gzip.compress(b"uno\n\nuno\na\tb\ndos\n"))
    other = tmp_path / "more.txt"
    other.write_text("dos\ntres")
    found = [(item.file, item.line, item.text, item.fault) for item in monolingual([file, other])]
    first, second = str(file), str(other)
    assert found == [
        (first, 1, "uno", ""), (first, 2, "", "blank"), (first, 3, "uno", "duplicate"), (first, 4, "a\tb", "tab"),
        (first, 5, "dos", ""), (second, 1, "dos", "duplicate"), (second, 2, "tres", ""),
    ]  # fmt: skip
    assert [Item.load(item.dump())[:3] for item in monolingual([other])] == [("dos", second, 1), ("tres", second, 2)]


def test_sources_keep_their_translations() -> None:
    records = [Record(("uno\ndos", "one", "two"), "p.tmx", 3), Record(("tres", ""), "p.tmx", 4, "untranslated")]
    one, two = sources(records)
    assert one == Item("uno dos", "p.tmx", 3, ("one", "two"))
    assert two.fault == "untranslated"


MADE = [
    Made(Item("the cat", "m.txt", 1, ("die Katze",)), "el gato"),
    Made(Item("", "m.txt", 2, fault="blank"), left_out="blank"),
    Made(Item("dog dog", "m.txt", 3, ("der Hund", "Hunde")), "perro " * 9, left_out="looping"),
    Made(Item("a sentence of an ordinary length", "m.txt", 4), "frase " * 40),
    Made(Item("the cat", "m.txt", 40, ("eine Katze",), "duplicate"), left_out="duplicate"),
    *(Made(Item(f"sentence number {n} of a list", "m.txt", n), f"frase {n} de una lista") for n in range(5, 30)),
]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.json"
    path.write_text("".join(json.dumps(one.as_dict()) + "\n" for one in MADE))
    return path


def test_back_translations_are_read_as_synthetic_pairs(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "more.tsv"
    written = write_pairs(answers, out, ("es", "en"), backward=True)
    assert (written.pairs, written.left_out) == (26, {"blank": 1, "looping": 1, "length_ratio": 1, "duplicate": 1})
    records = list(open_pairs(str(out)))
    assert records[0] == Record(("el gato", "the cat"), str(out), 2, "", ("synthetic",))
    assert all(record.marks == ("synthetic",) for record in records)
    rows = [line.split("\t") for line in excluded_file(out).read_text().splitlines()]
    assert [row[:3] for row in rows] == [
        ["m.txt", "2", "blank"],
        ["m.txt", "3", "looping"],
        ["m.txt", "4", "length_ratio"],
        ["m.txt", "40", "duplicate"],
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.json", "more.excluded.tsv", "more.tsv"]


def test_a_teacher_gives_targets_beside_the_originals(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "distilled.tsv"
    assert write_pairs(answers, out, ("source", "target"), backward=False, originals=True).pairs == 30
    found = [record.fields for record in open_pairs(str(out))]
    assert found[:4] == [
        ("the cat", "el gato"),
        ("the cat", "die Katze"),
        ("dog dog", "der Hund"),
        ("dog dog", "Hunde"),
    ]
    assert ("the cat", "eine Katze") in found  # translated once, but another pair
    assert not any(record.marks for record in open_pairs(str(out)))


def test_what_a_kill_left_of_the_last_step_is_written_again(answers: Path, tmp_path: Path) -> None:
    for name in ("more.tsv.partial.new", "more.excluded.tsv.partial.new"):
        (tmp_path / name).write_text("half")
    assert write_pairs(answers, tmp_path / "more.tsv", ("es", "en"), backward=True).pairs == 26
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.json", "more.excluded.tsv", "more.tsv"]


def test_no_pair_at_all_is_an_error_and_leaves_the_list_of_reasons(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(MADE[1].as_dict()) + "\n")
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(DataError, match=r"would have 0 pairs; the input has no text"):
        write_pairs(empty, tmp_path / "out.tsv", ("es", "en"), backward=True)
    empty.unlink()
    with pytest.raises(DataError, match=r"would have 0 pairs; 1 left out, listed in .*: 1 blank lines; train"):
        write_pairs(path, tmp_path / "out.tsv", ("es", "en"), backward=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.json", "out.excluded.tsv"]
