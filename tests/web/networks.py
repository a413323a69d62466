"""Networks with random weights as a page gets them: entry, weights, and what PyTorch records of a pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from mirada.contracts import Batch, GenerativeNetwork, SequenceBatch, Sizes
from mirada.inspection.axes import without_batch
from mirada.models.bert import Bert, BertConfig, BertForPretraining
from mirada.models.encoder import EncoderConfig, TransformerEncoder
from mirada.models.gpt import GPT, GPTConfig
from mirada.models.rnn import RecurrentConfig, RecurrentEncoder
from mirada.models.seq2seq import Seq2Seq, Seq2SeqConfig
from mirada.models.transformer import Transformer, TransformerConfig
from mirada.parts import Switches, recording, switched

VOCABULARY, LABELS = 23, ["bad", "good", "so-so", "none"]
SOURCE, TARGET = [7, 4, 19, 11, 5, 2], [1, 9, 4, 22, 6]
ROWS = [0, 2, 3]  # the steps whose logits are asked for, of taggers and of models that fill gaps


@dataclass(frozen=True)
class Kind:
    """A network, its task, and the tokens that it is given."""

    task: str
    network: nn.Module
    sizes: Sizes
    source: Sequence[int] = tuple(SOURCE)
    target: Sequence[int] | None = None

    @property
    def entry(self) -> dict[str, Any]:
        config = self.network.config.model_dump()  # type: ignore[union-attr, operator]
        labels = LABELS if self.task in ("classification", "tagging") else None
        about = {"task": self.task, "architecture": config["name"], "config": config, "labels": labels}
        return {**about, "sizes": asdict(self.sizes)}

    @property
    def rows(self) -> list[int] | None:
        return ROWS if self.task in ("tagging", "masked_lm") else None

    @torch.inference_mode()
    def record(self, switches: Switches | None = None) -> dict[str, Tensor]:
        """Every tensor of a pass by its path, without the axis B, and the probabilities."""
        with recording() as recorder, switched(self.network, switches or Switches()):
            self._run()
        found = {path: without_batch(path, tensor) for path, tensor in recorder.tensors.items()}
        logits = next(tensor for path, tensor in found.items() if path.endswith("output.logits"))
        return {path: tensor.contiguous() for path, tensor in {**found, "probabilities": logits.softmax(-1)}.items()}

    def _run(self) -> None:
        source, network = torch.tensor([self.source]), self.network
        if isinstance(network, GenerativeNetwork):
            assert self.target is not None
            network(Batch(source, torch.tensor([[*self.target, 2]])))
            return
        assert isinstance(network, (RecurrentEncoder, TransformerEncoder, GPT, Bert))
        batch = SequenceBatch(source, torch.tensor([len(self.source)]))
        if self.task == "classification":
            network.output(network.pool(batch))
        else:
            network.output(network.encode(batch)[:, self.rows or slice(None)])


def safetensors(tensors: dict[str, Tensor]) -> bytes:
    return save({name: tensor.detach().float().clone().contiguous() for name, tensor in tensors.items()})


def seeded(build: Callable[[], nn.Module]) -> nn.Module:
    """A network whose weights are random, but the same every time."""
    torch.manual_seed(1)
    return shaken(build())


def shaken(network: nn.Module) -> nn.Module:
    """The network with every parameter random, biases and norms too."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return network.eval()


def seq2seq(cell: str, attention: str = "none", attend: str = "after", **more: Any) -> Kind:
    config = {"name": f"seq2seq-{cell}", "width": 10, "attention": attention, "attend": attend, **more}
    network = seeded(lambda: Seq2Seq(Seq2SeqConfig.model_validate(config), VOCABULARY, VOCABULARY))
    return Kind("translation", network, Sizes(VOCABULARY, VOCABULARY), target=TARGET)


def transformer(**more: Any) -> Kind:
    sizes = {"width": 12, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 16}
    config = TransformerConfig.model_validate({**sizes, **more})
    network = seeded(lambda: Transformer(config, Sizes(VOCABULARY, VOCABULARY)))
    return Kind("translation", network, Sizes(VOCABULARY, VOCABULARY), target=TARGET)


def reader(task: str, config: type[Any], build: Callable[[Any, Sizes], nn.Module], **values: Any) -> Kind:
    """A model that reads one text."""
    causal, outputs = task == "language_model", VOCABULARY if task in ("language_model", "masked_lm") else len(LABELS)
    sizes = Sizes(VOCABULARY, outputs, causal=causal)
    source = SOURCE[:-1] if causal else SOURCE
    return Kind(task, seeded(lambda: build(config.model_validate(values), sizes)), sizes, tuple(source))


def recurrent(task: str, name: str, **more: Any) -> Kind:
    return reader(task, RecurrentConfig, RecurrentEncoder, name=name, width=10, **more)


def encoder(task: str, **more: Any) -> Kind:
    return reader(task, EncoderConfig, TransformerEncoder, **{"width": 12, "heads": 2, "feed_forward": 16, **more})


def gpt(task: str, **more: Any) -> Kind:
    return reader(task, GPTConfig, GPT, **{"width": 12, "heads": 2, "layers": 2, "max_length": 16, **more})


def bert(task: str, **more: Any) -> Kind:
    build = BertForPretraining if task == "masked_lm" else Bert
    return reader(task, BertConfig, build, **{"width": 12, "heads": 2, "layers": 2, "max_length": 16, **more})
