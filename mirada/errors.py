"""Exceptions, as one tree.

    MiradaError                 base class; the message is one clear line
    ├── UsageError              an invalid command or call                                   (exit code 2)
    │   └── ConfigError         an unknown or invalid setting                                (exit code 2)
    ├── DataError               a data file that is unreadable or invalid
    ├── BundleError             a bundle that is damaged, incomplete or from a newer version
    ├── InputError              an input that a model cannot process
    ├── TrainingError           a run that cannot continue (disk full, losses that stay non-finite, …)
    └── Interrupted             a run that was stopped, is saved and can be resumed          (exit code 130)

Messages are for users: what is wrong, where (file, line, value), and how to fix it.
"""


class MiradaError(Exception):
    """Base class of all errors. `exit_code` is the exit code of the command line."""

    exit_code = 1

    def __str__(self) -> str:
        """The message, safe to print: control characters in quoted file names and data are escaped."""
        text = super().__str__()
        if text.isprintable():
            return text
        return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


class UsageError(MiradaError):
    """An invalid command or call."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting that is unknown, has an invalid value, or contradicts another."""


class DataError(MiradaError):
    """A data file that is unreadable or invalid."""


class BundleError(MiradaError):
    """A bundle that is damaged, incomplete or written by a newer version of Mirada."""


class InputError(MiradaError):
    """An input that a model cannot process."""


class TrainingError(MiradaError):
    """A training run that cannot continue."""


class Interrupted(MiradaError):
    """A training run that was stopped, is saved and can be resumed."""

    exit_code = 130


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: 1 thread, 1,200 threads."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
