"""What the parser refuses, said like every other error: one sentence, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

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

from pairgossip.errors import unknown_name

TABLE_ARGUMENTS = frozenset({"FILE", "--data"})
"""What the commands call the one table they read."""
_KINDS = {float: "a number such as 0.5", int: "a whole number"}


def refusal(problem: CycloptsError) -> str:
    """Say in one sentence what is wrong with a command line."""
    command = " ".join(("pairgossip", *(problem.command_chain or ())))
    match problem:
        case UnknownCommandError():
            return _unknown_command(problem)
        case UnknownOptionError():
            typed = problem.token.keyword or problem.token.value
            return _unknown_option(typed, problem, command)
        case UnusedCliTokensError():
            return _too_many(problem.unused_tokens or [], problem, command)
        case RepeatArgumentError():
            option = str(problem.token.keyword)
            if option in TABLE_ARGUMENTS:
                return one_table(command, [problem.token.value], _options(problem))
            return f"{option} is given twice: give it once."
        case CoercionError():
            return _wrong_value(problem)
        case MissingArgumentError():
            return _missing(problem, command)
    problem.verbose = False
    return str(problem)


def one_table(command: str, others: Sequence[str], options: Iterable[str] = ()) -> str:
    """Say that a command reads a single table, and what to do with several."""
    more = "" if len(others) == 1 else f" and {len(others) - 1} more"
    sites = ", with a column that says which file a row is from for --group-by"
    return (
        f"{command} reads one table at a time, but was also given {others[0]}{more}: put the rows "
        f"of all files into one{sites if '--group-by' in options else ''}, or run it once for each."
    )


def _unknown_command(problem: CycloptsError) -> str:
    assert problem.app is not None and problem.unused_tokens
    names = [name for name in problem.app if not name.startswith("-")]
    return str(unknown_name("command", problem.unused_tokens[0], names))


def _unknown_option(typed: str, problem: CycloptsError, command: str) -> str:
    option = typed.partition("=")[0]
    near = difflib.get_close_matches(option, _options(problem), n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else f"'{command} --help' lists the options."
    return f"Unknown option {option}: {hint}"


def _too_many(tokens: Sequence[str], problem: CycloptsError, command: str) -> str:
    options = _options(problem)
    if not TABLE_ARGUMENTS.isdisjoint(options) and _names_file(tokens[0]):
        return one_table(command, tokens, options)
    return (
        f"{command} has no use for '{tokens[0]}': leave it out, or put a name with blanks in it "
        "in quotes."
    )


def _names_file(token: str) -> bool:
    return bool(Path(token).suffix) or Path(token).exists()


def _wrong_value(problem: CoercionError) -> str:
    token, kind = problem.token, problem.target_type
    place = (token and token.keyword) or (problem.argument and problem.argument.name) or "an option"
    if problem.msg is not None:  # of a converter of this package
        return f"Invalid value for {place}: {problem.msg}"
    if kind is bool:
        return f"{place} takes no value: give it alone."
    wanted = _KINDS.get(kind, "another value") if kind is not None else "another value"
    given = "" if token is None else f", not '{token.value}'"
    return f"Invalid value for {place}: give {wanted}{given}."


def _missing(problem: MissingArgumentError, command: str) -> str:
    assert problem.argument is not None
    name = problem.keyword or problem.argument.name
    if name in (problem.root_input_tokens or ()):
        return f"{name} needs a value: give it after the option."
    known = _options(problem)
    # A misspelled option is why the right one is missing.
    for typed in problem.unused_tokens or ():
        if typed.startswith("-") and typed.partition("=")[0] not in known:
            return _unknown_option(typed, problem, command)
    return f"{command} needs {name}: '{command} --help' says what it is."


def _options(problem: CycloptsError) -> list[str]:
    """Return the names of all options and arguments of the command."""
    if problem.app is None:
        return []
    # Left out: --no-json and the like, which the parser makes up unless told otherwise.
    taken = problem.app.assemble_argument_collection(default_parameter=Parameter(negative=()))
    return [name for each in taken for name in each.names]
