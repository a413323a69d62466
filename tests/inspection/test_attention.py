"""Attention of what was really chosen: what beam search saw, by layer, head and word, in every kind of file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirada
from mirada.decoding import Hypothesis
from mirada.engines import GenerationSettings
from mirada.errors import InputError, UsageError
from mirada.inspection.attention import WEIGHTS, Attention, AttentionMap, attention_of
from mirada.inspection.trace import Trace
from mirada.inspection.words import Tokens
from mirada.tasks.translation.model import TranslationModel
from tests.traced import MODELS, TEXT, WITHOUT_ATTENTION, first_pass, translator

WITH_ATTENTION = [kind for kind in MODELS if kind not in WITHOUT_ATTENTION]


def an_attention(queries: list[str], keys: list[str], layers: int = 2, heads: int = 3) -> Attention:
    shape = (layers, heads, len(queries))
    weights = np.random.default_rng(0).dirichlet(np.ones(len(keys)), size=shape).astype(np.float32)
    part = AttentionMap("decoder.cross", weights, Tokens(tuple(queries)), Tokens(tuple(keys)))
    return Attention(
        {part.name: part}, {"source": tuple(keys), "target": tuple(queries)}, " ".join(keys), " ".join(queries)
    )


# ── what was chosen ───────────────────────────────────────────────────────────────────────────────────────────────


def searched(model: Any, text: Any) -> list[Hypothesis]:
    """Hypotheses of a beam search that kept the attention of every step, following its reorderings."""
    config = model.decode_config(beam=4, n_best=4, max_ratio=1.0)
    if isinstance(model, TranslationModel):
        piece = model.translator.sentence(text, split=False)
        (best,) = model.translator.search.generate([piece], config, attention=True)
        return list(best)
    (seen,) = model.image_loader.read([text])
    (best,) = model.engine.generate([seen.pixels], [[]], GenerationSettings(config, [model.limit], attention=True))
    return list(best)


@pytest.mark.parametrize(
    "kind",
    ["transformer", "transformer, rotary, post-norm", "seq2seq, dot", "seq2seq, general", "seq2seq, additive",
     "seq2seq, before", "captioner"],
)  # fmt: skip
def test_the_attention_of_a_replay_is_what_beam_search_saw(kind: str) -> None:
    build, given = MODELS[kind]
    model = build()
    found = searched(model, given)
    assert len({tuple(each.tokens) for each in found}) == 4
    more = {} if kind == "captioner" else {"max_ratio": 1.0, "recover": False}
    passes = model.passes(given, beam=4, n_best=4, **more)
    assert [list(one.tokens["target"].ids[:-1]) for one in passes] == [each.tokens for each in found]
    for each, one in zip(found, passes, strict=True):
        assert each.attention is not None
        seen = each.attention.permute(1, 2, 0, 3).numpy()  # [T, L, H, S] -> [L, H, T, S]
        replayed = attention_of(one.record(*WEIGHTS))["cross"].weights
        np.testing.assert_allclose(replayed, seen, atol=1e-5)


def test_every_hypothesis_of_the_n_best_has_its_own(trained: TranslationModel) -> None:
    text = "el gato rojo ve el tren"
    found, made = trained.attend(text, n_best=3), trained.translate(text, n_best=3)
    assert [each.output for each in found.hypotheses] == [said for said, _ in made.alternatives]
    assert [each.score for each in found.hypotheses] == pytest.approx(
        [score for _, score in made.alternatives], abs=1e-4
    )
    for each in found.hypotheses:
        assert each["cross"].shape == (1, 2, len(each.target), len(each.source))
        alone = trained.attend(text, each.output)
        np.testing.assert_allclose(alone["cross"].weights, each["cross"].weights, atol=1e-5)
    assert len(found.as_dict()["hypotheses"]) == 2


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_every_model_with_attention_shows_it(kind: str) -> None:
    build, given = MODELS[kind]
    found = build().attend(given)
    generates = "target" in found.tokens
    for name, part in found.parts.items():
        assert part.shape == (len(part.layers), len(part.heads), len(part.queries), len(part.keys))
        np.testing.assert_allclose(part.weights.sum(-1), 1, atol=1e-5)
        sides = {"attention": ("target", "source"), "decoder.cross": ("target", "source")}
        sides |= {"decoder.self": ("target", "input") if generates else ("source", "source")}
        query, key = sides.get(name, ("source", "source"))
        assert (part.queries.pieces, part.keys.pieces) == (found.tokens[query], found.tokens[key])
    expected = {"encoder.self", "decoder.self", "decoder.cross"} if kind.startswith(("transf", "caption")) else None
    assert expected is None or found.parts.keys() == expected


@pytest.mark.parametrize("kind", WITHOUT_ATTENTION)
def test_a_model_without_attention_says_so(kind: str) -> None:
    build, given = MODELS[kind]
    with pytest.raises(UsageError, match=r"has no attention; `mirada trace` shows what it computes"):
        build().attend(given)


def test_attention_comes_out_of_a_trace_file_too(tmp_path: Path) -> None:
    trace = first_pass("transformer").record()
    trace.save(tmp_path / "trace.safetensors")
    found, again = attention_of(trace), attention_of(Trace.load(tmp_path / "trace.safetensors"))
    assert found.as_dict() == again.as_dict()


def test_what_is_copied_keeps_its_name() -> None:
    """Numbers and addresses are hidden behind markers, and shown as what they are."""
    model = translator()
    found = model.attend("El animal 12:30 no cruzó @aqui", "The animal 12:30 @aqui")
    assert not any("\ue000" <= letter <= "\uf8ff" for letter in "".join([*found.source, *found.target]))
    assert found.text == "El animal 12:30 no cruzó @aqui"
    words = found.select(words=True).main
    assert words.keys.pieces == ("El", "animal", "12:30", "no", "cruzó", "@aqui", "</s>")
    assert words.queries.pieces == ("The", "animal", "12:30", "@aqui", "</s>")
    with pytest.raises(InputError, match=r"'12:30' is copied unchanged"):
        model.attend("12:30")


# ── parts, layers, heads, words ───────────────────────────────────────────────────────────────────────────────────


def test_parts_layers_and_heads_are_chosen_by_name_and_number() -> None:
    found = translator().attend(TEXT)
    assert found["cross"] is found["decoder.cross"] is found.main
    assert found["encoder"].name == "encoder.self"
    assert found["decoder"].name == "decoder.self"
    one = found.select("encoder", layer=1, head=0)
    np.testing.assert_array_equal(one.weights[0, 0], found["encoder.self"][1, 0])
    assert (one.main.layers, one.main.heads, list(one)) == ((1,), (0,), ["encoder.self"])
    assert list(found.select(head=1)) == ["decoder.cross"]
    assert list(found.select()) == ["encoder.self", "decoder.self", "decoder.cross"]
    np.testing.assert_allclose(found.mean, found.weights.mean((0, 1)))
    assert np.asarray(found["cross"]).shape == found.weights.shape
    for wrong, said in (
        ({"part": "middle"}, "part middle: this model has encoder.self, decoder.self, decoder.cross"),
        ({"layer": 2}, "layer 2: decoder.cross has layers 0 to 1"),
        ({"part": "encoder", "head": -1}, "head -1: encoder.self has heads 0 to 1"),
    ):
        with pytest.raises(UsageError) as refused:
            found.select(**wrong)
        assert str(refused.value) == said
    with pytest.raises(UsageError, match=r"part encoder: its only part is decoder\.cross"):
        found.select("cross").select("encoder")


def test_words_are_summed_over_keys_and_averaged_over_queries(trained: TranslationModel) -> None:
    tokens = trained.attend("el gato rojo ve el tren 42")
    words = tokens.select(words=True)
    part, merged = tokens["cross"], words["cross"]
    assert len(merged.keys) < len(part.keys)
    assert merged.queries.pieces == ("the", "red", "cat", "sees", "the", "train", "42", "</s>")
    np.testing.assert_allclose(merged.weights.sum(-1), 1, atol=1e-5)
    query, key = part.queries.words()[3], part.keys.words()[6]
    assert len(query) > 1
    assert len(key) > 1
    expected = part.weights[0, 1][np.ix_(query, key)].sum(1).mean()
    assert merged.weights[0, 1, 3, 6] == pytest.approx(expected, abs=1e-6)


def test_switches_hold_while_it_looks() -> None:
    model = translator()
    whole = model.attend(TEXT, "The animal.")
    with mirada.without("scale"):
        off = model.attend(TEXT, "The animal.")
    assert (whole.without, off.without) == ((), ("scale",))
    assert np.abs(whole.weights - off.weights).max() > 1e-3


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_json_and_npz_have_every_hypothesis(trained: TranslationModel, tmp_path: Path) -> None:
    found = trained.attend("el gato ve el tren", n_best=2)
    found.save(tmp_path / "look.json")
    data = json.loads((tmp_path / "look.json").read_text(encoding="utf-8"))
    part = data["parts"]["decoder.cross"]
    assert part["axes"] == ["layer", "head", "query", "key"]
    assert (part["queries"], part["keys"]) == (found.target, found.source)
    np.testing.assert_allclose(np.array(part["weights"]), found.weights, atol=1e-6)
    found.save(tmp_path / "look.npz")
    arrays = np.load(tmp_path / "look.npz", allow_pickle=False)
    for number, each in enumerate(found.hypotheses, 1):
        before = "2." if number == 2 else ""
        np.testing.assert_array_equal(arrays[f"{before}decoder.cross"], each.weights)
        assert arrays[f"{before}decoder.cross.queries"].tolist() == each.target
        assert arrays[f"{before}output"].item() == each.output


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("html", b"<!doctype html>")]
)
def test_pictures_and_pages_are_what_their_names_say(tmp_path: Path, ending: str, begins: bytes) -> None:
    path = tmp_path / f"look.{ending}"
    an_attention(["a", "b"], ["x", "y", "</s>"]).save(path)
    assert path.read_bytes().startswith(begins)


def test_each_hypothesis_has_a_picture(trained: TranslationModel, tmp_path: Path) -> None:
    trained.attend("el gato ve el tren", n_best=3).save(tmp_path / "look.svg", "lines")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["look-2.svg", "look-3.svg", "look.svg"]


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    found = an_attention(["a"], ["b"])
    for name in ("look.bmp", "look"):
        with pytest.raises(UsageError, match=r"is not a kind of file; use \.png, \.svg, \.pdf, \.html, \.json, \.npz"):
            found.save(tmp_path / name)
    for ending in ("png", "json", "html", "npz"):
        with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
            found.save(tmp_path / "none" / f"look.{ending}")
    with pytest.raises(UsageError, match="--kind stars: there are heads, matrix, lines"):
        found.save(tmp_path / "look.png", "stars")


def test_a_page_loads_nothing_and_what_users_write_stays_text(tmp_path: Path) -> None:
    nasty = "</script><script>alert(1)</script>"
    found = an_attention([nasty, '"&<b>'], [nasty, "x"])
    found.save(tmp_path / "look.html")
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in page
    text = page.split('id="data">')[1].split("</script>")[0]
    (data,) = json.loads(text)
    assert data["parts"][0]["queries"]["pieces"] == [nasty[:23] + "…", '"&<b>']
    frame = found._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
    assert frame.count("<") == 2


def test_a_page_of_too_many_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = an_attention(["a"] * 30, ["b"] * 30)
    monkeypatch.setattr("mirada.inspection.saving.MAX_PAGE", 5000)
    with pytest.raises(UsageError, match="a page of 5,400 weights is more than a browser reads well"):
        found.save(tmp_path / "look.html")
    found.select(layer=0).save(tmp_path / "look.html")
    monkeypatch.setattr("mirada.inspection.saving.MAX_FRAME", 5000)
    assert found._repr_html_().startswith('<img src="data:image/png;base64,iVBOR')


def test_the_table_names_what_each_token_looks_at_most() -> None:
    weights = np.array([[[[0.7, 0.2, 0.06, 0.04], [0.01, 0.02, 0.03, 0.94]]]], np.float32)
    part = AttentionMap("decoder.cross", weights, Tokens((" it", "猫")), Tokens((" la", " gata", ".", "</s>")))
    found = Attention({"decoder.cross": part}, {"source": part.keys.pieces}, "la gata.", "it 猫")
    first, second, *rows = found.as_text().splitlines()
    assert (first, second) == (
        "la gata. → it 猫",
        "decoder.cross, layer 0, head 0: what looks, and what it looks at most",
    )
    assert rows == ["  ▁it  ▁la 0.70   ▁gata 0.20   . 0.06", "  猫   </s> 0.94"]


def test_the_table_tells_tokens_of_one_name_apart() -> None:
    weights = np.array([[[[0.5, 0.2, 0.3]]]], np.float32)
    part = AttentionMap("decoder.cross", weights, Tokens((" the",)), Tokens((" el", " gato", " el")))
    rows = Attention({"decoder.cross": part}, {"source": part.keys.pieces}, "el gato el", "the").as_text().splitlines()
    assert rows[2:] == ["  ▁the  ▁el[0] 0.50   ▁el[2] 0.30   ▁gato 0.20"]
