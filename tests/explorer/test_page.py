"""The page of a model as a file: what is in it, what it may do, and what no page is made of."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mirada
from mirada import TranslationModel, bundle
from mirada.errors import BundleError, InputError, UsageError
from mirada.explorer import page as pages
from mirada.explorer.page import in_html
from mirada.explorer.samples import sample_sentence
from mirada.explorer.weights import FLOAT32_UP_TO, suggest_precision
from tests import toy
from tests.explorer.pages import PageFile

SENTENCE = "el gato ve el tren"


@pytest.fixture(scope="module")
def file(trained: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> PageFile:
    """The page of the trained model."""
    path = tmp_path_factory.mktemp("page") / "toy.html"
    mirada.explore(trained.path, out=path, sentence=SENTENCE)
    return PageFile(path)


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_its_policy_allows_its_own_script_and_style_and_no_request(file: PageFile) -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in file.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest(file.scripts['program'])}' blob:"
    assert rules["style-src"] == f"'sha256-{digest(file.style)}'"
    assert rules["worker-src"] == "blob:"
    assert not {"connect-src", "frame-src", "font-src", "media-src", "object-src"} & rules.keys()
    assert rules["img-src"] == "data: blob:"
    assert not {"iframe", "object", "base", "form"} & set(file.tags)
    assert all(address.startswith("data:") for address in file.addresses)


def test_it_has_all_of_the_model(file: PageFile, trained: TranslationModel) -> None:
    (entry,) = file.entries
    weights, state = file.tensors("weights-0"), trained.network.state_dict()
    assert weights.keys() | entry["aliases"].keys() == state.keys()
    assert not weights.keys() & entry["aliases"].keys()
    for name, tensor in state.items():
        assert torch.equal(weights[entry["aliases"].get(name, name)], tensor)
    assert entry["aliases"] == {
        "source_embedding.weight": "output.weight",
        "target_embedding.weight": "output.weight",
    }
    assert (entry["task"], entry["architecture"]) == ("translation", "transformer")
    assert entry["config"] == trained.config["model"]
    assert entry["sizes"]["inputs"] == trained.source_tokenizer.size
    assert entry["tokenizers"] == {"source": json.loads(trained.source_tokenizer.to_json()), "target": None}
    assert entry["normalizes"] == {"source": True, "target": True}
    assert entry["decode"] == {"beam": 5, "length_penalty": 1.0, "max_ratio": 3.0, "max_length": 256}
    assert entry["languages"] == {"source": "es", "target": "en"}
    assert entry["directions"] is None
    assert (entry["sentence"], entry["precision"]) == (SENTENCE, "float32")
    assert entry["parameters"] == trained.parameters
    assert {score["name"] for score in entry["scores"]} >= {"BLEU", "chrF++"}


def test_it_has_a_trace_that_proves_what_it_computes(file: PageFile, trained: TranslationModel) -> None:
    (entry,) = file.entries
    trace = trained.trace(SENTENCE)
    assert entry["proof"]["text"] == SENTENCE
    assert entry["proof"]["target"] == list(trace.tokens["target"].ids[:-1])
    assert entry["proof"]["output"] == "the cat sees the train"
    recorded = file.tensors("proof-0")
    assert recorded.keys() == {path for path in trace if trace[path].dtype == np.float32}
    for path, tensor in recorded.items():
        np.testing.assert_allclose(tensor, trace[path], atol=1e-5)
    assert {"decoder.0.cross.weights", "output.logits", "probabilities"} <= recorded.keys()


def test_it_has_the_training(file: PageFile, trained: TranslationModel) -> None:
    (entry,) = file.entries
    weights = file.tensors("training-0")["weights"]
    about = entry["training"]
    assert weights.shape[0] == len(about["steps"]) >= 5
    assert weights.shape[1] == len(about["paths"]) == 1
    assert weights.shape[3:] == (len(about["target"]), len(about["source"]))
    assert weights.dtype == torch.float16


def test_the_same_model_gives_the_same_page(trained: TranslationModel, tmp_path: Path) -> None:
    for name in ("a", "b"):
        mirada.explore(trained.path, out=tmp_path / f"{name}.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert trained.explore(tmp_path / "c.html").path == tmp_path / "c.html"
    assert PageFile(tmp_path / "c.html").entries == PageFile(tmp_path / "a.html").entries


def test_in_half_precision_the_proof_is_of_the_rounded_weights(trained: TranslationModel, tmp_path: Path) -> None:
    before = {name: tensor.clone() for name, tensor in trained.network.state_dict().items()}
    trained.explore(tmp_path / "half.html", sentence=SENTENCE, precision="float16")
    for name, tensor in trained.network.state_dict().items():
        assert torch.equal(tensor, before[name])  # the model is as it was
    half = PageFile(tmp_path / "half.html")
    weights = half.tensors("weights-0")
    assert half.entries[0]["precision"] == "float16"
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    copy = mirada.load(trained.path, TranslationModel, engine="torch")
    copy.network.load_state_dict({name: tensor.half().float() for name, tensor in before.items()})
    target = trained.target_tokenizer.decode([half.entries[0]["proof"]["target"]])[0]
    rounded, exact = (model.trace(SENTENCE, target)["output.logits"] for model in (copy, trained))
    logits = half.tensors("proof-0")["output.logits"]
    assert logits.dtype == torch.float32
    np.testing.assert_allclose(logits, rounded, atol=1e-5)
    assert np.abs(logits.numpy() - exact).max() > 1e-4


def test_larger_models_are_written_in_half_precision() -> None:
    assert (suggest_precision(FLOAT32_UP_TO), suggest_precision(FLOAT32_UP_TO + 1)) == ("float32", "float16")


def test_weights_that_float16_cannot_hold_are_refused(trained: TranslationModel, tmp_path: Path) -> None:
    large = mirada.load(trained.path, TranslationModel, engine="torch")
    with torch.no_grad():
        next(large.network.parameters())[5, 5] = 1e6
    with pytest.raises(UsageError, match="--precision float16: has weights up to 1,000,000"):
        large.explore(tmp_path / "x.html", precision="float16")
    assert list(tmp_path.iterdir()) == []


def test_chosen_sentences_are_recorded_without_the_weights(trained: TranslationModel, tmp_path: Path) -> None:
    texts = [SENTENCE, "el lobo tiene el barco viejo"]
    page = mirada.explore(trained, out=tmp_path / "recorded.html", traces=texts)
    assert "2 recorded sentences" in str(page)
    file = PageFile(page.path)
    (entry,) = file.entries
    assert [sentence["text"] for sentence in entry["recorded"]] == texts
    assert entry["recorded"][0]["output"] == "the cat sees the train"
    assert entry["tokenizers"] == {"source": None, "target": None}
    assert not {"weights-0", "proof-0"} & file.scripts.keys()
    for number, text in enumerate(texts):
        trace, tensors = trained.trace(text), file.tensors(f"recorded-0-{number}")
        assert entry["recorded"][number]["source"] == trace.source
        assert entry["recorded"][number]["ids"] == list(trace.tokens["target"].ids[:-1])
        cross = tensors["decoder.0.cross.weights"]
        assert cross.dtype == torch.float16
        np.testing.assert_allclose(cross.float(), trace["decoder.0.cross.weights"], atol=1e-3)
        hidden = tensors["decoder.0.self.masked_scores"]
        assert torch.equal(torch.isinf(hidden), torch.isinf(torch.from_numpy(trace["decoder.0.self.masked_scores"])))


def test_one_sentence_to_record_need_not_be_in_a_list(trained: TranslationModel, tmp_path: Path) -> None:
    page = trained.explore(tmp_path / "recorded.html", traces=SENTENCE)
    ((recorded,),) = [entry["recorded"] for entry in PageFile(page.path).entries]
    assert recorded["text"] == SENTENCE


def test_two_models_stand_in_one_page(trained: TranslationModel, both_ways: TranslationModel, tmp_path: Path) -> None:
    shutil.copytree(trained.path, tmp_path / "other", ignore=shutil.ignore_patterns("run"))
    mirada.explore(trained.path, tmp_path / "other", out=tmp_path / "two.html")
    two = PageFile(tmp_path / "two.html")
    assert [entry["name"] for entry in two.entries] == [trained.path.name, "other"]
    assert {"weights-0", "proof-0", "weights-1", "proof-1"} <= two.scripts.keys()
    assert two.title == f"{trained.path.name} · other"
    with pytest.raises(UsageError, match=r"translates es → en and .* es ↔ en: only models of the same languages"):
        mirada.explore(trained.path, both_ways.path, out=tmp_path / "x.html")
    with pytest.raises(UsageError, match="a page shows one model, or two to compare; 3 were given"):
        mirada.explore(trained, trained, trained, out=tmp_path / "x.html")
    with pytest.raises(UsageError, match="0 were given"):
        mirada.explore(out=tmp_path / "x.html")


def test_a_model_of_two_directions_says_how_each_is_asked_for(both_ways: TranslationModel, tmp_path: Path) -> None:
    both_ways.explore(tmp_path / "both.html", sentence="el gato ve el tren")
    both_ways.explore(tmp_path / "unclear.html", sentence="42")  # of no language: the first direction is taken
    both_ways.explore(tmp_path / "recorded.html", traces=["42", "the cat sees the train"])
    said = PageFile(tmp_path / "recorded.html").entries[0]["recorded"]
    assert [sentence["source"][0] for sentence in said] == ["<to:en>", "<to:es>"]
    (entry,) = PageFile(tmp_path / "both.html").entries
    tags = both_ways.source_tokenizer.tags
    assert entry["directions"] == [
        {"source": "es", "target": "en", "tag": tags["<to:en>"]},
        {"source": "en", "target": "es", "tag": tags["<to:es>"]},
    ]
    assert entry["proof"]["text"] == "el gato ve el tren"


# ── sentences ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_sentence_of_the_dev_set_is_shown_at_first(trained: TranslationModel, tmp_path: Path) -> None:
    trained.explore(tmp_path / "dev.html")
    (entry,) = PageFile(tmp_path / "dev.html").entries
    dev = bundle.read_dev(trained.path) or ""
    assert entry["sentence"] in {json.loads(line)[0] for line in dev.splitlines()}
    assert not any(map(str.isdigit, entry["sentence"]))


def test_without_a_dev_set_a_sentence_of_the_language_is_shown(trained: TranslationModel, tmp_path: Path) -> None:
    shutil.copytree(trained.path, tmp_path / "bundle", ignore=shutil.ignore_patterns("run", "data"))
    mirada.explore(tmp_path / "bundle", out=tmp_path / "es.html")
    (entry,) = PageFile(tmp_path / "es.html").entries
    assert entry["sentence"] == "El animal no cruzó la calle porque estaba demasiado cansado."
    assert entry["training"] is None
    other = mirada.load(tmp_path / "bundle")
    other.card["languages"] = {"source": "qu", "target": "en"}
    with pytest.raises(UsageError, match=r'has no dev set to take a sentence from; give one: --sentence "…"'):
        other.explore(tmp_path / "qu.html")


def test_a_dev_sentence_may_have_a_line_separator(trained: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = "".join(json.dumps([text, ["a"]], ensure_ascii=False) + "\n" for text in ("uno\u2028dos", SENTENCE, "\x85"))
    monkeypatch.setattr(bundle, "read_dev", lambda path: dev)
    assert sample_sentence(trained.path, "translation", None) == SENTENCE


def test_the_proof_is_read_as_the_model_read_it(trained: TranslationModel, tmp_path: Path) -> None:
    """Of a sentence in which Mirada puts markers or undoes capitals, the proof has what the model was given."""
    trained.explore(tmp_path / "loud.html", sentence="EL GATO VE EL TREN")
    (entry,) = PageFile(tmp_path / "loud.html").entries
    ids = trained.trace("EL GATO VE EL TREN").tokens["source"].ids[:-1]
    assert trained.source_tokenizer.encode([entry["proof"]["text"]])[0] == list(ids)


@pytest.mark.parametrize(
    ("sentence", "what"), [(" \n", "is empty"), ("el " * 9000, "at most"), ("el gato " * 300, "one sentence at a time")]
)
def test_sentences_that_the_model_cannot_read_are_refused(
    sentence: str, what: str, trained: TranslationModel, tmp_path: Path
) -> None:
    for options in ({"sentence": sentence}, {"traces": [SENTENCE, sentence]}):
        with pytest.raises(InputError) as refused:
            trained.explore(tmp_path / "x.html", **options)
        assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match=what):
        trained.explore(tmp_path / "x.html", sentence=sentence)
    assert list(tmp_path.iterdir()) == []


# ── what no page is made of ───────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_too_large_is_refused_with_the_way_out(
    trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = trained.explore(tmp_path / "whole.html").size
    monkeypatch.setattr(pages, "LARGEST", size - 1)
    with pytest.raises(
        UsageError, match=r"would have .* MB, .*; write --precision float16, or record .* --trace \"…\""
    ):
        trained.explore(tmp_path / "x.html")
    monkeypatch.setattr(pages, "LARGEST", 100_000)  # less than the weights: refused before anything is computed
    monkeypatch.setattr(pages, "pack", None)
    with pytest.raises(UsageError, match=r"; record what it computes for chosen sentences instead: --trace \"…\""):
        trained.explore(tmp_path / "x.html", precision="float16")
    with pytest.raises(UsageError, match="record fewer or shorter sentences"):
        trained.explore(tmp_path / "x.html", traces=[SENTENCE])
    assert [path.name for path in tmp_path.iterdir()] == ["whole.html"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"task": "forecasting"}, "transformer for forecasting does not run in a page"),
        ({"task": "captioning"}, "transformer for captioning does not run in a page"),
        ({"name": "captioner"}, "captioner for translation does not run in a page"),
    ],
)
def test_models_that_the_page_cannot_run_are_refused_by_name(
    changes: dict[str, str], what: str, trained: TranslationModel, tmp_path: Path
) -> None:
    model = mirada.load(trained.path)
    model.card["task"] = changes.get("task", "translation")
    model.config["model"]["name"] = changes.get("name", "transformer")
    with pytest.raises(UsageError, match=what) as refused:
        model.explore(tmp_path / "x.html")
    assert ("--trace" in str(refused.value)) == (model.card["task"] == "translation")
    if model.card["task"] != "translation":
        with pytest.raises(UsageError, match=f"a model for {model.card['task']}, which reads no sentences"):
            model.explore(tmp_path / "x.html", traces=[SENTENCE])


def test_a_published_tokenizer_does_not_run_but_can_be_recorded(tmp_path: Path) -> None:
    from mirada.exchange import import_checkpoint
    from tests.exchange.checkpoints import save_bert

    labels = {0: "negative", 1: "positive"}
    kind = "BertForSequenceClassification"
    save_bert(tmp_path / "published", kind, id2label=labels, label2id={name: id for id, name in labels.items()})
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    with pytest.raises(UsageError, match=r"bert with a published tokenizer does not run in a page; record .* --trace"):
        mirada.explore(tmp_path / "bundle", out=tmp_path / "x.html")
    mirada.explore(tmp_path / "bundle", out=tmp_path / "y.html", traces=["the baby is crying"])
    (entry,) = PageFile(tmp_path / "y.html").entries
    (said,) = entry["recorded"]
    model = mirada.load(tmp_path / "bundle")
    expected = model.classify("the baby is crying").probabilities
    assert {one["label"]: one["probability"] for one in said["predicted"]["labels"]} == pytest.approx(
        expected, abs=1e-5
    )
    assert (said["target"], said["ids"]) == (None, None)
    assert "encoder.0.self.weights" in PageFile(tmp_path / "y.html").tensors("recorded-0-0")


def test_names_and_options_that_do_not_fit_are_refused(trained: TranslationModel, tmp_path: Path) -> None:
    def refused(out: Path, **options: Any) -> str:
        with pytest.raises(UsageError) as error:
            mirada.explore(trained, out=out, **options)
        return str(error.value)

    assert refused(tmp_path / "x.pdf").endswith("is a page; name it x.html")
    assert "there is no directory" in refused(tmp_path / "nowhere" / "x.html")
    (tmp_path / "folder.html").mkdir()
    assert "is a directory" in refused(tmp_path / "folder.html")
    assert "--precision int8: there are float32, float16" in refused(tmp_path / "x.html", precision="int8")
    assert "leave one of the two out" in refused(tmp_path / "x.html", traces=[SENTENCE], sentence=SENTENCE)
    assert "leave one of the two out" in refused(tmp_path / "x.html", traces=[SENTENCE], precision="float16")
    with pytest.raises(UsageError, match="is an ensemble, and a page shows single models"):
        mirada.explore(f"{trained.path}+{trained.path}", out=tmp_path / "x.html")
    with pytest.raises(UsageError, match=r"'es-en': is not a model; a page is made of what mirada\.load returns"):
        trained.explore(tmp_path / "x.html", beside="es-en")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="51 sentences; a page takes 50 at most"):
        mirada.explore(trained, out=tmp_path / "x.html", traces=[SENTENCE] * 51)


def test_an_altered_history_is_refused(trained: TranslationModel, tmp_path: Path) -> None:
    shutil.copytree(trained.path, tmp_path / "bundle", ignore=shutil.ignore_patterns("run"))
    path = tmp_path / "bundle" / bundle.ATTENTION
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BundleError, match=r"attention\.safetensors: has been altered or damaged"):
        mirada.explore(tmp_path / "bundle", out=tmp_path / "x.html")


# ── texts in a page ───────────────────────────────────────────────────────────────────────────────────────────────────

HOSTILE = "</script><script>alert(1)</script><!-- <script> ]]> & \u2028 \u2029 \ud800 \" ' \\ \x00 é 你好 😀"


def test_texts_stay_what_they_are_in_a_script_element() -> None:
    text = in_html({"text": HOSTILE})
    assert not set("<>&\u2028\u2029\ud800\x00") & set(text)
    assert json.loads(text) == {"text": HOSTILE}
    text.encode("utf-8")


def test_a_hostile_name_and_sentence_end_nothing(trained: TranslationModel, tmp_path: Path) -> None:
    name = "<script>alert(1)<!--&lt;"
    shutil.copytree(trained.path, tmp_path / name, ignore=shutil.ignore_patterns("run"))
    sentence = "el gato </script><!-- <script> ve el tren"
    mirada.explore(tmp_path / name, out=tmp_path / "x.html", sentence=sentence)
    file = PageFile(tmp_path / "x.html")
    assert file.title == name
    assert (file.entries[0]["name"], file.entries[0]["sentence"]) == (name, sentence)
    assert file.tags.count("script") == len(file.scripts) == 5


def test_a_bundle_may_have_a_name_that_is_not_utf_8(trained: TranslationModel, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    shutil.copytree(trained.path, tmp_path / name, ignore=shutil.ignore_patterns("run"))
    mirada.explore(tmp_path / name, out=tmp_path / "x.html", sentence=SENTENCE)
    file = PageFile(tmp_path / "x.html")
    assert file.title == file.entries[0]["name"] == r"'caf\udce9'"


def test_the_toy_is_small(trained: TranslationModel, tmp_path: Path) -> None:
    """The program of the page itself is a fraction of a megabyte."""
    assert toy.TINY["model"]["width"] == 64
    page = trained.explore(tmp_path / "toy.html", traces=[SENTENCE])
    assert page.size == page.path.stat().st_size < 1_500_000
