"""A whole training in a folder: data, model, loop, scores, bundle."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from mirada import bundle as bundles
from mirada import config as configuration
from mirada import models
from mirada.contracts import Network
from mirada.data.batching import Batches
from mirada.data.checks import CheckConfig
from mirada.data.doctor import Notify
from mirada.data.prepare import Prepared, dump_examples, prepare
from mirada.data.sources import DataConfig
from mirada.data.tokenizer import TokenizerConfig
from mirada.decoding import DecodeConfig
from mirada.device import settle
from mirada.errors import ConfigError, Interrupted, TrainingError, UsageError
from mirada.evaluation import Evaluation, bleu
from mirada.files import write_text
from mirada.model import Model, load
from mirada.tasks.translation import CrossEntropy, Translator
from mirada.training.finetune import Base
from mirada.training.loop import Event, Listener, Training, Validation
from mirada.training.report import Log, draw_curves, read_log
from mirada.training.settings import TrainConfig, suggest_dropout

FINAL_SENTENCES = 2000
"""Dev sentences that the scores of a finished training are measured on, at most."""

SECTIONS: dict[str, type[configuration.Section]] = {
    "data": DataConfig,
    "check": CheckConfig,
    "tokenizer": TokenizerConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
}


def check_config(values: Mapping[str, Any]) -> configuration.Values:
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


def teller(listen: Listener) -> Notify:
    """Tells a listener how far the work before a training is."""
    return lambda what, done, total: listen(Event("preparing", {"what": what, "done": done, "total": total}))


def run(folder: Path, values: configuration.Values, listen: Listener, started: float) -> Model:
    """Prepare the data, train, score, and leave a bundle; also when it is interrupted."""
    try:
        with _locked(folder):
            write_text(folder / "config.yaml", configuration.dump(values))
            return _run(folder, values, listen, started)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; go on with: mirada train --resume {folder}") from None
    except OSError as error:  # the data's own faults are DataErrors by now: this is the disk that is written to
        where = error.filename or folder
        raise TrainingError(
            f"{where}: {error.strerror or error}; what was saved is intact, resume with: mirada train --resume {folder}"
        ) from None


def _run(folder: Path, values: configuration.Values, listen: Listener, started: float) -> Model:
    entry = models.find(values["model"]["name"])
    built = configuration.build({**SECTIONS, "model": entry.config}, values)
    log = Log(folder / "log.jsonl")

    def tell(event: Event) -> None:
        log(event)
        listen(event)

    notify = teller(listen)
    settings: TrainConfig = built["train"]
    device = settle(settings.device, settings.threads)
    base = _base(settings, folder, device)
    learned = (base.model.source_tokenizer, base.model.target_tokenizer) if base else None
    data = prepare(built["data"], built["check"], built["tokenizer"], folder / "run" / "data", notify, learned)
    tell(Event("data", asdict(data.report)))
    if built["model"].dropout is None:
        built["model"] = built["model"].model_copy(update={"dropout": suggest_dropout(settings, data.corpus.tokens)})
        values = {**values, "model": built["model"].model_dump(mode="json")}
        write_text(folder / "config.yaml", configuration.dump(values))
    torch.manual_seed(settings.seed)
    network = entry.model(built["model"], data.source_tokenizer.size, data.target_tokenizer.size).to(device)
    scored = data.dev[:FINAL_SENTENCES]
    before = None
    if base:
        notify("scoring the base", 0, 0)
        before = base.before(scored)
        bundles.put_weights(network, bundles.weights_of(base.model.network), str(base.folder))
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
    scores = change = None
    if stopped is None:
        scores = model.evaluate(scored)
        change = {"before": before, "after": base.after(model, scores)} if base else None
        figures = {"scores": scores.as_dict(), "base": change, "seconds": time.monotonic() - started}
        tell(Event("end", figures))
    model.card = _card(values, data, training, model, scores, device)
    if base:
        model.card["base"] = {"path": settings.base, **(change or {"before": before})}
    draw_curves(read_log(log.path), folder / "curves.png")
    shutil.copyfile(folder / "run" / "data" / "excluded.tsv", folder / "excluded.tsv")
    bundles.write(
        folder, network, values, data.source_tokenizer, data.target_tokenizer, model.card, dump_examples(scored)
    )
    if stopped:
        raise Interrupted(f"{stopped}; go on with: mirada train --resume {folder}")
    return load(folder, device=settings.device, threads=settings.threads)


def _base(settings: TrainConfig, folder: Path, device: torch.device) -> Base | None:
    if settings.base is None:
        return None
    return Base(Path(settings.base), folder / "run" / "base", str(device), settings.threads)


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
