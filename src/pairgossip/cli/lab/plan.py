"""`pairgossip plan`: the cost of each method, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.checks import CLOCKS, CONTINUIZED, RANDOM, TREE, UNIFORM_EDGES
from pairgossip.cli.console import with_options, write_json, write_line, write_rows
from pairgossip.cli.data.observations import check_kernel, read_observations
from pairgossip.cli.data.row_options import RowOptions
from pairgossip.cli.network import FamilyParameters, NetworkOptions
from pairgossip.cli.options import (
    KERNEL,
    METHOD,
    NEEDED,
    NETWORK,
    OUTPUT,
    STATISTIC,
    Columns,
    GroupOptions,
    Json,
    Label,
    Seed,
    SketchOptions,
    TableFiles,
    TargetName,
)
from pairgossip.cli.outputs.files import check_figures, check_outputs, write_bars

if TYPE_CHECKING:
    from pairgossip.planning import Plan, PlannedMethod


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class _PlannedStatistic:
    """The statistic to estimate, and the error to reach."""

    kernel: Annotated[str, KERNEL]
    column: Columns = None
    label: Label = None
    target: TargetName = None
    error: Annotated[float, NEEDED] = 0.01
    """The error to reach, as a part of the exact value: 0.01 for 1 %, root mean square over the
    nodes."""


def plan_command(
    files: TableFiles,
    /,
    *,
    statistic: _PlannedStatistic,
    rows: RowOptions = RowOptions(),
    network: NetworkOptions = NetworkOptions(),
    parameters: FamilyParameters = FamilyParameters(),
    group_by: Annotated[str | None, Parameter(group=NETWORK)] = None,
    sketch: SketchOptions = SketchOptions(),
    law: Annotated[str, Parameter(group=METHOD)] = UNIFORM_EDGES,
    seed: Annotated[Seed, Parameter(group=METHOD)] = 0,
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    json: Annotated[Json, Parameter(group=OUTPUT)] = False,
) -> None:
    """Compare all methods: how many messages and bytes each needs to reach an error.

    Row k of a file is the observation of node k of a network. With --group-by, or with one file per
    site, a node is a site that holds several rows. Figures are exact or counted if theory gives
    them; others are simulated, or fitted to a short run and extrapolated. The plan also says who
    sees which rows and which faults a method tolerates. Its last line has the options of
    `pairgossip estimate` for the method with the fewest messages.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip plan incomes.csv --column income --kernel gini --graph cycle

    Parameters
    ----------
    group_by
        Column with the site of each row, as for `pairgossip estimate`.
    law
        The law that draws the next edge in random exchanges: uniform-edges, node-clocks (a node
        calls a neighbor), or best (the fastest for averages).
    seed
        Seed of the simulation.
    out
        Draw the messages of all methods: .png, .pdf or .svg.
    """
    from pairgossip.planning import plan

    GroupOptions(group_by).check(files, None)
    check_figures([out])
    check_outputs([out], [*files, network.graph_file])
    observations = read_observations(files, statistic.column, statistic.label, group_by, rows)
    check_kernel(observations, statistic.kernel)
    made = plan(
        observations.values,
        statistic.kernel,
        network.build(observations.nodes, parameters, seed, observations.sites),
        labels=observations.labels,
        groups=observations.groups,
        target=statistic.target or "v",
        law=law,
        error=statistic.error,
        sketch=sketch.recipe("sketch", statistic.kernel),
        seed=seed,
    )
    if out is not None:
        write_bars(made.plot, len(made.rows), out)
    if json:
        write_json(_record(made, sketch, law) | {"rows_dropped": observations.dropped})
    else:
        _print(made, sketch, law)


def _print(plan: Plan, sketch: SketchOptions, law: str) -> None:
    from pairgossip.planning.table import COLUMNS

    write_rows(COLUMNS, plan.cells(), plan.title)
    write_rows(("method", "who sees what"), plan.sights(), numbers=False)
    write_rows(("method", "what it tolerates"), plan.tolerances(), numbers=False)
    for names, why in plan.reasons():
        write_line(f"Not {names}: {with_options(why)}")
    write_line(plan.summary)
    write_line(_advice(plan, sketch, law))


def _advice(plan: Plan, sketch: SketchOptions, law: str) -> str:
    """Name the method with the fewest messages, and another one if that needs a tree."""
    if not plan.reaching:
        return "No method is known to reach the error here: allow a larger one."
    advice = f"Fewest messages: pairgossip estimate {_options(plan.best, sketch, law)}"
    others = [row for row in plan.reaching if row.schedule != TREE]
    if plan.best.schedule != TREE or not others:
        return f"{advice}."
    return f"{advice}; without a tree that all keep to: {_options(others[0], sketch, law)}."


def _options(row: PlannedMethod, sketch: SketchOptions, law: str) -> str:
    """Return the options of `pairgossip estimate` that run a method until it reaches the error."""
    from pairgossip.algorithms.methods import METHODS

    method, words = METHODS[row.method], ["--method", row.method]
    if method.set_apart_by_clock or CLOCKS[0] not in method.clocks:
        words += ["--clock", row.clock]
    if row.schedule != RANDOM:
        words += ["--schedule", row.schedule]
    if method.sketches and sketch.sketch_bins is not None:
        words += ["--sketch-bins", str(sketch.sketch_bins)]
    if method.sketches:
        words += [f"--sketch-range={ends}" for ends in sketch.sketch_range or ()]
    if row.schedule in (RANDOM, CONTINUIZED) and law != UNIFORM_EDGES:
        words += ["--law", law]
    # Collecting ends by itself, in about half of the runs later than the predicted mean.
    iterations = (row.exchanges or 0) * (2 if method.collects else 1)
    return " ".join([*words, "--iterations", str(iterations)])


def _record(plan: Plan, sketch: SketchOptions, law: str) -> dict[str, Any]:
    rows = [
        row.record() | {"why_not": None if row.refusal is None else with_options(row.refusal)}
        for row in plan.rows
    ]
    return {
        "title": plan.title,
        "error": plan.error,
        "target": plan.target,
        "bounds": plan.bounds._asdict(),
        "best": plan.best.name if plan.reaching else None,
        "options": _options(plan.best, sketch, law) if plan.reaching else None,
        "methods": rows,
    }
