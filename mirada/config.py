"""Read, merge and check settings; all problems are reported at once, with the nearest valid name.

Sections (`Section` subclasses) are defined next to the code that uses them; none is known here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from mirada.errors import ConfigError
from mirada.files import read_bytes
from mirada.former_names import current_names
from mirada.parsing import LARGEST_INTEGER, Malformed, parse_yaml

Values = dict[str, Any]
"""Settings as plain nested values: {"model": {"width": 256}, …}."""

MAX_DEPTH = 4
"""The most names in a setting's path, including the section."""

OPTIONS = {
    "train.minutes": "--minutes",
    "train.epochs": "--epochs",
    "train.steps": "--steps",
    "train.seed": "--seed",
    "train.threads": "--threads",
    "train.precision": "--precision",
    "train.device": "--device",
    "train.base": "--base",
    "model.name": "--model",
    "data.dev": "--dev",
    "data.columns": "--columns",
    "data.source_language": "--from",
    "data.target_language": "--to",
    "data.direction": "--direction",
    "decode.beam": "--beam",
    "decode.n_best": "--n-best",
    "decode.temperature": "--temperature",
    "decode.top_k": "--top-k",
    "decode.top_p": "--top-p",
}
"""Settings that have a command-line option."""

LAYERS = "num_layers n_layers n_layer num_hidden_layers layers depth"
FOREIGN_NAMES = {
    "lr": "learning_rate max_lr peak_lr base_lr",
    "batch_tokens": "batch_size batch max_tokens_per_batch per_device_train_batch_size",
    "epochs": "num_epochs n_epochs max_epochs max_epoch num_train_epochs",
    "steps": "num_steps max_steps train_steps max_update updates iterations",
    "warmup": "warmup_steps warmup_updates num_warmup_steps",
    "schedule": "scheduler lr_scheduler lr_scheduler_type lr_schedule",
    "optimizer": "optim optimiser",
    "clip": "max_grad_norm clip_norm grad_clip clip_grad_norm gradient_clip_val",
    "accumulate": "gradient_accumulation_steps update_freq accum_count",
    "penalty": "l2 l2_penalty regularization",
    "validate_every": "eval_steps eval_every validation_freq valid_steps",
    "checkpoint_every": "save_steps save_every save_checkpoint_steps",
    "patience": "early_stopping early_stopping_patience",
    "seed": "random_seed manual_seed",
    "threads": "num_threads n_threads num_workers",
    "width": "hidden_size hidden_dim d_model dim n_embd rnn_size units embedding_dim embedding_size embed_dim emb_dim",
    "layers": LAYERS,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "heads": "n_heads num_heads n_head nhead num_attention_heads",
    "feed_forward": "d_ff ff_size ffn_dim dim_feedforward intermediate_size n_inner",
    "dropout": "dropout_rate dropout_prob hidden_dropout_prob p_dropout",
    "max_length": "max_len max_seq_len max_seq_length block_size n_positions context context_length n_ctx "
    "max_position_embeddings",
    "vocabulary": "vocab vocab_size n_vocab voc_limit num_words",
    "beam": "beam_size num_beams beam_width",
    "length_penalty": "lenpen alpha beam_alpha",
    "source_language": "src_lang source_lang src",
    "target_language": "tgt_lang trg_lang target_lang trg tgt",
}
"""The names that other toolkits have for a setting."""

WORDS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "int": "must be a whole number",
    "float": "must be a number",
    "finite_number": "must be a finite number",
    "bool": "must be true or false",
    "string": "must be text; put it in quotes",
    "literal_error": "must be {expected}",
    "tuple": "must be a list: [one, two]",
    "list": "must be a list: [one, two]",
    "missing": "is missing",
    "too_long": "must have at most {max_length} values",
    "too_short": "must have at least {min_length} values",
    "invalid_key": "is not the name of a setting",
}
"""Messages for pydantic's error types (without their endings _type, _parsing, …)."""


MAX_SIZE = 4 * 2**20
"""The most bytes of a configuration: enough for the names of a hundred thousand data files."""


class Section(BaseModel):
    """A section of the configuration. Unknown keys are errors; a built section is immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), use_attribute_docstrings=True, allow_inf_nan=False
    )


S = TypeVar("S", bound=Section)


def read(path: str | Path) -> Values:
    """Read settings from a YAML file."""
    return parse(read_bytes(Path(path), ConfigError, MAX_SIZE), path)


def parse(content: bytes, where: str | Path) -> Values:
    """Parse settings from YAML text."""
    try:
        values = parse_yaml(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: is not UTF-8 text, so it is not a configuration file") from None
    except Malformed as fault:
        raise ConfigError(f"{where}: {fault}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(
            f"{where}: a configuration consists of 'section:' and 'key: value' lines, not of {values!r:.40}"
        )
    for name, section in values.items():
        if name != "task" and not isinstance(section, dict | None):
            raise ConfigError(f"{where}: {name}: is a section of 'key: value' lines, not {section!r:.40}")
    return current_names({name: {} if section is None else section for name, section in values.items()})


def override(text: str) -> Values:
    """Parse `train.lr=0.001` into nested values. The value is YAML: a number, true, a [list] or a word."""
    key, equals, value = text.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or not all(names) or len(names) > MAX_DEPTH:
        raise ConfigError(f"--set {text:.60}: write it as section.key=value, for example --set train.warmup=200")
    if names in (["model"], ["task"]):
        raise ConfigError(f"--set {text:.60}: choose the {names[0]} with --{names[0]} {value}")
    if len(names) == 1 and any(path.startswith(f"{names[0]}.") for path in OPTIONS):
        raise ConfigError(f"--set {text:.60}: {names[0]} is a section; write {names[0]}.key=value")
    try:
        parsed = parse_yaml(value)
    except Malformed:
        parsed = value
    for name in reversed(names):
        parsed = {name: parsed}
    return parsed


def model_name(values: Mapping[str, Any]) -> str:
    """The name of the configured model."""
    model = values.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("name"), str):
        raise ConfigError("model.name: is missing; `mirada models` lists the names")
    name: str = model["name"]
    return name


def merge(*layers: Mapping[str, Any]) -> Values:
    """Merge settings; later ones take precedence."""
    merged: Values = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def build(sections: Mapping[str, type[Section]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Build each section from its values; all problems are reported in one ConfigError."""
    problems = [_no_section(sections, key, values[key]) for key in values if key not in sections]
    built: dict[str, Any] = {}
    for name, section in sections.items():
        given = values.get(name)
        if given is None:  # an empty section in YAML
            given = {}
        if not isinstance(given, dict):
            problems.append(f"{name}: is a section with keys ({name}.key=value), not the value {given!r:.60}")
            continue
        try:
            built[name] = section.model_validate(given)
        except ValidationError as error:
            problems += [_explain(sections, name, detail) for detail in error.errors()]
            continue
        problems += _too_large(name, built[name])
    if problems:
        raise ConfigError("; ".join(problems))
    return built


def _too_large(name: str, section: Section) -> list[str]:
    """The numbers of a section that could be written to a file, and not be read from it."""
    return [
        _refused(f"{name}.{key}", value, f"must be at most {LARGEST_INTEGER}")
        for key, value in section
        if isinstance(value, int) and value > LARGEST_INTEGER
    ]


def nearest(name: str, valid: Iterable[str]) -> str:
    """Suggest a name: ' (did you mean …?)', or all valid names if none is similar."""
    names = sorted(valid)
    close = difflib.get_close_matches(str(name), names, n=1)
    return f" (did you mean {close[0]}?)" if close else f" (there are: {', '.join(names)})"


def _no_section(sections: Mapping[str, type[Section]], key: Any, value: Any) -> str:
    """Explain a name outside of all sections: a misspelt section, or a setting without its section."""
    if isinstance(value, dict):
        close = difflib.get_close_matches(str(key), sections, n=1)
        meant = "" if close else "".join(_meant(sections, str(name), inner) for name, inner in value.items())
        return f"{key}: there is no such section{meant or nearest(key, sections)}"
    meant = _meant(sections, str(key), value) or f"; write section.key=value{nearest(str(key), sections)}"
    return f"{key}: there is no such setting{meant}"


def _meant(sections: Mapping[str, type[Section]], name: str, value: Any, home: str | None = None) -> str:
    """Suggest a setting: ' (did you mean train.lr?)', by its name, another toolkit's name or a similar one."""
    plain = name.lower().replace("-", "_")
    fields = {f"{section}.{field}": field for section, kind in sections.items() for field in kind.model_fields}
    paths = [path for path, field in fields.items() if field == plain]
    if not paths:
        paths = [path for path, field in fields.items() if plain in FOREIGN_NAMES.get(field, "").split()]
    if not paths:
        near = [path for path in fields if home is None or path.startswith(f"{home}.")]
        close = difflib.get_close_matches(plain, [fields[path] for path in near], n=1)
        paths = [path for path in near if fields[path] in close]
    unit = " (tokens, not sentences)" if plain == "batch_size" else ""
    shown = [f"{OPTIONS[path]} {value} ({path})" if path in OPTIONS else f"{path}{unit}" for path in paths]
    return f" (did you mean {' or '.join(shown)}?)" if shown else ""


def _explain(sections: Mapping[str, type[Section]], name: str, detail: ErrorDetails) -> str:
    """Explain what is wrong with a setting; name its command-line option if it has one."""
    path = ".".join([name, *map(str, detail["loc"])])
    if detail["type"] == "extra_forbidden":
        key = str(detail["loc"][-1])
        meant = _meant(sections, key, detail["input"], home=name) or nearest(key, sections[name].model_fields)
        return f"{path}: there is no such setting{meant}"
    if detail["type"] == "value_error":  # from a section's own validator
        return f"{path}: {detail['ctx']['error']}"
    words, value = _requirement(detail), detail["input"]
    if detail["type"] == "missing":
        return f"{path}: {words}"
    return _refused(path, value, words)


def _refused(path: str, value: Any, words: str) -> str:
    """A setting, its value, and what it must be."""
    if path in OPTIONS and isinstance(value, int | float):
        return f"{OPTIONS[path]} {value}: {words} (the setting {path})"
    return f"{path}={value!r:.60}: {words}"


def _requirement(detail: ErrorDetails) -> str:
    """Say what a value must be."""
    context = detail.get("ctx", {})
    limits = {key: f"{limit:g}" for key, limit in context.items() if isinstance(limit, float)}
    kind = re.sub("_(type|parsing|parsing_size|from_float)$", "", detail["type"])
    if kind in WORDS:
        return WORDS[kind].format(**{**context, **limits})
    return f"{detail['msg'][0].lower()}{detail['msg'][1:]}"


def dump(values: Mapping[str, Any]) -> str:
    """Format settings as YAML."""
    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)
