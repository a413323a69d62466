"""Translates documents: the texts of their segments, each once, with their tags and placeholders kept."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mirada.data.text import shown_text
from mirada.documents import Document, inline
from mirada.errors import UsageError, counted
from mirada.files import sync_folder, write_bytes
from mirada.predictions import Prediction
from mirada.tasks.translation.catalogs import Filling, damage
from mirada.tasks.translation.flags import lost, remarks
from mirada.tasks.translation.prediction import Translation

Translate = Callable[[list[str]], list[Translation]]


@dataclass(frozen=True)
class DocumentTranslation(Prediction):
    """A translated document. Its notes say where a person should look."""

    content: bytes = field(repr=False)
    """The file, unpacked."""
    translated: int
    """Segments that are translated."""
    left: int
    """Segments that have no translation and stay as they are."""

    def values(self) -> dict[str, Any]:
        return {"translated": self.translated, "left": self.left}

    def __str__(self) -> str:
        if not self.translated + self.left:
            return "found nothing to translate"
        rest = f"; {counted(self.left, 'segment')} left unchanged" if self.left else ""
        return f"translated {counted(self.translated, 'segment')}{rest}"


def texts_of(document: Document) -> list[str]:
    """The distinct texts of a document."""
    return list(dict.fromkeys(segment.text for segment in document.segments))


def translate_texts(texts: list[str], translate: Translate, markup: bool) -> list[Translation]:
    """Translate texts so that they keep their tags, if they have any, and their placeholders, if the model does.

    The first of the n best translations that keeps all of them is taken. If none has its tags, the text is translated
    again without them, and they are put where they fit.
    """
    found = translate(texts)
    chosen = [_chosen(text, one, markup) for text, one in zip(texts, found, strict=True)]
    again = [text for text, one in zip(texts, chosen, strict=True) if one is None]
    plain = list(
        dict.fromkeys(part for text in again for part in (inline.stripped(text), *inline.insides(text)) if part)
    )
    without = dict(zip(plain, translate(plain), strict=True)) if plain else {}
    return [one or _with_tags(text, without) for text, one in zip(texts, chosen, strict=True)]


def _chosen(text: str, translation: Translation, markup: bool) -> Translation | None:
    """The best of a text's translations, put right where that is easy; None if its tags fit none or are left empty."""
    if translation.problem:
        return translation
    options = [option for option, _ in translation.alternatives] or [translation.text]
    if markup:
        options = [option for option in (inline.mended(text, option) for option in options) if option is not None]
    options = [option for option in options if option.strip()]
    if not options:
        return None if markup and inline.tags(text) else replace(translation, problem="its translation is empty")
    damages = [_damage(text, option, markup) for option in options]
    gone = [lost(*_plain(text, option, markup)) for option in options]
    empty = [markup and inline.emptied(text, option) for option in options]
    best = min(range(len(options)), key=lambda place: (bool(damages[place]), gone[place], empty[place]))
    if empty[best]:
        return None
    notes = (*translation.notes, *filter(None, [damages[best]]))
    chosen = replace(translation, text=options[best], alternatives=(), notes=notes)
    return chosen if damages[best] else _flagged(text, chosen, markup)


def _flagged(text: str, translation: Translation, markup: bool) -> Translation:
    """A translation with its flags as notes."""
    noted = remarks(*_plain(text, translation.text, markup), translation.flags)
    return replace(translation, notes=(*translation.notes, *noted))


def _plain(text: str, translation: str, markup: bool) -> tuple[str, str]:
    """A text and its translation without their tags."""
    return (inline.stripped(text), inline.stripped(translation)) if markup else (text, translation)


def _damage(text: str, translation: str, markup: bool) -> str:
    """What happened to the placeholders of a text; its tags are another matter."""
    return damage(*_plain(text, translation, markup))


def _with_tags(text: str, without: Mapping[str, Translation]) -> Translation:
    """The translation of a text that was made without its tags, with them."""
    translation = without[inline.stripped(text)]
    if translation.problem:
        return translation
    parts = {part: one.text.strip() for part, one in without.items() if not one.problem}
    placed, lost = inline.placed(text, inline.stripped(translation.text), parts)
    if not inline.may_be_written(text, placed):
        return replace(translation, text="", problem="its tags could not be placed in its translation")
    note = "check the position of its markup"
    if lost:
        note = f"the markup of {', '.join(map(shown_text, lost))} could not be placed in its translation"
    found = replace(translation, text=placed, alternatives=(), notes=(*translation.notes, note))
    return _flagged(text, found, markup=True)


def assemble(document: Document, translated: Mapping[str, Translation]) -> DocumentTranslation:
    """A document with the translations of its texts in place of them."""
    notes = list(document.notes)
    texts: list[str | None] = []
    for segment in document.segments:
        one = translated[segment.text]
        texts.append(None if one.problem else one.text)
        if one.problem:
            notes.append(f"{segment.place}: {one.problem}; it is left unchanged")
        notes += [f"{segment.place}: {note}" for note in one.notes]
    left = sum(text is None for text in texts)
    return DocumentTranslation(document.write(texts), len(texts) - left, left, notes=tuple(notes))


def of_catalog(filling: Filling) -> DocumentTranslation:
    """A filled catalog as a translated document."""
    notes = (*filling.doubts, *(f"line {line}: {problem}" for line, problem in filling.problems))
    return DocumentTranslation(filling.content, filling.filled, filling.left, notes=notes)


def check_new(out: Path) -> None:
    """Refuse to write over a file."""
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out}: exists already; choose another name")


def write_document(out: Path, content: bytes) -> None:
    """Write a document, gzipped if its name says so."""
    new = out.with_name(out.name + ".partial.new")  # `<out>.partial` has the translations, while they are being made
    write_bytes(new, gzip.compress(content, mtime=0) if out.suffix.lower() == ".gz" else content)
    os.replace(new, out)
    sync_folder(out.parent)
