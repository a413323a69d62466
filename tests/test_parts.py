"""A recorder records what it is asked for and changes nothing; a switch leaves out one part and nothing else."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mirada.contracts import BOS, EOS, PAD, Batch, Sizes
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.nn.blocks import Layer, MultiHead, Residual
from mirada.nn.positions import AddedPositions
from mirada.parts import Part, Switches, recording, switched
from tests.block_parts import HEADS, INNER, LONG, WIDTH, Norm, shaken
from tests.tensors import close

# --- recording ---


def tiny(norm: Norm = "pre", **choices: object) -> Transformer:
    sizes = {"width": WIDTH, "heads": HEADS, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": INNER}
    config = TransformerConfig.model_validate({**sizes, "norm": norm, "dropout": 0.0, **choices})
    return shaken(Transformer(config, Sizes(30, 30))).eval()


def a_batch(longest: int = 6) -> Batch:
    """Two sentences, the second one shorter on both sides."""
    ids = torch.randint(3, 30, (2, longest), generator=torch.Generator().manual_seed(9))
    source, target = ids.clone(), ids.flip(0)[:, : longest - 1].clone()
    source[:, -1], source[1, -2], source[1, -1] = EOS, EOS, PAD
    target[:, 0], target[:, -1], target[1, -2], target[1, -1] = BOS, EOS, EOS, PAD
    return Batch(source, target)


def test_every_tensor_is_recorded_by_its_path() -> None:
    with recording() as recorder:
        tiny()(a_batch())
    attention = ["q", "k", "v", "raw_scores", "scores", "masked_scores", "weights", "heads", "output"]
    expected = set()
    for stack, sublayers in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
        for layer in range(2):
            expected |= {f"{stack}.{layer}.{sub}.{name}" for sub in sublayers for name in attention}
            around = [*sublayers, "feed_forward"]
            expected |= {f"{stack}.{layer}.add_{sub}.{name}" for sub in around for name in ("norm", "added", "output")}
            expected |= {f"{stack}.{layer}.feed_forward.{name}" for name in ("inner", "activated", "outer")}
        expected.add(f"{stack}.output")
    for side in ("source", "target"):
        expected |= {f"{side}.embeddings", f"{side}.inputs"}
    expected |= {"positions.vectors", "output.logits"}
    assert recorder.tensors.keys() == expected
    assert recorder.tensors["decoder.1.cross.weights"].shape == (2, HEADS, 4, 6)
    assert recorder.tensors["decoder.1.self.weights"].shape == (2, HEADS, 4, 4)
    assert recorder.tensors["encoder.0.self.weights"].shape == (2, HEADS, 6, 6)
    assert recorder.tensors["encoder.0.add_self.output"].shape == (2, 6, WIDTH)


def test_recorded_weights_keep_to_the_masks() -> None:
    with recording() as recorder:
        tiny()(a_batch())
    for path, weights in recorder.tensors.items():
        if not path.endswith(".weights"):
            continue
        close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        if path.startswith("decoder") and ".self." in path:
            assert (weights.triu(1) == 0).all()
        else:
            assert (weights[1, :, :, -1] == 0).all()
            assert (weights[0] > 0).all()


@pytest.mark.parametrize("longest", [6, LONG])
def test_a_recorded_run_gives_the_same_output(longest: int) -> None:
    model, batch, short = tiny(), a_batch(longest), a_batch()
    with recording():
        recorded, exact = model(batch), model(short)
    close(recorded, model(batch))
    assert torch.equal(exact, model(short))


def test_only_what_is_wanted_is_recorded() -> None:
    with recording("decoder.*.cross.weights", "encoder.1.add_*.output") as recorder:
        tiny()(a_batch())
    assert sorted(recorder.tensors) == [
        "decoder.0.cross.weights",
        "decoder.1.cross.weights",
        "encoder.1.add_feed_forward.output",
        "encoder.1.add_self.output",
    ]


def test_a_part_without_a_path_records_plain_names() -> None:
    part = Part()
    part.record("x", torch.ones(1))  # nobody listens
    with recording() as recorder:
        part.record("x", torch.zeros(1))
        part.path = "encoder.3"
        part.record("x", torch.ones(1))
    assert {path: tensor.item() for path, tensor in recorder.tensors.items()} == {"x": 0, "encoder.3.x": 1}


# --- switches ---


def recorded(model: Transformer, batch: Batch, switches: Switches | None = None) -> tuple[Tensor, dict[str, Tensor]]:
    with recording() as recorder, switched(model, switches or Switches()):
        return model(batch), recorder.tensors


def without(model: Transformer, batch: Batch, **switches: Any) -> Tensor:
    with switched(model, Switches(**switches)):
        output: Tensor = model(batch)
    return output


def attentions(model: Transformer) -> list[MultiHead]:
    return [module for module in model.modules() if isinstance(module, MultiHead)]


def test_everything_is_on_unless_named() -> None:
    model, batch = tiny(), a_batch()
    assert torch.equal(model(batch), without(model, batch))


@pytest.mark.parametrize("longest", [6, LONG])
def test_scale_off_leaves_out_the_division(longest: int) -> None:
    model, batch = tiny(), a_batch(longest)
    off = without(model, batch, scale=False)
    assert (off - model(batch)).abs().max() > 1e-3
    larger = copy.deepcopy(model)  # queries that are √d_k times as large undo the division
    for attention in attentions(larger):
        for parameter in (attention.query.weight, attention.query.bias):
            parameter.data *= math.sqrt(WIDTH // HEADS)
    close(off, larger(batch))


def test_future_mask_off_shows_the_tokens_to_come_and_changes_nothing_else() -> None:
    model, batch = tiny(), a_batch()
    on, before = recorded(model, batch)
    off, after = recorded(model, batch, Switches(future_mask=False))
    assert (off[:, 0] - on[:, 0]).abs().max() > 1e-3
    for path in before:
        if path.startswith("encoder.") or path in ("decoder.0.self.q", "decoder.0.self.k", "decoder.0.self.v"):
            assert torch.equal(before[path], after[path]), path
    q, k = after["decoder.0.self.q"], after["decoder.0.self.k"]
    close(after["decoder.0.self.weights"], (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1))
    assert (after["decoder.0.cross.weights"][1, :, :, -1] == 0).all()  # the padding's mask is another one


def test_positions_off_is_a_model_whose_position_table_is_zero() -> None:
    model, batch = tiny(), a_batch()
    off = without(model, batch, positions=False)
    assert (off - model(batch)).abs().max() > 1e-3
    blank = copy.deepcopy(model)
    assert isinstance(blank.positions, AddedPositions)
    blank.positions.table.zero_()
    close(off, blank(batch))


def test_without_positions_an_encoder_does_not_see_the_order() -> None:
    model, order = tiny(), torch.tensor([3, 0, 2, 1])
    source = torch.tensor([[5, 6, 7, 8]])
    target = torch.tensor([[BOS, EOS]])
    plain, moved = Batch(source, target), Batch(source[:, order], target)
    with switched(model, Switches(positions=False)):
        close(model.encode(moved), model.encode(plain)[:, order])
    assert (model.encode(moved) - model.encode(plain)[:, order]).abs().max() > 1e-3


@pytest.mark.parametrize("longest", [6, LONG])
@pytest.mark.parametrize(
    ("path", "head"), [("encoder.0.self", 0), ("encoder.1.self", 2), ("decoder.0.self", 1), ("decoder.1.cross", 2)]
)
def test_a_silenced_head_is_a_zeroed_slice_of_the_output_matrix(path: str, head: int, longest: int) -> None:
    model, batch = tiny(), a_batch(longest)
    off = without(model, batch, heads_off=frozenset({(path, head)}))
    assert (off - model(batch)).abs().max() > 1e-4
    cut = copy.deepcopy(model)
    (attention,) = [attention for attention in attentions(cut) if attention.path == path]
    size = WIDTH // HEADS
    attention.output.weight.data[:, head * size : (head + 1) * size] = 0
    close(off, cut(batch))


def test_two_silenced_heads_of_one_attention() -> None:
    model, batch = tiny(), a_batch()
    off = without(model, batch, heads_off=frozenset({("encoder.0.self", 0), ("encoder.0.self", 2)}))
    cut = copy.deepcopy(model)
    size = WIDTH // HEADS
    weight = attentions(cut)[0].output.weight.data
    weight[:, :size], weight[:, 2 * size :] = 0, 0
    close(off, cut(batch))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("sublayer", ["encoder.0.self", "encoder.1.self", "decoder.0.self", "decoder.1.cross"])
def test_a_cut_residual_leaves_the_sublayer_alone(norm: Norm, sublayer: str) -> None:
    model, batch = tiny(norm), a_batch()
    stack, layer, name = sublayer.split(".")
    residual = f"{stack}.{layer}.add_{name}"
    on, before = recorded(model, batch)
    off, after = recorded(model, batch, Switches(residual_off=frozenset({residual})))
    assert (off - on).abs().max() > 1e-3
    parts = dict(model.named_modules())
    attention = parts[f"{stack}.layers.{layer}.{name.replace('self', 'self_')}"]
    add = parts[f"{stack}.layers.{layer}.add_{name}"]
    assert isinstance(attention, MultiHead)
    assert isinstance(add, Residual)
    added = attention.output(after[f"{sublayer}.heads"].transpose(1, 2).flatten(2))
    close(after[f"{residual}.output"], added if norm == "pre" else add.norm(added))
    order = list(after)  # what comes before the cut is as it was, and the cut itself is not
    place = order.index(f"{residual}.output" if norm == "pre" else f"{residual}.norm")
    assert all(torch.equal(before[path], after[path]) for path in order[:place])
    assert not torch.equal(before[order[place]], after[order[place]])


def test_a_cut_residual_around_the_feed_forward() -> None:
    model, batch = tiny("post"), a_batch()
    _, after = recorded(model, batch, Switches(residual_off=frozenset({"encoder.0.add_feed_forward"})))
    layer = model.encoder.layers[0]
    assert isinstance(layer, Layer)
    inside = layer.feed_forward(after["encoder.0.add_self.output"])
    close(after["encoder.0.add_feed_forward.output"], layer.add_feed_forward.norm(inside))


@pytest.mark.parametrize("path", ["encoder.0", "encoder.1", "decoder.0", "decoder.1"])
def test_a_layer_that_is_off_passes_its_input_on(path: str) -> None:
    model, batch = tiny(), a_batch()
    _, before = recorded(model, batch)
    off, after = recorded(model, batch, Switches(layers_off=frozenset({path})))
    short = copy.deepcopy(model)
    stack, number = path.split(".")
    layers = getattr(short, stack).layers
    del layers[int(number)]
    close(off, short(batch))
    assert not [found for found in after if found.startswith(f"{path}.")]
    order = list(before)
    first = next(place for place, found in enumerate(order) if found.startswith(f"{path}."))
    assert all(torch.equal(before[found], after[found]) for found in order[:first])


def test_a_layer_that_is_off_is_off_in_generation_too() -> None:
    model, batch = tiny(positions="sinusoidal"), a_batch()
    with switched(model, Switches(layers_off=frozenset({"decoder.0"}))):
        whole = model(batch)
        step = model.start(Batch(batch.source, batch.target[:, :1]))
        for t in range(whole.shape[1]):
            close(step.logits, whole[:, t])
            if t + 1 < whole.shape[1]:
                step = model.step(batch.target[:, t + 1], step.state)


def test_masked_scores_are_what_the_softmax_gets() -> None:
    with recording() as recorder:
        tiny()(a_batch())
    found = recorder.tensors
    for path in (path for path in found if path.endswith(".weights")):
        scores, masked = (found[path.replace("weights", name)] for name in ("scores", "masked_scores"))
        close(masked.softmax(-1), found[path])
        hidden = torch.isneginf(masked)
        assert torch.equal(masked[~hidden], scores[~hidden])
        assert torch.equal(hidden, found[path] == 0)
        assert hidden.any()
