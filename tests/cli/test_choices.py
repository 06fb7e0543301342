"""The page of all choices names exactly what the registries hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import pairgossip as pg
from pairgossip import checks
from pairgossip.arguments import minimize
from pairgossip.arguments.estimate import ENGINES
from pairgossip.arguments.exact import ALTERNATIVES
from pairgossip.kernels.named_tests import NAMED_TESTS
from pairgossip.results.result import AGAINST

from .running import CommandLine

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "choices.md"
ROW = re.compile(r"^\| (`.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
NAME = re.compile(r"`([a-z][a-z0-9-]*)`")
QUOTED = re.compile(r"`([^`]+)`")

REGISTRIES: list[tuple[str, int, Iterable[str]]] = [
    ("kernel", 1, NAMED_TESTS),
    ("missing", 0, checks.MISSING),
    ("target", 0, checks.STATISTICS),
    ("alternative", 0, ALTERNATIVES),
    ("construction", 0, checks.CONSTRUCTIONS),
    ("method", 1, minimize.METHODS),
    ("clock", 0, checks.CLOCKS),
    ("order", 0, (*checks.ORDERS, "gosta")),
    ("law", 0, (*checks.LAWS, checks.BEST_LAW)),
    ("schedule", 0, checks.SCHEDULES),
    ("schedule", 1, (*minimize.SCHEDULES, "sketch")),
    ("engine", 0, {*ENGINES, *minimize.DESCENT_ENGINES}),
    ("against", 0, AGAINST),
]
"""An argument, the number of its row, and all names (and additional names of the row)."""


def rows() -> list[tuple[list[str], str, str]]:
    """Return the arguments and options of each row, its choices, and its default."""
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [(QUOTED.findall(first), choices, default) for first, choices, default in found]


@pytest.mark.parametrize(("argument", "number", "names"), REGISTRIES)
def test_choices_are_those_there_are(argument: str, number: int, names: Iterable[str]) -> None:
    choices = [choices for arguments, choices, _ in rows() if argument in arguments][number]
    assert set(NAME.findall(choices)) == set(names)


@pytest.mark.parametrize("function", [pg.estimate, pg.minimize, pg.exact, pg.test])
def test_every_argument_is_there_with_its_default(function: object) -> None:
    said = [(arguments, default) for arguments, _, default in rows()]
    for name, parameter in inspect.signature(function).parameters.items():  # type: ignore[arg-type]
        if name == "options":
            continue
        defaults = [default for arguments, default in said if name in arguments]
        assert defaults, name
        if isinstance(parameter.default, str):
            assert any(f"`{parameter.default}`" in default for default in defaults), name


def test_options_are_those_of_the_commands(cli: CommandLine) -> None:
    commands = ("estimate", "train", "exact", "test")
    known = set(re.findall(r"--[a-z0-9-]+", "".join(cli(name, "--help").out for name in commands)))
    words = {word for words, _, _ in rows() for word in words}
    options = {word for word in words if word.startswith("--")}
    assert len(options) > 30
    assert options <= known
    same_name = {f"--{word.replace('_', '-')}" for word in words - options}
    assert same_name & known <= options
