"""Verbs that make more of the data there is: back-translation, distillation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mirada.cli import app as cli
from mirada.cli.answers import job_of, write_answers
from mirada.cli.app import DATA, app, argument, listed, note, option, say
from mirada.cli.input import CHUNK, Input
from mirada.cli.output import cannot_write, check_new
from mirada.cli.predict import load
from mirada.errors import UsageError

if TYPE_CHECKING:
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.synthesis import Item

NewFile = Annotated[Path | None, option(help="The new file of pairs (TSV).")]


@app.command(panel=DATA)
def backtranslate(
    bundle: Annotated[Path, argument(help="A translator for the opposite direction: en-es, to train es-en.")],
    files: Annotated[
        list[Path], argument(help="Text in the target language, one sentence per line, plain or gzipped.")
    ],
    out: NewFile = None,
    to: cli.Into = None,
    beam: cli.Beam = None,
    sample: Annotated[
        bool, option("--sample", help="Sample instead of using beam search: more varied sources.")
    ] = False,
    temperature: cli.Temperature = None,
    top_k: cli.TopK = None,
    top_p: cli.TopP = None,
    seed: cli.SampleSeed = None,
    threads: cli.Threads = None,
    device: cli.Device = None,
) -> None:
    """Back-translate monolingual text: write pairs with its translation as synthetic source and the text as target.

    `mirada train pairs.tsv more.tsv` learns from both, with a tag before synthetic sources. After an interruption, the
    same command continues.
    """
    from mirada.data import language
    from mirada.data.foreign import refuse_foreign
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.synthesis import monolingual

    for file in files:
        try:
            refuse_foreign(file)
        except UsageError as error:
            raise UsageError(str(error).removeprefix("--file ").partition(", or read its lines")[0]) from None
    _check_out(out, "more.tsv")
    model = load(bundle, device, threads, TranslationModel)
    decode: dict[str, Any] = {"beam": beam, "sample": sample or None, "temperature": temperature}
    decode |= {"top_k": top_k, "top_p": top_p, "seed": seed}
    some = [item.text for item in islice(monolingual(files), language.SAMPLE)]
    way = _direction(model, to, some)
    source, target = model.directions.pair(way)
    if other := language.other_than(source, some):
        say(f"mirada: {files[0]}: looks like {other}, but {bundle} translates from {source}")
    names = (target, source) if source and target else ("source", "target")
    _make(model, bundle, lambda: monolingual(files), out, names, way, decode, backward=True)


@app.command(panel=DATA)
def distill(
    bundle: Annotated[Path, argument(help="The teacher: a translator, or an ensemble of several (a+b).")],
    pairs: Annotated[list[Path], argument(help="Sentence pairs, in any format that `train` reads.")],
    out: NewFile = None,
    to: cli.Into = None,
    originals: Annotated[bool, option("--originals", help="Also write the original pairs.")] = False,
    columns: cli.Columns = None,
    beam: cli.Beam = None,
    threads: cli.Threads = None,
    device: cli.Device = None,
) -> None:
    """Write pairs to train a smaller model on: the sources of pairs, with a teacher's translations as targets.

    A small model comes closer to the teacher when it is trained on these than on the original pairs. After an
    interruption, the same command continues.
    """
    from mirada import config as configuration
    from mirada.data.sources import DataConfig, data_settings
    from mirada.tasks.translation.model import TranslationModel
    from mirada.tasks.translation.synthesis import sources

    _check_out(out, "distilled.tsv")
    model = load(bundle, device, threads, TranslationModel)
    way = model.directions.find(to) or model.directions.ways[0]
    source, target = model.directions.pair(way)
    settings = data_settings(
        pairs, source_language=source, target_language=target, columns=listed(columns), absolute=False
    )
    opened = configuration.build({"data": DataConfig}, {"data": settings})["data"].open()
    for remark in opened.notes:
        note(f"mirada: {remark}")
    names = ("source", "target")
    _make(model, bundle, lambda: sources(opened), out, names, way, {"beam": beam}, backward=False, originals=originals)


def _check_out(out: Path | None, example: str) -> None:
    from mirada.tasks.translation.synthesis import excluded_file

    if out is None:
        raise UsageError(f"where should the pairs go? Name a file: --out {example}")
    if out.name.lower().endswith((".csv", ".jsonl", ".json", ".tmx", ".po")):
        raise UsageError(f"--out {out}: pairs are written as TSV; name it {out.with_suffix('.tsv')}")
    check_new(out, "--out")
    if not out.with_name(f"{out.name}.partial").exists():
        check_new(excluded_file(out), f"--out {out}: its list")


def _direction(model: TranslationModel, to: str | None, texts: list[str]) -> str | None:
    """The given direction, or else the one that suits the texts."""
    if to is not None or not model.directions.both:
        return model.directions.find(to)
    way, remark = model.directions.guess(texts)
    note(f"mirada: {remark}")
    return way


class _Items(Input):
    """Texts to translate, as lines of JSON that say where each comes from."""

    def __init__(self, items: Callable[[], Iterable[Item]]):
        super().__init__([], None)
        self._items = items

    @cached_property
    def total(self) -> int:
        """All of them; reading takes next to no time beside translating."""
        return sum(1 for _ in self._items())

    def __iter__(self) -> Iterator[list[str]]:
        from mirada.data.corpus import batched

        return batched((item.dump() for item in self._items()), CHUNK)


def _make(
    model: TranslationModel,
    bundle: Path,
    items: Callable[[], Iterable[Item]],
    out: Path | None,
    names: tuple[str, str],
    way: str | None,
    decode: dict[str, Any],
    **writing: bool,
) -> None:
    """Translate the texts into `<out>.partial`, then write the pairs."""
    from mirada.tasks.translation.synthesis import Item, make, write_pairs

    assert out is not None
    job = job_of("make pairs", bundle, to=way, **writing, **model.decode_config(**decode).model_dump())

    def finish(partial: Path) -> None:
        try:
            written = write_pairs(partial, out, names, **writing)
        except OSError as error:
            raise cannot_write("--out", out, error) from None
        note(f"{out}: {written}")

    def predict(chunk: Any) -> Any:
        found = [Item.load(text) for text in chunk.texts]
        return make(found, lambda texts: model.translate(texts, to=way, progress=chunk.progress, **decode))

    write_answers(_Items(items), out, job, predict, json_=True, finish=finish)
