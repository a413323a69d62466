"""Synthetic sources and directions are tagged in training, by ids that no text has."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirada.data.preparation import Prepared
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import TokenizerConfig
from mirada.data.tokenizer_learning import SYNTHETIC, tag_to
from mirada.errors import ConfigError, DataError
from mirada.tasks.translation.task import TASK
from tests import toy
from tests.preparing import prepare

REAL, MADE = toy.pairs(300)[:200], toy.pairs(300)[200:]
SMALL = TokenizerConfig(vocabulary=300)
HEADER = ("es", "en", "mirada:synthetic")


def write(path: Path, rows: list[tuple[str, ...]]) -> str:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Real pairs, and synthetic ones of which two have the target of a real pair."""
    folder = tmp_path_factory.mktemp("tags")
    made = [(source, target, "es") for source, target in MADE]
    return write(folder / "pairs.tsv", list(REAL)), write(folder / "more.tsv", [HEADER, *made])


def rows_of(prepared: Prepared) -> list[tuple[list[int], str, str]]:
    """Tags, source and target of every row of the corpus."""
    source, target, tokenizer = prepared.store.source, prepared.store.target, prepared.preprocessor.source
    tags, found = set(tokenizer.tags.values()), []
    for number in range(len(prepared.store)):
        ids = source.ids[source.offsets[number] : source.offsets[number + 1]].tolist()
        out = target.ids[target.offsets[number] : target.offsets[number + 1]].tolist()
        count = next(place for place, id in enumerate(ids) if id not in tags)
        assert tags.isdisjoint(ids[count:])
        assert tags.isdisjoint(out)
        found.append((ids[:count], *tokenizer.decode([ids[count:], out])))
    return found


def test_synthetic_sources_have_a_tag_and_real_ones_none(tmp_path: Path, files: tuple[str, str]) -> None:
    prepared = prepare("translation", tmp_path / "data", data=DataConfig(files=files), tokenizer=SMALL)
    tag = prepared.preprocessor.source.tags[SYNTHETIC]
    found = {(source, target): tags for tags, source, target in rows_of(prepared)}
    assert found == {
        **{pair: [] for pair in REAL if pair in found},
        **{pair: [tag] for pair in MADE},
    }
    assert prepared.about.findings["synthetic"] == len(MADE)
    assert f"{len(MADE)} synthetic" in prepared.summary().summary


def test_synthetic_pairs_are_not_held_out_and_none_has_a_held_out_sentence(tmp_path: Path) -> None:
    made = [(source, target, "es") for source, target in [*MADE, *REAL]]  # monolingual text: all that there is
    files = (write(tmp_path / "p.tsv", list(REAL)), write(tmp_path / "m.tsv", [HEADER, *made]))
    prepared = prepare("translation", tmp_path / "data", data=DataConfig(files=files), tokenizer=SMALL)
    dev = {(source, target) for source, targets in prepared.dev for target in targets}
    assert len(dev) == 10
    assert dev < set(REAL)
    learned = {text for _, *pair in rows_of(prepared) for text in pair}
    assert learned.isdisjoint(text for pair in dev for text in pair)
    assert prepared.about.excluded == {"synthetic_in_dev": 10}
    assert prepared.about.findings["synthetic"] == len(made) - 10
    listed = (tmp_path / "data" / "excluded.tsv").read_text().splitlines()
    assert {line.split("\t")[2] for line in listed} == {"synthetic_in_dev"}


def test_a_finding_about_pairs_that_are_all_left_out_is_none(tmp_path: Path) -> None:
    real, source = write(tmp_path / "pairs.tsv", list(REAL)), MADE[0][0]
    first = prepare("translation", tmp_path / "first", data=DataConfig(files=(real,)), tokenizer=SMALL)
    made = [(f"{source} 1234", first.saved_dev[0][1][0], "es")]  # the number, which is kept, is a finding, too
    files = (real, write(tmp_path / "more.tsv", [HEADER, *made]))
    prepared = prepare("translation", tmp_path / "data", data=DataConfig(files=files), tokenizer=SMALL)
    assert prepared.about.excluded == {"synthetic_in_dev": 1}
    assert prepared.about.findings == first.about.findings


def test_a_dev_file_leaves_out_what_is_made_of_it(tmp_path: Path, files: tuple[str, str]) -> None:
    dev = write(tmp_path / "dev.tsv", [("otra fuente", MADE[0][1]), ("x", "y")])
    data = DataConfig(files=files, dev=(dev,))
    prepared = prepare("translation", tmp_path / "data", data=data, tokenizer=SMALL)
    assert prepared.about.excluded == {"synthetic_in_dev": 1}


def test_both_directions_have_their_tags(tmp_path: Path, files: tuple[str, str]) -> None:
    other = write(tmp_path / "other.tsv", [("en", "es", "mirada:synthetic"), ("hey", "hola a todos", "en")])
    data = DataConfig(files=(*files, other), source_language="es", target_language="en", direction="both")
    prepared = prepare("translation", tmp_path / "data", data=data, tokenizer=SMALL)
    tags = prepared.preprocessor.source.tags
    es, en, made = tags[tag_to("es")], tags[tag_to("en")], tags[SYNTHETIC]
    found = [(tuple(ids), source, target) for ids, source, target in rows_of(prepared)]
    held = {(source, target) for source, targets in prepared.dev for target in targets}
    learned = [pair for pair in REAL if pair not in held]
    assert sorted(found) == sorted(
        [
            *(((en,), source, target) for source, target in learned),
            *(((es,), target, source) for source, target in learned),
            *(((en, made), source, target) for source, target in MADE),
            ((es, made), "hey", "hola a todos"),  # the source of the other direction
        ]
    )
    assert prepared.about.findings["synthetic_target"] == 1


def test_pairs_of_the_other_direction_are_left_out_of_one(tmp_path: Path, files: tuple[str, str]) -> None:
    data = DataConfig(files=files, source_language="en", target_language="es", columns=("2", "1"))
    prepared = prepare("translation", tmp_path / "data", data=data, tokenizer=SMALL)
    assert prepared.about.excluded == {"synthetic_target": len(MADE)}
    assert SYNTHETIC not in prepared.preprocessor.source.tags


def test_text_that_looks_like_a_tag_is_text(tmp_path: Path) -> None:
    rows = [(f"<to:es> <synthetic> {source}", f"<to:en> {target}") for source, target in REAL]
    languages = {"source_language": "es", "target_language": "en"}
    data = DataConfig(files=(write(tmp_path / "p.tsv", list(rows)),), direction="both", **languages)
    prepared = prepare("translation", tmp_path / "data", data=data, tokenizer=SMALL)
    assert all(len(tags) == 1 for tags, _, _ in rows_of(prepared))  # and `rows_of` finds no other among the ids


def test_a_pair_that_is_too_long_is_listed_once(tmp_path: Path) -> None:
    long = ("gato " * 30 + "fin", "cat " * 30 + "end")
    fits = ("abcdefg", "hijklmn")
    file = write(tmp_path / "p.tsv", [*REAL, long, fits])
    longest = {"source_language": "es", "target_language": "en", "max_tokens": 25}
    data = DataConfig(files=(file,), direction="both", **longest)
    prepared = prepare("translation", tmp_path / "data", data=data, tokenizer=SMALL)
    assert prepared.about.excluded["too_many_words"] == 1
    assert prepared.about.training % 2 == 0


def test_a_model_of_one_direction_has_no_tags(tmp_path: Path, files: tuple[str, str]) -> None:
    data = DataConfig(files=files[:1])
    assert prepare("translation", tmp_path / "data", data=data, tokenizer=SMALL).preprocessor.source.tags == {}
    both = DataConfig(files=files[:1], source_language="es", target_language="en", direction="both")
    assert both.model_dump(mode="json")["direction"] == "both"
    assert DataConfig(**both.model_dump(mode="json")) == both


def test_faults(tmp_path: Path, files: tuple[str, str]) -> None:
    for languages in ({}, {"source_language": "es"}, {"source_language": "pt", "target_language": "pt-BR"}):
        with pytest.raises(ValueError, match="direction=both needs two languages"):
            DataConfig(files=files, direction="both", **languages)
    with pytest.raises(DataError, match="all pairs are synthetic"):
        prepare("translation", tmp_path / "a", data=DataConfig(files=files[1:]), tokenizer=SMALL)
    both = DataConfig(files=files, source_language="es", target_language="en", direction="both")
    base = prepare("translation", tmp_path / "b", data=DataConfig(files=files[:1]), tokenizer=SMALL).preprocessor
    with pytest.raises(ConfigError, match="the base translates one way"):
        prepare("translation", tmp_path / "c", base=base, data=both, tokenizer=SMALL)
    built = {name: section() for name, section in TASK.sections.items() if name != "data"}
    model = type("Model", (), {"max_length": 102, "tie": "none"})()
    apart = {**built, "tokenizer": TokenizerConfig(joint=False), "data": both, "model": model}
    with pytest.raises(ConfigError, match="both directions has one vocabulary"):
        TASK.check(apart)
    with pytest.raises(ConfigError, match=r"max_tokens=100: with its tags the model accepts 99"):
        TASK.prepare({**built, "tokenizer": SMALL, "data": both, "model": model}, tmp_path / "d", lambda *_: None)


def test_a_base_without_the_tag_learns_from_synthetic_pairs_untagged(tmp_path: Path, files: tuple[str, str]) -> None:
    base = prepare("translation", tmp_path / "a", data=DataConfig(files=files[:1]), tokenizer=SMALL).preprocessor
    prepared = prepare("translation", tmp_path / "b", base=base, data=DataConfig(files=files), tokenizer=SMALL)
    assert all(not tags for tags, _, _ in rows_of(prepared))
    assert any("no tag for synthetic pairs" in note for note in prepared.about.notes)
