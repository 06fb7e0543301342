"""`pairgossip estimate`: a pairwise statistic of a file, by gossip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.checks import RANDOM
from pairgossip.cli.console import EXIT_INTERRUPTED, tell, tell_warnings, write_json
from pairgossip.cli.data.observations import check_kernel, read_observations
from pairgossip.cli.data.privacy import PrivacyOptions
from pairgossip.cli.data.row_options import PairOptions
from pairgossip.cli.data.specified import Specified
from pairgossip.cli.network import FamilyParameters, NetworkOptions
from pairgossip.cli.options import (
    NEEDED,
    STATISTIC,
    Columns,
    GroupOptions,
    KernelName,
    Label,
    Level,
    MethodOptions,
    SketchOptions,
    TableFiles,
    TargetName,
    arguments_among,
)
from pairgossip.cli.outputs.files import RunOutputs, check_outputs
from pairgossip.errors import InputError

_METHODS = {"weighted": "weighted-gosta", "paper": "gosta"}
"""The method for each kind of mixing in a specification."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class _StatisticOptions:
    """The statistic to estimate."""

    kernel: KernelName = None
    column: Columns = None
    label: Label = None
    interval: Annotated[Level, NEEDED] = None
    target: TargetName = None
    spec: Path | None = None
    """A run specification, the TOML file on which peers agree: it gives columns, label, kernel,
    target, method and clock, and the ranges of values."""
    reference: float | None = None
    """The exact value, if you know it; it is then not computed."""
    html: Path | None = None
    """With a specification of sums: write a page with the result that members with these rows would
    get, and with the report if it asks for one."""


def estimate_command(
    files: TableFiles,
    /,
    *,
    statistic: _StatisticOptions = _StatisticOptions(),
    rows: PairOptions = PairOptions(),
    network: NetworkOptions = NetworkOptions(),
    groups: GroupOptions = GroupOptions(),
    parameters: FamilyParameters = FamilyParameters(),
    privacy: PrivacyOptions = PrivacyOptions(),
    how: MethodOptions = MethodOptions(),
    sketch: SketchOptions = SketchOptions(),
    outputs: RunOutputs = RunOutputs(),
) -> int:
    """Estimate a pairwise statistic by gossip, and compare it with the exact value.

    Row k of a file becomes the observation of node k of a network. By exchanges, all nodes learn
    the average of a kernel over all pairs of rows. With --group-by, or with one file per site, a
    node is a site that holds several rows. With --epsilon nodes use reports of the rows, which
    local differential privacy protects. Ctrl-C keeps what was computed so far.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip estimate incomes.csv --column income --kernel gini
        pairgossip estimate incomes.csv --column income --kernel gini --graph cycle
        pairgossip estimate incomes.csv --column income --kernel gini --method sketch
        pairgossip estimate incomes.csv --column income --kernel gini --interval 0.95
        pairgossip dataset engel --split 2 --out office-{}.csv
        pairgossip estimate office-1.csv office-2.csv --column income --kernel gini
    """
    from pairgossip.estimation import estimate
    from pairgossip.run_requests.estimation import EstimationRequest

    # All input is checked before a run that may take hours.
    specified = None
    groups.check(files, statistic.spec)
    if statistic.spec is not None:
        specified = Specified.read(statistic.spec, str(how.law), learns=False)
        if specified.spec.is_sums:
            from pairgossip.cli.rehearsal import try_rules
            from pairgossip.cli.sums import print_result, try_sums

            options = (statistic, rows, network, parameters, groups, privacy, how, sketch, outputs)
            check_outputs([statistic.html], [*files, statistic.spec])
            result, read, report = try_sums(specified, files, options)
            rules = try_rules(specified.spec, read, result)
            print_result(result, rules, read, report, json=outputs.json)
            if statistic.html is not None:
                from pairgossip.peer.result_page import write_rehearsal

                write_rehearsal(result, report, statistic.html)
                tell(f"Wrote {statistic.html}")
            return 0
        statistic, how = _apply_spec(specified, statistic, how)
    if statistic.html is not None:
        raise InputError("--html is for a --spec whose sums members compute: leave it out.")
    arguments = arguments_among(EstimateArguments, statistic, groups, how)
    request = EstimationRequest(data=None, **arguments)
    arguments["sketch"] = sketch.recipe(how.method, statistic.kernel)
    outputs.check([*files, network.graph_file, statistic.spec], request.clock)
    observations = (
        specified.observations(files, rows)
        if specified
        else read_observations(files, statistic.column, statistic.label, groups.group_by, rows)
    )
    check_kernel(observations, statistic.kernel)
    measured = (statistic.kernel, request.target)
    arguments["privacy"] = privacy.mechanism(observations, specified, measured)
    outputs.check_size(observations.nodes)
    with tell_warnings():
        run = estimate(
            observations.values,
            graph=network.build(observations.nodes, parameters, how.seed, observations.sites),
            labels=observations.labels,
            groups=observations.groups,
            **observations.factors,
            **arguments,
        )
    positive = observations.name_positive(run.positive)
    run = replace(run, rows_dropped=observations.dropped, positive=positive)
    outputs.write(run)
    if run.sketch is not None and isnan(run.mean[-1]):
        tell(
            f"Warning: After {run.iterations[-1]:,} iterations not all nodes know the range of the "
            "rows, so none has an estimate: give more --iterations."
        )
    from pairgossip.cli.outputs.run import print_run, run_summary

    summary = run_summary(run, observations)
    if outputs.json:
        write_json(summary)
    else:
        print_run(run, summary, observations.describe())
    return EXIT_INTERRUPTED if run.status == "interrupted" else 0


def _apply_spec(
    specified: Specified, statistic: _StatisticOptions, how: MethodOptions
) -> tuple[_StatisticOptions, MethodOptions]:
    """Fill in the options that the specification defines."""
    spec = specified.spec
    statistic = specified.fill_in(
        statistic,
        kernel=spec.kernel,
        column=list(spec.columns),
        label=spec.label,
        target=spec.target,
    )
    method = _METHODS[str(spec.algorithm.mixing)]
    peers = {"method": method, "clock": "async", "schedule": RANDOM}
    return statistic, specified.fill_in(how, **peers)
