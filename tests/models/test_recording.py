"""Every kind of model records its tensors by path, in training and in generation, and refuses switches it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirada.contracts import BOS, EOS, Batch, Captions, GenerativeNetwork, SequenceBatch, Sizes, StepwiseEncoder
from mirada.decoding import DecodeConfig, decode
from mirada.errors import UsageError
from mirada.models.bag import Bag, BagConfig
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.models.encoder import EncoderConfig, TransformerEncoder
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Captioner, CaptionerConfig, Transformer, TransformerConfig
from mirada.models.vit import ViT, ViTConfig
from mirada.parts import Switches, recording, switched
from mirada.training.losses import ClassLoss, LabelLoss, MaskedTokenLoss, NextTokenLoss, TargetTokenLoss
from tests.block_parts import shaken
from tests.tensors import close, random

V, D, H, T = 12, 8, 2, 4
SMALL: dict[str, Any] = {"width": D, "heads": H, "layers": 1}
STACKS: dict[str, Any] = {"width": D, "heads": H, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 6}
PIXELS = (1, 1, 4, 4)
WORDS, CLASSES, NUMBERS = Sizes(V, V, causal=True), Sizes(V, 3), Sizes(2, 4, True, True, causal=True)

ATTENTION = ["q", "k", "v", "raw_scores", "scores", "masked_scores", "weights", "heads", "output"]


def sublayers(layer: str, *attentions: str) -> set[str]:
    """The paths of a Transformer layer."""
    found = {f"{layer}.{attention}.{name}" for attention in attentions for name in ATTENTION}
    found |= {f"{layer}.feed_forward.{name}" for name in ("inner", "activated", "outer")}
    around = [f"{layer}.add_{name}" for name in (*attentions, "feed_forward")]
    return found | {f"{add}.{name}" for add in around for name in ("norm", "added", "output")}


def cell(path: str, *symbols: str) -> set[str]:
    return {f"{path}.{symbol}" for symbol in symbols}


def ids(rows: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(4, V, (rows, length), generator=torch.Generator().manual_seed(seed))


def pairs() -> Batch:
    target = torch.cat([torch.full((2, 1), BOS), ids(2, 3), torch.full((2, 1), EOS)], 1)
    return Batch(ids(2, 5, 1), target)


def texts(truth: Tensor | None = None) -> SequenceBatch:
    return SequenceBatch(ids(2, T), torch.tensor([T, T]), truth)


def recurrent(name: str, sizes: Sizes, **more: Any) -> Callable[[], nn.Module]:
    config = RecurrentConfig.model_validate({"name": name, "width": D, **more})
    return lambda: RecurrentEncoder(config, sizes)


def seq2seq(attention: str, attend: str = "after", cell: str = "lstm", **more: Any) -> Callable[[], nn.Module]:
    config = {"name": f"seq2seq-{cell}", "width": D, "attention": attention, "attend": attend, **more}
    return lambda: Seq2Seq(Seq2SeqConfig.model_validate(config), V, V)


LSTM = ("i", "f", "candidate", "o", "c", "h")
IN = {"embeddings", "inputs", "positions.vectors"}
BOTH_SIDES = {f"{side}.{name}" for side in ("source", "target") for name in ("embeddings", "inputs")}
SEQ2SEQ = {"source.embeddings", "target.embeddings", "encoder.output", "bridge.h", "decoder.output", "output.logits"}
SEQ2SEQ |= cell("encoder.0.forward", *LSTM) | cell("encoder.0.backward", *LSTM) | cell("decoder.0.forward", *LSTM)
ALIGNED = SEQ2SEQ | cell("attention", "scores", "masked_scores", "weights", "context")
ENCODER_DECODER = BOTH_SIDES | {"positions.vectors", "encoder.output", "decoder.output", "output.logits"}
ENCODER_DECODER |= sublayers("encoder.0", "self") | sublayers("decoder.0", "self", "cross")
ENCODER = sublayers("encoder.0", "self") | IN | {"encoder.output"}

# A model, its loss, a batch, and everything that it records in a training pass.
KINDS: dict[str, tuple[Callable[[], nn.Module], Any, Batch | SequenceBatch, set[str]]] = {
    "transformer": (
        lambda: Transformer(TransformerConfig(**STACKS), WORDS),
        TargetTokenLoss(),
        pairs(),
        ENCODER_DECODER,
    ),
    "captioner": (
        lambda: Captioner(CaptionerConfig(**STACKS, patch=2), Sizes(0, V, shape=PIXELS)),
        TargetTokenLoss(),
        Captions(random(2, *PIXELS).float(), pairs().target, patches=4),
        ENCODER_DECODER,
    ),
    "seq2seq": (seq2seq("none"), TargetTokenLoss(), pairs(), SEQ2SEQ),
    "seq2seq, dot": (seq2seq("dot"), TargetTokenLoss(), pairs(), ALIGNED),
    "seq2seq, general": (seq2seq("general"), TargetTokenLoss(), pairs(), ALIGNED),
    "seq2seq, additive": (seq2seq("additive"), TargetTokenLoss(), pairs(), ALIGNED),
    "seq2seq, before": (seq2seq("additive", "before"), TargetTokenLoss(), pairs(), ALIGNED),
    "seq2seq, own words": (
        seq2seq("additive", "before", teacher_forcing="until", teacher_epochs=1e-9),
        TargetTokenLoss(),
        Batch(pairs().source, pairs().target, epoch=1.0),
        ALIGNED,
    ),
    "gpt": (
        lambda: GPT(GPTConfig(**SMALL), WORDS),
        NextTokenLoss(),
        texts(ids(2, T, 2)),
        sublayers("decoder.0", "self") | IN | {"decoder.output", "output.logits"},
    ),
    "bert": (
        lambda: BertForPretraining(BertConfig(**SMALL), WORDS),
        MaskedTokenLoss(),
        texts(torch.tensor([[1, 6, 0, 0, 0], [2, 0, 7, 0, 0]])),
        ENCODER | {"pooled", "masked.output.logits", "follows.logits"},
    ),
    "bert, classes": (
        lambda: Bert(BertConfig(**SMALL), CLASSES),
        ClassLoss(),
        texts(torch.tensor([0, 2])),
        ENCODER | {"pooled", "output.logits"},
    ),
    "encoder": (
        lambda: TransformerEncoder(EncoderConfig(**SMALL), CLASSES),
        ClassLoss(),
        texts(torch.tensor([0, 2])),
        ENCODER | {"pooled", "output.logits"},
    ),
    "vit": (
        lambda: ViT(ViTConfig(**SMALL, patch=2), Sizes(1, 3, True, shape=PIXELS)),
        ClassLoss(),
        SequenceBatch(random(2, *PIXELS).float(), torch.tensor([4, 4]), torch.tensor([0, 2])),
        ENCODER | {"pooled", "output.logits"},
    ),
    "lstm, both ways": (
        recurrent("lstm", CLASSES),
        LabelLoss(),
        texts(torch.ones(2, T, dtype=torch.long)),
        cell("recurrent.0.forward", *LSTM) | cell("recurrent.0.backward", *LSTM) | {"embeddings", "output.logits"},
    ),
    "gru": (
        recurrent("gru", CLASSES, bidirectional=False),
        ClassLoss(),
        texts(torch.tensor([0, 2])),
        cell("recurrent.0.forward", "r", "z", "candidate", "h") | {"embeddings", "pooled", "output.logits"},
    ),
    "elman": (
        recurrent("elman", WORDS),
        NextTokenLoss(),
        texts(ids(2, T, 2)),
        {"embeddings", "recurrent.0.forward.h", "output.logits"},
    ),
    "jordan": (
        recurrent("jordan", CLASSES),
        ClassLoss(),
        texts(torch.tensor([0, 2])),
        {"embeddings", "recurrent.0.forward.h", "recurrent.feedback", "pooled", "output.logits"},
    ),
    "bag": (
        lambda: Bag(BagConfig(features=5, hidden=4), CLASSES),
        ClassLoss(),
        texts(torch.tensor([0, 2])),
        {"features.found", "features.values", "sum", "pooled", "output.logits"},
    ),
    "bag, linear": (
        lambda: Bag(BagConfig(features=5), CLASSES),
        ClassLoss(),
        texts(torch.tensor([0, 2])),
        {"features.found", "features.values", "output.logits"},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_pass_records_every_part_and_changes_nothing(kind: str) -> None:
    build, loss, batch, expected = KINDS[kind]
    torch.manual_seed(0)
    model = build().train()
    torch.manual_seed(1)
    plain = loss(model, batch).total
    torch.manual_seed(1)
    with recording() as recorder:
        found = loss(model, batch).total
    close(found, plain, 1e-5)
    assert recorder.tensors.keys() == expected
    assert len(recorder.steps) == 1


def test_steps_inside_a_pass_are_joined() -> None:
    """A decoder that attends before each step records [.., T, ..] as one that attends after all of them does."""
    before, after = (shaken(seq2seq("additive", attend)()).eval() for attend in ("before", "after"))
    found = []
    for model in (before, after):
        with recording() as recorder:
            model(pairs())
        found.append({path: tuple(tensor.shape) for path, tensor in recorder.tensors.items()})
    assert found[0] == found[1]
    assert found[0]["attention.weights"] == (2, 1, 4, 5)
    assert found[0]["decoder.0.forward.f"] == (2, 4, D)


GENERATORS = ["transformer", "captioner", "seq2seq, additive", "seq2seq, before", "gpt", "elman"]


@pytest.mark.parametrize("kind", GENERATORS)
def test_generation_records_every_step(kind: str) -> None:
    """Step by step the tensors are the columns of those of the whole pass."""
    build, _, batch, expected = KINDS[kind]
    torch.manual_seed(0)
    model: Any = build().eval()
    source = batch.source if isinstance(batch, Batch) else batch.inputs[:, :0]
    start = torch.full((2, 1), BOS)
    with recording() as recorder:
        (best, *_), *_ = decode(model, Batch(source, start), DecodeConfig(beam=1, max_ratio=1.0), [4, 4])
    assert len(recorder.steps) > len(best.tokens) > 0
    assert recorder.steps[0].keys() == expected
    once = {path for path in expected if path.startswith(("source.", "encoder.", "bridge."))}
    for step in recorder.steps[1:]:
        assert step.keys() == expected - once
    first = torch.tensor([[BOS, *best.tokens]])
    with recording() as whole:
        if isinstance(model, GenerativeNetwork):
            model(Batch(source[:1], torch.cat([first, torch.tensor([[EOS]])], 1)))
        else:
            model.output(model.encode(SequenceBatch(first, torch.tensor([first.shape[1]]))))
    for path in ("output.logits", "decoder.0.cross.weights", "attention.weights", "decoder.output"):
        if path in expected:
            n = first.shape[1]
            steps = [step[path][:1] for step in recorder.steps[:n]]
            joined = torch.stack(steps, -2) if steps[0].ndim == 2 else torch.cat(steps, -2)
            close(joined, whole.tensors[path][..., :n, :], 1e-4)


def test_numbers_are_recorded_step_by_step_too() -> None:
    model = TransformerEncoder(EncoderConfig(**SMALL), NUMBERS).eval()
    x = random(2, 5, 2).float()
    with recording("encoder.0.self.weights") as recorder:
        step = model.start(SequenceBatch(x, torch.tensor([5, 5])), context=8)
        model.step(x[:, 0], step.state)
    assert recorder.tensors["encoder.0.self.weights"].shape == (2, H, 1, 6)


def test_an_inner_recorder_takes_nothing_from_an_outer_one() -> None:
    model, batch = KINDS["transformer"][0]().eval(), pairs()
    assert isinstance(model, Transformer)
    with recording("output.logits") as outer:
        step = model.start(Batch(batch.source, batch.target[:, :1]), attention=True)
    assert list(outer.tensors) == ["output.logits"]
    assert step.attention is not None
    with recording() as everything:
        model.start(Batch(batch.source, batch.target[:, :1]), attention=True)
    assert torch.equal(everything.tensors["decoder.0.cross.weights"][:, :, -1], step.attention[:, 0])


# --- switches ---

REFUSED: list[tuple[str, Switches, str]] = [
    ("gru", Switches(scale=False), "without scale: gru"),
    ("seq2seq, additive", Switches(scale=False), "without scale: seq2seq-lstm"),
    ("seq2seq, additive", Switches(positions=False), "without positions: seq2seq-lstm"),
    ("bag", Switches(future_mask=False), "without future_mask: bag"),
    ("encoder", Switches(future_mask=False), "without future_mask: transformer"),
    ("bert", Switches(residual_off=frozenset({"encoder.7.add_self"})), "without encoder.7.add_self: bert"),
    ("gpt", Switches(heads_off=frozenset({("decoder.0.cross", 0)})), "without decoder.0.cross.0: gpt"),
    ("gpt", Switches(heads_off=frozenset({("decoder.0.self", 2)})), "without decoder.0.self.2: gpt has 2"),
    ("bert", Switches(layers_off=frozenset({"encoder.1"})), "without encoder.1: bert"),
    ("bert", Switches(layers_off=frozenset({"encoder.0.self"})), "without encoder.0.self: bert"),
    ("gru", Switches(layers_off=frozenset({"recurrent.0"})), "without recurrent.0: gru"),
    ("jordan", Switches(heads_off=frozenset({("recurrent", 0)})), "without recurrent.0: jordan"),
]


@pytest.mark.parametrize(("kind", "switches", "said"), REFUSED, ids=[said for _, _, said in REFUSED])
def test_a_switch_that_a_model_lacks_is_refused_by_name(kind: str, switches: Switches, said: str) -> None:
    with pytest.raises(UsageError) as refused, switched(KINDS[kind][0](), switches):
        pass
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("kind", ["transformer", "captioner", "gpt", "bert", "encoder", "vit"])
def test_switches_change_generation_and_training(kind: str) -> None:
    build, loss, batch, _ = KINDS[kind]
    torch.manual_seed(0)
    model = build().eval()
    plain = loss(model, batch).total
    for switches in (Switches(scale=False), Switches(positions=False)):
        with switched(model, switches):
            off = loss(model, batch).total
        assert not torch.equal(off, plain)
    close(loss(model, batch).total, plain, 0)  # all on again


def test_switches_reach_generation() -> None:
    model = KINDS["gpt"][0]().eval()
    assert isinstance(model, StepwiseEncoder)
    text = ids(1, 5)
    plain = model.start(Batch(text[:, :0], text)).logits
    with switched(model, Switches(positions=False)):
        step = model.start(Batch(text[:, :0], text[:, :4]))
        off = model.step(text[:, 4], step.state).logits
        close(off, model.start(Batch(text[:, :0], text)).logits, 1e-5)
    assert not torch.allclose(off, plain)
