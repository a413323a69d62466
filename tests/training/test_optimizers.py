"""The optimizers' state after a restore, which parameters are whose, and clipping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from mirada.contracts import Sizes
from mirada.errors import TrainingError
from mirada.models.bag import Bag, BagConfig
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Captioner, CaptionerConfig, Transformer, TransformerConfig
from mirada.models.vit import ViT, ViTConfig
from mirada.parts import OutputHead, Part, Role, parameter_roles
from mirada.training.checkpoints import Progress, load, save
from mirada.training.config import TrainConfig
from mirada.training.optimizers import Optimizers, clip
from tests.devices import move_to_meta

KINDS = ["sgd", "adam", "adamw", "muon"]


def stepped(kind: str) -> tuple[nn.Module, Optimizers]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    optimizers = Optimizers(model, TrainConfig.model_validate({"optimizer": kind}))
    model(torch.arange(5)).square().sum().backward()
    optimizers.step(0.01)
    return model, optimizers


def memories(optimizers: Optimizers) -> list[tuple[Optimizer, Tensor, str, Tensor]]:
    return [
        (part, parameter, key, value)
        for part in optimizers.parts
        for parameter, memory in part.state.items()
        for key, value in memory.items()
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_restored_memory_is_what_a_step_makes(kind: str) -> None:
    """Device, type and shape as PyTorch creates them in its first step, and the values of the one that was saved."""
    _, first = stepped(kind)
    _, second = stepped(kind)
    expected = [(key, value.device, value.dtype, value.clone()) for _, _, key, value in memories(second)]
    for part in second.parts:
        part.state.clear()
    assert not second.state()
    second.restore(first.state())
    restored = [(key, value.device, value.dtype, value) for _, _, key, value in memories(second)]
    assert [entry[:3] for entry in restored] == [entry[:3] for entry in expected]
    for (*_, got), (*_, wanted) in zip(restored, expected, strict=True):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_restored_to_the_device_of_the_parameters(kind: str) -> None:
    """A fused step keeps its step counts there too."""
    saved = {name: value.clone() for name, value in stepped(kind)[1].state().items()}
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    optimizers = Optimizers(model, TrainConfig.model_validate({"optimizer": kind}))
    move_to_meta(model)
    optimizers.restore(saved)
    found = memories(optimizers)
    assert len(found) == len(saved)
    for part, parameter, key, value in found:
        assert value.device == parameter.device == torch.device("meta"), (type(part).__name__, key)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("exp_avg.2.weight", torch.zeros(3, 4), "2.weight"),  # no such parameter
        ("exp_avg.1.weight", torch.zeros(3, 5), r"exp_avg of 1.weight has shape \[3, 5\]"),
        ("momentum.1.bias", torch.zeros(3), "1.bias"),  # Muon's, and AdamW has the biases
    ],
)
def test_memory_that_does_not_fit_is_refused(name: str, value: Tensor, message: str) -> None:
    _, optimizers = stepped("adamw")
    state = optimizers.state()
    before = {key: tensor.clone() for key, tensor in state.items()}
    with pytest.raises(TrainingError, match=message):
        optimizers.restore({**state, name: value})
    assert all(torch.equal(optimizers.state()[key], tensor) for key, tensor in before.items())


# --- which parameters are Muon's ---

SMALL: dict[str, Any] = {"width": 8, "heads": 2, "layers": 1}
STACKS: dict[str, Any] = {"width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 8}
WORDS, CLASSES, NUMBERS = Sizes(12, 12, causal=True), Sizes(12, 3), Sizes(4, 2, True, True, causal=True)
# A model, the parts whose matrices are Muon's, and the outputs that are no embedding.
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[str, ...], set[str]]] = {
    "transformer": (
        lambda: Transformer(TransformerConfig(**STACKS, positions="learned"), WORDS),
        ("encoder", "decoder"),
        set(),
    ),
    "transformer, not tied": (
        lambda: Transformer(TransformerConfig(**STACKS, tie="none"), WORDS),
        ("encoder", "decoder"),
        {"output"},
    ),
    "captioner": (
        lambda: Captioner(CaptionerConfig(**STACKS, patch=2), Sizes(0, 12, shape=(1, 1, 4, 4))),
        ("patches", "encoder", "decoder"),
        set(),
    ),
    "seq2seq": (
        lambda: Seq2Seq(Seq2SeqConfig(width=8, attention="additive"), 12, 12),
        ("encoder", "bridge", "decoder", "score", "join"),
        set(),
    ),
    "gpt": (lambda: GPT(GPTConfig(**SMALL), WORDS), ("decoder",), set()),
    "gpt, rotary": (lambda: GPT(GPTConfig(**SMALL, positions="rotary"), WORDS), ("decoder",), set()),
    "jordan": (
        lambda: RecurrentEncoder(RecurrentConfig(name="jordan", width=8), CLASSES),
        ("recurrent",),
        {"output"},
    ),
    "gpt, classes": (lambda: GPT(GPTConfig(**SMALL), CLASSES), ("decoder",), {"output"}),
    "lstm": (lambda: RecurrentEncoder(RecurrentConfig(width=8), WORDS), ("recurrent",), set()),
    "lstm, classes": (lambda: RecurrentEncoder(RecurrentConfig(width=8), CLASSES), ("recurrent",), {"output"}),
    "gru, numbers": (
        lambda: RecurrentEncoder(RecurrentConfig(name="gru", width=8), NUMBERS),
        ("numbers", "recurrent"),
        {"output"},
    ),
    "bert": (
        lambda: BertForPretraining(BertConfig(**SMALL), WORDS),
        ("encoder", "pooler", "masked.dense"),
        {"follows"},
    ),
    "bert, classes": (lambda: Bert(BertConfig(**SMALL), CLASSES), ("encoder", "pooler"), {"output"}),
    "vit": (
        lambda: ViT(ViTConfig(**SMALL, patch=2), Sizes(4, 3, shape=(1, 1, 4, 4))),
        ("patches", "encoder"),
        {"output"},
    ),
    "bag": (lambda: Bag(BagConfig(features=5), CLASSES), (), set()),
    "bag, hidden": (lambda: Bag(BagConfig(features=5, hidden=4), CLASSES), (), {"output"}),
}


@pytest.mark.parametrize("kind", MODELS)
def test_muon_has_the_matrices_of_hidden_layers_and_adamw_the_rest(kind: str) -> None:
    """Embeddings, learned positions, outputs, gains and biases are never Muon's; of AdamW's only outputs decay."""
    build, hidden, heads = MODELS[kind]
    model = build()
    everything = dict(model.named_parameters())
    optimizers = Optimizers(model, TrainConfig(weight_decay=0.1))
    given: dict[tuple[str, float], set[str]] = {}
    for part in optimizers.parts:
        for group in part.param_groups:
            names = {optimizers.names[parameter] for parameter in group["params"]}
            given.setdefault((type(part).__name__, group["weight_decay"]), set()).update(names)
    inside = {name for name, p in everything.items() if p.ndim == 2 and name.startswith(tuple(f"{h}." for h in hidden))}
    outside = {f"{head}.weight" for head in heads}
    assert given.get(("Muon", 0.1), set()) == inside
    assert given.get(("AdamW", 0.1), set()) == outside
    assert given[("AdamW", 0.0)] == everything.keys() - inside - outside
    assert sum(map(len, given.values())) == len(everything)


def test_what_a_parameter_is_does_not_depend_on_its_shape() -> None:
    """A part says what its own parameters are; a shared matrix is an embedding, an unknown parameter is left alone."""

    class Table(Part):
        roles: ClassVar[Mapping[str, Role]] = {"rows": "embedding", "mix": "hidden"}

        def __init__(self) -> None:
            super().__init__()
            self.rows, self.mix, self.gain = (nn.Parameter(torch.ones(3, 3)) for _ in range(3))
            self.head, self.tied = OutputHead(3, 3), OutputHead(3, 3)
            self.words = nn.Embedding(3, 3)
            self.tied.weight = self.words.weight

    model = Table()
    roles = parameter_roles(model)
    found = {name: roles[parameter] for name, parameter in model.named_parameters()}
    assert found == {
        "rows": "embedding",
        "mix": "hidden",
        "gain": "other",
        "head.weight": "head",
        "head.bias": "other",
        "tied.weight": "embedding",
        "tied.bias": "other",
    }


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw", "muon"])
def test_an_optimizer_continues_from_its_saved_state(kind: str, tmp_path: Path) -> None:
    def build() -> tuple[nn.Module, Optimizers]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
        return model, Optimizers(model, TrainConfig(optimizer=kind))

    def step(model: nn.Module, optimizers: Optimizers) -> None:
        model(torch.arange(5)).pow(2).sum().backward()
        optimizers.step(0.01)
        model.zero_grad()

    straight = build()
    for _ in range(6):
        step(*straight)
    first = build()
    for _ in range(3):
        step(*first)
    save(tmp_path, Progress(step=3), first[1].state())
    second = build()
    second[0].load_state_dict(first[0].state_dict())
    found = load(tmp_path, pytest.fail)
    assert found is not None
    second[1].restore(found[1])
    for _ in range(3):
        step(*second)
    for expected, got in zip(straight[0].parameters(), second[0].parameters(), strict=True):
        assert torch.equal(expected, got)


def test_clip_scales_then_shrinks() -> None:
    gradients = [torch.full((4,), 6.0), torch.full((12,), 6.0)]  # norm 24
    assert clip(gradients, 0.5, 3.0) == pytest.approx(12.0)
    assert torch.cat(gradients).norm().item() == pytest.approx(3.0)
    assert clip(gradients, 1.0, 0.0) == pytest.approx(3.0)
    assert torch.cat(gradients).norm().item() == pytest.approx(3.0)
