"""The cost of hiding the rows of a study: in blocks of k rows or more, or with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pairgossip.cli.console import format_value, write_line, write_rows
from pairgossip.errors import InputError
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.peer.specification.kinds import CountsSpec
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.peer.sums.results import Result

_LEAST_CELLS = (1, 3, 5, 10)
"""Least numbers of rows per block that are tried."""
_EPSILON = 1.0
"""The epsilon that is tried where a specification has no noise."""
_SIMILAR_RATIO = 1.1
"""Largest ratio of interval widths at which two rules cost about the same."""


@dataclass(frozen=True)
class Tried:
    """A rule that hides rows, and the result that members would get under it."""

    least: int | None
    """The least number of rows in a block; None with noise."""
    epsilon: float | None
    is_chosen: bool
    result: Result

    @property
    def name(self) -> str:
        """Name the rule."""
        return f"k = {self.least}" if self.epsilon is None else f"epsilon = {self.epsilon:g}"

    @property
    def opened(self) -> float:
        """The width of the bracket, which the blocks leave open."""
        return _width(self.result.bracket)

    @property
    def error(self) -> float | None:
        """The standard error by noise."""
        return self.result.noise_error

    @property
    def is_bracket_read(self) -> bool:
        """Whether half the bracket exceeds the sampling error, so that the value is too exact."""
        sampling = self.result.sampling_error
        return sampling is not None and self.opened / 2 > sampling

    def to_json(self) -> dict[str, Any]:
        """Return all figures by name."""
        names = ("rows", "value", "bracket", "sampling_error", "interval", "p", "p_bracket")
        return {
            "least_cell": self.least,
            "epsilon": self.epsilon,
            "is_chosen": self.is_chosen,
            **{name: getattr(self.result, name) for name in names},
            "noise_error": self.error,
            "read": "bracket" if self.is_bracket_read else "value",
        }


def _width(ends: tuple[float, float] | None) -> float:
    return math.nan if ends is None else ends[1] - ends[0]


def try_rules(spec: Spec, rows: Mapping[str, FloatArray], own: Result) -> list[Tried]:
    """Compute the result under each rule; ``own`` is that of the specification itself."""
    from pairgossip.peer.sums.simulation import run_programs, start_programs

    tried = []
    for rule, is_chosen in _list_rules(cast("CountsSpec", spec)):
        epsilon = rule.noise.epsilon if rule.noise else None
        found = own
        if not is_chosen:
            try:
                found = run_programs(start_programs(rule, rows), is_read_once=True)
            except InputError:  # not every statistic has every rule
                continue
        tried.append(Tried(rule.algorithm.least_cell, epsilon, is_chosen, found))
    return tried


def _list_rules(spec: CountsSpec) -> Iterator[tuple[CountsSpec, bool]]:
    """Yield specifications that differ only in their rule, and whether it is the file's own."""
    from pairgossip.peer.reports.catalog import has_statistic
    from pairgossip.peer.specification.tables import SumsNoise

    if not has_statistic(spec):
        return  # without a statistic there are no errors to compare
    own = spec.algorithm.least_cell
    for least in sorted({*_LEAST_CELLS, *([] if own is None else [own])}):
        yield spec.with_blocks(least), least == own
    if spec.factors:
        return  # noise excludes groups, strata and weights
    given = spec.noise or SumsNoise(epsilon=_EPSILON)
    for epsilon in sorted({_EPSILON, given.epsilon}):
        noise = SumsNoise(epsilon=epsilon, honest=given.honest)
        yield spec.with_noise(noise), spec.has_noise and epsilon == given.epsilon


def read_groups(spec: Spec, rows: Mapping[str, FloatArray], own: Result) -> list[dict[str, Any]]:
    """Return the figures of every group, read from the table that members would have."""
    import numpy as np

    from pairgossip.peer.sums.results import rounded_bracket, rounded_interval, rounded_or_none
    from pairgossip.peer.sums.statistics import cells_of, summary_of

    if spec.groups is None or own.value is None:
        return []
    cells = cells_of(spec)
    total = np.sum([cells.add_up(one) for one in rows.values()], axis=0)
    summary, found = summary_of(spec, total[1:]), []
    for group, count in summary.count_groups().items():
        try:
            answer = summary.answer(0.95, group=group)
        except InputError:  # too few rows of a class, or none
            figures = dict.fromkeys(("value", "sampling_error", "interval", "bracket", "p"))
        else:
            figures = {
                "value": rounded_or_none(answer.value),
                "sampling_error": rounded_or_none(answer.error),
                "interval": rounded_interval(answer.low, answer.high),
                "bracket": rounded_bracket(*answer.bracket),
                "p": rounded_or_none(answer.p),
            }
        found.append({"group": group, "rows": count, **figures})
    return found


def print_groups(by: str, found: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for every group, with the widths of its bracket and interval."""
    columns: Sequence[str] = (by, "rows", "value", "bracket", "sampling", "95 %", "p")
    lines: list[Sequence[str]] = []
    for one in found:
        numbers = (_width(one["bracket"]), one["sampling_error"], _width(one["interval"]), one["p"])
        value = "" if one["value"] is None else format_value(one["value"], 4)
        shown = [_show(number) for number in numbers]
        lines.append((clean_text(one["group"]), format_value(one["rows"]), value, *shown))
    if all(one["p"] is None for one in found):  # not a test
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    write_rows(columns, lines, "The same for every group: widths and standard errors")


def name_unfilled(spec: Spec, rows: Mapping[str, FloatArray]) -> Iterator[str]:
    """Yield a sentence on every member with too few rows of a class, group or stratum."""
    from pairgossip.peer.sums.disclosure import describe_unfilled
    from pairgossip.peer.sums.statistics import cells_of

    for member, own in rows.items() if spec.kernel is not None else ():
        if sentence := describe_unfilled(spec, cells_of(spec).count_cells(own), member):
            yield sentence


def print_rules(tried: Sequence[Tried]) -> None:
    """Print a line for every rule, and the advice that follows."""
    columns = ("rows hidden by", "rows", "value", "bracket", "sampling", "noise", "95 %")
    lines = []
    for one in tried:
        found = one.result
        numbers = (one.opened, found.sampling_error, one.error, _width(found.interval))
        shown = [_show(number) for number in numbers]
        value = "no table" if found.value is None else format_value(found.value, 4)
        mark = " (chosen)" if one.is_chosen else ""
        lines.append((one.name + mark, format_value(found.rows), value, *shown))
    write_rows(columns, lines, "What it costs to hide rows: widths and standard errors")
    for sentence in advise(tried):
        write_line(sentence)


def _show(number: float | None) -> str:
    return "" if number is None or math.isnan(number) else format_value(number, 2)


def advise(tried: Sequence[Tried]) -> list[str]:
    """Advise on blocks or noise, and on reading the bracket or the value."""
    blocks = [one for one in tried if one.epsilon is None]
    noisy = [one for one in tried if one.epsilon is not None]
    return [*_advise_reading(blocks), *_advise_rule(blocks, noisy)]


def _advise_reading(blocks: Sequence[Tried]) -> Iterator[str]:
    """Name the first k for which half the bracket exceeds the sampling error."""
    known = [one for one in blocks if one.result.value is not None]
    if not any(one.result.sampling_error is not None for one in known):
        return
    wide = [one for one in known if one.is_bracket_read]
    if not wide:
        yield (
            f"Up to {known[-1].name} half the bracket is less than the sampling error: read the "
            "value."
        )
    else:
        yield (
            f"From {wide[0].name} on half the bracket is more than the sampling error: read the "
            "bracket, not the value, or let sites have more rows."
        )


def _advise_rule(blocks: Sequence[Tried], noisy: Sequence[Tried]) -> Iterator[str]:
    """Compare the specification's own blocks and noise, or the usual ones."""
    if not blocks or not noisy:
        return
    block = next((one for one in blocks if one.is_chosen), blocks[min(1, len(blocks) - 1)])
    noise = next((one for one in noisy if one.is_chosen), noisy[-1])
    widths = [_width(one.result.interval) for one in (block, noise)]
    if block.result.p is not None:
        yield f"Blocks cost less: with {noise.name} a test has no p."
    if block.result.value is None or math.isnan(widths[0]):
        return
    if math.isnan(widths[1]):
        yield f"Blocks cost less: with {noise.name} there is no interval."
        return
    if max(widths) <= _SIMILAR_RATIO * min(widths):  # noise is drawn anew each time
        less = "Blocks and noise cost about the same"
    else:
        less = "Blocks cost less" if widths[0] < widths[1] else "Noise costs less"
    yield (
        f"{less}: the 95 % interval is {_show(widths[0])} wide with {block.name}, "
        f"{_show(widths[1])} with {noise.name}. Only noise bounds what is learned about one person."
    )
