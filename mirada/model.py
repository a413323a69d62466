"""A trained model, opened from its bundle: translate, evaluate, attend; and what the bundle says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import torch
from torch import nn

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models
from mirada.contracts import Network
from mirada.data.po import Catalog
from mirada.data.prepare import read_examples
from mirada.data.readers import Wanted
from mirada.data.sources import open_some
from mirada.data.tokenizer import Tokenizer
from mirada.decoding import DecodeConfig
from mirada.device import settle
from mirada.errors import BundleError, ConfigError, UsageError
from mirada.evaluation import Evaluation, evaluate
from mirada.inspection.attention import CrossAttention
from mirada.inspection.embeddings import Embeddings
from mirada.tasks.catalogs import Filling, fill
from mirada.tasks.translation import Translation, Translator


class Model:
    """A trained model, opened from its bundle."""

    def __init__(
        self,
        path: Path,
        card: dict[str, Any],
        config: configuration.Values,
        network: Network,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        device: torch.device,
    ):
        self.path, self.card, self.config, self.network = path, card, config, network.eval().to(device)
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        limit = int(config["model"]["max_length"])
        self._translator = Translator(network, source_tokenizer, target_tokenizer, limit, device)

    def decode_config(self, **changes: Any) -> DecodeConfig:
        """The bundle's way of decoding, with changes (None changes nothing)."""
        given = {key: value for key, value in changes.items() if value is not None}
        built = configuration.build({"decode": DecodeConfig}, {"decode": {**self.config.get("decode", {}), **given}})
        return built["decode"]

    @overload
    def translate(self, texts: str, *, prefix: str = ..., **decode: Any) -> Translation: ...
    @overload
    def translate(self, texts: Sequence[str], *, prefix: str = ..., **decode: Any) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        prefix: str = "",
        progress: Callable[[int], None] = lambda done: None,
        **decode: Any,
    ) -> Translation | list[Translation]:
        """Translate a text, or many at once, in order. `decode` are settings: beam=5, n_best=3, sample=True, …

        `prefix` is how every translation has to begin.
        """
        config = self.decode_config(**decode)
        if isinstance(texts, str):
            return self._translator.translate([texts], config, prefix)[0]
        return self._translator.translate(texts, config, prefix, progress)

    def evaluate(
        self,
        pairs: str | Path | Iterable[tuple[str, Sequence[str]]],
        *,
        columns: Sequence[str] = (),
        **decode: Any,
    ) -> Evaluation:
        """Translate the sources of a test set (a file, or pairs of source and references) and score the result."""
        if isinstance(pairs, (str, Path)):
            languages = self.card["languages"]
            wanted = Wanted(tuple(columns), languages["source"], languages["target"])
            rows = read_examples(open_some([str(pairs)], wanted))
        else:
            rows = [(source, tuple([refs] if isinstance(refs, str) else refs)) for source, refs in pairs]
        sources = [source for source, _ in rows]
        outputs = [translation.text for translation in self.translate(sources, **decode)]
        return evaluate(sources, outputs, [references for _, references in rows])

    def fill(self, catalog: str | Path, **decode: Any) -> Filling:
        """Translate what is untranslated in a gettext catalog (.po), marked fuzzy; the rest stays byte for byte."""
        options = {"n_best": 5, **{key: value for key, value in decode.items() if value is not None}}
        options["n_best"] = min(options["n_best"], self.decode_config(**decode).beam)
        return fill(Catalog(catalog), lambda texts: self.translate(texts, **options))

    def attend(self, text: str, **decode: Any) -> CrossAttention:
        """Translate one sentence and return where every head of every layer looked for each token."""
        ids, hypothesis = self._translator.look(text, self.decode_config(**decode))
        if hypothesis.attention is None:
            raise UsageError(f"{self.path}: {self.card['model']} has no attention to look at")
        return CrossAttention(
            source=[*self._translator.source.pieces(ids), "</s>"],
            target=[*self._translator.target.pieces(hypothesis.tokens), "</s>"],
            weights=hypothesis.attention.permute(1, 2, 0, 3).cpu().numpy(),  # [T, L, H, S] -> [L, H, T, S]
        )

    def embeddings(self, side: str = "source") -> Embeddings:
        """The word vectors of one side: `neighbours` of a word, and a map of words."""
        if side not in ("source", "target"):
            raise UsageError(f"--side {side}: there are source and target")
        tokenizer = self.source_tokenizer if side == "source" else self.target_tokenizer
        table: nn.Embedding = getattr(self.network, f"{side}_embedding")
        return Embeddings(tokenizer, table.weight.detach().cpu())

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())


def load(path: str | Path, *, device: str = "auto", threads: int | None = None) -> Model:
    """Open a bundle."""
    found = bundles.read(Path(path))
    where = settle(device, threads)
    config = found.config
    try:
        name = str(config["model"]["name"])
        built = configuration.build({"model": models.find(name).config}, {"model": config["model"]})
        configuration.build({"decode": DecodeConfig}, {"decode": config.get("decode")})
    except (ConfigError, KeyError, TypeError) as error:
        raise BundleError(f"{found.path / 'config.yaml'}: does not describe a model ({error})") from None
    network = models.find(name).model(built["model"], found.source_tokenizer.size, found.target_tokenizer.size)
    bundles.put_weights(network, found.weights, str(found.path))
    return Model(found.path, found.card, config, network, found.source_tokenizer, found.target_tokenizer, where)


def info(path: str | Path) -> dict[str, Any]:
    """What a bundle is: its card, and its configuration."""
    return {**bundles.read_card(Path(path)), "config": configuration.read(Path(path) / "config.yaml")}


def info_text(path: str | Path) -> str:
    """The same for a person."""
    about = info(path)
    data, run, model = about["data"], about["training"], about["config"]["model"]
    languages = about["languages"]
    pair = f"{languages['source'] or '?'} → {languages['target'] or '?'}"
    left_out = sum(data["excluded"].values())
    lines = [
        ("task", f"{about['task']}, {pair}"),
        ("model", f"{about['model']}, {about['parameters']:,} parameters"),
        ("sizes", ", ".join(f"{key} {value}" for key, value in model.items() if key != "name")),
        ("data", f"{data['training']:,} pairs, {data['words']:,} words, {left_out:,} left out"),
        ("dev", f"{data['dev']:,} pairs" + (", held out of the data" if data["held_out"] else "")),
        ("subwords", f"{data['vocabulary']:,}"),
        (
            "training",
            f"{run['steps']:,} steps, {run['epochs']:g} epochs, {run['seconds'] / 60:.1f} minutes on {run['device']} "
            f"with {run['threads']} threads" + ("" if run["finished"] else " (not finished)"),
        ),
        ("data id", data["fingerprint"][:16]),
        ("written by", ", ".join(f"{name} {version}" for name, version in about["software"].items())),
    ]
    for part, title in (("new", "on its dev part"), ("old", "on the base's")) if "base" in about else ():
        before, after = about["base"]["before"].get(part), (about["base"].get("after") or {}).get(part)
        if before and after:
            lines.append(("base", f"{title}: BLEU {before['BLEU']:.1f} before, {after['BLEU']:.1f} now"))
    for score in (about["scores"] or {}).get("scores", []):
        lines.append((score["name"], f"{score['value']:.1f}   {score['signature']}"))
    return "\n".join(f"{name:<11} {value}" for name, value in lines)
