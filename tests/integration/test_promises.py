"""The promises about results: batch independence, beam and greedy, replayed scores, on a trained model."""

from __future__ import annotations

import random

import pytest
import torch

from mirada.contracts import BOS, EOS, Batch
from mirada.data.batching import collate
from mirada.decoding import DecodeConfig, decode
from mirada.tasks.translation.model import TranslationModel
from tests import toy

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return [source for source, _ in toy.pairs(1700)[1500:]]


def test_it_has_learned_the_language(trained: TranslationModel) -> None:
    fresh = [(source, [target]) for source, target in toy.pairs(1700)[1500:]]
    assert trained.evaluate(fresh).scores[0].value > 80


def test_a_translation_does_not_depend_on_its_batch(trained: TranslationModel, sentences: list[str]) -> None:
    shuffled = random.Random(1).sample(sentences, len(sentences))
    together = dict(zip(shuffled, trained.translate(shuffled), strict=True))
    for sentence in sentences[:60]:
        alone = trained.translate(sentence)
        batched = together[sentence]
        assert alone.score == pytest.approx(batched.score, abs=TOLERANCE)
        if alone.text != batched.text:  # only a tie may differ
            scores = dict(trained.translate(sentence, n_best=5).alternatives)
            assert scores[alone.text] == pytest.approx(scores[batched.text], abs=TOLERANCE)


def test_beam_one_is_greedy(trained: TranslationModel, sentences: list[str]) -> None:
    network = trained.network
    tokenizer = trained.translator.source
    for sentence in sentences[:20]:
        ids = tokenizer.encode([sentence])[0]
        tokens = [BOS]
        with torch.inference_mode():
            while tokens[-1] != EOS and len(tokens) < 60:  # without any cache: the whole prefix anew at every step
                batch = Batch(torch.tensor([[*ids, EOS]]), torch.tensor([[*tokens, EOS]]))
                tokens.append(int(network(batch)[0, -1].argmax()))
        found = decode(network, collate([ids]), DecodeConfig(beam=1), [60])[0][0]
        assert found.tokens == tokens[1:-1]


def test_beam_scores_equal_a_teacher_forced_replay(trained: TranslationModel, sentences: list[str]) -> None:
    tokenizer = trained.translator.source
    ids = tokenizer.encode(sentences[:30])
    config = DecodeConfig(beam=5, n_best=5)
    for source, hypotheses in zip(
        ids,
        decode(trained.network, collate(ids), config, [60] * len(ids)),
        strict=True,
    ):
        for hypothesis in hypotheses:
            target = [BOS, *hypothesis.tokens, EOS]
            with torch.inference_mode():
                logits = trained.network(Batch(torch.tensor([[*source, EOS]]), torch.tensor([target])))
            replayed = logits.log_softmax(-1)[0].gather(1, torch.tensor(target[1:]).unsqueeze(1)).sum().item()
            assert hypothesis.log_probability == pytest.approx(replayed, abs=TOLERANCE)
            assert hypothesis.score == pytest.approx(replayed / (len(target) - 1), abs=TOLERANCE)


def test_a_forced_prefix_is_kept_and_continued(trained: TranslationModel) -> None:
    assert trained.translate("el gato ve el perro", prefix="the old").text.startswith("the old ")


def test_attention_is_a_distribution_for_every_head(trained: TranslationModel) -> None:
    look = trained.attend("el gato rojo ve el perro")
    layers, heads, rows, columns = look.weights.shape
    assert (layers, heads) == (1, 2)
    assert (rows, columns) == (len(look.target), len(look.source))
    assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert look.output == trained.translate("el gato rojo ve el perro").text


def test_odd_texts_come_back_as_valid_text(trained: TranslationModel) -> None:
    odd = ["", "   ", "😀😀", "שלום עולם", "\x00\x07\x1b[31m", "a\u2028b", "</s> <pad> <s>", "el " * 40]
    out = trained.translate(odd, beam=2)
    assert [out[0].text, out[1].text] == ["", ""]
    for translation in out:
        translation.text.encode("utf-8")


def test_a_sentence_that_is_too_long_is_named_and_the_others_are_translated(trained: TranslationModel) -> None:
    long = "gato" * 250_000
    before, refused, after = trained.translate(["el gato ve el tren", long, "el lobo ve el tren"])
    assert before.text == "the cat sees the train"
    assert after.text == "the wolf sees the train"
    assert refused.text == ""
    assert refused.problem is not None
    assert "at most 255" in refused.problem


def test_a_long_text_of_short_sentences_is_split(trained: TranslationModel) -> None:
    text = " ".join(["el gato ve el tren."] * 80)
    out = trained.translate(text)
    assert out.problem is None
    assert out.text.count("cat") >= 60
