"""`pairgossip exact` and `test`: a pairwise statistic of a file, computed from all pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.cli.console import (
    format_value,
    tell,
    with_options,
    write_json,
    write_line,
    write_rows,
)
from pairgossip.cli.data.observations import Observations, check_kernel, read_observations
from pairgossip.cli.data.row_options import ComparedRows, PairOptions
from pairgossip.cli.options import (
    KERNEL,
    NEEDED,
    OUTPUT,
    STATISTIC,
    Columns,
    GroupOptions,
    Json,
    Label,
    Level,
    TableFiles,
    TargetName,
)
from pairgossip.errors import Notice, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pairgossip.inference.group_table import GroupTable
    from pairgossip.inference.questions import SignificanceRequest


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True, kw_only=True)
class _ExactOptions:
    """The statistic, its columns and its pairs."""

    kernel: Annotated[str, KERNEL]
    column: Columns = None
    label: Label = None
    kind: TargetName = None
    group_by: str | None = None
    """Column with the site or the patient of each row: also print the sampling error for sites that
    are drawn whole, because rows of one site may be alike."""

    def read(self, files: list[Path], rows: PairOptions) -> tuple[Observations, dict[str, Any]]:
        """Read the rows; return them, and the arguments of `exact` and `test` they make."""
        from pairgossip.kernels.named_tests import NAMED_TESTS

        GroupOptions(self.group_by).check(files, None)
        observations = read_observations(files, self.column, self.label, self.group_by, rows)
        if canonical(self.kernel) not in NAMED_TESTS:
            check_kernel(observations, self.kernel)
        kind = "v" if self.kind is None else canonical(self.kind)
        return observations, {
            "data": observations.values,
            "kernel": self.kernel,
            "kind": kind,
            "labels": observations.labels,
            **observations.factors,
        }

    def name_positive(self, observations: Observations) -> str | None:
        """Return the positive one of two classes; None if the statistic is the same for both."""
        from pairgossip.kernels import as_kernel, check_data
        from pairgossip.kernels.named_tests import NAMED_TESTS
        from pairgossip.kernels.rows import name_positive

        test, labels = NAMED_TESTS.get(canonical(self.kernel)), observations.labels
        measure, table = test or as_kernel(self.kernel), check_data(observations.values, labels)
        positive = name_positive(measure, table, None, has_labels=labels is not None)
        return observations.name_positive(positive)

    def draws(self, observations: Observations) -> list[Any]:
        """Return the units of sampling, one or two: groups drawn whole, or None for single rows."""
        from pairgossip.kernels import as_kernel
        from pairgossip.kernels.named_tests import NAMED_TESTS
        from pairgossip.kernels.weighing import are_frequencies

        groups = observations.groups
        if groups is None:
            return [None]
        if self.group_by is None:  # files are together one sample where a test draws no sites
            kernel = None if canonical(self.kernel) in NAMED_TESTS else as_kernel(self.kernel)
            if kernel is None or kernel.contrast is not None:
                return [None]
        by_row = are_frequencies(observations.factors.get("weights"))
        return [None, groups] if by_row else [groups]


def exact_command(
    files: TableFiles,
    /,
    *,
    statistic: _ExactOptions,
    interval: Annotated[Level, NEEDED] = None,
    rows: ComparedRows = ComparedRows(),
    json: Annotated[Json, Parameter(group=OUTPUT)] = False,
) -> None:
    """Print the exact value of a pairwise statistic, to all its digits.

    It averages the kernel over all pairs of rows of a file, or of several files together. Gossip
    estimates this value without collecting the data in one place. With --interval, a second line
    has the sampling error: the distance of these rows from the population.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip exact incomes.csv --column income --kernel gini
        pairgossip exact incomes.csv --column income --kernel gini --missing drop
        pairgossip exact incomes.csv --column income --weight foodexp --kernel gini
        pairgossip exact incomes.csv --column income --kernel gini --interval 0.95
        pairgossip dataset wine --out wine.csv
        pairgossip exact wine.csv --column alcohol --kernel gini --by class
    """
    from pairgossip.inference.questions import exact
    from pairgossip.progress import in_steps, progress_bar

    observations, arguments = statistic.read(files, rows)
    if interval is not None:
        draws = statistic.draws(observations)
    else:  # exact() refuses named groups without a level, but not several files
        draws = [None if statistic.group_by is None else observations.groups]
    with progress_bar(f"exact {statistic.kernel}", len(draws) * 1000) as advance:
        answers: list[Any] = [
            exact(**arguments, interval=interval, groups=groups, progress=in_steps(advance))
            for groups in draws
        ]
    positive = statistic.name_positive(observations)
    if rows.by is not None:
        answers = [_spell_options(table, rows.by) for table in answers]
    if json:
        found = [one.to_dict() if hasattr(one, "to_dict") else {"value": one} for one in answers]
        _write_json(statistic, observations, positive, found, draws)
        return
    tell(observations.describe(positive))
    if rows.by is not None:
        _write_tables(answers, draws)
        return
    write_line(repr(float(answers[0])))
    if interval is None:
        return
    from pairgossip.cli.outputs.facts import format_sampling_error, format_site_error

    for answer, groups in zip(answers, draws, strict=True):
        write_line((format_sampling_error if groups is None else format_site_error)(answer))


def _write_json(
    statistic: _ExactOptions,
    observations: Observations,
    positive: str | None,
    facts: list[dict[str, Any]],
    draws: list[Any],
) -> None:
    """Print the facts if rows are drawn, and those if whole sites are drawn."""
    what = {"columns": observations.columns, "label": observations.label}
    by_site = facts[-1] if draws[-1] is not None else None
    named = {"statistic": canonical(statistic.kernel), **what}
    write_json({**named, **facts[0], "positive": positive, "by_site": by_site})


def _spell_options(table: GroupTable, by: str) -> GroupTable:
    """Return a table with the name of its column, and with options in its reasons."""
    reasons = {
        name: with_options(why) if isinstance(why, Notice) else why
        for name, why in table.reasons.items()
    }
    return replace(table, reasons=reasons, by=by)


def _write_tables(tables: Sequence[object], draws: list[Any]) -> None:
    """Print tables of groups: if rows are drawn, and if whole sites are."""
    for table, groups in zip(tables, draws, strict=True):
        write_line(("" if groups is None else "If sites are drawn whole:\n\n") + f"{table}\n")


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class _TestOptions:
    """The value to compare with, and the alternative."""

    null: Annotated[float | None, Parameter(allow_leading_hyphen=True)] = None
    """The statistic's value without an effect. It is known for auc and concordance (0.5), for
    auc-difference and for rank correlations (0)."""
    alternative: Annotated[str, NEEDED] = "two-sided"
    """two-sided, or greater or less than the null."""
    interval: float = 0.95
    """The level of the interval."""

    def ask(self, arguments: dict[str, Any], groups: Any) -> SignificanceRequest:
        """Return the test that is asked for, if rows are drawn or whole groups of them."""
        from pairgossip.inference.questions import SignificanceRequest

        how = {"null": self.null, "alternative": canonical(self.alternative), "groups": groups}
        return SignificanceRequest(**arguments, **how, interval=self.interval)

    def carry_out(self, arguments: dict[str, Any], groups: Any) -> dict[str, Any]:
        """Return the facts of the test by name."""
        from pairgossip.kernels import as_kernel
        from pairgossip.kernels.named_tests import NAMED_TESTS

        side, null, level = canonical(self.alternative), self.null, self.interval
        result = self.ask(arguments, groups).judge()
        if null is None and canonical(arguments["kernel"]) not in NAMED_TESTS:
            null = as_kernel(arguments["kernel"]).null
        return {
            "value": result.value,
            "null": null,
            "alternative": side,
            "error": None if isnan(result.error) else result.error,
            "level": level,
            "interval": result.interval,
            "reason": result.reason,
            "null_error": result.null_error,
            "z": result.z,
            "p": result.p,
            "law": result.law,
        }


def test_command(
    files: TableFiles,
    /,
    *,
    statistic: _ExactOptions,
    test: _TestOptions = _TestOptions(),
    rows: ComparedRows = ComparedRows(),
    json: Annotated[Json, Parameter(group=OUTPUT)] = False,
) -> None:
    """Test whether a pairwise statistic differs from its value without an effect.

    The value is that of all pairs of rows of a file, or of several files together. Its standard
    error is its typical distance from the population's value. z is its distance from the null in
    standard errors, and p the probability of at least this distance by chance alone. The auc and
    rank correlations of plain rows are tested by their distribution without an effect, which has
    its own error: with few rows, p is counted over all their orders.

    The first example asks whether a column separates two classes better than a coin (an AUC of
    0.5). With --kernel auc-difference and two columns, such as --column mitoses,bare_nuclei, it
    asks whether one column does so better than the other. This is DeLong's paired test; it compares
    two models whose scores of the same rows are two columns. Rank tests, such as
    mann-whitney and spearman, and distance-correlation are kernels here too: `pairgossip kernels`
    lists all. With distance-correlation, energy-distance and mmd the standard error is the spread
    over permutations of the rows, and says nothing about the interval.

    For example:

        pairgossip dataset breast-cancer-wisconsin --out bcw
        pairgossip test bcw --kernel auc --column mitoses --label class
        pairgossip dataset wine --out wine.csv
        pairgossip test wine.csv --kernel kendall-b --column alcohol,ash --by class
    """
    observations, arguments = statistic.read(files, rows)
    draws = statistic.draws(observations)
    positive = statistic.name_positive(observations)
    if rows.by is not None:
        tables = [
            _spell_options(test.ask(arguments, groups).compare(), rows.by) for groups in draws
        ]
        if json:
            found = [table.to_dict() for table in tables]
            _write_json(statistic, observations, positive, found, draws)
            return
        tell(f"test of {arguments['kernel']}; {observations.describe(positive)}")
        _write_tables(tables, draws)
        return
    facts = [test.carry_out(arguments, groups) for groups in draws]
    if json:
        _write_json(statistic, observations, positive, facts, draws)
        return
    drawn = ["rows drawn" if groups is None else "sites drawn whole" for groups in draws]
    names = ("result", "") if drawn == ["rows drawn"] else ("result", *drawn)
    rows_of_table = [
        (name, *(_format_fact(one, key) for one in facts))
        for name, key in _FACTS.items()
        if facts[0][key] is not None
    ]
    described = observations.describe(positive)
    write_rows(names, rows_of_table, f"test of {arguments['kernel']}; {described}")


_FACTS = {
    "value": "value",
    "without an effect": "null",
    "alternative": "alternative",
    "standard error": "error",
    "interval": "interval",
    "no interval": "reason",
    "error without an effect": "null_error",
    "z": "z",
    "p": "p",
    "p comes from": "law",
}
"""The names of a test's facts in a table."""


def _format_fact(facts: dict[str, Any], name: str) -> str:
    """Format a fact of a test for a table."""
    if name == "interval":
        low, high = (format_value(end, 4) for end in facts[name])
        return f"{100 * facts['level']:g} %: {low} to {high}"
    if name == "p" and facts[name] < 1e-4:
        return "below 0.0001"
    return format_value(facts[name], {"value": 8, "error": 3, "null_error": 3}.get(name, 4))
