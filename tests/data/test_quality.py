"""The checker: every planted fault is found, counted, shown with its place, and treated as the settings say."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirada import api
from mirada.data import language
from mirada.data.checks import REASONS, CheckConfig, doubts, far_apart, in_words
from mirada.data.quality import Finding, QualityReport
from mirada.data.records import Record, Spill
from mirada.data.sources import DataConfig
from mirada.data.survey import Survey
from mirada.errors import DataError
from mirada.tasks.translation.data import TranslationData
from tests import toy

GOOD = [
    ("El perro negro duerme en la casa grande.", "The black dog is sleeping in the big house."),
    ("Mañana vamos a visitar a nuestros amigos.", "Tomorrow we are going to visit our friends."),
    ("La biblioteca está cerrada los domingos.", "The library is closed on Sundays."),
    ("Me gusta leer libros sobre la historia.", "I like to read books about history."),
    ("Los niños juegan todos los días en el parque.", "The children play in the park every day."),
    ("Ayer compramos una mesa nueva para la cocina.", "Yesterday we bought a new table for the kitchen."),
]


Held = list[tuple[str, tuple[str, ...]]]


def pairs_task(
    path: Path, languages: tuple[str | None, str | None] = (None, None), settings: Any = None
) -> TranslationData:
    data = DataConfig(files=(str(path),), source_language=languages[0], target_language=languages[1])
    return TranslationData({"data": data, "check": CheckConfig.model_validate(settings or {})})


def examined(
    tmp_path: Path, rows: list[tuple[str, str]], held: Held | None = None,
    languages: tuple[str | None, str | None] = ("es", "en"), settings: dict[str, str] | None = None,
) -> tuple[QualityReport, list[str], list[Record]]:  # fmt: skip
    """What is found wrong with the rows, the lines that are listed, and the records that are kept."""
    task = pairs_task(toy.write(tmp_path / "pairs.tsv", rows), languages, settings or {})
    listed = io.StringIO()
    with Spill(tmp_path / "spill") as spill:
        survey = Survey(task, spill, listed, quiet)
        survey.compared = [held] if held else []
        survey.read()
        survey.judge()
        kept = list(survey.records())
    report = survey.report()
    assert report.good == survey.good == len(kept)
    assert report.read == len(rows)
    lines = listed.getvalue().splitlines()
    assert len(lines) == report.left_out
    return report, lines, kept


def findings(report: QualityReport) -> list[Finding]:
    """But for the one that so few pairs are too few."""
    return [finding for finding in report.findings if finding.kind != "refused"]


def quiet(what: str, done: int, total: int) -> None:
    pass


PLANTED = {
    "blank": (" ", ""),
    "one_sided": ("Hola.", ""),
    "too_long": ("a" * 20_001, "b"),
    "too_many_words": ("palabra " * 101, "word " * 101),
    "duplicate": GOOD[0],
    "near_duplicate": ("EL PERRO NEGRO duerme en la casa grande", "The black dog is sleeping in the big house!"),
    "copied": ("This was left as it is.", "This was left as it is."),
    "length_ratio": ("No.", "No, and I will tell you at great length why I think that it is so."),
    "swapped": ("Tomorrow the weather will be nice again.", "Mañana volverá a hacer muy buen tiempo."),
    "wrong_language": ("Das Wetter wird morgen wieder schön sein.", "Tomorrow the weather will be nice again."),
    "numbers": ("Cuesta 45 pesos el kilo.", "It costs 54 pesos a kilo."),
    "addresses": ("Visita http://example.org hoy.", "Visit http://example.com today."),
    "placeholders": ("Hay %d archivos en {name}.", "There are %d files in {nombre}."),
    "control_characters": ("Hola\x07 a todos.", "Hello everyone."),
    "bad_decoding": ("Él vivió aquí.", "He lived here, vivió, in EspaÃ±a."),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_found_with_its_place(tmp_path: Path, kind: str) -> None:
    report, lines, kept = examined(tmp_path, [*GOOD, PLANTED[kind], ("Adiós.", "Goodbye.")])
    assert [(finding.kind, finding.count) for finding in report.findings] == [(kind, 1)]
    finding = report.findings[0]
    assert finding.examples[0][:2] == (str(tmp_path / "pairs.tsv"), 7)
    assert finding.left_out == (len(kept) == 7)
    if finding.left_out:
        assert lines == [f"{tmp_path / 'pairs.tsv'}\t7\t{kind}\t{in_words(kind, 'pair')}"]
    assert in_words(kind, "pair") in report.as_text()
    assert report.as_dict()["findings"][0]["share"] == pytest.approx(1 / 8)


@pytest.mark.parametrize("kind", [kind for kind in PLANTED if kind in TranslationData.settings])
def test_the_named_setting_changes_what_training_does(tmp_path: Path, kind: str) -> None:
    rows = [*GOOD, PLANTED[kind]]
    (before,) = examined(tmp_path, rows)[0].findings
    name, value = before.setting.removeprefix("check.").split("=")
    (after,) = examined(tmp_path, rows, settings={name: value})[0].findings
    assert after.left_out != before.left_out


def test_clean_data_has_no_findings(tmp_path: Path) -> None:
    report, _, _ = examined(tmp_path, GOOD)
    assert report.findings == []
    assert report.figures["looks_like"] == {"source": "es", "target": "en"}
    assert "no problems found" in report.as_text()


def test_all_settings_have_a_test() -> None:
    assert set(TranslationData.settings) == set(PLANTED) & set(TranslationData.settings) | {"in_dev", "source_in_dev"}
    assert set(TranslationData.settings) <= set(REASONS)


def test_lines_with_invalid_bytes_are_all_found_by_a_check_and_refused_by_training(tmp_path: Path) -> None:
    path = toy.write(tmp_path / "pairs.tsv", GOOD)
    path.write_bytes(path.read_bytes() + b"a\xf1o\tyear\nni\xf1o\tchild\n")
    (finding,) = findings(api.check(path))
    assert (finding.kind, finding.count, finding.training) == ("invalid_bytes", 2, "refuses the file")
    assert finding.examples[0] == (str(path), 7, r"a\udcf1o → year")
    assert finding.setting == "data.invalid_bytes=drop"
    with pytest.raises(DataError, match=r"line 7: not UTF-8.*data\.invalid_bytes=drop"):
        list(DataConfig(files=(str(path),)).open())
    dropping = {"data": {"invalid_bytes": "drop"}}
    assert findings(api.check(path, settings=dropping))[0].training == "leaves them out"
    assert len(list(DataConfig(files=(str(path),), invalid_bytes="drop").open())) == 8


def test_overlap_with_dev_is_left_out(tmp_path: Path) -> None:
    held: Held = [(GOOD[0][0], (GOOD[0][1], "Another.")), (GOOD[1][0], ("Another.",))]
    report, _, kept = examined(tmp_path, GOOD, held)
    assert [(f.kind, f.count, f.left_out) for f in report.findings] == [
        ("in_dev", 1, True), ("source_in_dev", 1, False),
    ]  # fmt: skip
    assert len(kept) == 5


def test_a_pair_that_is_left_out_counts_once(tmp_path: Path) -> None:
    report, _, _ = examined(tmp_path, [*GOOD, PLANTED["copied"], PLANTED["copied"]])
    assert {f.kind: f.count for f in report.findings} == {"duplicate": 1, "copied": 1}
    assert report.left_out == 2


def test_short_copies_are_names(tmp_path: Path) -> None:
    assert examined(tmp_path, [*GOOD, ("New York", "New York"), ("PDF", "PDF")])[0].findings == []


def test_an_unknown_language_is_not_judged(tmp_path: Path) -> None:
    report, _, _ = examined(tmp_path, [*GOOD, PLANTED["swapped"]], languages=("nah", "en"))
    assert report.findings == []


def test_languages_that_were_not_given_are_those_of_most_lines(tmp_path: Path) -> None:
    report, _, _ = examined(tmp_path, [*GOOD, PLANTED["swapped"]], languages=(None, None))
    assert [finding.kind for finding in report.findings] == ["swapped"]


SWAPPED = [(target, f"{source} {number}") for number in range(8) for source, target in GOOD]


def test_data_in_the_swapped_direction_is_refused(tmp_path: Path) -> None:
    path = toy.write(tmp_path / "pairs.tsv", SWAPPED)
    with pytest.raises(
        DataError, match=r"pairs\.tsv: its lines are en → es, and not es → en: .*--columns 2,1.*--from en"
    ):
        examined(tmp_path, SWAPPED)
    assert "swapped" in {
        finding.kind for finding in examined(tmp_path, SWAPPED, settings={"languages": "keep"})[0].findings
    }
    finding = api.check(path, source_language="es", target_language="en").findings[0]
    assert (finding.kind, finding.training, finding.setting) == (
        "languages",
        "refuses the file",
        "check.languages=keep",
    )
    assert finding.title.startswith(f"{path}: its lines are en → es")
    assert finding.examples[0][:2] == (str(path), 1)
    kept = api.check(path, source_language="es", target_language="en", settings={"check": {"languages": "keep"}})
    assert {finding.kind for finding in kept.findings} >= {"swapped", "near_duplicate"}
    assert "languages" not in {finding.kind for finding in api.check(path).findings}


def test_a_side_in_a_third_language_is_refused(tmp_path: Path) -> None:
    rows = [(target, f"{source} {number}") for number in range(16) for source, target in GOOD]
    with pytest.raises(DataError, match=r"its source side is en, and not ja: .*--from en.*check\.languages=keep"):
        examined(tmp_path, rows, languages=("ja", "es"))
    with pytest.raises(DataError, match=r"its target side is es, and not de: .*--to es"):
        examined(tmp_path, rows, languages=("en", "de"))
    for near in ("pt", "ca", "gl"):  # the identifier may take them for each other
        examined(tmp_path, rows, languages=("en", near))


def test_a_few_lines_or_a_mixture_are_not_refused(tmp_path: Path) -> None:
    examined(tmp_path, [(target, source) for source, target in GOOD])
    examined(tmp_path, [*SWAPPED, *((f"{source} {n}", target) for n in range(2) for source, target in GOOD)])


def test_swapped_dev_and_test_sets_are_refused(tmp_path: Path) -> None:
    right = [(f"{source} {number}", target) for number in range(8) for source, target in GOOD]
    data, dev = toy.write(tmp_path / "data.tsv", right), toy.write(tmp_path / "dev.tsv", SWAPPED)
    given: dict[str, Any] = {"source_language": "es", "target_language": "en"}
    for which in ("dev", "test"):
        finding = api.check(data, **{**given, which: dev}).findings[0]
        assert (finding.kind, finding.training) == ("languages", "refuses the file")
        assert finding.title.startswith(f"{dev}: its lines are en → es")
    with pytest.raises(DataError, match=r"dev\.tsv: its lines are en → es"):
        api.train(data, out=tmp_path / "bundle", dev=dev, **given)
    assert not (tmp_path / "bundle").exists()


def test_a_check_names_what_it_passes_over_in_a_dev_or_test_set(tmp_path: Path) -> None:
    data, dev = toy.write(tmp_path / "data.tsv", GOOD), toy.write(tmp_path / "dev.tsv", [("uno", "one"), ("dos", "")])
    for given in (api.check(data, dev=dev), api.check(data, test=dev)):
        assert given.notes == [f"left out of {dev}: 1 (lines with an empty side)"]


def test_numbers_may_be_written_otherwise() -> None:
    def kinds(source: str, target: str) -> list[str]:
        return doubts(source, target, CheckConfig())

    assert kinds("Cuesta 1.000,50 pesos.", "It costs 1,000.50 pesos.") == []
    assert kinds("Tiene 3 gatos.", "He has three cats.") == []
    assert kinds("El 12/05 a las 8:30.", "On 05/12 at 8:30.") == []
    assert kinds("Tiene 33 gatos.", "He has cats.") == ["numbers"]


def test_lengths_are_judged_by_what_is_usual() -> None:
    def apart(source: int, target: int, usual: int) -> bool:
        many = [1000 << 16 | 1000 * usual] * 10_000
        return bool(far_apart(np.array([*many, source << 16 | target], np.uint32), ratio=5)[-1])

    assert not apart(10, 40, usual=4)
    assert apart(10, 400, usual=4)
    assert apart(100, 10, usual=1)
    assert not apart(3, 25, usual=1)


def test_what_a_person_reads_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    text = examined(tmp_path, [*GOOD, ("\x1b[2J rojo", "red")])[0].as_text()
    assert "\x1b" not in text
    assert r"\x1b[2J rojo" in text


def test_memory_stays_under_64_bytes_a_pair(tmp_path: Path) -> None:
    def peak(pairs: int) -> int:
        path = tmp_path / f"{pairs}.tsv"
        with path.open("w") as out:
            for number in range(pairs):
                out.write(f"frase {number % (pairs // 2):06d}\tsentence {number % (pairs // 2):06d}\n")
        tracemalloc.start()
        with Spill(tmp_path / "spill") as spill:
            survey = Survey(pairs_task(path), spill, None, quiet)
            survey.read()
            survey.judge()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert survey.report().left_out == pairs // 2
        return found

    language.known("es")  # loaded before the measurement
    assert peak(24_000) - peak(8_000) < 64 * 16_000
