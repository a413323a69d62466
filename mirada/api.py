"""The library: `train`, `load`, and the model they return. Every command of the command line is one call here."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, overload

import torch

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models
from mirada.contracts import Network
from mirada.data.batching import Batches
from mirada.data.prepare import DataConfig, Prepared, fault, prepare, read_pairs
from mirada.data.tokenizer import Tokenizer, TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.device import settle
from mirada.errors import BundleError, ConfigError, DataError, Interrupted, TrainingError, UsageError
from mirada.evaluation import Evaluation, bleu, evaluate
from mirada.files import write_text
from mirada.inspection.attention import CrossAttention
from mirada.tasks.translation import CrossEntropy, Translation, Translator
from mirada.training.loop import Event, Listener, Training, Validation
from mirada.training.report import Log, draw_curves, read_log
from mirada.training.settings import TrainConfig, suggest_dropout

FINAL_SENTENCES = 2000
"""Dev sentences that the scores of a finished training are measured on, at most."""

SECTIONS: dict[str, type[configuration.Section]] = {
    "data": DataConfig,
    "tokenizer": TokenizerConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
}


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

    def evaluate(self, pairs: str | Path | Iterable[tuple[str, Sequence[str]]], **decode: Any) -> Evaluation:
        """Translate the sources of a test set (a file, or pairs of source and references) and score the result."""
        if isinstance(pairs, (str, Path)):
            rows = [(p.source, p.targets) for p in read_pairs([str(pairs)]) if fault(p) is None]
            if not rows:
                raise DataError(f"{pairs}: has no sentence pairs to measure with")
        else:
            rows = [(source, tuple([refs] if isinstance(refs, str) else refs)) for source, refs in pairs]
        sources = [source for source, _ in rows]
        outputs = [translation.text for translation in self.translate(sources, **decode)]
        return evaluate(sources, outputs, [references for _, references in rows])

    def attend(self, text: str, **decode: Any) -> CrossAttention:
        """Translate one sentence and return where every head of every layer looked for each token."""
        ids, hypothesis = self._translator.look(text, self.decode_config(**decode))
        assert hypothesis.attention is not None
        return CrossAttention(
            source=[*self._translator.source.pieces(ids), "</s>"],
            target=[*self._translator.target.pieces(hypothesis.tokens), "</s>"],
            weights=hypothesis.attention.permute(1, 2, 0, 3).cpu().numpy(),  # [T, L, H, S] -> [L, H, T, S]
        )

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())


def load(path: str | Path, *, device: str = "auto", threads: int | None = None) -> Model:
    """Open a bundle."""
    found = bundles.read(Path(path))
    where = settle(device, threads)
    config = found.config
    name = config.get("model", {}).get("name", "transformer")
    try:
        built = configuration.build({**SECTIONS, "model": models.find(name).config}, config)
    except ConfigError as error:
        raise BundleError(f"{found.path / 'config.yaml'}: {error}") from None
    network = models.find(name).model(built["model"], found.source_tokenizer.size, found.target_tokenizer.size)
    bundles.put_weights(network, found.weights, str(found.path))
    return Model(found.path, found.card, config, network, found.source_tokenizer, found.target_tokenizer, where)


def train(
    pairs: str | Path | Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    dev: str | Path | Sequence[str | Path] = (),
    source: str | Path | None = None,
    target: str | Path | Sequence[str | Path] = (),
    source_language: str | None = None,
    target_language: str | None = None,
    model: str | None = None,
    preset: str | None = None,
    minutes: float | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    resume: str | Path | None = None,
    overwrite: bool = False,
    listen: Listener = lambda event: None,
) -> Model:
    """Train a translator from a TSV file of sentence pairs (or from `source` and `target` files) into a bundle.

    Settings come from the preset, then the `config` file, then `settings` ({"model": {"width": 128}}), then the other
    arguments. `resume` goes on with an interrupted run, or with a finished one whose budget is raised.
    """
    started = time.monotonic()
    chosen: dict[str, dict[str, Any]] = {
        "data": {
            "pairs": _paths(pairs),
            "source": source and str(Path(source).absolute()),
            "target": _paths(target),
            "dev": _paths(dev),
            "source_language": source_language,
            "target_language": target_language,
        },
        "train": {
            "minutes": minutes,
            "epochs": epochs,
            "steps": steps,
            "seed": seed,
            "threads": threads,
            "device": device,
        },
    }
    given = {section: {key: v for key, v in part.items() if v not in (None, [])} for section, part in chosen.items()}
    if resume is not None:
        if given["data"] or out or model or preset or config or overwrite or "seed" in given["train"]:
            raise UsageError(
                "--resume takes the bundle alone; only the budget, --threads, --device and --set may change"
            )
        folder = Path(resume)
        values = _resumed(folder, configuration.merge(settings or {}, given))
    else:
        values = _effective(model, preset, config, settings, given)
        folder = _claim(out, overwrite)
    try:
        with _locked(folder):
            write_text(folder / "config.yaml", configuration.dump(values))
            return _run(folder, values, listen, started)
    except DataError:
        if resume is None:  # nothing has begun: the name is free again
            shutil.rmtree(folder)
        raise
    except OSError as error:  # the data's own faults are DataErrors by now: this is the disk that is written to
        where = error.filename or folder
        raise TrainingError(
            f"{where}: {error.strerror or error}; what was saved is intact, resume with: mirada train --resume {folder}"
        ) from None


def _paths(given: str | Path | Sequence[str | Path]) -> list[str]:
    several = [given] if isinstance(given, (str, Path)) else given
    return [str(Path(path).absolute()) for path in several]


def _effective(
    model: str | None,
    preset: str | None,
    config: str | Path | None,
    settings: Mapping[str, Any] | None,
    given: Mapping[str, Any],
) -> configuration.Values:
    """The whole configuration of a new run, checked."""
    from_file = configuration.read(config) if config else {}
    named = configuration.merge(from_file, settings or {}).get("model", {})
    name = model or (named.get("name") if isinstance(named, dict) else None) or "transformer"
    base = models.find_preset(name, preset or "small")
    return check(configuration.merge(base, from_file, settings or {}, {"model": {"name": name}}, given))


def check(values: Mapping[str, Any]) -> configuration.Values:
    """The effective configuration with every default filled in; all that is wrong with it in one ConfigError."""
    entry = models.find(values["model"]["name"])
    built = configuration.build({**SECTIONS, "model": entry.config}, values)
    if not built["tokenizer"].joint and built["model"].tie == "all":
        raise ConfigError(
            "tokenizer.joint=false gives two vocabularies, so embeddings cannot all be tied: --set model.tie=output"
        )
    if built["data"].max_tokens >= built["model"].max_length:
        raise ConfigError(
            f"data.max_tokens={built['data'].max_tokens} must be below model.max_length={built['model'].max_length}"
        )
    return {name: section.model_dump(mode="json") for name, section in built.items()}


def _claim(out: str | Path | None, overwrite: bool) -> Path:
    """An empty directory to write to; what is there already is touched only when `overwrite` says so."""
    if out is None:
        raise UsageError("where should the bundle go? Name a directory: --out es-en")
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not overwrite:
            raise UsageError(
                f"--out {folder}: exists already; go on with it (--resume {folder}), replace it (--overwrite), "
                "or choose another name"
            )
        if not (folder / "config.yaml").is_file():
            raise UsageError(f"--out {folder}: is not a bundle, so --overwrite does not delete it; choose another name")
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be created ({error.strerror})") from None
    return folder


def _resumed(folder: Path, changes: configuration.Values) -> configuration.Values:
    """The configuration of an earlier run, with the changes that a resumed run may have."""
    if not (folder / "config.yaml").is_file():
        raise BundleError(f"{folder}: there is no training to resume (it has no config.yaml)")
    may_change = {"minutes", "epochs", "steps", "threads", "device", "checkpoint_every", "patience", "validate_every"}
    for section, part in changes.items():
        for key in part if isinstance(part, dict) else [None]:
            if section != "train" or key not in may_change:
                raise UsageError(f"{section}.{key}: cannot change in a resumed run; start a new one for that")
    return check(configuration.merge(configuration.read(folder / "config.yaml"), changes))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else trains in this folder meanwhile; the lock goes with the process, however it ends."""
    (folder / "run").mkdir(exist_ok=True)
    with open(folder / "run" / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another process is training in it") from None
        yield


def _run(folder: Path, values: configuration.Values, listen: Listener, started: float) -> Model:
    """Prepare the data, train, score, and leave a bundle; also when it is interrupted."""
    entry = models.find(values["model"]["name"])
    built = configuration.build({**SECTIONS, "model": entry.config}, values)
    log = Log(folder / "log.jsonl")

    def tell(event: Event) -> None:
        log(event)
        listen(event)

    def notify(what: str, done: int, total: int) -> None:
        listen(Event("preparing", {"what": what, "done": done, "total": total}))

    settings: TrainConfig = built["train"]
    device = settle(settings.device, settings.threads)
    data = prepare(built["data"], built["tokenizer"], folder / "run" / "data", notify)
    tell(Event("data", asdict(data.report)))
    if built["model"].dropout is None:
        built["model"] = built["model"].model_copy(update={"dropout": suggest_dropout(settings, data.corpus.tokens)})
        values = {**values, "model": built["model"].model_dump(mode="json")}
        write_text(folder / "config.yaml", configuration.dump(values))
    torch.manual_seed(settings.seed)
    network = entry.model(built["model"], data.source_tokenizer.size, data.target_tokenizer.size).to(device)
    translator = Translator(network, data.source_tokenizer, data.target_tokenizer, built["model"].max_length, device)
    training = Training(
        network,
        CrossEntropy(settings.label_smoothing),
        Batches(data.corpus, settings.batch_tokens, settings.seed),
        _validator(translator, data, settings),
        settings,
        folder / "run",
        device,
        tell,
        started,
    )
    stopped: Interrupted | None = None
    try:
        training.run()
    except Interrupted as interrupted:
        stopped = interrupted
    training.take_best()
    model = Model(folder, {}, values, network, data.source_tokenizer, data.target_tokenizer, device)
    scores = None
    if stopped is None:
        scores = model.evaluate(data.dev[:FINAL_SENTENCES])
        tell(Event("end", {"scores": scores.as_dict(), "seconds": time.monotonic() - started}))
    model.card = _card(values, data, training, model, scores, device)
    draw_curves(read_log(log.path), folder / "curves.png")
    shutil.copyfile(folder / "run" / "data" / "excluded.tsv", folder / "excluded.tsv")
    bundles.write(folder, network, values, data.source_tokenizer, data.target_tokenizer, model.card)
    if stopped:
        raise Interrupted(f"{stopped}; go on with: mirada train --resume {folder}")
    return load(folder, device=settings.device, threads=settings.threads)


def _validator(translator: Translator, data: Prepared, settings: TrainConfig) -> Callable[[Network], Validation]:
    """Greedy translations of a part of the dev set, and their BLEU."""
    chosen = data.dev[: settings.validate_sentences]
    sources = [source for source, _ in chosen]
    references = [targets for _, targets in chosen]
    example = min(range(len(chosen)), key=lambda i: abs(len(sources[i].split()) - 8))

    def validate(network: Network) -> Validation:
        # A model that knows nothing yet babbles to the limit, so here that is near.
        outputs = [t.text for t in translator.translate(sources, DecodeConfig(beam=1, max_ratio=1.2))]
        return Validation(
            score=bleu(outputs, references),
            example=(sources[example], outputs[example], references[example][0]),
        )

    return validate


def _card(
    values: configuration.Values,
    data: Prepared,
    training: Training[Network],
    model: Model,
    scores: Evaluation | None,
    device: torch.device,
) -> dict[str, Any]:
    progress = training.progress
    return {
        "task": "translation",
        "model": values["model"]["name"],
        "parameters": model.parameters,
        "languages": {"source": values["data"]["source_language"], "target": values["data"]["target_language"]},
        "data": asdict(data.report),
        "training": {
            "finished": progress.finished,
            "steps": progress.step,
            "epochs": round(training.epochs, 2),
            "tokens": progress.tokens,
            "seconds": round(progress.seconds, 1),
            "best_step": progress.best_step,
            "skipped_steps": progress.skipped,
            "device": str(device),
            "threads": torch.get_num_threads(),
        },
        "scores": scores.as_dict() if scores else None,
    }


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
    for score in (about["scores"] or {}).get("scores", []):
        lines.append((score["name"], f"{score['value']:.1f}   {score['signature']}"))
    return "\n".join(f"{name:<11} {value}" for name, value in lines)
