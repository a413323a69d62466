"""Imported models compute the same as in `transformers`, and their bundles load like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from mirada.contracts import BOS, EOS, PAD, Batch, SequenceBatch
from mirada.data.tokenizer_learning import MASK, UNK
from mirada.decoding import DecodeConfig, decode
from mirada.exchange import ImportedModel, import_checkpoint, read_checkpoint, vocabulary
from mirada.exchange.checkpoint import CheckpointConfig
from mirada.exchange.mapping import NEVER, NEW
from mirada.loading import info, info_text, load
from mirada.models.bert import BertForPretraining
from mirada.models.gpt import GPT
from mirada.models.transformer import Transformer
from mirada.models.vit import ViT
from mirada.nn.positions import Learned
from mirada.tasks.translation.pieces import ONE_DIRECTION, Direction
from tests.exchange.checkpoints import (
    END,
    SAVE,
    SOURCE,
    marian_words,
    save_bert,
    save_gpt2,
    save_marian,
    save_vit,
    sentence_pieces,
)
from tests.tensors import close


def same_words(ours: Tensor, theirs: Tensor, order: Tensor) -> None:
    """Scores over our words and over theirs, but for those that we added."""
    kept = [new for new in range(len(order)) if order[new] != NEW and new not in (PAD, BOS)]
    close(ours[..., kept], theirs[..., order[kept]], 1e-8)


# --- GPT-2 ---


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, ImportedModel]:
    folder = tmp_path_factory.mktemp("gpt2")
    model = save_gpt2(folder)
    return folder, model.double(), read_checkpoint(folder)


def test_gpt2_matches_transformers(gpt2: tuple[Path, Any, ImportedModel]) -> None:
    folder, theirs, imported = gpt2
    assert isinstance(imported.network, GPT)
    order = vocabulary.gpt2(folder, CheckpointConfig(folder / "config.json")).order
    assert order[:3].tolist() == [NEW, theirs.config.eos_token_id, theirs.config.eos_token_id]
    ids = torch.tensor([[BOS, *imported.preprocessor.tokenizer.encode(["The baby's book,\n\n 2024 éñ"])[0][:23]]])
    ours = imported.network.double()
    logits = ours.output(ours.encode(SequenceBatch(ids, torch.tensor([ids.shape[1]]))))
    expected = theirs(input_ids=order[ids]).logits
    same_words(logits, expected, order)
    # What is added is never said, so that every probability is theirs too.
    close(logits.log_softmax(-1)[..., EOS:], expected.log_softmax(-1)[..., order[EOS:]], 1e-8)
    assert (logits[..., [PAD, BOS]] < NEVER / 2).all()


def test_a_gpt2_bundle_generates_the_same(gpt2: tuple[Path, Any, ImportedModel], tmp_path: Path) -> None:
    folder, theirs, _ = gpt2
    import_checkpoint(folder, tmp_path / "bundle")
    model = load(tmp_path / "bundle", device="cpu")
    model.network.double()
    order = vocabulary.gpt2(folder, CheckpointConfig(folder / "config.json")).order
    prompt = torch.tensor([[BOS, *model.preprocessor.tokenizer.encode(["The book is"])[0]]])
    found = theirs.generate(
        order[prompt], attention_mask=torch.ones_like(prompt), max_new_tokens=8, min_new_tokens=8, do_sample=False
    )
    step, written = model.network.start(Batch(prompt[:, :0], prompt)), []
    for _ in range(8):
        step.logits[:, EOS] = -torch.inf
        written.append(int(step.logits.argmax()))
        step = model.network.step(torch.tensor(written[-1:]), step.state)
    assert order[written].tolist() == found[0, prompt.shape[1] :].tolist()
    assert str(model.generate("The book", tokens=5, beam=2)).startswith("The book")
    assert model.score("The book is on the table.\n").scores


# --- BERT ---


@pytest.mark.parametrize("kind", ["BertForPreTraining", "BertForMaskedLM", "BertModel"])
def test_bert_matches_transformers(tmp_path: Path, kind: str) -> None:
    theirs = save_bert(tmp_path, kind).double()
    imported = read_checkpoint(tmp_path)
    ours, words = imported.network.double(), imported.preprocessor.tokenizer
    assert isinstance(ours, BertForPretraining)
    assert words.mask == 4
    order = vocabulary.bert(tmp_path, CheckpointConfig(tmp_path / "config.json")).order
    assert order.tolist()[:6] == [0, 3, 4, 2, 5, 1]
    assert sorted(order.tolist()) == list(range(len(order)))
    ids = torch.tensor([[*words.encode(["The baby is crying, 日!"])[0], EOS]])
    batch = SequenceBatch(ids, torch.tensor([ids.shape[1]]))
    given = order[torch.cat([torch.tensor([[BOS]]), ids], 1)]
    expected = theirs(input_ids=given, output_hidden_states=True)
    states = ours.states(batch)
    close(states, expected.hidden_states[-1], 1e-8)
    assert len(imported.notes) == (0 if kind == "BertForPreTraining" else 2)
    if kind == "BertForPreTraining":
        close(ours.masked(states), expected.prediction_logits[..., order], 1e-8)
        close(ours.follows(ours.pooled(states)), expected.seq_relationship_logits, 1e-8)
        assert imported.untrained == ()
    elif kind == "BertForMaskedLM":
        close(ours.masked(states), expected.logits[..., order], 1e-8)
        assert imported.untrained == ("pooler", "follows")
    else:
        close(ours.pooled(states), expected.pooler_output, 1e-8)
        assert imported.untrained == ("masked", "follows")


def test_old_names_are_known(tmp_path: Path) -> None:
    theirs = save_bert(tmp_path).double()
    weights = load_file(tmp_path / "model.safetensors")
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {}
    for name, tensor in weights.items():
        for new, former in old.items():
            name = name.replace(new, former)
        renamed[name] = tensor
    assert renamed.keys() != weights.keys()
    renamed["bert.embeddings.position_ids"] = torch.arange(32)[None]
    renamed["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"].clone()
    renamed["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"].clone()
    save_file(renamed, tmp_path / "model.safetensors")
    ours = read_checkpoint(tmp_path).network.double()
    assert isinstance(ours, BertForPretraining)
    expected = theirs(input_ids=torch.tensor([[3, 4]])).seq_relationship_logits
    close(ours.follows(ours.pool(SequenceBatch(torch.tensor([[EOS]]), torch.tensor([1])))), expected, 1e-8)


def test_a_bert_fills_gaps_from_its_bundle(tmp_path: Path) -> None:
    save_bert(tmp_path / "bert")
    import_checkpoint(tmp_path / "bert", tmp_path / "bundle")
    model = load(tmp_path / "bundle", device="cpu")
    assert len(model.fill("The [MASK] is crying.", 3)[0]) == 3
    found = model.embed(["the baby", ""])
    assert [one.vector.shape for one in found] == [(12,), (12,)]
    assert [len(one.tokens) for one in found] == [4, 2]


# --- Marian ---


def test_marian_matches_transformers(tmp_path: Path) -> None:
    theirs = save_marian(tmp_path / "marian").double()
    import_checkpoint(tmp_path / "marian", tmp_path / "bundle")
    model = load(tmp_path / "bundle", device="cpu")
    ours = model.network.double()
    assert isinstance(ours, Transformer)
    order = vocabulary.marian(tmp_path / "marian", CheckpointConfig(tmp_path / "marian/config.json"))[0].order
    words = marian_words()
    assert order[:4].tolist() == [words["<pad>"], words["<pad>"], words["</s>"], words["<unk>"]]
    texts = ["el bebé", "llora", "el el bebé llora e"]
    source = [[*row, EOS] for row in model.source_tokenizer.encode(texts)]
    longest = max(map(len, source))
    padded = torch.tensor([row + [PAD] * (longest - len(row)) for row in source])
    target = torch.tensor([[BOS, 7, 5, 9, EOS]] * 3)
    batch = Batch(padded, target)
    expected = theirs(
        input_ids=order[padded], attention_mask=batch.source_mask.long(), decoder_input_ids=order[batch.target_input]
    ).logits
    logits = ours(batch)
    same_words(logits, expected, order)
    close(logits.log_softmax(-1)[..., EOS:], expected.log_softmax(-1)[..., order[EOS:]], 1e-8)
    assert model.card["languages"] == {"source": "es", "target": "en"}
    written = theirs.generate(
        order[padded],
        attention_mask=batch.source_mask.long(),
        max_new_tokens=12,
        num_beams=1,
        bad_words_ids=[[words["<pad>"]]],
        do_sample=False,
    )
    found = decode(ours, Batch(padded, target[:, :1]), DecodeConfig(beam=1), [12] * 3)
    for (best,), row in zip(found, written[:, 1:].tolist(), strict=True):
        row = row[: row.index(words["</s>"])]
        assert order[best.tokens[:11]].tolist() == row[:11]  # at the limit both end
    begins = model.target_tokenizer.decode([found[0][0].tokens])[0]  # `translate` goes on where this was cut
    assert model.translate("el bebé", beam=1, recover=False).text.startswith(begins)


def test_marian_without_a_bias_has_none(tmp_path: Path) -> None:
    save_marian(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["final_logits_bias"]
    save_file(weights, tmp_path / "model.safetensors")
    network = read_checkpoint(tmp_path).network
    assert isinstance(network, Transformer)
    assert network.output.bias.nonzero().flatten().tolist() == [BOS]


# --- ViT ---


def test_vit_matches_transformers(tmp_path: Path) -> None:
    theirs = save_vit(tmp_path / "vit")
    import_checkpoint(tmp_path / "vit", tmp_path / "bundle")
    model = load(tmp_path / "bundle", device="cpu")
    assert isinstance(model.network, ViT)
    image = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    x = (image / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
    expected = theirs(pixel_values=torch.tensor(x, dtype=torch.float32).permute(2, 0, 1)[None]).logits.softmax(-1)[0]
    found = model.classify(image).probabilities
    for number, label in enumerate(["cat", "dog", "bird"]):
        assert found[label] == pytest.approx(float(expected[number].detach()), abs=1e-5)


# --- settings that the others have at their usual values ---


def test_gpt2_normalises_with_its_own_epsilon(tmp_path: Path) -> None:
    theirs = save_gpt2(tmp_path, layer_norm_epsilon=1e-2).double()
    ours = read_checkpoint(tmp_path).network.double()
    assert isinstance(ours, GPT)
    order = vocabulary.gpt2(tmp_path, CheckpointConfig(tmp_path / "config.json")).order
    ids = torch.tensor([[BOS, 9, 40, 70]])
    logits = ours.output(ours.encode(SequenceBatch(ids, torch.tensor([4]))))
    same_words(logits, theirs(input_ids=order[ids]).logits, order)


def test_bert_normalises_with_its_own_epsilon(tmp_path: Path) -> None:
    theirs = save_bert(tmp_path, layer_norm_eps=1e-2).double()
    ours = read_checkpoint(tmp_path).network.double()
    assert isinstance(ours, BertForPretraining)
    order = vocabulary.bert(tmp_path, CheckpointConfig(tmp_path / "config.json")).order
    ids = torch.tensor([[9, 12, 20, EOS]])
    states = ours.states(SequenceBatch(ids, torch.tensor([4])))
    given = order[torch.cat([torch.tensor([[BOS]]), ids], 1)]
    close(ours.masked(states), theirs(input_ids=given).prediction_logits[..., order], 1e-8)


def test_vit_normalises_with_its_own_epsilon(tmp_path: Path) -> None:
    theirs = save_vit(tmp_path, layer_norm_eps=1e-2).double()
    ours = read_checkpoint(tmp_path).network.double().eval()
    assert isinstance(ours, ViT)
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    batch = SequenceBatch(x[:, :, None], torch.tensor([4, 4]))
    close(ours.output(ours.pool(batch)), theirs(pixel_values=x).logits, 1e-8)


def test_pieces_that_only_sentencepiece_has_are_read_as_unknown_ones(tmp_path: Path) -> None:
    theirs = save_marian(tmp_path).double()
    (tmp_path / "source.spm").write_bytes(sentence_pieces({**SOURCE, "▁bebé": -3.5}))
    imported = read_checkpoint(tmp_path)
    ours, words = imported.network.double(), marian_words()
    assert isinstance(ours, Transformer)
    source = torch.tensor([[*imported.preprocessor.source.encode(["el bebé llora"])[0], EOS]])
    given = torch.tensor([[words["▁el"], words["<unk>"], words["▁llora"], words["</s>"]]])
    order = vocabulary.marian(tmp_path, CheckpointConfig(tmp_path / "config.json"))[0].order
    assert order[source].tolist() == given.tolist()
    batch = Batch(source, torch.tensor([[BOS, 7, 5, 9, EOS]]))
    expected = theirs(input_ids=given, decoder_input_ids=order[batch.target_input]).logits
    logits = ours(batch)
    kept = order[EOS:-1]  # the last one is ▁bebé, which is never said
    close(logits.log_softmax(-1)[..., EOS:-1], expected.log_softmax(-1)[..., kept], 1e-8)
    assert (logits[..., -1] < NEVER / 2).all()


# --- what all of them share ---


@pytest.mark.parametrize("kind", ["bert", "gpt2", "marian", "vit"])
def test_a_bundle_says_what_it_is(tmp_path: Path, kind: str) -> None:
    SAVE[kind](tmp_path / "published")
    assert import_checkpoint(tmp_path / "published", tmp_path / "bundle") == tmp_path / "bundle"
    shown = info_text(tmp_path / "bundle")
    assert f"{load(tmp_path / 'bundle', device='cpu').parameters:,} parameters" in shown
    card = info(tmp_path / "bundle")
    assert card["imported"] == {"from": "published", "type": kind, "notes": [], "untrained": []}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "published"]


def test_shards_are_read_like_a_whole_file(tmp_path: Path) -> None:
    theirs = save_gpt2(tmp_path)
    whole = read_checkpoint(tmp_path).network.state_dict()
    (tmp_path / "model.safetensors").unlink()
    theirs.save_pretrained(tmp_path, max_shard_size="8KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    assert not (tmp_path / "model.safetensors").exists()
    parts = read_checkpoint(tmp_path).network.state_dict()
    assert all(torch.equal(tensor, parts[name]) for name, tensor in whole.items())


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_any_precision_become_float32(tmp_path: Path, kind: torch.dtype) -> None:
    save_gpt2(tmp_path)
    weights = {name: tensor.to(kind) for name, tensor in load_file(tmp_path / "model.safetensors").items()}
    save_file(weights, tmp_path / "model.safetensors")
    network = read_checkpoint(tmp_path).network
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}
    assert isinstance(network, GPT)
    assert isinstance(network.positions, Learned)
    close(network.positions.table, weights["transformer.wpe.weight"].float(), 0)


def test_special_tokens_in_a_text_are_text(tmp_path: Path) -> None:
    """A marker in a user's text is text, and no end."""
    save_gpt2(tmp_path)
    words = read_checkpoint(tmp_path).preprocessor.tokenizer
    for text in (END, "</s>", "<pad><s>", "a\n\nb  c"):
        (ids,) = words.encode([text])
        assert min(ids) > EOS
        assert words.decode([ids]) == [text]


def test_the_specials_of_a_bert_are_the_contracts(tmp_path: Path) -> None:
    save_bert(tmp_path)
    words = read_checkpoint(tmp_path).preprocessor.tokenizer
    names = {token["content"]: token["id"] for token in json.loads(words.to_json())["added_tokens"]}
    assert names == {"<pad>": PAD, "<s>": BOS, "</s>": EOS, "<unk>": UNK, MASK: 4}


def test_the_mark_of_a_language_stands_before_every_sentence(tmp_path: Path) -> None:
    save_marian(tmp_path / "marian")
    import_checkpoint(tmp_path / "marian", tmp_path / "bundle")
    model = load(tmp_path / "bundle", device="cpu")
    translator = model.translator
    encode = translator.source.encode
    (known, unknown) = translator._cut([">>fra<< el bebé\nllora", ">>deu<< el bebé\nllora"], [], True, ONE_DIRECTION)
    assert [piece.ids for piece in known.pieces] == encode([">>fra<< el bebé", ">>fra<< llora"])
    assert [piece.ids for piece in unknown.pieces] == encode([">>deu<< el bebé", "llora"])
    tag = model.directions.tag(model.directions.find("fra"))  # the same, asked for by --to fra
    (plain, marked) = translator._cut(["el bebé\nllora", ">>fra<< el bebé"], [], True, Direction(tag))
    assert [piece.ids for piece in plain.pieces] == [piece.ids for piece in known.pieces]
    assert [piece.ids for piece in marked.pieces] == encode([">>fra<< el bebé"])
