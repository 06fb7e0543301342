"""The settings of what a viewer watches, read from the fields of the page's address."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pairgossip.algorithms.methods import METHODS, find_method
from pairgossip.arguments.argument import Argument, on_page
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arguments.minimize import DUAL_AVERAGING, MinimizeArguments
from pairgossip.arguments.minimize import METHODS as LEARNING_METHODS
from pairgossip.arguments.minimize import SCHEDULES as LEARNING_SCHEDULES
from pairgossip.checks import CLOCKS, RANDOM, SCHEDULES, TREE, choice
from pairgossip.errors import InputError, unknown_name
from pairgossip.graphs import FAMILIES
from pairgossip.kernels import CATALOG as KERNELS
from pairgossip.losses import CATALOG as LOSSES

Fields = Mapping[str, str | list[str]]
"""The fields of an address: one text for each name, several for columns."""

MOST_NODES = 20_000
_LARGEST_WHOLE = 10**9
"""Largest whole number of an argument, such as a number of iterations; more is refused."""
_LONGEST_QUOTE = 40
"""Largest number of characters of a setting that refusals quote; the rest is left out."""
_LARGEST_SEED = 2**53 - 1
"""Largest whole number that a browser holds exactly."""
_MOST_COLUMNS = 100
_FASTEST = 1e7
_SHARED = (
    *("data", "nodes", "column", "label", "group-by", "kernel", "loss", "step"),
    *("ball", "interval", "seed", "speed", "follow", "positive"),
)
_OF_A_RUN = ("graph", "method", "clock", "schedule")
_SECOND = "-2"
"""The ending of the names of the second run's fields."""
_LONGEST_TEXT = 1_000


class RunChoice(NamedTuple):
    """The settings in which two runs side by side may differ."""

    graph: str
    parameters: dict[str, float]
    method: str
    clock: str
    schedule: str = RANDOM


@dataclass(frozen=True)
class Settings:
    """One or two runs on the same data."""

    data: str
    nodes: int | None
    columns: tuple[str, ...]
    label: str | None
    positive: str | None
    """The positive one of two labels; None for the higher number."""
    group_by: str | None
    """The column with the site of each row; None where every row is a node."""
    kernel: str | None
    loss: str | None
    arguments: Mapping[str, Any]
    """The declared arguments that are given, by name, in canonical form."""
    step: float | None
    ball: float | None
    """The radius of the ball for models."""
    interval: float | None
    """The level of the interval around the exact value; None for none."""
    seed: int
    runs: tuple[RunChoice, ...]
    speed: float
    """Exchanges per second; infinite for as fast as possible."""
    follow: int | None
    """The node whose observation is followed from the start."""

    @classmethod
    def read(cls, fields: Fields) -> Settings:
        """Check every given field; missing ones take their defaults."""
        _check_fields(fields)
        loss = _name(fields, "loss", LOSSES)
        kernel = _name(fields, "kernel", KERNELS)
        runs = [_read_run(fields, "", loss)]
        if any(name.endswith(_SECOND) for name in fields):
            runs.append(_read_run(fields, _SECOND, loss))
        _check_statistic(kernel, loss, runs)
        if loss and all(run.method != DUAL_AVERAGING for run in runs):
            _check_rounds(fields)
        group_by = _text(fields, "group-by") or None
        if group_by and not loss:
            _check_sites(runs)
        column = fields.get("column", [])
        return cls(
            data=_text(fields, "data") or "engel",
            nodes=_whole(fields, "nodes", 2, MOST_NODES),
            columns=(column,) if isinstance(column, str) else tuple(column),
            label=_text(fields, "label") or None,
            positive=_text(fields, "positive") or None,
            group_by=group_by,
            kernel=kernel,
            loss=loss,
            arguments=_read_arguments(fields, page_arguments(is_loss=loss is not None)),
            step=_positive(fields, "step"),
            ball=_positive(fields, "ball"),
            interval=_level(_text(fields, "interval") or "0.95"),
            seed=_whole(fields, "seed", 0, _LARGEST_SEED) or 0,
            runs=tuple(runs),
            speed=read_speed(_text(fields, "speed") or "200"),
            follow=_whole(fields, "follow", 0, MOST_NODES - 1),
        )

    def ends_alone(self, run: RunChoice) -> bool:
        """Whether a run ends at the best model, for any number of rounds."""
        return self.loss is not None and run.method != DUAL_AVERAGING

    def arguments_for(self, run: RunChoice) -> dict[str, Any]:
        """Return the given arguments that one of the runs takes, by name."""
        takes = page_arguments(is_loss=self.loss is not None)
        return {
            name: value
            for name, value in self.arguments.items()
            if takes[name].belongs_to in ("", run.method)
            and not (name == "iterations" and self.ends_alone(run))
        }


def page_arguments(*, is_loss: bool) -> dict[str, Argument]:
    """Return the arguments that have a field on the page, by name."""
    return on_page(MinimizeArguments if is_loss else EstimateArguments)


def _read_arguments(fields: Fields, arguments: Mapping[str, Argument]) -> dict[str, Any]:
    """Read the declared arguments that are given."""
    values = {name: _read_argument(fields, one) for name, one in arguments.items()}
    return {name: value for name, value in values.items() if value is not None}


def _read_argument(fields: Fields, one: Argument) -> Any:
    text = _text(fields, one.name).strip()
    if not text:
        return None
    if one.kind is int:
        return _whole(fields, one.name, int(one.least), int(min(one.most, _LARGEST_WHOLE)))
    number = _number(text) if one.kind is float else None
    shown = text[:_LONGEST_QUOTE] if one.choices or one.kind is not str else text
    return one.check(shown if number is None else number)


def read_speed(text: str) -> float:
    """Read a number of exchanges per second, or "max"."""
    if text == "max":
        return math.inf
    speed = _number(text)
    if speed is None or not 0 < speed <= _FASTEST:
        raise InputError(
            f"The speed is {text[:_LONGEST_QUOTE]!r}: give exchanges per second, up to "
            f"{_FASTEST:,.0f}, or max."
        )
    return speed


def _level(text: str) -> float | None:
    level = None if text == "none" else _number(text)
    if text != "none" and (level is None or not 0 < level < 1):
        raise InputError(
            f"The setting 'interval' is {text[:_LONGEST_QUOTE]!r}: give 0.95, or none.",
            subject="interval",
        )
    return level


def _check_fields(fields: Fields) -> None:
    """Raise `InputError` if a field is unknown, too long or given too often."""
    declared_names = {*page_arguments(is_loss=True), *page_arguments(is_loss=False)}
    parameters = {each.name for family in FAMILIES.values() for each in family.parameters}
    of_a_run = [*_OF_A_RUN, *(f"graph-{name}" for name in sorted(parameters))]
    names = [*_SHARED, *sorted(declared_names), *of_a_run, *(name + _SECOND for name in of_a_run)]
    unknown = next((name for name in fields if name not in names), None)
    if unknown is not None:
        raise unknown_name("setting", unknown[:_LONGEST_QUOTE], names)
    for name, value in fields.items():
        several = isinstance(value, list)
        if several and (name != "column" or len(value) > _MOST_COLUMNS):
            most = _MOST_COLUMNS if name == "column" else 1
            text = f"The setting '{name}' is given too often: give at most {most}."
            raise InputError(text, subject=name)
        if any(len(text) > _LONGEST_TEXT for text in (value if several else [value])):
            raise InputError(f"The setting '{name}' is too long: shorten it.", subject=name)


def _read_run(fields: Fields, suffix: str, loss: str | None) -> RunChoice:
    def text(name: str) -> str:
        # Missing settings of the second run are those of the first.
        return _text(fields, name + suffix) or _text(fields, name)

    clock = choice("clock", text("clock") or "sync", CLOCKS)
    if loss:
        method, schedule = _read_learning(text("method"), text("schedule"), clock)
    else:
        chosen = find_method(text("method") or "gosta", clock)
        method = chosen.name
        schedule = choice("schedule", text("schedule") or RANDOM, SCHEDULES)
        chosen.check_schedule(schedule)
    graph = _name({"graph": text("graph") or "complete"}, "graph", FAMILIES)
    assert graph is not None
    own = suffix if _text(fields, "graph" + suffix) else ""
    return RunChoice(graph, _read_parameters(fields, own, graph), method, clock, schedule)


def _read_learning(method: str, schedule: str, clock: str) -> tuple[str, str]:
    """Read how a loss is minimized."""
    method = choice("method of learning", method or DUAL_AVERAGING, LEARNING_METHODS)
    if method == DUAL_AVERAGING:
        if schedule and choice("schedule", schedule, SCHEDULES) != RANDOM:
            raise InputError(
                f"Method '{method}' exchanges along random edges, so there is no other schedule: "
                f"leave out schedule {schedule[:_LONGEST_QUOTE]}, or use method sketch."
            )
        return method, RANDOM
    if clock != "sync":
        raise InputError(f"Method '{method}' has rounds and no clock: leave out clock {clock}.")
    return method, choice("schedule of averaging", schedule or TREE, LEARNING_SCHEDULES)


def _read_parameters(fields: Fields, suffix: str, graph: str) -> dict[str, float]:
    """Read the parameters of a family; those of other families are ignored."""
    parameters: dict[str, float] = {}
    for each in FAMILIES[graph].parameters:
        field = f"graph-{each.name}{suffix}"
        if each.kind is int:
            value: float | None = _whole(fields, field, int(each.least >= 1), MOST_NODES)
        else:
            value = _positive(fields, field, or_zero=True)
        if value is not None:
            parameters[each.name] = value
    return parameters


def _check_statistic(kernel: str | None, loss: str | None, runs: list[RunChoice]) -> None:
    if kernel and loss:
        raise InputError("Give a kernel to estimate or a loss to learn with, not both.")
    if loss:
        return
    averaging = [METHODS[run.method].estimates == "mean" for run in runs]
    if any(averaging) and not all(averaging):
        raise InputError(
            "Averaging finds the mean of the data, not a statistic of pairs: "
            "choose it for both runs or for neither."
        )
    if not kernel and not all(averaging):
        raise InputError(
            "Say what to average over pairs, such as {argument}, or give a loss.", "kernel", "gini"
        )


def _check_rounds(fields: Fields) -> None:
    for name, why in (("iterations", "ends by itself"), ("step", "chooses its steps itself")):
        if _text(fields, name):
            raise InputError(
                f"Method 'sketch' {why}: leave out {name} {_text(fields, name)[:_LONGEST_QUOTE]}."
            )


def _check_sites(runs: list[RunChoice]) -> None:
    for run in runs:
        if run.schedule != RANDOM and not METHODS[run.method].takes_whole_sites:
            raise InputError(
                f"Method '{run.method}' lets single rows of sites meet, at random: leave out "
                f"schedule {run.schedule}, or use method sketch."
            )


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    return (value[0] if value else "") if isinstance(value, list) else value


def _name(fields: Fields, field: str, catalog: Mapping[str, Any]) -> str | None:
    text = _text(fields, field)
    return choice(field, text[:_LONGEST_QUOTE], catalog) if text else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole(fields: Fields, name: str, least: int, most: int) -> int | None:
    text = _text(fields, name).strip()
    if not text:
        return None
    number = _number(text)
    if number is None or not number.is_integer() or not least <= number <= most:
        raise InputError(
            f"The setting '{name}' is {text[:_LONGEST_QUOTE]!r}: "
            f"give a whole number from {least:,} to {most:,}.",
            subject=name,
        )
    return int(number)


def _positive(fields: Fields, name: str, *, or_zero: bool = False) -> float | None:
    text = _text(fields, name).strip()
    if not text:
        return None
    number = _number(text)
    if number is None or number < 0 or (number == 0 and not or_zero):
        least = "a number >= 0" if or_zero else "a number above 0"
        raise InputError(
            f"The setting '{name}' is {text[:_LONGEST_QUOTE]!r}: give {least}.", subject=name
        )
    return number
