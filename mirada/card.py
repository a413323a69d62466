"""The schema of a bundle's card.json; further fields are kept unchanged."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, StrictInt

from mirada.errors import BundleError
from mirada.former_names import current_names
from mirada.parsing import Malformed, check, load_json

Count = Annotated[int, Field(ge=0)]


def _file_name(name: str) -> str:
    """Check a relative path inside the bundle, in printable characters."""
    path = PurePosixPath(name)
    plain = name.isprintable() and str(path) == name and name not in ("", ".")
    if not plain or path.is_absolute() or ".." in path.parts:
        raise ValueError("is not the name of a file in the bundle")
    return name


FileName = Annotated[str, AfterValidator(_file_name)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=())


class Training(_Part):
    finished: bool = True
    steps: Count = 0
    epochs: FiniteFloat = 0.0
    seconds: FiniteFloat = 0.0
    device: str = "?"
    threads: Count = 0
    precision: str = "float32"


class Score(_Part):
    """A score with its number of digits and its signature."""

    name: str
    value: float
    digits: Annotated[int, Field(ge=0, le=20)] = 2
    signature: str = ""


class Scores(_Part):
    scores: list[Score] = []


class Origin(_Part):
    """The checkpoint that a model was imported from."""

    type: str
    from_: str = Field("?", alias="from")
    notes: list[str] = []
    untrained: list[str] = []
    """Parts that the checkpoint did not have."""


class Languages(_Part):
    source: str | None = None
    target: str | None = None


class BaseScores(_Part):
    """Scores of a fine-tuned model and its base model, by data set and metric."""

    before: dict[str, dict[str, FiniteFloat]] = {}
    after: dict[str, dict[str, FiniteFloat]] | None = None


class Card(_Part):
    format: Annotated[StrictInt, Field(ge=1)]
    task: str
    model: str = "?"
    parameters: Count = 0
    languages: Languages = Languages()
    data: dict[str, Any] = {}
    training: Training = Training()
    scores: Scores | None = None
    imported: Origin | None = None
    base: BaseScores | None = None
    software: dict[str, str] = {}
    files: dict[FileName, Digest]
    optional: dict[FileName, Digest] = {}


class _Version(_Part):
    format: Annotated[StrictInt, Field(ge=1)]
    software: Any = None


def check_card(content: bytes, where: Path, newest: int) -> dict[str, Any]:
    """Parse and check a bundle's card; refuse a newer format, whatever its schema."""
    values = current_names(load_json(content, dict[str, Any], where, BundleError))
    try:
        version: _Version = check(_Version, values)
        if version.format > newest:
            software = version.software if isinstance(version.software, dict) else {}
            raise BundleError(
                f"{where.parent}: has format {version.format}, but this Mirada reads up to {newest}: install a "
                f"newer one (it was written by {str(software.get('mirada', 'an unknown version'))[:40]!r})"
            )
        card: Card = check(Card, values)
    except Malformed as fault:
        raise BundleError(f"{where}: is damaged ({fault})") from None
    return card.model_dump(exclude_unset=True, by_alias=True)
