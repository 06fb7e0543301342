"""What the commands say: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InterruptedRun, UnknownTarget

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EXIT_FAILED = 1
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130
"""What a shell expects of a program that Ctrl-C ended."""

_OPTIONS = {
    "n_jobs": "jobs",
    "labels": "label",
    "groups": "group-by",
    **{
        name: name
        for name in (
            *("method", "clock", "order", "law", "iterations", "checkpoints", "trials", "target"),
            *("seed", "record", "reference", "engine", "kernel", "graph", "what", "against"),
            *("step", "radius", "loss", "out", "resume", "construction"),
            *("bins", "range", "classes", "rounding"),
        )
    },
}
"""Arguments that messages name in Python's way, and the options they are here."""
_VALUE = r"""'([\w.-]+)'|"([\w.-]+)"|True\b|(?=[\s.,:;)]|$)"""
_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})=(?:{_VALUE})")


def output() -> Console:
    """Return the console on standard output, which leaves text as it is."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    from pairgossip.terminal import PlainConsole

    return PlainConsole(stderr=stderr)


def tell(message: str) -> None:
    """Write one line to standard error."""
    _console(stderr=True).print(" ".join(message.split()), soft_wrap=True)


def in_options(message: str) -> str:
    """Turn "clock='sync'" and "reference=", as in Python, into "--clock sync", "--reference"."""

    def option(found: re.Match[str]) -> str:
        value = found[2] or found[3]
        return f"--{_OPTIONS[found[1]]}" + (f" {value}" if value else "")

    for value, words in (("True", "together"), ("False", "apart")):
        message = message.replace(f"together={value}", f"--columns {words}")
    return _ARGUMENT.sub(option, message)


def write_line(text: str) -> None:
    """Write one line of results, however long."""
    output().print(text, soft_wrap=True)


def write_json(value: Any) -> None:
    """Write one JSON object; what is not a finite number becomes null."""
    write_line(json.dumps(_plain(value), allow_nan=False, indent=2))


def write_table(table: Table, title: str | None = None) -> None:
    """Write a table under its title, and an empty line."""
    console = output()
    if title is not None:
        console.print(title, style="bold", soft_wrap=True)
    console.print(table)
    console.print()


def new_table(columns: Sequence[str], *, numbers: bool = True) -> Table:
    """Start a table: a first column of names, then columns aligned for numbers or for text."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for position, column in enumerate(columns):
        is_number = numbers and position > 0
        table.add_column(column, justify="right" if is_number else "left", no_wrap=numbers)
    return table


def spelled(value: object, digits: int = 6) -> str:
    """Spell a number for a table; what is missing becomes "unknown"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Turn this package's warnings inside the block into lines on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        for category in (InterruptedRun, UnknownTarget):
            warnings.simplefilter("always", category)
        yield
    for warning in caught:
        if issubclass(warning.category, InterruptedRun | UnknownTarget):
            tell(f"Warning: {in_options(str(warning.message))}")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


@contextmanager
def working_on(what: str) -> Iterator[None]:
    """Show on a terminal that something is being computed."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


@contextmanager
def optional_work(what: str, left_out: str) -> Iterator[None]:
    """Show that something is being computed; Ctrl-C leaves it out, and the command goes on."""
    try:
        with working_on(what):
            yield
    except KeyboardInterrupt:
        tell(f"Warning: Interrupted: {left_out} left out.")


def silence_output() -> None:
    """Keep the interpreter from complaining, at its exit, about output it cannot deliver."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain(value: Any) -> Any:
    """Make lists and numbers of arrays, and null of NaN and infinity."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
