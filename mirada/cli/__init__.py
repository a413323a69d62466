"""The command line: a verb a function, each one library call. Errors become one line and an exit code.

0 done   1 the task failed   2 wrong use   130 interrupted, and saved
"""

from __future__ import annotations

import sys

from mirada.cli import exchange, images, info, look, predict, run, train
from mirada.cli.app import app, say
from mirada.device import keep_memory
from mirada.errors import MiradaError

__all__ = ["exchange", "images", "info", "look", "main", "predict", "run", "train"]


def main() -> None:
    """Run the command line; a person's mistake is one line, never a stack trace."""
    keep_memory()
    try:
        app()
    except MiradaError as error:
        say(f"mirada: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `mirada translate … | head`
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        say("mirada: interrupted")
        sys.exit(130)
