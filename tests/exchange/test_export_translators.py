"""Exported translators compute in `transformers` and CTranslate2 what they compute here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import mirada
from mirada import bundle as bundles
from mirada.contracts import BOS, Batch
from mirada.data.batching import collate
from mirada.errors import UsageError
from mirada.exchange import export_bundle, import_checkpoint
from mirada.exchange.marian import in_halves
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.tasks.translation.model import TranslationModel
from tests import toy
from tests.command import refused, run
from tests.exchange.checkpoints import random_weights, save_marian

TEXTS = [
    "el gato negro ve el tren",
    "el perro",
    "el barco viejo sigue el lobo 42",
    "el libro nuevo busca el barco rojo",
]
KINDS: dict[str, tuple[dict[str, object], str]] = {
    "as trained by default": ({}, "PegasusForConditionalGeneration"),
    "pre-norm, halves, output bias": (
        {"positions": "halves", "output_bias": True, "activation": "gelu"},
        "PegasusForConditionalGeneration",
    ),
    "pre-norm, learned": ({"positions": "learned"}, "BlenderbotForConditionalGeneration"),
    "pre-norm, none": ({"positions": "none", "activation": "silu"}, "BlenderbotForConditionalGeneration"),
    "post-norm": ({"norm": "post", "heads": 4}, "MarianMTModel"),
    "post-norm, halves": ({"norm": "post", "positions": "halves", "encoder_layers": 2}, "MarianMTModel"),
}


def written(trained: TranslationModel, folder: Path, **changes: object) -> TranslationModel:
    """A bundle with the tokenizer of a trained one, and with random weights."""
    config = {**trained.config, "model": {**trained.config["model"], "max_length": 40, **changes}}
    built = TransformerConfig.model_validate(config["model"])
    network = random_weights(Transformer(built, trained.preprocessor.sizes))
    folder.mkdir(parents=True)
    bundles.write(folder, network, config, trained.card, trained.preprocessor.files())
    return mirada.load(folder, TranslationModel, engine="torch")


def transformers_model(folder: Path) -> Any:
    from transformers import AutoModelForSeq2SeqLM

    found, about = AutoModelForSeq2SeqLM.from_pretrained(folder, output_loading_info=True)
    assert not any(about[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), about
    return found.eval()


@pytest.mark.parametrize("kind", KINDS)
def test_transformers_computes_the_same(kind: str, trained: TranslationModel, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    changes, architecture = KINDS[kind]
    model = written(trained, tmp_path / "bundle", **changes)
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == architecture
    theirs, words = transformers_model(tmp_path / "out"), AutoTokenizer.from_pretrained(tmp_path / "out")
    assert type(theirs).__name__ == architecture
    batch = collate(model.source_tokenizer.encode(TEXTS))
    given = words(TEXTS, padding=True, return_tensors="pt")
    assert given["input_ids"].tolist() == batch.source.tolist()
    assert given["attention_mask"].bool().tolist() == batch.source_mask.tolist()
    target = torch.randint(3, model.target_tokenizer.size, (len(TEXTS), 9), generator=torch.Generator().manual_seed(1))
    target[:, 0] = BOS
    with torch.no_grad():
        logits = model.network(Batch(batch.source, target))
        expected = theirs(**given, decoder_input_ids=target[:, :-1]).logits
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_transformers_translates_the_same(trained: TranslationModel, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    export_bundle(trained.path, tmp_path / "out")
    theirs, words = transformers_model(tmp_path / "out"), AutoTokenizer.from_pretrained(tmp_path / "out")
    texts = [source for source, _ in toy.pairs(40, seed=3)]
    given = words(texts, padding=True, return_tensors="pt")
    for beam in (None, 1):  # the bundle's own beam is in generation_config.json
        options = {} if beam is None else {"num_beams": 1}
        found = words.batch_decode(theirs.generate(**given, **options), skip_special_tokens=True)
        ours = [one.text for one in trained.translate(texts, beam=beam)]
        assert sum(a == b for a, b in zip(found, ours, strict=True)) >= 39


def test_texts_are_read_as_here(trained: TranslationModel, tmp_path: Path) -> None:
    """The normalization of texts is in tokenizer.json too, and markers in a text are text."""
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    export_bundle(trained.path, tmp_path / "out")
    marked = ["el </s> gato<pad>", "<s>", "</s>"]
    ours = trained.source_tokenizer.encode(marked)
    assert AutoTokenizer.from_pretrained(tmp_path / "out")(marked, add_special_tokens=False)["input_ids"] == ours
    words = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    for text in (
        " el\u00a0gato  \t negro\n",
        "cafe\u0301 \u200bs\u00ado\ufeffl",
        "\x1f uno\x1cdos\x85tres \u2009",
        "",
        "a",
    ):
        assert words.encode(text, add_special_tokens=False).ids == trained.source_tokenizer.encode([text])[0], repr(
            text
        )


def test_the_width_may_be_permuted(trained: TranslationModel, tmp_path: Path) -> None:
    network = written(trained, tmp_path / "bundle").network
    assert isinstance(network, Transformer)
    batch = Batch(torch.tensor([[7, 20, 9, 2]]), torch.tensor([[BOS, 30, 14, 8]]))
    with torch.no_grad():  # with the packed weights of an opened bundle
        torch.testing.assert_close(in_halves(network)(batch), network(batch), atol=1e-5, rtol=1e-5)


# --- Marian, there and back ---


def test_an_imported_marian_comes_back_byte_for_byte(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    theirs = save_marian(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == "MarianMTModel"
    import_checkpoint(tmp_path / "out", tmp_path / "again")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("bundle", "again")]
    assert weights[0] == weights[1]
    assert bundles.read_card(tmp_path / "again")["languages"] == {"source": "es", "target": "en"}
    ours = transformers_model(tmp_path / "out")
    published, exported = theirs.state_dict(), ours.state_dict()
    same = [name for name in published if "embed_tokens" not in name and "shared" not in name and "lm_head" not in name]
    for name in same:
        if name != "final_logits_bias":  # in another order, as the vocabulary is
            torch.testing.assert_close(exported[name], published[name], atol=0, rtol=0)
    words = AutoTokenizer.from_pretrained(tmp_path / "out")
    model = mirada.load(tmp_path / "bundle", TranslationModel, engine="torch")
    texts = ["el bebé", "llora", "el el bebé llora e"]
    assert [row[:-1] for row in words(texts)["input_ids"]] == model.source_tokenizer.encode(texts)
    target = list(range(4, model.target_tokenizer.size))
    assert words.convert_ids_to_tokens(target) == [
        token for token, id in sorted(model.target_tokenizer.vocabulary().items(), key=lambda pair: pair[1]) if id > 3
    ]


# --- CTranslate2 ---


def tokens_of(words: Any, text: str) -> list[str]:
    return [words.id_to_token(id) for id in words.encode(text).ids]


def text_of(words: Any, tokens: list[str]) -> str:
    return str(words.decode([words.token_to_id(token) for token in tokens]))


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_ctranslate2_and_tokenizers_are_enough(quantize: str | None, trained: TranslationModel, tmp_path: Path) -> None:
    import ctranslate2
    from tokenizers import Tokenizer

    options = ["--quantize", quantize] if quantize else []
    done = run("export", trained.path, "--format", "ctranslate2", "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    texts = [source for source, _ in toy.pairs(20, seed=8)]
    expected = run("translate", trained.path, *texts).stdout.splitlines()

    words = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    translator = ctranslate2.Translator(str(tmp_path / "out"))
    results = translator.translate_batch([tokens_of(words, text) for text in texts], beam_size=5, patience=2)
    found = [text_of(words, result.hypotheses[0]) for result in results]
    assert sum(a == b for a, b in zip(found, expected, strict=True)) >= (20 if quantize is None else 18)


def test_separate_vocabularies_have_a_tokenizer_each(toy_tsv: Path, tmp_path: Path) -> None:
    import ctranslate2
    from tokenizers import Tokenizer

    settings = {**toy.TINY, "model": {**toy.TINY["model"], "tie": "output"}}
    settings["tokenizer"] = {**toy.TINY["tokenizer"], "joint": False}
    model: TranslationModel = mirada.train(toy_tsv, out=tmp_path / "bundle", steps=20, settings=settings)
    export_bundle(tmp_path / "bundle", tmp_path / "out", "ctranslate2")
    read, write = (
        Tokenizer.from_file(str(tmp_path / "out" / name)) for name in ("tokenizer.json", "tokenizer.target.json")
    )
    translator = ctranslate2.Translator(str(tmp_path / "out"))
    (result,) = translator.translate_batch([tokens_of(read, TEXTS[0])], beam_size=1, max_decoding_length=30)
    found = text_of(write, result.hypotheses[0])
    ours = model.translate(TEXTS[0], beam=1, max_ratio=5.0, recover=False).text
    assert len(found) > 5
    assert ours.startswith(found)
    assert "model.tie=output" in refused(
        "export", tmp_path / "bundle", "--format", "huggingface", "--out", tmp_path / "hf", code=2
    )


# --- what cannot be exported ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": "rotary"}, "model.positions=rotary"),
        ({"tie": "output"}, "model.tie=output"),
        ({"tie": "none"}, "model.tie=none"),
        ({"norm": "post", "positions": "learned"}, "model.positions=learned"),
        ({"norm": "post", "positions": "none"}, "model.positions=none"),
    ],
)
def test_what_no_class_can_hold_is_refused_by_name(
    changes: dict[str, object], message: str, trained: TranslationModel, tmp_path: Path
) -> None:
    written(trained, tmp_path / "bundle", **changes)
    with pytest.raises(UsageError, match=message):
        export_bundle(tmp_path / "bundle", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_ctranslate2_refuses_rotary_positions(trained: TranslationModel, tmp_path: Path) -> None:
    written(trained, tmp_path / "bundle", positions="rotary")
    with pytest.raises(UsageError, match="rotary"):
        export_bundle(tmp_path / "bundle", tmp_path / "out", "ctranslate2")


def test_a_recurrent_translator_is_refused_by_name(toy_tsv: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    mirada.train(toy_tsv, out=out, steps=1, model="seq2seq-gru", settings={"model": {"width": 16}})
    with pytest.raises(UsageError, match="seq2seq-gru"):
        export_bundle(out, tmp_path / "out")
    with pytest.raises(UsageError, match="Seq2Seq"):
        export_bundle(out, tmp_path / "out", "ctranslate2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--format huggingface"),
        (["--format", "onnx", "--out", "{new}"], "huggingface, ctranslate2"),
        (["--format", "huggingface"], "--out"),
        (["--format", "huggingface", "--out", "{old}"], "exists already"),
        (["--format", "ctranslate2", "--out", "{old}"], "exists already"),
        (["--format", "huggingface", "--out", "{new}", "--quantize", "int8"], "--format ctranslate2"),
        (["--format", "ctranslate2", "--out", "{new}", "--quantize", "int3"], "int8"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], message: str, trained: TranslationModel, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    places = {"new": tmp_path / "new", "old": tmp_path / "old"}
    given = [one.format(**places) for one in arguments]
    assert message in refused("export", trained.path, *given, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert not any((tmp_path / "old").iterdir())
