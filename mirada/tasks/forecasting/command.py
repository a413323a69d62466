"""The verb of forecasting."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mirada.cli.answers import formatted
from mirada.cli.app import USE, Bundle, Columns, Device, Json, Out, Program, Threads, listed, say
from mirada.cli.output import check_new, text_output
from mirada.cli.predict import load


def register(app: Program) -> None:
    @app.command(panel=USE)
    def forecast(
        bundle: Bundle,
        table: Annotated[Path, typer.Argument(help="The series so far: a CSV or TSV table.", show_default=False)],
        steps: Annotated[int, typer.Option(help="Number of steps to forecast.")] = 30,
        columns: Columns = None,
        out: Out = None,
        image: Annotated[
            Path | None, typer.Option("--picture", help="Draw the forecast to this new PNG file.", show_default=False)
        ] = None,
        samples: Annotated[int, typer.Option(help="Number of simulated paths for the intervals.")] = 500,
        seed: Annotated[int, typer.Option(help="Random seed of the simulated paths.")] = 0,
        json_: Json = False,
        threads: Threads = None,
        device: Device = None,
    ) -> None:
        """Forecast a table of numbers. Prints CSV: time, then each column with its 80% and 95% intervals."""
        from mirada.tasks.forecasting.model import ForecastingModel

        check_new(out, "--out")
        check_new(image, "--picture")
        model = load(bundle, device, threads, ForecastingModel)
        found = model.forecast(table, steps, samples, seed, listed(columns))
        for remark in found.notes:
            say(f"mirada: {table}: {remark}")
        if image is not None:
            found.draw(image)
        with text_output(out) as sink:
            sink.write(formatted(found, json_) + "\n")
