"""`pairgossip estimate`: a pairwise statistic of a file's column, by gossip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from pairgossip.checks import STATISTICS
from pairgossip.cli.console import EXIT_INTERRUPTED, tell, tell_warnings, write_json, write_line
from pairgossip.cli.data import (
    METHODS,
    NO_GROUPS,
    GroupOptions,
    Specified,
    check_kernel_labels,
    read_observations,
)
from pairgossip.cli.options import (
    NO_NETWORK,
    NO_PARAMETERS,
    STATISTIC,
    FamilyParameters,
    MethodOptions,
    NetworkOptions,
)
from pairgossip.cli.outputs import NO_OUTPUTS, RunOutputs
from pairgossip.cli.privacy import NO_PRIVACY, Advised, PrivacyOptions
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.algorithms import Method
    from pairgossip.cli.data import Observations
    from pairgossip.graphs import Graph
    from pairgossip.privacy import RandomizedResponse
    from pairgossip.results import Run


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class StatisticOptions:
    """What is estimated."""

    column: list[str] | None = None
    """Column of numbers to use; repeat it, or separate names by commas, for several. May be left
    out if the file has only one."""
    label: str | None = None
    """Column of labels for kernels that compare classes. Text counts in alphabetical order: for
    auc, the last class is the positive one; ranking-risk and concordance take numbers only."""
    kernel: str | None = None
    """What is averaged over pairs, such as gini; `pairgossip kernels` lists them."""
    target: str | None = None
    """v (unless given): over all pairs, a row with itself included; u: over pairs of different
    rows."""
    spec: Path | None = None
    """A run specification, the TOML file that peers agree on: it says columns, label, kernel,
    target, method and clock, and the ranges in which values must lie."""
    reference: float | None = None
    """The exact value, if you know it: then it is not computed."""


NO_STATISTIC = StatisticOptions()
NO_METHOD = MethodOptions()


def estimate_command(
    file: Annotated[Path, Parameter(group=STATISTIC)],
    /,
    *,
    statistic: StatisticOptions = NO_STATISTIC,
    network: NetworkOptions = NO_NETWORK,
    parameters: FamilyParameters = NO_PARAMETERS,
    groups: GroupOptions = NO_GROUPS,
    privacy: PrivacyOptions = NO_PRIVACY,
    how: MethodOptions = NO_METHOD,
    outputs: RunOutputs = NO_OUTPUTS,
) -> int:
    """Estimate a pairwise statistic by gossip, and compare it with the exact value.

    Row k of a CSV file becomes the observation of node k of a network. Node by node and exchange
    by exchange, all nodes come to know the average of a kernel over all pairs of rows. With
    --group-by a node is a site that holds several rows. With --epsilon nodes use reports of the
    rows that local differential privacy protects. Ctrl-C keeps what was computed until then.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip estimate incomes.csv --column income --kernel gini
        pairgossip estimate incomes.csv --column income --kernel gini --graph cycle

    Parameters
    ----------
    file
        A CSV file whose first line names its columns; - for standard input.
    """
    # Everything that can be wrong is found out before a run that may take hours.
    specified = None
    construction = groups.find_construction(statistic.spec)
    if statistic.spec is not None:
        specified = Specified.read(statistic.spec, how.law)
        statistic, how = _apply_spec(specified, statistic, how)
    outputs.check([file, network.graph_file, statistic.spec], how.canonical_clock)
    _check(statistic, how)
    observations = (
        specified.observations(file)
        if specified
        else read_observations(file, statistic.column, statistic.label, groups.group_by)
    )
    check_kernel_labels(observations, statistic.kernel)
    mechanism = privacy.mechanism(observations, specified, _advised(statistic, how))
    outputs.check_size(observations.nodes)
    with tell_warnings():
        graph = network.build(observations.nodes, parameters, how.seed, observations.sites)
        run = _run(observations, statistic, graph, construction, mechanism, how)
    outputs.write(run)
    from pairgossip.cli.summaries.run import print_run, run_summary

    found = {
        "columns": observations.columns,
        "label": observations.label,
        **run_summary(run, observations.group_by),
    }
    if outputs.json:
        write_json(found)
    else:
        print_run(run, found, observations.describe())
    return EXIT_INTERRUPTED if run.status == "interrupted" else 0


def _apply_spec(
    specified: Specified, statistic: StatisticOptions, how: MethodOptions
) -> tuple[StatisticOptions, MethodOptions]:
    """Fill in the options that the specification defines."""
    spec = specified.spec
    if spec.kernel is None:
        raise InputError(
            f"{specified.path} has a loss, which is learned, not estimated: use pairgossip train."
        )
    statistic = specified.fill_in(
        statistic,
        kernel=spec.kernel,
        column=list(spec.columns),
        label=spec.label,
        target=spec.target,
    )
    method = METHODS[str(spec.algorithm.mixing)]
    return statistic, specified.fill_in(how, method=method, clock="async")


def _method(how: MethodOptions) -> Method:
    from pairgossip.algorithms import find_method

    return find_method("gosta" if how.method is None else how.method, how.canonical_clock)


def _target(statistic: StatisticOptions) -> str:
    return STATISTICS[0] if statistic.target is None else canonical(statistic.target)


def _advised(statistic: StatisticOptions, how: MethodOptions) -> Advised:
    """Return the statistic by which bins may be chosen; without a kernel it is the mean."""
    from pairgossip.privacy.estimation import middle

    if _method(how).estimates == "mean":
        return Advised(middle, "v")
    return Advised(statistic.kernel, _target(statistic))


def _check(statistic: StatisticOptions, how: MethodOptions) -> None:
    if _method(how).estimates != "mean" and statistic.kernel is None:
        raise InputError(
            "Say what to average over pairs, such as --kernel gini; "
            "'pairgossip kernels' lists the kernels."
        )
    how.check_jobs()


def _run(
    observations: Observations,
    statistic: StatisticOptions,
    graph: Graph,
    construction: str,
    privacy: RandomizedResponse | None,
    how: MethodOptions,
) -> Run:
    from pairgossip.estimation import estimate

    return estimate(
        observations.values,
        statistic.kernel,
        graph,
        groups=observations.groups,
        construction=construction,
        privacy=privacy,
        method=_method(how).name,
        order=how.order,
        target=_target(statistic),
        labels=observations.labels,
        reference=statistic.reference,
        record=how.record,
        engine=how.engine,
        **how.arguments(),
    )


# `pairgossip exact`: the statistic itself, over all pairs.


PROGRESS_STEPS = 1000


def exact_command(
    file: Path,
    /,
    *,
    kernel: str,
    column: list[str] | None = None,
    label: str | None = None,
    kind: str = "v",
) -> None:
    """Print the exact value of a pairwise statistic, to all its digits.

    It averages the kernel over all pairs of rows of a CSV file: what gossip estimates without
    ever collecting the data in one place.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip exact incomes.csv --column income --kernel gini

    Parameters
    ----------
    file
        A CSV file whose first line names its columns; - for standard input.
    kernel
        What is averaged over pairs; `pairgossip kernels` lists them.
    column
        Column of numbers to use; repeat it, or separate names by commas, for several. May be
        left out if the file has only one.
    label
        Column of labels for kernels that compare classes. Text counts in alphabetical order: for
        auc, the last class is the positive one; ranking-risk and concordance take numbers only.
    kind
        v: over all pairs, a row with itself included; u: over pairs of different rows.
    """
    from pairgossip.kernels import exact
    from pairgossip.progress import progress_bar

    observations = read_observations(file, column, label)
    check_kernel_labels(observations, kernel)
    done = 0
    with progress_bar(f"exact {kernel}", PROGRESS_STEPS) as advance:

        def on_progress(fraction: float) -> None:
            nonlocal done
            steps = int(fraction * PROGRESS_STEPS)
            if advance is not None:
                advance(steps - done)
            done = steps

        value = exact(
            observations.values, kernel, canonical(kind), observations.labels, on_progress
        )
    tell(observations.describe())
    write_line(repr(value))
