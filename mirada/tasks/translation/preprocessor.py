"""What a translator needs besides its weights: the tokenizers of both languages, and a profile of the source texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mirada.contracts import Sizes
from mirada.data.masking import MARKERS
from mirada.data.profile import Profile
from mirada.data.tokenizer import Tokenizer

SOURCE, TARGET, PROFILE = "tokenizer.json", "tokenizer.target.json", "profile.json"


@dataclass(frozen=True)
class TranslationPreprocessor:
    """The tokenizers of both languages, often the same, and what the source texts are like."""

    required = (SOURCE,)
    source: Tokenizer
    target: Tokenizer
    profile: Profile | None = None
    """What the source texts of the training data are like; bundles of earlier versions do not say."""

    @cached_property
    def masks(self) -> bool:
        """Whether the model has learned to copy markers (see `mirada.data.masking`)."""
        return all(side.units(marker) for side in (self.source, self.target) for marker in MARKERS)

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.source.size, self.target.size)

    def files(self) -> dict[str, bytes]:
        files = {SOURCE: self.source.to_json().encode("utf-8")}
        if self.target is not self.source:
            files[TARGET] = self.target.to_json().encode("utf-8")
        if self.profile is not None:
            files[PROFILE] = self.profile.to_json().encode("utf-8")
        return files

    @classmethod
    def read(cls, files: Mapping[str, bytes], where: Path) -> TranslationPreprocessor:
        earlier = ("source.json", "target.json")  # what an earlier version called them in prepared data
        source, target = earlier if earlier[0] in files else (SOURCE, TARGET)
        tokenizer = Tokenizer.load(where / source, files[source])
        other = Tokenizer.load(where / target, files[target]) if target in files else tokenizer
        profile = Profile.load(where / PROFILE, files[PROFILE]) if PROFILE in files else None
        return cls(tokenizer, other, profile)
