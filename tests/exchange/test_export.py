"""Exported BERTs, GPTs and ViTs compute in `transformers` what they compute here, and come back unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

import mirada
from mirada import bundle as bundles
from mirada.contracts import BOS, EOS, SequenceBatch
from mirada.data.tokenizer import Tokenizer
from mirada.errors import UsageError
from mirada.exchange import export_bundle, import_checkpoint
from mirada.exchange.tokenizer_files import tokenizer_json
from mirada.tasks.classification.data import segments
from mirada.tasks.model import pad
from tests import reviews, toy
from tests.command import run
from tests.exchange.checkpoints import END, SAVE, random_weights, save_bert, save_gpt2, save_vit

TINY: dict[str, Any] = {
    "model": {"width": 24, "heads": 3, "layers": 2, "max_length": 64},
    "tokenizer": {"vocabulary": 300},
    "train": {"threads": 1},
}
TEXTS = ["el gato ve", "el perro negro sigue el tren 42, ¿no?", "a"]


def written(model: Any, folder: Path) -> Any:
    """A model that was changed, from a bundle of its own."""
    folder.mkdir()
    bundles.write(folder, model.network, model.config, model.card, model.preprocessor.files())
    return mirada.load(folder, device="cpu")


def randomized(model: Any, folder: Path) -> Any:
    """A model with random weights in place of its own."""
    random_weights(model.network)
    return written(model, folder)


def small(task: str, file: Path, folder: Path, model: dict[str, Any], unit: str | None = None, **more: Any) -> Any:
    """A bundle of a task with the task's own preprocessing and random weights."""
    settings = {**TINY, "model": {**TINY["model"], **model}}
    settings |= {"data": {"length": 60} if task == "masked_lm" else {"max_tokens": 62} if task == "tagging" else {}}
    settings |= {"tokenizer": {"unit": unit, **TINY["tokenizer"]}} if unit else {}
    name = {"language_model": "gpt"}.get(task, "bert")
    trained = mirada.train(file, out=folder / "trained", task=task, model=name, steps=1, settings=settings, **more)
    return randomized(trained, folder / "bundle")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    text = [f"{source}.\n{target}!\n" for source, target in toy.pairs(120)]
    path.write_text("\n".join(text), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reviews.write(tmp_path_factory.mktemp("reviews") / "reviews.csv", reviews.rows(60))


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tags") / "tags.conll"
    kinds = {**dict.fromkeys(toy.NOUNS, "NOUN"), **dict.fromkeys(toy.VERBS, "VERB")}
    sentences = ["".join(f"{w}\t{kinds.get(w, 'X')}\n" for w in source.split()) for source, _ in toy.pairs(60)]
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path


def opened(folder: Path, kind: str) -> tuple[Any, Any]:
    """The model and the tokenizer as `transformers` opens them; every weight must be in its place."""
    import transformers

    found, about = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True)
    assert not any(about[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), about
    words = None if kind.startswith("ViT") else transformers.AutoTokenizer.from_pretrained(folder)
    return found.eval(), words


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours.detach(), theirs.detach(), atol=1e-4, rtol=1e-4)


# --- BERT ---


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_a_masked_language_model(positions: str, documents: Path, tmp_path: Path) -> None:
    model = small("masked_lm", documents, tmp_path, {"positions": positions})
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == "BertForPreTraining"
    theirs, words = opened(tmp_path / "out", "BertForPreTraining")
    given = words(TEXTS, padding=True, return_tensors="pt")
    batch = pad([[*ids, EOS] for ids in model.preprocessor.tokenizer.encode(TEXTS)])
    assert given["input_ids"][:, 1:].tolist() == batch.inputs.tolist()
    found, states = theirs(**given), model.network.states(batch)
    real = given["attention_mask"].bool()
    close(model.network.masked(states)[real], found.prediction_logits[real])
    close(model.network.follows(model.network.pooled(states)), found.seq_relationship_logits)
    assert words("el [MASK] ve")["input_ids"].count(words.mask_token_id) == 1


@pytest.mark.parametrize("pairs", [False, True])
def test_a_text_classifier(pairs: bool, table: Path, tmp_path: Path) -> None:
    file = table
    if pairs:
        file = tmp_path / "pairs.tsv"
        rows = "".join(f"{s}\t{t}\t{'yes' if 'red' in t else 'no'}\n" for s, t in toy.pairs(60))
        file.write_text(f"a\tb\tlabel\n{rows}", encoding="utf-8")
    columns: dict[str, Any] = {"columns": ["a", "b", "label"]} if pairs else {}
    model = small("classification", file, tmp_path, {"activation": "relu"}, **columns)
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == "BertForSequenceClassification"
    theirs, words = opened(tmp_path / "out", "AutoModelForSequenceClassification")
    given = words(TEXTS, TEXTS[::-1] if pairs else None, padding=True, return_tensors="pt")
    found = theirs(**given).logits.softmax(-1)
    texts: Any = list(zip(TEXTS, TEXTS[::-1], strict=True)) if pairs else TEXTS
    for answer, row in zip(model.classify(texts), found.tolist(), strict=True):
        named = {theirs.config.id2label[number]: p for number, p in enumerate(row)}
        assert {label: pytest.approx(p, abs=1e-4) for label, p in named.items()} == answer.probabilities
    if pairs:
        real = given["attention_mask"][:, 1:].bool()
        assert torch.equal(given["token_type_ids"][:, 1:][real], segments(given["input_ids"][:, 1:])[real])


def test_a_tagger(tags: Path, tmp_path: Path) -> None:
    model = small("tagging", tags, tmp_path, {})
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == "BertForTokenClassification"
    theirs, words = opened(tmp_path / "out", "AutoModelForTokenClassification")
    assert list(theirs.config.id2label.values()) == model.preprocessor.labels
    given = words([TEXTS[0]], return_tensors="pt")
    batch = pad([given["input_ids"][0, 1:].tolist()])
    close(model.network.output(model.network.encode(batch)), theirs(**given).logits[:, 1:])


@pytest.mark.parametrize("kind", ["BertForMaskedLM", "BertModel"])
def test_heads_that_were_never_trained_are_not_exported(kind: str, tmp_path: Path) -> None:
    published = save_bert(tmp_path / "published", kind)
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == kind
    theirs, _ = opened(tmp_path / "out", kind)
    assert theirs.state_dict().keys() == published.state_dict().keys()


# --- GPT ---


@pytest.mark.parametrize(
    ("unit", "positions"), [("subwords", "learned"), ("characters", "sinusoidal"), ("words", "none")]
)
def test_a_language_model(unit: str, positions: str, documents: Path, tmp_path: Path) -> None:
    model = small("language_model", documents, tmp_path, {"positions": positions}, unit)
    found = export_bundle(tmp_path / "bundle", tmp_path / "out")
    assert found.loader == "GPT2LMHeadModel"
    assert bool(found.notes) == (unit == "words")
    theirs, words = opened(tmp_path / "out", "AutoModelForCausalLM")
    codec = model.preprocessor.codec
    texts = ["el gato ve", "el perro negro"]
    texts += [] if unit == "words" else ["el gato ve\nel tren\n\nel", " el  tren\n", "ve\n el"]
    for text in texts:
        ids = words(text, return_tensors="pt")["input_ids"]
        assert ids[0].tolist() == codec.before(text), repr(text)
        assert words.decode(ids[0, len(codec.opening) :]) == text
        h = model.network.encode(SequenceBatch(ids, torch.tensor([ids.shape[1]])))
        close(model.network.output(h), theirs(input_ids=ids).logits)
    given = words("el gato", return_tensors="pt")
    if unit != "words":  # which are joined by line ends here
        text = words.decode(theirs.generate(**given, max_new_tokens=12, min_new_tokens=12, do_sample=False)[0])
        assert str(model.generate("el gato", tokens=12, beam=1)) in text


def test_a_fine_tuned_gpt2_keeps_its_output_bias(tmp_path: Path) -> None:
    """GPT-2 has none: it is in the output matrix, which is then no longer the embedding."""
    save_gpt2(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "imported")
    model = mirada.load(tmp_path / "imported", device="cpu")
    chance = torch.Generator().manual_seed(1)
    with torch.no_grad():
        bias, table = model.network.output.bias, model.network.embedding.weight
        bias[EOS:] += torch.randn(len(bias) - EOS, generator=chance)
        table[BOS] += torch.randn(table.shape[1], generator=chance)
    written(model, tmp_path / "bundle")
    export_bundle(tmp_path / "bundle", tmp_path / "out")
    theirs, words = opened(tmp_path / "out", "GPT2LMHeadModel")
    tokens = {id: token for token, id in model.preprocessor.tokenizer.vocabulary().items()} | {EOS: END}
    order = [words.convert_tokens_to_ids(tokens[id]) for id in range(EOS, len(tokens))]
    ids = torch.tensor([model.preprocessor.codec.read("The baby's book,")])
    with torch.no_grad():
        ours = model.network.output(model.network.encode(SequenceBatch(ids, torch.tensor([ids.shape[1]]))))
        found = theirs(input_ids=torch.tensor([[order[id - EOS] for id in ids[0].tolist()]])).logits
    close(ours[..., EOS:].log_softmax(-1), found[..., order].log_softmax(-1))


# --- ViT ---


@pytest.mark.parametrize(("channels", "height", "width"), [(3, 12, 12), (1, 8, 16)])
def test_an_image_classifier(channels: int, height: int, width: int, tmp_path: Path) -> None:
    from transformers import AutoImageProcessor

    chance = np.random.default_rng(1)
    shape = (height, width, 3) if channels == 3 else (height, width)
    for label in ("dark", "light"):
        (tmp_path / "images" / label).mkdir(parents=True)
        for number in range(12):
            pixels = chance.integers(0, 128, shape, dtype=np.uint8) + 127 * (label == "light")
            Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "images" / label / f"{number}.png")
    settings = {"model": {"width": 24, "heads": 3, "layers": 2, "patch": 4}, "train": {"threads": 1}}
    trained = mirada.train(
        tmp_path / "images",
        out=tmp_path / "trained",
        task="image_classification",
        model="vit",
        steps=1,
        settings=settings,
    )
    model = randomized(trained, tmp_path / "bundle")
    assert export_bundle(tmp_path / "bundle", tmp_path / "out").loader == "ViTForImageClassification"
    theirs, _ = opened(tmp_path / "out", "ViTForImageClassification")
    image = chance.integers(0, 256, shape, dtype=np.uint8)
    processor = AutoImageProcessor.from_pretrained(tmp_path / "out")
    large = Image.fromarray(image).resize((2 * width, 3 * height))
    assert processor(large, return_tensors="pt")["pixel_values"].shape == (1, channels, height, width)
    found = theirs(**processor(Image.fromarray(image), return_tensors="pt")).logits.softmax(-1)[0]
    answer = model.classify(image).probabilities
    assert {theirs.config.id2label[n]: pytest.approx(p, abs=1e-4) for n, p in enumerate(found.tolist())} == answer


# --- there and back ---


@pytest.mark.parametrize("kind", ["bert", "gpt2", "vit"])
def test_what_was_imported_comes_back_byte_for_byte(kind: str, tmp_path: Path) -> None:
    published = SAVE[kind](tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    done = run("export", tmp_path / "bundle", "--format", "huggingface", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert type(published).__name__ in done.stderr
    import_checkpoint(tmp_path / "out", tmp_path / "again")
    files = [
        {
            path.name: path.read_bytes()
            for path in (tmp_path / name).iterdir()
            if path.name not in ("card.json", "config.yaml")
        }
        for name in ("bundle", "again")
    ]
    assert files[0] == files[1]
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("published", "out"))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        if name not in ("transformer.wte.weight", "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"):
            assert torch.equal(tensor, after[name]), name  # the vocabulary is in another order
        assert tensor.shape == after[name].shape
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "bundle", "out", "published"]


def test_a_published_gpt2_reads_and_writes_the_same(tmp_path: Path) -> None:
    theirs = save_gpt2(tmp_path / "published").eval()
    import_checkpoint(tmp_path / "published", tmp_path / "bundle")
    export_bundle(tmp_path / "bundle", tmp_path / "out")
    ours, words = opened(tmp_path / "out", "GPT2LMHeadModel")
    from transformers import AutoTokenizer

    old = AutoTokenizer.from_pretrained(tmp_path / "published")
    for text in ("The book is", "the\n\n baby's", END):
        new, before = (w(text, return_tensors="pt")["input_ids"] for w in (words, old))
        assert words.convert_ids_to_tokens(new[0]) == old.convert_ids_to_tokens(before[0])
        options = {"max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False}
        found, expected = (m.generate(ids, **options) for m, ids in ((ours, new), (theirs, before)))
        assert words.decode(found[0]) == old.decode(expected[0])


# --- what cannot be exported ---


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("language_model", {"norm": "post"}, "model.norm=post"),
        ("language_model", {"positions": "rotary"}, "model.positions=rotary"),
        ("masked_lm", {"norm": "pre"}, "model.norm=pre"),
        ("masked_lm", {"positions": "rotary"}, "model.positions=rotary"),
    ],
)
def test_what_no_class_can_hold_is_refused_by_name(
    task: str, changes: dict[str, Any], message: str, documents: Path, tmp_path: Path
) -> None:
    small(task, documents, tmp_path, changes)
    with pytest.raises(UsageError, match=message):
        export_bundle(tmp_path / "bundle", tmp_path / "out")
    with pytest.raises(UsageError, match="for translators"):
        export_bundle(tmp_path / "bundle", tmp_path / "out", "ctranslate2")
    assert not (tmp_path / "out").exists()


def test_a_model_without_a_class_is_refused_by_name(table: Path, tmp_path: Path) -> None:
    mirada.train(table, out=tmp_path / "bag", task="classification", model="bag", steps=1)
    with pytest.raises(UsageError, match="what bag does for classification"):
        export_bundle(tmp_path / "bag", tmp_path / "out")


def test_a_vit_that_pools_by_the_mean_is_refused(tmp_path: Path) -> None:
    save_vit(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "imported")
    model = mirada.load(tmp_path / "imported")
    model.config["model"]["pool"] = "mean"
    randomized(model, tmp_path / "bundle")
    with pytest.raises(UsageError, match="pool=mean"):
        export_bundle(tmp_path / "bundle", tmp_path / "out")


def test_videos_are_refused(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    images = chance.integers(0, 256, (24, 2, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "videos.npz", images=images, labels=np.arange(24) % 2)
    settings = {"model": {"width": 8, "heads": 2, "layers": 1}, "train": {"threads": 1}}
    options: dict[str, Any] = {"task": "image_classification", "model": "vit", "steps": 1, "settings": settings}
    mirada.train(tmp_path / "videos.npz", out=tmp_path / "bundle", **options)
    with pytest.raises(UsageError, match="videos of 2 frames"):
        export_bundle(tmp_path / "bundle", tmp_path / "out")


def test_numbers_as_tags_are_refused(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    rows = ["".join(f"{w}\t{chance.random():.3f}\n" for w in source.split()) for source, _ in toy.pairs(60)]
    (tmp_path / "tags.conll").write_text("\n".join(rows), encoding="utf-8")
    small("tagging", tmp_path / "tags.conll", tmp_path, {})
    with pytest.raises(UsageError, match="a number for every token"):
        export_bundle(tmp_path / "bundle", tmp_path / "out")


def test_a_bias_that_the_weights_cannot_take_is_refused(tmp_path: Path) -> None:
    save_gpt2(tmp_path / "published")
    import_checkpoint(tmp_path / "published", tmp_path / "imported")
    model = mirada.load(tmp_path / "imported", device="cpu")
    with torch.no_grad():
        model.network.output.bias[EOS] = 1.0
        model.network.decoder.final_norm.weight[0] = 0.0
    written(model, tmp_path / "bundle")
    with pytest.raises(UsageError, match="no output bias"):
        export_bundle(tmp_path / "bundle", tmp_path / "out")


def test_a_vocabulary_with_a_special_token_of_theirs_is_refused() -> None:
    words = Tokenizer.learn(["a [CLS] b"] * 9, 20, "symbols")
    with pytest.raises(UsageError, match="CLS"):
        tokenizer_json(words, names={"<s>": "[CLS]"})
