"""Scores equal sacrebleu's own, missing references do not count, and lost numbers, URLs and placeholders are found."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mirada.data import placeholders as verbatim
from mirada.errors import UsageError
from mirada.metrics.score import Score
from mirada.metrics.translation import Damage, LengthRow, TranslationScores, bleu, bleu_tokenizer, evaluate

SOURCES = [
    "The cat is sitting on the mat.",
    "I have never been to the old town by the sea.",
    "Good morning!",
    "They will come tomorrow, she said, if the weather is fine and the road is open.",
]
HYPOTHESES = [
    "El gato está sentado en la alfombra.",
    "Nunca he estado en la ciudad vieja junto al mar.",
    "¡Buenos días!",
    "Vendrán mañana, dijo, si hace buen tiempo y el camino está abierto.",
]
REFERENCES = [
    "El gato está en la alfombra.",
    "Yo nunca he estado en el casco antiguo junto al mar.",
    "¡Buenos días!",
    "Mañana vendrán, dijo ella, si hace buen tiempo y la carretera está abierta.",
]
OTHERS = ["Un gato está sentado en la alfombra.", "Nunca estuve en la ciudad vieja.", "¡Buen día!", "Vendrán mañana."]


def single(references: Sequence[str]) -> list[list[str]]:
    return [[reference] for reference in references]


def values(result: TranslationScores) -> dict[str, float]:
    return {score.name: score.value for score in result.scores}


# --- scores ---


@pytest.mark.parametrize("streams", [[REFERENCES], [REFERENCES, OTHERS]])
def test_scores_and_signatures_are_those_of_sacrebleu(streams: list[list[str]]) -> None:
    result = evaluate(SOURCES, HYPOTHESES, list(zip(*streams, strict=True)))
    assert result.size == 4
    metrics = {"BLEU": BLEU(), "chrF++": CHRF(word_order=2), "TER": TER()}
    assert [score.name for score in result.scores] == list(metrics)
    for score in result.scores:
        metric = metrics[score.name]
        assert score.value == metric.corpus_score(HYPOTHESES, streams).score
        assert score.signature == str(metric.get_signature())
        assert score.signature.startswith(f"nrefs:{len(streams)}|")
    assert bleu(HYPOTHESES, list(zip(*streams, strict=True))) == values(result)["BLEU"]


def test_scores_are_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    for name, texts in (("hypotheses", HYPOTHESES), ("references", REFERENCES)):
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", str(tmp_path / "references"), "-i", str(tmp_path / "hypotheses")]
    options = ["-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "--width", "4", "--format", "json"]
    printed = subprocess.run([*command, *options], capture_output=True, text=True, check=True, encoding="utf-8")
    theirs = [(row["name"], row["score"], row["signature"]) for row in json.loads(printed.stdout)]
    ours = evaluate(SOURCES, HYPOTHESES, single(REFERENCES)).scores
    assert [("chrF2++" if score.name == "chrF++" else score.name, round(score.value, 4)) for score in ours] == [
        (name, value) for name, value, _ in theirs
    ]
    assert [score.signature for score in ours] == [signature for _, _, signature in theirs]


def test_bleu_by_hand() -> None:
    # 6 of 7 words, 4 of 6 pairs, 2 of 5 triples, 1 of 4 quadruples; as long as the reference, so no brevity penalty.
    hypothesis, reference = "a b c d x e f", "a b c d y e f"
    by_hand = 100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    assert math.isclose(bleu([hypothesis], [[reference]]), by_hand)


def test_perfect_and_hopeless_translations() -> None:
    assert values(evaluate(SOURCES, REFERENCES, single(REFERENCES))) == pytest.approx(
        {"BLEU": 100, "chrF++": 100, "TER": 0}
    )
    assert values(evaluate(SOURCES, [""] * 4, single(REFERENCES))) == pytest.approx(
        {"BLEU": 0, "chrF++": 0, "TER": 100}
    )


@pytest.mark.parametrize("gap", [[], [""], ["", " "]])
def test_a_missing_reference_is_not_an_empty_one(gap: list[str]) -> None:
    references = [[REFERENCES[0], OTHERS[0]], *([reference, *gap] for reference in REFERENCES[1:])]
    result = evaluate(SOURCES, HYPOTHESES, references)
    # Repeating a reference changes no score of the closest or best, unlike adding an empty one; TER takes averages,
    # which repetition leaves alone too.
    filled = [REFERENCES, [OTHERS[0], *REFERENCES[1:]]]
    for name, metric in (("BLEU", BLEU()), ("chrF++", CHRF(word_order=2)), ("TER", TER())):
        assert values(result)[name] == pytest.approx(metric.corpus_score(HYPOTHESES, filled).score)
    assert all(score.signature.startswith("nrefs:var|") for score in result.scores)
    emptied = TER().corpus_score(HYPOTHESES, [REFERENCES, [OTHERS[0], "", "", ""]]).score
    assert values(result)["TER"] < emptied - 10


def test_a_missing_first_reference_is_filled_from_the_others() -> None:
    assert evaluate(SOURCES, HYPOTHESES, [["", reference] for reference in REFERENCES]) == evaluate(
        SOURCES, HYPOTHESES, single(REFERENCES)
    )


def test_a_sentence_whose_only_reference_is_empty_is_scored_as_such() -> None:
    assert values(evaluate(["x"], ["y"], [[""]])) == {"BLEU": 0, "chrF++": 0, "TER": 100}


def test_tokenised_text_gives_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    bleu(["un gato ."] * 200, [["un gato ."]] * 200)
    assert not caplog.records


# --- by length ---


def test_length_classes_cover_every_sentence() -> None:
    lengths = [0, 1, 5, 6, 10, 11, 15, 16, 20, 21, 30, 31, 50, 51, 70]
    sources = [" ".join("w" * length) for length in lengths]
    texts = [f"the {length} words of one source sentence" for length in lengths]
    rows = evaluate(sources, texts, single(texts)).by_length
    assert [(row.shortest, row.longest, row.sentences) for row in rows] == [
        (0, 0, 1),
        (1, 5, 2),
        (6, 10, 2),
        (11, 15, 2),
        (16, 20, 2),
        (21, 30, 2),
        (31, 50, 2),
        (51, 70, 2),
    ]
    assert all(row.bleu == pytest.approx(100) and row.chrf == pytest.approx(100) for row in rows)


def test_a_class_is_scored_as_a_corpus_of_its_own() -> None:
    rows = evaluate(SOURCES, HYPOTHESES, single(REFERENCES)).by_length
    assert [(row.shortest, row.sentences) for row in rows] == [(1, 1), (6, 1), (11, 1), (16, 1)]
    sources = ["one two", "one two three four five six", "three"]
    rows = evaluate(sources, [HYPOTHESES[0], "x", HYPOTHESES[3]], single([REFERENCES[0], "y", REFERENCES[3]])).by_length
    pair = [HYPOTHESES[0], HYPOTHESES[3]], [[REFERENCES[0], REFERENCES[3]]]
    expected = BLEU().corpus_score(*pair).score, CHRF(word_order=2).corpus_score(*pair).score
    assert rows[0] == LengthRow(1, 5, 2, *expected)


# --- damage ---


def lost(source: str, hypothesis: str, *references: str) -> dict[str, tuple[int, int]]:
    """For each kind with anything expected: how much, and how much of it was lost."""
    result = evaluate([source], [hypothesis], [references or (source,)])
    assert [row.kind for row in result.damage] == ["number", "url", "placeholder"]
    return {row.kind: (row.expected, row.lost) for row in result.damage if row.expected}


@pytest.mark.parametrize(
    ("source", "hypothesis", "expected"),
    [
        ("1,000 cars", "1.000 coches", (1, 0)),
        ("1,000 cars", "1 000 coches", (1, 0)),
        ("1,000.50 euros", "1\u202f000,50 euros", (1, 0)),
        ("It is 3.5 km", "Son 3,6 km", (1, 1)),
        ("at 10:30", "a las 10.30", (1, 0)),
        ("on 2020-01-31", "el 31/01/2020", (3, 0)),
        ("3 and 3 is 6", "3 es 6", (3, 1)),
        ("in 2020 300 people", "300 personas en 2020", (2, 0)),
        ("٣٫٥ كم", "3.5 km", (1, 0)),
        ("a CO2 tax", "un impuesto al CO", (1, 1)),
        ("5, 6.", "5; 6", (2, 0)),
    ],
)
def test_numbers(source: str, hypothesis: str, expected: tuple[int, int]) -> None:
    assert lost(source, hypothesis) == {"number": expected}


def test_what_a_reference_does_not_keep_is_not_expected() -> None:
    assert lost("2 cats at 3pm", "gatos", "dos gatos a las 15 horas") == {}
    assert lost("2 cats", "gatos", "2 gatos", "dos gatos") == {}
    assert lost("2 cats", "gatos", "2 gatos", "hay 2 gatos") == {"number": (1, 1)}
    assert lost("2 cats, 2 dogs", "gatos y perros", "2 gatos y dos perros") == {"number": (1, 1)}
    assert lost("cats", "gatos", "2 gatos") == {}
    assert lost("2 cats", "gatos", "") == {}
    assert lost("2 cats", "gatos", "2 gatos", "") == {"number": (1, 1)}


@pytest.mark.parametrize(
    ("source", "hypothesis", "expected"),
    [
        ("See https://example.org/a?b=1&c=2.", "Ver https://example.org/a?b=1&c=2", (1, 0)),
        ("See https://example.org/A.", "Ver https://example.org/a.", (1, 1)),
        ("(see https://example.org/x_(y))", "https://example.org/x_(y)", (1, 0)),
        ("See www.example.org, now!", "¡Ver www.example.org ya!", (1, 0)),
        ("Write to a.b+c@mail.example.org.", "Escriba a a.b@mail.example.org.", (1, 1)),
        ("https://example.org/2024 two", "https://example.org/2024 dos", (1, 0)),
        ("见https://example.org。谢谢", "https://example.org", (1, 0)),
    ],
)
def test_addresses(source: str, hypothesis: str, expected: tuple[int, int]) -> None:
    assert lost(source, hypothesis) == {"url": expected}


@pytest.mark.parametrize(
    "placeholder",
    [
        *("%s", "%d", "%5.2f", "%-10s", "%(name)d", "%1$s", "%lu", "%@", "%1", "%%", "%APPDATA%"),
        *("{}", "{0}", "{name}", "{user.name}", "{x!r}", "{0:.2f}", "{{ name }}", "${x}", "%{name}", "#{x}"),
        *("{{ name | upper }}", '{{ t "key" }}', '{{< figure src="x.png" >}}', "{% if user %}", "{%- endfor -%}"),
        *("<b>", "</a>", "<br/>", '<a href="x">', "<g id='1'/>", "&amp;", "&nbsp;", "&#39;", "&#x27;"),
    ],
)
def test_placeholders(placeholder: str) -> None:
    assert lost(f"Hello {placeholder} world", f"Hola mundo {placeholder}") == {"placeholder": (1, 0)}
    assert lost(f"Hello {placeholder} world", "Hola mundo") == {"placeholder": (1, 1)}
    assert lost(f"{placeholder}, {placeholder}", f"{placeholder}") == {"placeholder": (2, 1)}


@pytest.mark.parametrize("text", ["20 % de", "20% de", "20%de", "a < b", "x > y", "R&D; AT&T", "a {b c} d", "$ 5%"])
def test_plain_text_holds_no_placeholders(text: str) -> None:
    assert "placeholder" not in lost(text, "")


def test_an_address_inside_a_tag_is_an_address() -> None:
    assert lost('<a href="https://example.org/1">x</a>', "x") == {"url": (1, 1), "placeholder": (2, 2)}


def test_examples_name_the_sentence_and_are_few() -> None:
    result = evaluate(["none", *["from 1,000 to 7"] * 9], ["nada"] * 10, single(["nada", *["de 1.000 a 7"] * 9]))
    examples = ((2, "1,000"), (2, "7"), (3, "1,000"), (3, "7"), (4, "1,000"))
    assert result.damage[0] == Damage("number", 18, 18, examples)


def test_huge_odd_texts_take_no_time() -> None:
    for text in (
        "a" * 50_000,
        "1" * 50_000,
        "%0" + "0" * 50_000,
        "<" * 50_000,
        "{" * 50_000,
        "a." * 25_000,
        "1 " * 25_000,
    ):
        start = time.perf_counter()
        verbatim.found(text)
        assert time.perf_counter() - start < 1


# --- reports ---


def test_the_dictionary_survives_json() -> None:
    result = evaluate(["See %s 5"], ["Ver"], [["Ver %s 5"]])
    plain = result.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == ["unit", "size", "scores", "notes", "by_length", "damage", "refused", "cut"]
    assert plain["damage"][2] == {"kind": "placeholder", "expected": 1, "lost": 1, "examples": [[1, "%s"]]}
    assert set(plain["scores"][0]) == {"name", "value", "signature", "lower_is_better", "digits"}


def test_the_text_is_aligned() -> None:
    result = TranslationScores(
        size=1200,
        scores=(
            Score("BLEU", 31.416, "nrefs:1|tok:13a"),
            Score("chrF++", 55, "nc:6"),
            Score("TER", 101.5, "case:lc", lower_is_better=True),
        ),
        by_length=(LengthRow(0, 0, 1, 0.0, 0.0), LengthRow(6, 10, 1199, 100.0, 9.876)),
        damage=(Damage("number", 9, 2, ((3, "1,000"),)), Damage("url", 0, 0, ()), Damage("placeholder", 5, 0, ())),
    )
    assert result.as_text() == (
        "sentences: 1,200\n"
        "\n"
        "BLEU     31.42  nrefs:1|tok:13a\n"
        "chrF++   55.00  nc:6\n"
        "TER     101.50  case:lc  (lower is better)\n"
        "\n"
        "source words   sentences    BLEU  chrF++\n"
        "0                      1    0.00    0.00\n"
        "6–10                1199  100.00    9.88\n"
        "\n"
        "to be kept      expected    lost\n"
        "numbers                9       2  1,000 (sentence 3), …\n"
        "URLs, e-mails          0       0\n"
        "placeholders           5       0\n"
    )


def test_the_text_has_nothing_that_acts_on_a_terminal() -> None:
    text = evaluate(["<a \x1b[31m\n" + "x" * 99 + ">"], [""], [["<a \x1b[31m\n" + "x" * 99 + ">"]]).as_text()
    assert "\x1b" not in text
    assert "<a \ufffd[31m\ufffdxxx" in text
    assert max(map(len, text.splitlines())) < 120


# --- mistakes ---


@pytest.mark.parametrize(
    ("sources", "hypotheses", "references", "message"),
    [
        ([], [], [], "nothing to evaluate"),
        (["a"], ["a", "b"], [["a"], ["b"]], "1 sources but 2 predictions"),
        (["a", "b"], ["a", "b"], [["a"]], "1 sentences but 2 predictions"),
        (["a", "b"], ["a", "b"], [["a"], []], "sentence 2 has no reference"),
    ],
)
def test_mistakes_are_named(
    sources: list[str], hypotheses: list[str], references: list[list[str]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(sources, hypotheses, references)
    if len(sources) == len(hypotheses):
        with pytest.raises(UsageError, match=message):
            bleu(hypotheses, references)


def test_sacrebleu_is_imported_only_when_used() -> None:
    check = "import sys, mirada.metrics.translation; sys.exit('sacrebleu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize(
    ("language", "reference", "expected"),
    [
        ("zh", "他和两个人一起工作。", "zh"),
        ("zh-TW", "他和兩個人一起工作。", "zh"),
        ("ja", "彼は二人と働いています。", "char"),
        ("th", "เขาทำงานกับทั้งสองคน", "char"),
        ("km", "គាត់ធ្វើការ", "char"),
        ("en", "He works with both.", "13a"),
        ("en", "他和两个人一起工作。", "13a"),  # who says it is English gets what English gets
        (None, "他和两个人一起工作。", "zh"),
        (None, "彼は二人と働いています。", "char"),
        (None, "ເຂົາເຮັດວຽກ", "char"),
        (None, "Он работает с обоими.", "13a"),
        (None, "그는 두 사람과 일한다.", "13a"),  # Korean has spaces
        (None, "12 %", "13a"),
    ],
)
def test_bleu_has_the_tokenizer_of_the_target_language(language: str | None, reference: str, expected: str) -> None:
    assert bleu_tokenizer(language, [[reference]] * 3) == expected


def test_bleu_of_chinese_counts_characters_and_says_so() -> None:
    references = [["那个猫看见那个狗。"], ["那个书有那个船。"]]
    nearly = ["那个猫看见那个狼。", "那个书有那个船。"]
    assert bleu(nearly, references) == 0.0  # two "words"
    assert bleu(["那个猫看见那个狼。", "那个书有那个狗。"], references) == 0.0
    assert bleu(["那个猫看见那个狼。", "那个书有那个狗。"], references, "zh") > 50
    scores = evaluate(["a", "b"], nearly, references, "zh")
    assert "tok:zh" in scores.scores[0].signature
    assert scores.by_length[0].bleu == pytest.approx(scores.score("BLEU"))


def test_a_script_without_spaces_decides_from_half_of_the_letters() -> None:
    assert bleu_tokenizer(None, [["他和ab"]]) == "zh"
    assert bleu_tokenizer(None, [["他和abc"]]) == "13a"
    assert bleu_tokenizer(None, [["他和ab"]] + [["x"]] * 1000) == "13a"
    assert bleu_tokenizer(None, [["他"]] * 1000 + [["x" * 9999]]) == "zh"  # a thousand references are read


def test_nothing_is_refused_or_cut_unless_said() -> None:
    scores = evaluate(["a"], ["b"], [["c"]])
    assert (scores.refused, scores.cut, scores.notes) == (0, 0, ())
    assert {score.name: score.lower_is_better for score in scores.scores} == {
        "BLEU": False,
        "chrF++": False,
        "TER": True,
    }
