"""The losses, each against its formula: sums and counts, smoothing in every task that has it, padding never counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirada import tasks
from mirada.contracts import BOS, EOS, PAD, Batch, Loss, SequenceBatch, Sizes, State, Step
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig
from mirada.engines.torch import TorchEngine
from mirada.models.bag import Bag, BagConfig
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.models.encoder import EncoderConfig, TransformerEncoder
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.nn.recurrent import Memory
from mirada.tasks.translation.preprocessor import TranslationPreprocessor
from mirada.tasks.translation.translator import Translator
from mirada.training.losses import (
    DEGREES_OF_FREEDOM,
    LEAST_SPREAD,
    ClassLoss,
    LabelLoss,
    MaskedTokenLoss,
    NextNumbersLoss,
    NextTokenLoss,
    SquaredErrorLoss,
    TargetTokenLoss,
    cross_entropy,
    mean_and_spread,
)
from tests.recurrent_parts import shaken
from tests.tensors import close, random

V, K = 12, 3
SMALL: dict[str, Any] = {"width": 8, "heads": 2, "layers": 1}
STACKS: dict[str, Any] = {"width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 8}


def pairs() -> Batch:
    """Three sentence pairs of different lengths."""
    source = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [9, 10, EOS, PAD]])
    target = torch.tensor([[BOS, 6, EOS, PAD, PAD], [BOS, 7, 8, 9, EOS], [BOS, EOS, PAD, PAD, PAD]])
    return Batch(source, target)


def texts(truth: Tensor | None = None) -> SequenceBatch:
    inputs = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [9, 10, EOS, PAD]])
    return SequenceBatch(inputs, torch.tensor([4, 2, 3]), truth)


def padded(batch: Batch | SequenceBatch, more: int = 3) -> Any:
    """The same with more padding behind it."""

    def wider(tensor: Tensor | None, value: float = 0) -> Tensor | None:
        return F.pad(tensor, (0, more), value=value) if tensor is not None and tensor.ndim == 2 else tensor

    if isinstance(batch, Batch):
        return Batch(F.pad(batch.source, (0, more)), F.pad(batch.target, (0, more)))
    nothing = math.nan if batch.truth is not None and batch.truth.is_floating_point() else 0
    inputs = F.pad(batch.inputs, (0, more))
    return replace(batch, inputs=inputs, truth=wider(batch.truth, nothing), segments=wider(batch.segments))


def recurrent(sizes: Sizes, **given: Any) -> nn.Module:
    return shaken(RecurrentEncoder(RecurrentConfig.model_validate({"width": 8, **given}), sizes))


WORDS, LABELS = Sizes(V, V, causal=True), Sizes(V, K)
CLASSES = torch.tensor([0, 2, 1])
MARKS = torch.tensor([[1, 3, 0, 0], [2, 0, 0, 0], [0, 1, 0, 0]])
NEXT = torch.tensor([[6, 7, EOS, 5], [EOS, 4, 0, 0], [10, EOS, 9, 0]])
NUMBERED = torch.tensor([[0.5, math.nan, -1.0, math.nan], [math.nan] * 4, [2.0, 0.0, math.nan, math.nan]]).double()
GAPS = torch.tensor([[1, 0, 6, 0, 0], [2, 7, 0, 0, 0], [0, 0, 0, 9, 0]])

# Every objective on every kind of model: the model, the objective, a batch, and how many things it sums over.
CASES: dict[str, tuple[Callable[[], nn.Module], Any, Batch | SequenceBatch, int]] = {
    "transformer": (lambda: shaken(Transformer(TransformerConfig(**STACKS), WORDS)), TargetTokenLoss(0.1), pairs(), 7),
    "seq2seq": (
        lambda: shaken(Seq2Seq(Seq2SeqConfig(name="seq2seq-gru", width=8), V, V)),
        TargetTokenLoss(0.1),
        pairs(),
        7,
    ),
    "lstm, max": (lambda: recurrent(LABELS), ClassLoss(0.1), texts(CLASSES), 3),
    "gru, mean": (lambda: recurrent(LABELS, name="gru", pool="mean"), ClassLoss(0.1), texts(CLASSES), 3),
    "elman, last": (lambda: recurrent(LABELS, name="elman", pool="last"), ClassLoss(), texts(CLASSES), 3),
    "encoder": (lambda: shaken(TransformerEncoder(EncoderConfig(**SMALL), LABELS)), ClassLoss(), texts(CLASSES), 3),
    "bert": (lambda: shaken(Bert(BertConfig(**SMALL), LABELS)), ClassLoss(0.1), texts(CLASSES), 3),
    "gpt": (lambda: shaken(GPT(GPTConfig(**SMALL), LABELS)), ClassLoss(0.1), texts(CLASSES), 3),
    "bag": (lambda: fitted(), ClassLoss(0.1), texts(CLASSES), 3),
    "lstm, labels": (lambda: recurrent(LABELS), LabelLoss(0.1), texts(MARKS), 4),
    "bert, labels": (lambda: shaken(Bert(BertConfig(**SMALL), LABELS)), LabelLoss(0.1), texts(MARKS), 4),
    "gru, numbers": (
        lambda: recurrent(Sizes(V, 1, numeric_outputs=True), name="gru"),
        SquaredErrorLoss(),
        texts(NUMBERED),
        4,
    ),
    "lstm, next word": (lambda: recurrent(WORDS), NextTokenLoss(0.1), texts(NEXT), 9),
    "gpt, next word": (lambda: shaken(GPT(GPTConfig(**SMALL), WORDS)), NextTokenLoss(0.1), texts(NEXT), 9),
    "bert, gaps": (lambda: shaken(BertForPretraining(BertConfig(**SMALL), WORDS)), MaskedTokenLoss(), texts(GAPS), 3),
}


def fitted() -> Bag:
    bag = shaken(Bag(BagConfig(features=6, weighting="frequency", share_of="all"), LABELS))
    bag.table[:] = torch.arange(5, 11)
    return bag


@pytest.mark.parametrize("case", CASES)
def test_padding_never_counts(case: str) -> None:
    """However much of it there is: the same sum, the same count, the same gradient."""
    build, objective, batch, count = CASES[case]
    model = build().train()
    found = []
    for given in (batch, padded(batch), padded(batch, 7)):
        loss: Loss = objective(model, given)
        assert loss.count == count
        model.zero_grad()
        loss.total.backward()
        found.append((loss.total.detach(), [p.grad.clone() for p in model.parameters() if p.grad is not None]))
    assert found[0][1]
    for total, gradients in found[1:]:
        close(total, found[0][0], 1e-9)
        for one, other in zip(gradients, found[0][1], strict=True):
            close(one, other, 1e-9)


# --- smoothing ---

SMOOTHED = {
    "translation": "transformer",
    "captioning": "transformer",
    "classification": "lstm, max",
    "image_classification": "bert",
    "tagging": "bert, labels",
    "language_model": "gpt, next word",
}


@pytest.mark.parametrize("task", SMOOTHED)
def test_label_smoothing_reaches_every_task_that_has_labels(task: str) -> None:
    """(1−ε) of what is asked without it, and ε of the mean over all answers."""
    build, _, batch, count = CASES[SMOOTHED[task]]
    model = build().eval()

    def asked(smoothing: float) -> Tensor:
        found: Loss = tasks.find(task).loss(smoothing)(model, batch)
        assert found.count == count
        return found.total.detach()

    plain, half, whole = asked(0.0), asked(0.4), asked(0.8)
    assert abs(float(half - plain)) > 1e-3
    close(half - plain, whole - half, 1e-9)  # linear in ε
    every = (half - 0.6 * plain) / 0.4  # −Σ mean over all answers of log p
    assert float(every) >= count * math.log(V if count > 4 else K) - 1e-9


@pytest.mark.parametrize("task", ["masked_lm", "forecasting"])
def test_tasks_without_labels_to_smooth_take_the_setting(task: str) -> None:
    assert tasks.find(task).loss(0.3) is not None


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_cross_entropy_and_its_gradient_equal_pytorchs(smoothing: float) -> None:
    torch.manual_seed(0)
    truth = torch.randint(0, 30, (50,))
    ours = (torch.randn(50, 30, dtype=torch.float64) * 5).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    got = cross_entropy(ours, truth, smoothing)
    expected = F.cross_entropy(theirs, truth, reduction="sum", label_smoothing=smoothing)
    (got * 0.37).backward()
    (expected * 0.37).backward()
    assert torch.allclose(got, expected, atol=1e-10)
    assert ours.grad is not None
    assert theirs.grad is not None
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-12)


def test_smoothed_cross_entropy_by_its_formula() -> None:
    logits, truth = random(5, V), torch.tensor([1, 4, 0, 11, 4])
    log_p = logits.log_softmax(-1)
    expected = sum(-(1 - 0.3) * log_p[n, t] - 0.3 / V * log_p[n].sum() for n, t in enumerate(truth))
    close(cross_entropy(logits, truth, 0.3), torch.as_tensor(expected))
    close(cross_entropy(logits, truth), -log_p[range(5), truth].sum())


# --- each by its formula ---


def test_the_next_word_of_a_translation() -> None:
    build, _, batch, _ = CASES["transformer"]
    model = build().eval()
    assert isinstance(model, Transformer)
    assert isinstance(batch, Batch)
    log_p = model.output(model.hidden(batch)).log_softmax(-1)  # [B, T, V]
    said = [(0, 0, 6), (0, 1, EOS), (1, 0, 7), (1, 1, 8), (1, 2, 9), (1, 3, EOS), (2, 0, EOS)]
    close(TargetTokenLoss()(model, batch).total, -torch.stack([log_p[place] for place in said]).sum())


def test_squared_errors_of_the_steps_that_have_a_number() -> None:
    build, objective, batch, _ = CASES["gru, numbers"]
    model = build().eval()
    assert isinstance(model, RecurrentEncoder)
    assert isinstance(batch, SequenceBatch)
    o = model.output(model.encode(batch))[..., 0]
    expected = (o[0, 0] - 0.5) ** 2 + (o[0, 2] + 1) ** 2 + (o[2, 0] - 2) ** 2 + o[2, 1] ** 2
    close(objective(model, batch).total, expected)


def test_gaps_and_answers_weigh_the_same() -> None:
    build, objective, batch, _ = CASES["bert, gaps"]
    model = build().eval()
    assert isinstance(model, BertForPretraining)
    assert isinstance(batch, SequenceBatch)
    states = model.states(batch)
    words, follows = model.masked(states).log_softmax(-1), model.follows(model.pooled(states)).log_softmax(-1)
    gaps = -(words[0, 2, 6] + words[1, 1, 7] + words[2, 3, 9])
    answers = -(follows[0, 0] + follows[1, 1])
    close(objective(model, batch).total, gaps + 3 / 2 * answers)
    unasked = replace(batch, truth=torch.cat([torch.zeros(3, 1, dtype=torch.long), GAPS[:, 1:]], 1))
    close(objective(model, unasked).total, gaps)
    empty = replace(batch, truth=torch.zeros_like(GAPS))
    assert objective(model, empty).count == 1


def test_numbers_by_students_t() -> None:
    """−log p but for its constant, and a spread that is 1 where the network says 0 and never vanishes."""
    sizes = Sizes(2, 4, numeric_inputs=True, numeric_outputs=True, causal=True)
    model = shaken(RecurrentEncoder(RecurrentConfig(width=8), sizes)).eval()
    y = random(3, 5, 2, seed=2)
    batch = SequenceBatch(random(3, 5, 2), torch.tensor([5, 5, 5]), y)
    found = NextNumbersLoss()(model, batch)
    mean, spread = mean_and_spread(model.output(model.encode(batch)))
    t = torch.distributions.StudentT(DEGREES_OF_FREEDOM, mean, spread)
    constant = torch.distributions.StudentT(DEGREES_OF_FREEDOM).log_prob(torch.zeros((), dtype=torch.float64))
    close(found.total, -(t.log_prob(y) - constant).sum(), 1e-6)
    assert found.count == 30
    said = torch.tensor([[5.0, -2.0, 0.0, -200.0]]).double()
    expected = torch.tensor([[5.0, -2.0], [1 + LEAST_SPREAD, LEAST_SPREAD]], dtype=torch.float64)
    close(torch.cat(mean_and_spread(said)), expected)


# --- the length limit ---


class Endless:
    """A generator that never ends by itself; it counts the tokens it is asked for."""

    def __init__(self, vocabulary: int):
        self.logits = torch.zeros(vocabulary).index_fill_(0, torch.tensor([5]), 9.0)
        self.said = 0

    def start(self, batch: Batch, *, attention: bool = False) -> Step:
        self.said = 1
        return Step(self.logits.expand(batch.size, -1), Memory(torch.zeros(batch.size, 1)))

    def step(self, tokens: Tensor, state: State) -> Step:
        self.said += 1
        return Step(self.logits.expand(len(tokens), -1), state)


@pytest.mark.parametrize(
    ("words", "ratio", "room", "limit"), [(4, 3.0, 200, 32), (4, 0.5, 200, 22), (1, 3.0, 200, 23), (30, 3.0, 50, 50)]
)
def test_a_translation_may_have_its_ratio_and_twenty_more(words: int, ratio: float, room: int, limit: int) -> None:
    """Of a model that never ends by itself; the model's own limit holds too."""
    tokenizer = Tokenizer.learn(["a b c d e f g"] * 3, 300)
    endless = Endless(tokenizer.size)
    both = TranslationPreprocessor(tokenizer, tokenizer)
    translator = Translator(TorchEngine(endless, torch.device("cpu")), both, room)
    source = " ".join("abcdefg"[n % 7] for n in range(words))
    assert len(tokenizer.encode([source])[0]) == words
    translator.translate([source], DecodeConfig(beam=1, max_ratio=ratio))
    assert endless.said == limit


def test_only_what_a_network_could_have_carried_fits() -> None:
    model = RecurrentEncoder(RecurrentConfig(name="lstm", width=4, dropout=0.0), Sizes(9, 9, causal=True))
    objective = NextTokenLoss()
    ids = torch.randint(4, 9, (3, 5))
    objective(model, SequenceBatch(ids[:, :-1], torch.tensor([4] * 3), ids[:, 1:], rows=torch.tensor([0, 10, 20])))
    carried = objective.carried
    assert objective.fits(model, carried)
    assert objective.fits(model, {})
    for name, tensor in [
        ("next", carried["next"].float()),
        ("next", carried["next"][:2]),
        ("next", carried["next"][None]),
        ("h", carried["h"][..., :2]),
        ("h", carried["h"].double()),
        ("o", carried["h"]),
    ]:
        assert not objective.fits(model, {**carried, name: tensor})
    assert not objective.fits(model, {name: tensor for name, tensor in carried.items() if name != "next"})
    assert not objective.fits(model, {name: tensor[:0] for name, tensor in carried.items()})
    assert not objective.fits(nn.Linear(2, 2), carried)
