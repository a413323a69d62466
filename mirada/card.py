"""What a bundle's card.json says of it, as one checked shape; what it says besides is kept as it is."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, StrictInt

from mirada.errors import BundleError
from mirada.former_names import current_names
from mirada.parsing import Malformed, check, load_json

Count = Annotated[int, Field(ge=0)]


def _plain(name: str) -> str:
    """A name inside the bundle: no way out of it, and nothing that cannot be shown."""
    path = PurePosixPath(name)
    plain = name.isprintable() and str(path) == name and name not in ("", ".")
    if not plain or path.is_absolute() or ".." in path.parts:
        raise ValueError("is no name of a file in the bundle")
    return name


FileName = Annotated[str, AfterValidator(_plain)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=())


class Training(_Part):
    """How it was trained."""

    finished: bool = True
    steps: Count = 0
    epochs: FiniteFloat = 0.0
    seconds: FiniteFloat = 0.0
    device: str = "?"
    threads: Count = 0


class Score(_Part):
    """A figure, how it is shown, and how it was measured."""

    name: str
    value: float
    digits: Annotated[int, Field(ge=0, le=20)] = 2
    signature: str = ""


class Scores(_Part):
    """All figures of an evaluation."""

    scores: list[Score] = []


class Origin(_Part):
    """Where a model comes from that was not trained here."""

    type: str
    from_: str = Field("?", alias="from")
    notes: list[str] = []


class Languages(_Part):
    """What a translator translates."""

    source: str | None = None
    target: str | None = None


class BaseScores(_Part):
    """What a fine-tuned model and its base scored, by data and measure."""

    before: dict[str, dict[str, FiniteFloat]] = {}
    after: dict[str, dict[str, FiniteFloat]] | None = None


class Card(_Part):
    """What is read of a card."""

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
    """The card of a bundle, checked; one of a newer format is refused, whatever its shape."""
    values = current_names(load_json(content, dict[str, Any], where, BundleError))
    try:
        version: _Version = check(_Version, values)
        if version.format > newest:
            software = version.software if isinstance(version.software, dict) else {}
            raise BundleError(
                f"{where.parent}: has format {version.format}, this Mirada reads up to {newest}: install a newer one "
                f"(it was written by {str(software.get('mirada', 'an unknown version'))[:40]!r})"
            )
        card: Card = check(Card, values)
    except Malformed as fault:
        raise BundleError(f"{where}: is damaged ({fault})") from None
    return card.model_dump(exclude_unset=True, by_alias=True)
