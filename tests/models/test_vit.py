"""ViT equals Hugging Face's, on square and other images; patches see each other; a video is cut in time too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from mirada.contracts import SequenceBatch, Sizes
from mirada.models.vit import PRESETS, ViT, ViTConfig
from mirada.parts import Switches, recording, switched
from mirada.training.config import TrainConfig
from mirada.training.optimizers import Optimizers
from tests.block_parts import shaken
from tests.tensors import close, random

CLASSES = 5
PICTURE = (3, 1, 8, 12)
VIDEO = (1, 6, 4, 4)


def build(shape: tuple[int, ...], **choices: Any) -> ViT:
    small = {"width": 12, "heads": 3, "layers": 2, "feed_forward": 20, "patch": 2}
    settings = ViTConfig.model_validate({**small, **choices})
    return shaken(ViT(settings, Sizes(shape[0], CLASSES, numeric_inputs=True, shape=shape))).eval()


def reading(shape: tuple[int, ...], batch: int = 3, seed: int = 0) -> SequenceBatch:
    return SequenceBatch(random(batch, *shape, seed=seed), torch.full((batch,), 6))


# Files written before transformers 5 have these names instead. The order counts: output.dense ends two of them.
FORMER = {
    "vit.encoder.layer.": "vit.layers.",
    "attention.attention.query": "attention.q_proj",
    "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
}


def from_huggingface(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a ViTForImageClassification, of now or of before, under the names they have here."""
    state = {}
    for name, tensor in given.items():
        for former, now in FORMER.items():
            name = name.replace(former, now)
        state[name] = tensor
    found = {
        "class_token": state["vit.embeddings.cls_token"],
        "positions": state["vit.embeddings.position_embeddings"],
    }
    parts = {
        "vit.embeddings.patch_embeddings.projection": "patches.linear",
        "vit.layernorm": "encoder.final_norm",
        "classifier": "output",
    }
    inside = {
        "attention.q_proj": "self_.query",
        "attention.k_proj": "self_.key",
        "attention.v_proj": "self_.value",
        "attention.o_proj": "self_.output",
        "layernorm_before": "add_self.norm",
        "layernorm_after": "add_feed_forward.norm",
        "mlp.fc1": "feed_forward.inner",
        "mlp.fc2": "feed_forward.outer",
    }
    layers = len({name.split(".")[2] for name in state if name.startswith("vit.layers.")})
    for number in range(layers):
        parts |= {f"vit.layers.{number}.{a}": f"encoder.layers.{number}.{b}" for a, b in inside.items()}
    for theirs, ours in parts.items():
        for kind in ("weight", "bias"):
            found[f"{ours}.{kind}"] = state[f"{theirs}.{kind}"]
    # A convolution's weights [D, C, p, p] are those of one matrix over a patch.
    found["patches.linear.weight"] = found["patches.linear.weight"].flatten(1)
    return found


def huggingface(shape: tuple[int, ...], patch: int) -> Any:
    """The reference, every weight random."""
    import transformers

    channels, _, height, width = shape
    describe: Any = transformers.ViTConfig
    settings = describe(
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        image_size=(height, width),
        patch_size=patch,
        num_channels=channels,
        num_labels=CLASSES,
    )
    return shaken(transformers.ViTForImageClassification(settings)).eval()


@pytest.mark.parametrize(
    ("shape", "patch"), [(PICTURE, 2), (PICTURE, 4), ((1, 1, 8, 8), 1)], ids=["long", "coarse", "65 keys: fused"]
)
def test_it_equals_hugging_face(shape: tuple[int, ...], patch: int) -> None:
    theirs = huggingface(shape, patch)
    ours = build(shape, patch=patch)
    ours.load_state_dict(from_huggingface(theirs.state_dict()))
    batch = reading(shape)
    with torch.no_grad():
        expected = theirs(batch.inputs[:, :, 0], output_hidden_states=True)
        close(ours.output(ours.pool(batch)), expected.logits, 1e-8)
        close(ours.encode(batch), theirs.vit(batch.inputs[:, :, 0]).last_hidden_state[:, 1:], 1e-8)


def test_files_of_before_are_mapped_too() -> None:
    state = huggingface(PICTURE, 2).state_dict()
    former = {}
    for name, tensor in state.items():
        for old, now in FORMER.items():
            name = name.replace(now, old)
        former[name] = tensor
    assert former.keys() != state.keys()
    assert from_huggingface(former).keys() == from_huggingface(state).keys() == build(PICTURE).state_dict().keys()


def test_every_parameter_learns() -> None:
    model = build(VIDEO, frames=2)
    (model.output(model.pool(reading(VIDEO))) * random(3, CLASSES, seed=1)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if "key.bias" not in name:  # softmax does not change when all scores are shifted alike
            assert parameter.grad.abs().max() > 1e-6, name


def test_the_order_of_frames_and_patches_counts() -> None:
    model, batch = build(VIDEO, frames=1), reading(VIDEO)
    back = SequenceBatch(batch.inputs.flip(2), batch.lengths)
    with torch.no_grad():
        assert (model.pool(batch) - model.pool(back)).abs().max() > 1e-3
        with switched(model, Switches(positions=False)):  # without positions a video is a bag of patches
            close(model.pool(batch), model.pool(back))


def test_a_deep_patch_is_a_product_with_all_its_frames() -> None:
    model = build(VIDEO, frames=3)
    pixels = reading(VIDEO).inputs
    second = pixels[:, :, 3:6, 0:2, 2:4].flatten(1)  # the second block of time, the second patch of the first row
    with torch.no_grad():
        close(model.patches(pixels)[:, 4 + 1], model.patches.linear(second))


def test_pool_is_the_class_token_or_the_mean() -> None:
    batch = reading(PICTURE)
    by_class, by_mean = build(PICTURE), build(PICTURE, pool="mean")
    by_mean.load_state_dict(by_class.state_dict())
    with torch.no_grad():
        states = by_class.states(batch)
        assert states.shape == (3, 1 + 4 * 6, 12)
        close(by_class.pool(batch), states[:, 0])
        close(by_mean.pool(batch), states[:, 1:].mean(1))


def test_a_recorder_has_the_attention_of_every_head() -> None:
    with recording("encoder.*.self.weights") as recorder:
        build(PICTURE).pool(reading(PICTURE))
    assert {name: tuple(tensor.shape) for name, tensor in recorder.tensors.items()} == {
        "encoder.0.self.weights": (3, 3, 25, 25),
        "encoder.1.self.weights": (3, 3, 25, 25),
    }


def test_muon_leaves_positions_and_class_token_alone() -> None:
    model = build(PICTURE)
    muon, adam = Optimizers(model, TrainConfig(optimizer="muon")).parts
    matrices = {id(parameter) for group in muon.param_groups for parameter in group["params"]}
    others = {id(parameter) for group in adam.param_groups for parameter in group["params"]}
    assert {id(model.positions), id(model.class_token)} <= others
    assert id(model.patches.linear.weight) in matrices


def test_a_size_of_whole_patches_gets_the_same_patch_again() -> None:
    for side in range(1, 300):
        patch = ViTConfig().patch_for(side, 1)
        assert ViTConfig().patch_for(max(patch, side // patch * patch), patch) == patch
    assert [ViTConfig().patch_for(8, side) for side in (8, 28, 32, 64, 224)] == [2, 7, 8, 16, 16]
    assert ViTConfig(patch=5).patch_for(28, 28) == 5


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"model.width=10 cannot be split into model.heads=4"):
        ViTConfig(width=10, heads=4)
    for preset in PRESETS.values():
        ViTConfig.model_validate(preset["model"])
