"""What can go wrong, as one tree.

    MiradaError                 anything Mirada says no to; its text is one clear line
    ├── UsageError              a command or a call that asks for something impossible        (exit code 2)
    │   └── ConfigError         a setting that does not exist or does not fit                 (exit code 2)
    ├── DataError               a file that cannot be read as what it is said to be
    ├── BundleError             a bundle that is damaged, incomplete or from a newer Mirada
    ├── InputError              a sentence that a model cannot take
    ├── TrainingError           a run that cannot continue (disk full, losses that stay non-finite, …)
    └── Interrupted             a run that was asked to stop, saved itself and can be resumed  (exit code 130)

The message is for the person at the keyboard: what, where (file, line, value) and the way out.
"""


class MiradaError(Exception):
    """Anything Mirada says no to. `exit_code` is what the command line ends with."""

    exit_code = 1

    def __str__(self) -> str:
        """The message, safe to print: control characters of quoted file names and data are shown as escapes."""
        text = super().__str__()
        if text.isprintable():
            return text
        return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


class UsageError(MiradaError):
    """A command or a call that asks for something impossible."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting that does not exist, has a value of the wrong kind, or contradicts another."""


class DataError(MiradaError):
    """A file that cannot be read as what it is said to be."""


class BundleError(MiradaError):
    """A bundle that is damaged, incomplete or written by a newer Mirada."""


class InputError(MiradaError):
    """A sentence that a model cannot take."""


class TrainingError(MiradaError):
    """A run that cannot go on."""


class Interrupted(MiradaError):
    """A run that was asked to stop, saved itself and can be resumed."""

    exit_code = 130


def counted(count: int, noun: str) -> str:
    """A number of things in a message: 1 thread, 1,200 threads."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
