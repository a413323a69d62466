"""Configuration: misspelt, mistyped and contradictory settings are all named at once, with the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, model_validator

from mirada import config, tasks
from mirada.config import Section, build, dump, merge, nearest, override, read
from mirada.errors import ConfigError, UsageError
from mirada.tasks.translation.model import TranslationModel
from mirada.training.config import TrainConfig
from mirada.training.run import check_config
from tests.command import refused


class Cake(Section):
    """A section of this test's own."""

    layers: int = Field(2, ge=1, le=20)
    sugar: float = Field(0.5, gt=-0.5)
    icing: Literal["white", "pink"] = "white"
    toppings: tuple[str, ...] = ()
    candles: int | None = None
    warm: bool = False
    tiers: tuple[int, int] = (1, 1)

    @model_validator(mode="after")
    def _pink_needs_sugar(self) -> Cake:
        if self.icing == "pink" and self.sugar == 0:
            raise ValueError("cake.icing=pink needs cake.sugar above 0")
        return self


class Oven(Section):
    degrees: int = 180


SECTIONS: dict[str, type[Section]] = {"cake": Cake, "oven": Oven}


def problem(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        build(SECTIONS, values)
    assert isinstance(caught.value, UsageError)
    assert caught.value.exit_code == 2
    return str(caught.value)


# --- building ---


def test_settings_become_sections_and_the_rest_is_default() -> None:
    built = build(SECTIONS, {"cake": {"layers": 3, "toppings": ["nuts"]}})
    assert built["cake"] == Cake(layers=3, toppings=("nuts",))
    assert built["oven"] == Oven()
    assert built["oven"].degrees == 180


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"cake": {"layer": 3}}, "cake.layer: there is no such setting (did you mean cake.layers?)"),
        ({"cake": {"sugr": 1}}, "cake.sugr: there is no such setting (did you mean cake.sugar?)"),
        ({"ofen": {"degrees": 3}}, "ofen: there is no such section (did you mean oven?)"),
        ({"oven": {"zzz": 3}}, "oven.zzz: there is no such setting (there are: degrees)"),
        ({"xyz": {}}, "xyz: there is no such section (there are: cake, oven)"),
        ({"sugar": 1}, "sugar: there is no such setting (did you mean cake.sugar?)"),
        ({"degree": 1}, "degree: there is no such setting (did you mean oven.degrees?)"),
        ({"oven": {"sugar": 1}}, "oven.sugar: there is no such setting (did you mean cake.sugar?)"),
        ({"kitchen": {"degrees": 1}}, "kitchen: there is no such section (did you mean oven.degrees?)"),
        ({"xyz": 1}, "xyz: there is no such setting; write section.key=value (there are: cake, oven)"),
        ({"num_layers": 1}, "num_layers: there is no such setting (did you mean cake.layers?)"),
        ({"oven": {"n-layers": 1}}, "oven.n-layers: there is no such setting (did you mean cake.layers?)"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest_one(values: dict[str, Any], expected: str) -> None:
    assert problem(values) == expected


def test_all_problems_are_reported_at_once() -> None:
    said = problem({"cake": {"layer": 3, "layers": 0, "icing": "blue"}, "oven": {"degrees": "hot"}, "coke": {}})
    for expected in ("cake.layer: ", "cake.layers=0: ", "cake.icing='blue': ", "oven.degrees='hot': ", "coke: "):
        assert expected in said
    assert said.count("; ") >= 4
    assert "\n" not in said


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"layers": "many"}, "cake.layers='many': must be a whole number"),
        ({"layers": 2.5}, "cake.layers=2.5: must be a whole number"),
        ({"layers": None}, "cake.layers=None: must be a whole number"),
        ({"layers": [1]}, "cake.layers=[1]: must be a whole number"),
        ({"layers": 0}, "cake.layers=0: must be at least 1"),
        ({"layers": 99}, "cake.layers=99: must be at most 20"),
        ({"candles": 2**63}, f"cake.candles={2**63}: must be at most {2**63 - 1}"),
        ({"candles": str(10**30)}, f"cake.candles={10**30}: must be at most {2**63 - 1}"),
        ({"sugar": "much"}, "cake.sugar='much': must be a number"),
        ({"sugar": -1}, "cake.sugar=-1: must be above -0.5"),
        ({"sugar": float("inf")}, "cake.sugar=inf: must be a finite number"),
        ({"sugar": float("nan")}, "cake.sugar=nan: must be a finite number"),
        ({"warm": "maybe"}, "cake.warm='maybe': must be true or false"),
        ({"icing": "blue"}, "cake.icing='blue': must be 'white' or 'pink'"),
        ({"toppings": "nuts"}, "cake.toppings='nuts': must be a list: [one, two]"),
        ({"toppings": [["nuts"]]}, "cake.toppings.0=['nuts']: must be text; put it in quotes"),
        ({"tiers": [1]}, "cake.tiers.1: is missing"),
        ({7: 1}, "cake.7=7: is not the name of a setting"),
        ({"layers": "x" * 100_000}, "cake.layers='" + "x" * 59 + ": must be a whole number"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_in_plain_words(values: dict[Any, Any], expected: str) -> None:
    assert problem({"cake": values}) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("lr=0.001", "lr: there is no such setting (did you mean train.lr?)"),
        ("learning_rate=0.001", "learning_rate: there is no such setting (did you mean train.lr?)"),
        ("train.learning-rate=0.001", "train.learning-rate: there is no such setting (did you mean train.lr?)"),
        ("epochs=3", "epochs: there is no such setting (did you mean --epochs 3 (train.epochs)?)"),
        ("num_epochs=3", "num_epochs: there is no such setting (did you mean --epochs 3 (train.epochs)?)"),
        ("batch_size=32", "(did you mean train.batch_tokens (tokens, not sentences)?)"),
        ("hidden_size=64", "(did you mean model.width?)"),
        ("d_model=64", "(did you mean model.width?)"),
        ("num_layers=6", "(did you mean model.encoder_layers or model.decoder_layers?)"),
        ("n_heads=4", "(did you mean model.heads?)"),
        ("vocab_size=100", "(did you mean tokenizer.vocabulary?)"),
        ("beam_size=4", "(did you mean --beam 4 (decode.beam)?)"),
        ("max_len=40", "(did you mean model.max_length?)"),
        ("train.steps=0", "--steps 0: must be at least 1 (the setting train.steps)"),
        (f"train.steps={10**30}", f"--steps {10**30}: must be at most {2**63 - 1} (the setting train.steps)"),
        ("train.minutes=-1", "--minutes -1: must be above 0 (the setting train.minutes)"),
        ("train.lr=-1", "train.lr=-1: must be above 0"),
    ],
)
def test_settings_as_other_toolkits_call_them(given: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_config(merge({"model": {"name": "transformer"}, "data": {"files": ["a.tsv"]}}, override(given)))
    assert str(caught.value).endswith(expected)


def test_every_option_and_foreign_name_leads_to_a_setting() -> None:
    sections = [section for task in map(tasks.find, tasks.packages()) for section in task.sections.items()]
    sections += [("train", TrainConfig), *(("model", section) for section in subclasses(Section))]
    there = {f"{name}.{field}" for name, section in sections for field in section.model_fields}
    assert set(config.OPTIONS) <= there
    names = {path.split(".")[1] for path in there}
    assert set(config.FOREIGN_NAMES) <= names


def subclasses(section: type[Section]) -> list[type[Section]]:
    return [below for kind in section.__subclasses__() for below in (kind, *subclasses(kind))]


def test_a_contradiction_names_both_settings() -> None:
    said = problem({"cake": {"icing": "pink", "sugar": 0}})
    assert "cake.icing=pink needs cake.sugar above 0" in said
    assert "Value error" not in said


@pytest.mark.parametrize("value", [200, 0, [], ""])
def test_a_value_where_a_section_belongs(value: Any) -> None:
    assert "oven: is a section with keys" in problem({"oven": value})


def test_sections_are_frozen() -> None:
    cake = Cake()
    with pytest.raises(ValidationError, match="frozen"):
        cake.layers = 7  # type: ignore[misc]
    assert cake.layers == 2


# --- overrides ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("oven.degrees=200", {"oven": {"degrees": 200}}),
        ("cake.sugar=0.25", {"cake": {"sugar": 0.25}}),
        ("cake.icing=pink", {"cake": {"icing": "pink"}}),
        ("cake.toppings=[nuts, figs]", {"cake": {"toppings": ["nuts", "figs"]}}),
        ("cake.candles=null", {"cake": {"candles": None}}),
        ("a.b.c=true", {"a": {"b": {"c": True}}}),
        (" oven.degrees =200", {"oven": {"degrees": 200}}),
        ("cake.icing=a=b", {"cake": {"icing": "a=b"}}),
        ("cake.icing=[unclosed", {"cake": {"icing": "[unclosed"}}),
        ("cake.icing=", {"cake": {"icing": None}}),
    ],
)
def test_overrides_are_read_as_yaml(text: str, expected: dict[str, Any]) -> None:
    assert override(text) == expected


@pytest.mark.parametrize("text", ["oven.degrees", "=3", " =3", "", ".x=3", "a..b=3", "a." * 9_000 + "b=3"])
def test_an_override_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        override(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("model=lstm", "--model lstm"), ("task=tagging", "--task tagging"), ("train=3", r"write train\.key=value")],
)
def test_a_section_is_not_set_as_a_whole(text: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        override(text)


@pytest.mark.parametrize("value", ["2020-13-45", "[" * 5_000, "[a"])
def test_what_is_no_yaml_is_a_word(value: str) -> None:
    assert override(f"cake.icing={value}") == {"cake": {"icing": value}}


@pytest.mark.parametrize("number", ["1e-3", "1.0e-3", "0.001", ".001"])
def test_numbers_may_be_written_as_people_do(number: str) -> None:
    assert build(SECTIONS, override(f"cake.sugar={number}"))["cake"].sugar == 0.001


# --- merging ---


def test_later_layers_are_on_top_and_the_rest_stays() -> None:
    preset = {"cake": {"layers": 3, "sugar": 0.1}, "oven": {"degrees": 150}}
    file = {"cake": {"sugar": 0.2, "icing": "pink"}}
    assert merge(preset, file, override("cake.icing=white"), override("cake.layers=5")) == {
        "cake": {"layers": 5, "sugar": 0.2, "icing": "white"},
        "oven": {"degrees": 150},
    }


def test_merging_changes_none_of_the_layers() -> None:
    below, above = {"cake": {"layers": 3}}, {"cake": {"sugar": 0.2}}
    merged = merge(below, above)
    merged["cake"]["layers"] = 9
    assert below == {"cake": {"layers": 3}}
    assert above == {"cake": {"sugar": 0.2}}


def test_lists_and_values_replace_each_other_whole() -> None:
    assert merge({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}
    assert merge({"a": {"b": 1}}, {"a": 2}, {"a": {"c": 3}}) == {"a": {"c": 3}}
    assert merge() == {}


nested = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)
layers = st.dictionaries(st.sampled_from("abc"), nested, max_size=3)


@given(layers, layers, layers)
def test_merging_step_by_step_is_merging_at_once(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert merge(merge(a, b), c) == merge(a, b, c)
    assert merge(a, a) == a
    assert merge({}, a) == merge(a, {}) == a


# --- files ---


def test_a_file_comes_back_as_it_was_dumped(tmp_path: Path) -> None:
    values = {"cake": {"icing": "pink", "toppings": ["ñandú", "no"], "sugar": 1e-09}, "oven": {"degrees": 3}}
    (tmp_path / "settings.yaml").write_text(dump(values), encoding="utf-8")
    assert read(tmp_path / "settings.yaml") == values
    assert "ñandú" in dump(values)
    assert list(read(tmp_path / "settings.yaml")) == ["cake", "oven"]


def test_an_empty_file_has_no_settings(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    assert read(tmp_path / "empty.yaml") == {}


@pytest.mark.parametrize(
    ("content", "line"),
    [("cake:\n  layers: 3\n  icing: [white\noven:\n  degrees: 1\n", 4), ("a: b: c\n", 1), ("cake:\n\tlayers: 3\n", 2)],
)
def test_bad_yaml_is_told_with_file_and_line(tmp_path: Path, content: str, line: int) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: line {line}: is not valid YAML")
    assert "\n" not in said


@pytest.mark.parametrize("content", ["- a\n- b\n", "just words\n", "42\n"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"list\.yaml: .*key: value"):
        read(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read \(No such file"):
        read(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("cake: piñón".encode("latin-1"))
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read(tmp_path / "latin.yaml")


def test_a_file_cannot_run_code(tmp_path: Path) -> None:
    path = tmp_path / "evil.yaml"
    path.write_text(f"a: !!python/object/apply:pathlib.Path.touch [{tmp_path / 'touched'}]\n")
    with pytest.raises(ConfigError):
        read(path)
    assert not (tmp_path / "touched").exists()


def test_nearest_names_one_or_all() -> None:
    assert nearest("widht", ["width", "heads"]) == " (did you mean width?)"
    assert nearest("q", ["width", "heads"]) == " (there are: heads, width)"


def test_the_mechanics_know_no_section() -> None:
    own = [value for value in vars(config).values() if isinstance(value, type) and issubclass(value, Section)]
    assert own == [Section]


@pytest.mark.parametrize("threads", [0, -1, 100_000])
def test_threads_that_cannot_be(threads: int, trained: TranslationModel) -> None:
    said = refused("translate", trained.path, "el gato", "--threads", threads, code=2)
    assert said.startswith(f"mirada: --threads {threads}: must be at least 1")


@pytest.mark.parametrize("value", ["-.inf", "[1]", "text", "3"])
def test_a_section_of_a_file_holds_settings(tmp_path: Path, value: str) -> None:
    (tmp_path / "c.yaml").write_text(f"task: translation\ntrain: {value}\n")
    with pytest.raises(ConfigError, match=r"c\.yaml: train: is a section"):
        read(tmp_path / "c.yaml")


def test_a_section_of_a_file_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("train:\n")
    assert read(tmp_path / "c.yaml") == {"train": {}}
