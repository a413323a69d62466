"""The sentence that a page shows at first: one of the dev set, if the user gives none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mirada import bundle as bundles

WORDS = 8
"""About how many words the sentence should have."""
BEGUN = 4
"""Words of a text that a language model continues."""
MOST_CHARACTERS = 200
GAP = "[MASK]"
"""How a gap is written for a masked language model."""
KNOWN = {
    "es": "El animal no cruzó la calle porque estaba demasiado cansado.",
    "en": "The animal did not cross the street because it was too tired.",
    "pt": "O animal não atravessou a rua porque estava muito cansado.",
}


def sample_sentence(path: Path, task: str, language: str | None) -> str | None:
    """A sentence for a model: of its dev set, or of its language; None if there is neither."""
    inputs = [_input(example).strip() for example in bundles.dev_examples(path)]
    texts = [text for text in inputs if 0 < len(text) <= MOST_CHARACTERS and text.isprintable()]
    if texts:
        chosen = min(texts, key=lambda text: (any(map(str.isdigit, text)), abs(len(text.split()) - WORDS)))
    elif language in KNOWN:
        chosen = KNOWN[language]
    else:
        return None
    words = chosen.split()
    if task == "language_model":
        return " ".join(words[: min(BEGUN, max(1, len(words) - 1))])
    if task == "masked_lm":
        return " ".join([*words[: len(words) // 2], GAP, *words[len(words) // 2 + 1 :]])
    return chosen


def _input(example: Any) -> str:
    """What the model reads of an example: a text, or the first of several parts; or words."""
    first = example[0] if isinstance(example, list) and example else example
    if isinstance(first, list):
        return " ".join(word for word in first if isinstance(word, str))
    return first if isinstance(first, str) else ""
