"""Output of the commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import difflib
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter
from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from pairgossip.arguments.argument import declared
from pairgossip.arguments.run import RunArguments
from pairgossip.errors import InputError, Notice, unknown_name
from pairgossip.text import json_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


EXIT_FAILED = 1
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130
"""Exit status that a shell expects of a program that Ctrl-C ended."""

_OPTIONS: dict[object, str] = {
    "groups": "--group-by",
    "labels": "--label",
    "weights": "--weight",
    **{one.name: one.option for one in declared(RunArguments).values() if one.option},
    "privacy": "--epsilon",
    ("penalty", "SquaredL2(strength=1e-06)"): "--l2 1e-6",
    "range": "--sketch-range",
    "ranges": "--sketch-range",
    "sketch": "--sketch-bins and --sketch-range",
    ("together", "False"): "--columns apart",
}
"""Options whose names differ from those of their arguments, or of arguments with a value."""
_TABLE_ARGUMENTS = frozenset({"FILE", "--data"})
"""Names of the one table that a command reads."""
_KINDS: dict[object, str] = {float: "a number such as 0.5", int: "a whole number"}


def output() -> Console:
    """Return the console on standard output, which leaves text as it is."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    from pairgossip.progress import PlainConsole

    return PlainConsole(stderr=stderr)


def tell(message: str) -> None:
    """Write one line to standard error."""
    _console(stderr=True).print(" ".join(message.split()), soft_wrap=True)


def with_options(notice: Notice) -> str:
    """Return the sentence of an error or a warning with its argument spelled as an option."""
    return notice.spell(_option)


@contextmanager
def spelling(options: Mapping[str, str]) -> Iterator[None]:
    """Spell arguments that have other names in a command as these options, in all errors."""

    def spell(argument: str, value: object) -> str:
        return options[argument] if argument in options else _option(argument, value)

    try:
        yield
    except InputError as problem:
        raise InputError(problem.spell(spell)) from None


def _option(argument: str, value: object) -> str:
    if isinstance(value, list):
        value = ",".join(f"{each:g}" if isinstance(each, float) else str(each) for each in value)
    whole = _OPTIONS.get((argument, str(value)))
    name = whole or _OPTIONS.get(argument, f"--{argument}")
    return name if whole or value is None or value is True else f"{name} {value}"


def write_line(text: str) -> None:
    """Write one line of results, however long."""
    output().print(text, soft_wrap=True)


def write_json(value: Any) -> None:
    """Write one JSON object, with null in place of numbers that are not finite."""
    import msgspec

    # Curves may have a million numbers: the console, or json's own indents, would take minutes.
    text = json.dumps(json_value(value), allow_nan=False).replace("\x7f", r"\u007f")
    output().file.write(f"{msgspec.json.format(text, indent=2)}\n")


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


def write_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    title: str | None = None,
    *,
    numbers: bool = True,
) -> None:
    """Write a table of these rows; see `new_table`."""
    table = new_table(columns, numbers=numbers)
    for row in rows:
        table.add_row(*row)
    write_table(table, title)


def format_value(value: object, digits: int = 6) -> str:
    """Format a value for a table; a missing one becomes "unknown"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


@contextmanager
def tell_warnings() -> Iterator[None]:
    """Turn this package's warnings inside the block into lines on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        for category in Notice.__subclasses__():
            if issubclass(category, Warning):
                warnings.simplefilter("always", category)
        yield
    for warning in caught:
        if isinstance(warning.message, Notice):
            tell(f"Warning: {with_options(warning.message)}")
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


def refusal(problem: CycloptsError) -> str:
    """Say in one sentence what is wrong with a command line that the parser refuses."""
    command = " ".join(("pairgossip", *(problem.command_chain or ())))
    match problem:
        case UnknownCommandError():
            assert problem.app is not None and problem.unused_tokens
            names = [name for name in problem.app if not name.startswith("-")]
            return str(unknown_name("command", problem.unused_tokens[0], names))
        case UnknownOptionError():
            typed = problem.token.keyword or problem.token.value
            return _unknown_option(typed, problem, command)
        case UnusedCliTokensError():
            return _too_many(problem.unused_tokens or [], problem, command)
        case RepeatArgumentError():
            option = str(problem.token.keyword)
            if option in _TABLE_ARGUMENTS:
                return one_table(command, [problem.token.value])
            return f"{option} is given twice: give it once."
        case CoercionError():
            return _wrong_value(problem)
        case MissingArgumentError():
            return _missing(problem, command)
    problem.verbose = False
    return str(problem)


def one_table(command: str, others: Sequence[str]) -> str:
    """Say that a command reads a single table, and what to do with several."""
    more = "" if len(others) == 1 else f" and {len(others) - 1} more"
    return (
        f"{command} reads one table at a time, but was also given {others[0]}{more}: put the rows "
        "of all files into one, or run it once for each."
    )


def _unknown_option(typed: str, problem: CycloptsError, command: str) -> str:
    option = typed.partition("=")[0]
    near = difflib.get_close_matches(option, _options(problem), n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else f"'{command} --help' lists the options."
    return f"Unknown option {option}: {hint}"


def _too_many(tokens: Sequence[str], problem: CycloptsError, command: str) -> str:
    options = _options(problem)
    # Path.exists raises for a word that is too long for a file name; this does not.
    is_file = bool(Path(tokens[0]).suffix) or os.path.exists(tokens[0])
    if is_file and "FILES" in options:
        return f"{tokens[0]} stands apart from the other files: name all files next to each other."
    if is_file and not _TABLE_ARGUMENTS.isdisjoint(options):
        return one_table(command, tokens)
    return (
        f"{command} has no use for '{tokens[0]}': leave it out, or put a name with blanks in it "
        "in quotes."
    )


def _wrong_value(problem: CoercionError) -> str:
    token, kind = problem.token, problem.target_type
    place = (token and token.keyword) or (problem.argument and problem.argument.name) or "an option"
    if problem.msg is not None:  # of a converter of this package
        return f"Invalid value for {place}: {problem.msg}"
    if kind is bool:
        return f"{place} takes no value: give it alone."
    typed = "" if token is None else f", not '{token.value}'"
    return f"Invalid value for {place}: give {_KINDS.get(kind, 'another value')}{typed}."


def _missing(problem: MissingArgumentError, command: str) -> str:
    assert problem.argument is not None
    name = problem.keyword or problem.argument.name
    if name in (problem.root_input_tokens or ()):
        return f"{name} needs a value: give it after the option."
    options = _options(problem)
    # A misspelled option is why the right one is missing.
    for typed in problem.unused_tokens or ():
        if typed.startswith("-") and typed.partition("=")[0] not in options:
            return _unknown_option(typed, problem, command)
    return f"{command} needs {name}: '{command} --help' says what it is."


def _options(problem: CycloptsError) -> list[str]:
    """Return the names of all options and arguments of the command."""
    if problem.app is None:
        return []
    # Without --no-json and the like, which the parser adds by default.
    taken = problem.app.assemble_argument_collection(default_parameter=Parameter(negative=()))
    return [name for each in taken for name in each.names]
