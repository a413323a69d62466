"""`mirada align`: what it reads, writes and refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import mirada
from mirada.data.checks import OF_ONE, REASONS
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run
from tests.tasks.translation.test_alignment import gold, line

PAIRS = toy.pairs(30, seed=9)
LINES = [line(gold(pair)) for pair in PAIRS]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pairs, alignments = toy.write(tmp_path / "pairs.tsv", PAIRS), tmp_path / "gold.align"
    alignments.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return pairs, alignments


def test_a_line_of_links_for_each_pair(trained: TranslationModel, files: tuple[Path, Path], tmp_path: Path) -> None:
    done = run("align", trained.path, files[0], "--out", tmp_path / "out.align")
    assert done.returncode == 0, done.stderr
    assert "chosen on a sample of 30 pairs: agreement" in done.stderr
    written = (tmp_path / "out.align").read_text(encoding="utf-8")
    assert len(written.splitlines()) == len(PAIRS)
    assert written == run("align", trained.path, files[0]).stdout
    chosen = [each.as_text() for each in trained.align(PAIRS)]
    assert chosen == written.splitlines()


def test_gold_prints_scores_and_heads_a_table(
    trained: TranslationModel, files: tuple[Path, Path], tmp_path: Path
) -> None:
    done = run("align", trained.path, files[0], "--gold", files[1], "--heads", "--out", tmp_path / "out.align")
    assert done.stdout.splitlines()[0].split() == ["AER", "layer", "head", "row"]
    assert done.stdout.count("← chosen") == 1
    assert all(name in done.stdout for name in ("precision", "recall", "aligned by layer"))
    assert len((tmp_path / "out.align").read_text().splitlines()) == 30
    found = json.loads(run("align", trained.path, files[0], "--gold", files[1], "--json").stdout)
    best = json.loads(run("align", trained.path, files[0], "--gold", files[1], "--json", "--by", "leave-out").stdout)
    assert found["size"] == best["size"] == 30
    assert found["scores"][0]["name"] == "AER"
    assert found["scores"][0]["value"] < 25
    assert found["notes"][0].startswith("aligned by layer 0, ")
    assert best["notes"] == ["aligned by leaving words out"]


def test_heads_as_json_is_json_alone(trained: TranslationModel, files: tuple[Path, Path], tmp_path: Path) -> None:
    heads = ("align", trained.path, files[0], "--heads", "--json")
    ranking, scores = map(json.loads, run(*heads, "--gold", files[1]).stdout.splitlines())
    assert (ranking["measure"], ranking["pairs"], scores["size"]) == ("AER", 30, 30)
    assert [row["value"] for row in ranking["readings"]] == sorted(row["value"] for row in ranking["readings"])
    assert {"layer", "head", "row", "value"} == set(ranking["chosen"])
    assert ranking["chosen"] in ranking["readings"]
    out = tmp_path / "out.jsonl"
    (blind,) = map(json.loads, run(*heads, "--out", out).stdout.splitlines())
    assert blind["measure"] == "agreement"
    assert len([json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]) == 30
    (one,) = map(json.loads, run(*heads, "--layer", "0", "--head", "1", "--row", "chosen").stdout.splitlines())
    assert one["readings"] == [one["chosen"]]


def test_its_own_links_as_gold_have_no_errors(
    trained: TranslationModel, files: tuple[Path, Path], tmp_path: Path
) -> None:
    same = ("--layer", "0", "--head", "1", "--row", "chosen")
    run("align", trained.path, files[0], "--out", tmp_path / "own.align", *same)
    done = run("align", trained.path, files[0], "--gold", tmp_path / "own.align", "--json", *same)
    assert [score["value"] for score in json.loads(done.stdout)["scores"]] == [0.0, 100.0, 100.0]


def test_as_json_with_words_and_weights(trained: TranslationModel, files: tuple[Path, Path]) -> None:
    done = run("align", trained.path, files[0], "--json", "--layer", "0", "--head", "0", "--row", "fed-in")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [" ".join(row["source"]) for row in rows] == [source for source, _ in PAIRS]
    assert rows[0]["reading"] == {"layer": 0, "head": 0, "row": "fed-in"}
    assert len(rows[0]["weights"]) == len(rows[0]["target"])


def test_every_format_of_pairs(trained: TranslationModel, tmp_path: Path) -> None:
    options = ("--layer", "0", "--head", "1", "--row", "chosen")
    wanted = run("align", trained.path, toy.write(tmp_path / "pairs.tsv", PAIRS), *options).stdout
    source, target, table, packed = (tmp_path / name for name in ("a.txt", "b.txt", "c.csv", "d.jsonl.gz"))
    for path, side in ((source, 0), (target, 1)):
        path.write_text("".join(pair[side] + "\n" for pair in PAIRS), encoding="utf-8")
    table.write_text("id,english,spanish\n" + "".join(f"1,{t},{s}\n" for s, t in PAIRS), encoding="utf-8")
    packed.write_bytes(gzip.compress("".join(json.dumps({"es": s, "en": t}) + "\n" for s, t in PAIRS).encode()))
    assert run("align", trained.path, "--source", source, "--target", target, *options).stdout == wanted
    assert run("align", trained.path, table, "--columns", "spanish,english", *options).stdout == wanted
    assert run("align", trained.path, packed, *options).stdout == wanted


def test_lines_keep_their_numbers(trained: TranslationModel, tmp_path: Path) -> None:
    """Pairs that cannot be aligned are reported, with their lines, and leave theirs empty."""
    long = "el " * trained.config["model"]["max_length"]
    path = toy.write(
        tmp_path / "pairs.tsv", [PAIRS[0], ("", "the cat"), (long, "the cat"), *[("", "x")] * 12, PAIRS[1]]
    )
    done = run("align", trained.path, path, "--layer", "mean", "--head", "mean", "--row", "chosen")
    lines = done.stdout.splitlines()
    assert [bool(line) for line in lines] == [True, *[False] * 14, True]
    said = [line for line in done.stderr.splitlines() if "left empty" in line]
    assert f"{path}, line 2: has an empty side; its line is left empty" in said[0]
    assert f"{path}, line 3: its source has" in said[1]
    assert said[-1] == "mirada: 4 more lines left empty"
    assert done.returncode == 0


def test_why_a_pair_is_left_out_is_said_of_one(trained: TranslationModel, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [{"es": s, "en": t} for s, t in (*PAIRS[:2], (" ", ""))]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, [1], {"es": "a", "en": 1}]), encoding="utf-8")
    done = run("align", trained.path, path, "--layer", "0", "--head", "1", "--row", "chosen")
    said = [line.partition(", line ")[2] for line in done.stderr.splitlines() if "left empty" in line]
    assert [line.partition(";")[0] for line in said] == [
        "3: is blank",
        "4: is not a JSON object",
        "5: has a value that is not text",
    ]
    assert set(OF_ONE) < set(REASONS)


def test_what_is_wrong_with_gold(trained: TranslationModel, files: tuple[Path, Path], tmp_path: Path) -> None:
    pairs, path = files[0], tmp_path / "bad.align"

    def said(content: str, *options: str) -> str:
        path.write_text(content, encoding="utf-8")
        return refused("align", trained.path, pairs, "--gold", path, *options)

    short = said("\n".join(LINES[:-2]) + "\n")
    assert f"{path}: has 28 lines, and {pairs} has 30 pairs" in short
    assert f"{path}: has 31 lines, and {pairs} has 30 pairs" in said("\n".join([*LINES, "0-0"]) + "\n")
    assert f"{path}, line 3: '1:2' is not a link" in said("\n".join([*LINES[:2], "0-0 1:2", *LINES[3:]]) + "\n")
    beyond = said("\n".join([LINES[0], "0-40", *LINES[2:]]) + "\n")
    assert f"{path}, line 2: the link 0-40 names word 40 of the target, where the last is word" in beyond
    assert "--word-breaks punctuation" in beyond
    assert "--word-breaks punctuation" not in said(
        "\n".join([LINES[0], "0-40", *LINES[2:]]) + "\n", "--word-breaks", "punctuation"
    )
    assert "no.align" in refused("align", trained.path, pairs, "--gold", tmp_path / "no.align")
    assert f"{path}: has no links to compare with" in said("\n" * len(LINES))


def test_what_is_refused(trained: TranslationModel, files: tuple[Path, Path], tmp_path: Path) -> None:
    pairs = files[0]
    assert "there are no pairs to align" in refused("align", trained.path, code=2)
    assert "exists already" in refused("align", trained.path, pairs, "--out", files[1], code=2)
    folder = tmp_path / "none" / "out.align"
    assert f"--out {folder}: cannot be written" in refused("align", trained.path, pairs, "--out", folder, code=2)
    assert not folder.exists()
    assert "--layer 7: " in refused("align", trained.path, pairs, "--layer", "7", code=2)
    assert "--head last: " in refused("align", trained.path, pairs, "--head", "last", code=2)
    assert "--heads: applies only to attention" in refused(
        "align", trained.path, pairs, "--heads", "--by", "leave-out", code=2
    )
    threshold = ("align", trained.path, pairs, "--threshold", "0.2")
    assert "--threshold 0.2: is an attention weight, and leave-out measures losses" in refused(
        *threshold, "--by", "leave-out", code=2
    )
    assert "--links grow: --threshold 0.2 replaces it" in refused(*threshold, "--links", "grow", code=2)
    assert f"--from fr: {trained.path} translates from es into en" in refused(
        "align", trained.path, pairs, "--from", "fr", code=2
    )
    empty = tmp_path / "empty.tsv"
    empty.write_text("\t\n", encoding="utf-8")
    assert "has no sentence pairs to align" in refused("align", trained.path, empty)


def test_the_source_language_is_that_of_the_direction(
    trained: TranslationModel, both_ways: TranslationModel, files: tuple[Path, Path]
) -> None:
    options = ("--layer", "0", "--head", "1", "--row", "chosen")
    assert run("align", trained.path, files[0], "--from", "es-MX", *options).returncode == 0
    assert "--from en: " in (said := refused("align", both_ways.path, files[0], "--from", "en", code=2))
    assert "for the other direction: --to es" in said
    assert run("align", both_ways.path, files[0], "--from", "en", "--to", "es", *options).returncode == 0


def test_a_model_without_attention(files: tuple[Path, Path], toy_tsv: Path, tmp_path: Path) -> None:
    settings = {"model": {"name": "seq2seq-lstm", "width": 16, "attention": "none"}, "tokenizer": {"vocabulary": 340}}
    mirada.train(toy_tsv, out=tmp_path / "plain", steps=2, settings=settings)
    said = refused("align", tmp_path / "plain", files[0], code=2)
    assert "seq2seq-lstm has no attention to align words by; train one that has (--model transformer" in said


def test_what_words_rest_on_beside_attention(trained: TranslationModel, tmp_path: Path) -> None:
    attend = ("attend", trained.path, "el gato ve el tren", "--attribution")
    table = run(*attend, "leave-out,gradient").stdout.splitlines()
    assert table[0].startswith("el gato ve el tren → ")
    assert table[1].split() == ["attention", "leave-out", "gradient", "ρ", "leave-out", "ρ", "gradient"]
    assert [line.split()[0] for line in table[2:]] == ["the", "cat", "sees", "the", "train", "mean"]
    for name in ("maps.svg", "maps.png", "maps.json"):
        assert run(*attend, "gradient", "--out", tmp_path / name).returncode == 0
    found = json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"))
    assert list(found["measures"]) == ["gradient"]
    assert found["source"] == ["el", "gato", "ve", "el", "tren"]
    given = run(*attend, "gradient", "--target", "the dog", "--layer", "0", "--head", "1").stdout
    assert [line.split()[0] for line in given.splitlines()[2:]] == ["the", "dog", "mean"]
    assert "--attribution magic: there are leave-out, gradient" in refused(*attend, "magic", code=2)
    assert "--part encoder: cannot be combined with --attribution" in refused(
        *attend, "gradient", "--part", "encoder", code=2
    )
    assert "--head 9: " in refused(*attend, "gradient", "--head", "9", code=2)
    assert ".html is not a kind of file" in refused(*attend, "gradient", "--out", tmp_path / "x.html", code=2)
