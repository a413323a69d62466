"""The recurrent encoder–decoder: padding changes nothing, steps equal the whole, attention is a distribution."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from mirada import models
from mirada.contracts import BOS, EOS, PAD, Batch
from mirada.data.batching import collate
from mirada.errors import ConfigError
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.parts import recording

VOCABULARY = 23
KINDS = [
    (cell, attention, attend, both)
    for (cell, attention), attend, both in product(
        [("elman", "dot"), ("lstm", "none"), ("lstm", "additive"), ("gru", "general")],
        ["before", "after"],
        [True, False],
    )
    if attention != "none" or attend == "after"
]


def build(cell: str, attention: str = "none", attend: str = "after", both: bool = True, layers: int = 2) -> Seq2Seq:
    torch.manual_seed(3)
    config = Seq2SeqConfig.model_validate(
        {"name": f"seq2seq-{cell}", "width": 16, "layers": layers, "attention": attention, "attend": attend,
         "bidirectional": both}
    )  # fmt: skip
    return Seq2Seq(config, VOCABULARY, VOCABULARY).double().eval()


def sentences() -> tuple[list[list[int]], list[list[int]]]:
    torch.manual_seed(1)
    sources = [torch.randint(3, VOCABULARY, (length,)).tolist() for length in (5, 2, 7)]
    targets = [torch.randint(3, VOCABULARY, (length,)).tolist() for length in (3, 6, 4)]
    return sources, targets


def batch_of(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    longest = max(map(len, targets))
    rows = [[BOS, *target, EOS, *[PAD] * (longest - len(target))] for target in targets]
    return Batch(collate(sources).source, torch.tensor(rows))


@pytest.mark.parametrize(("cell", "attention", "attend", "both"), KINDS)
def test_a_padded_batch_equals_its_sentences_one_by_one(cell: str, attention: str, attend: str, both: bool) -> None:
    model = build(cell, attention, attend, both)
    sources, targets = sentences()
    together: Tensor = model(batch_of(sources, targets))
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone: Tensor = model(batch_of([source], [target]))
        torch.testing.assert_close(together[row, : len(target) + 1], alone[0])


@pytest.mark.parametrize(("cell", "attention", "attend", "both"), KINDS)
def test_steps_equal_the_whole(cell: str, attention: str, attend: str, both: bool) -> None:
    model = build(cell, attention, attend, both)
    sources, _ = sentences()
    targets = [[4, 5, 6, 7, 8]] * 3
    whole: Tensor = model(batch_of(sources, targets))  # [B, T, V]
    step = model.start(collate(sources, [row[:2] for row in targets]), attention=True)
    torch.testing.assert_close(step.logits, whole[:, 2])
    backwards = torch.tensor([2, 0, 0, 1])
    state, mask = step.state.select(backwards), (collate(sources).source != PAD)[backwards]
    for position in range(2, 5):
        step = model.step(torch.tensor([targets[0][position]] * 4), state)
        torch.testing.assert_close(step.logits, whole[backwards, position + 1])
        state = step.state
        if attention == "none":
            assert step.attention is None
        else:
            assert step.attention is not None
            weights = step.attention[:, 0, 0]  # [R, S]
            torch.testing.assert_close(weights.sum(-1), torch.ones(4, dtype=torch.float64))
            assert not weights[~mask].any()


@pytest.mark.parametrize(("cell", "attention", "attend", "both"), KINDS)
def test_every_weight_is_used(cell: str, attention: str, attend: str, both: bool) -> None:
    model = build(cell, attention, attend, both)
    model(batch_of(*sentences())).pow(2).sum().backward()
    unused = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert unused == []


def test_the_source_reaches_the_output_through_the_bridge_alone_without_attention() -> None:
    model = build("lstm")
    (first, *_), (target, *_) = sentences()
    one, other = model(batch_of([first], [target])), model(batch_of([[*first[:-1], 3]], [target]))
    assert not torch.allclose(one, other)
    source, memory = model.encode(batch_of([first], [target]))
    blind = torch.zeros_like(source.states)
    seen = model._decode(batch_of([first], [target]).target_input, memory, source)[0]
    unseen = model._decode(batch_of([first], [target]).target_input, memory, type(source)(blind, None, source.mask))[0]
    torch.testing.assert_close(seen, unseen)


@pytest.mark.parametrize(("attention", "attend"), [("none", "after"), ("dot", "after"), ("additive", "before")])
def test_teacher_forcing_ends_when_it_is_said_to(attention: str, attend: str) -> None:
    model = build("gru", attention, attend)
    config = model.config.model_copy(update={"teacher_forcing": "until", "teacher_epochs": 2.0})
    batch = batch_of(*sentences())
    taught = model.hidden(batch)
    model.config = config
    model.train()
    torch.testing.assert_close(model.hidden(replace(batch, epoch=1.9)), taught)
    alone = model.hidden(replace(batch, epoch=2.0))  # [B, T, D]
    model.eval()
    torch.testing.assert_close(model.hidden(replace(batch, epoch=2.0)), taught)  # it is for training only
    tokens = batch.target_input[:, :1]
    for position in range(batch.target_input.shape[1]):
        logits = model.start(Batch(batch.source, tokens)).logits
        torch.testing.assert_close(model.output(alone[:, position]), logits)
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], 1)


def test_the_share_of_true_words_decays() -> None:
    always, decay = Seq2SeqConfig(), Seq2SeqConfig(teacher_forcing="decay", teacher_epochs=2)
    assert always.taught(99) == 1.0
    assert decay.taught(0) == pytest.approx(2 / 3)
    shares = [decay.taught(epoch) for epoch in range(30)]
    assert shares == sorted(shares, reverse=True)
    assert decay.taught(1e9) < 1e-9


def test_a_recorder_has_gates_and_attention() -> None:
    model = build("lstm", "additive")
    plain = model(batch_of(*sentences()))
    with recording() as recorder:
        torch.testing.assert_close(model(batch_of(*sentences())), plain)
    assert recorder.tensors["attention.weights"].shape == (3, 1, 7, 8)
    assert recorder.tensors["encoder.0.backward.f"].shape == (3, 8, 8)
    assert recorder.tensors["decoder.1.forward.c"].shape == (3, 7, 16)


def test_names_and_impossible_choices() -> None:
    assert models.named("seq2seq-lstm+additive") == {"name": "seq2seq-lstm", "attention": "additive"}
    assert models.named("transformer") == {"name": "transformer"}
    with pytest.raises(ConfigError, match="transformer has no attention to choose"):
        models.named("transformer+dot")
    with pytest.raises(ConfigError, match=r"did you mean seq2seq-lstm\?"):
        models.named("seq2seq-lstn+dot")
    with pytest.raises(ValueError, match="make it even"):
        Seq2SeqConfig(width=17)
