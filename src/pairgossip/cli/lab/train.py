"""`pairgossip train`: a score of a file's rows, learned by gossip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from pairgossip.arguments.minimize import DUAL_AVERAGING, SKETCH, MinimizeArguments
from pairgossip.checks import choice
from pairgossip.cli.console import EXIT_INTERRUPTED, tell, tell_warnings, write_json
from pairgossip.cli.data.observations import read_observations
from pairgossip.cli.data.privacy import PrivacyOptions
from pairgossip.cli.data.row_options import RowOptions, WeightedRows
from pairgossip.cli.data.specified import Specified, StepOfPeers
from pairgossip.cli.network import NetworkOptions, TrainingFamilyParameters
from pairgossip.cli.options import (
    NEEDED,
    OUTPUT,
    STATISTIC,
    DescentOptions,
    GroupOptions,
    Json,
    TableFiles,
    given_options,
)
from pairgossip.cli.outputs.files import check_axis, check_figures, check_outputs, write_figure
from pairgossip.cli.outputs.model import Model, specified_model, versions, write_model
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from pairgossip.cli.data.observations import Observations
    from pairgossip.results.fit import Fit


_DATA = Group("Data and loss", sort_key=STATISTIC.sort_key)


@Parameter(name="*", group=_DATA)
@dataclass(frozen=True)
class LossOptions:
    """The columns, the loss and the limits of the model."""

    label: Annotated[str | None, NEEDED] = None
    """Column of labels, needed unless --spec names it. For auc losses two classes; the positive one
    should get higher scores: it is the higher number, or the text that --positive names. For
    ranking losses numbers, or text with --classes."""
    column: Annotated[list[str] | None, NEEDED] = None
    """Column of features; for several, repeat it or separate names by commas. By default all but
    the label."""
    loss: Annotated[str | None, NEEDED] = None
    """auc- or ranking-, followed by a function of the margin, such as auc-hinge; by default
    auc-logistic. `pairgossip losses` lists all, and which of them can be sketched."""
    radius: float | None = None
    """The largest norm of a model; by default without limit."""
    l1: float | None = None
    """Strength of the penalty on the sum of absolute coefficients."""
    l2: float | None = None
    """Strength of the penalty on the sum of squared coefficients."""
    spec: Path | None = None
    """A run specification, the TOML file on which peers agree: it gives columns, label, loss, step,
    radius, l2 and clock, and the ranges of values."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class _TrainingOutputs:
    """The files and formats of the results."""

    model: Annotated[Path, NEEDED]
    """The model file to write, JSON, for `pairgossip score`."""
    plot: Annotated[Path | None, NEEDED] = None
    """Draw objective and disagreement over the run: .png, .pdf or .svg."""
    against: str = "iterations"
    """The horizontal axis: iterations (rounds of a sketch), exchanges, time (asynchronous clock),
    messages or bytes (both between sites)."""
    json: Json = False


def train_command(
    files: TableFiles,
    /,
    *,
    what: LossOptions = LossOptions(),
    rows: Annotated[WeightedRows, Parameter(name="*", group=_DATA)] = WeightedRows(),
    outputs: _TrainingOutputs,
    network: NetworkOptions = NetworkOptions(),
    groups: GroupOptions = GroupOptions(),
    parameters: TrainingFamilyParameters = TrainingFamilyParameters(),
    privacy: PrivacyOptions = PrivacyOptions(),
    how: DescentOptions = DescentOptions(),
) -> int:
    """Learn by gossip a score that puts higher labels above lower ones.

    Row k of a file becomes the observation of node k of a network. By exchanges, all nodes learn
    the linear score that minimizes the loss over all pairs of rows; the command writes the mean of
    their models. With --group-by, or with one file per site, a node is a site that holds several
    rows. With --epsilon nodes learn from reports that local differential privacy protects; bins and
    columns must be few. With --method sketch sums travel instead of rows, and a few rounds of
    averaging reach the best score. Ctrl-C keeps what was computed so far.

    For example:

        pairgossip dataset breast-cancer-wisconsin --out cells.csv
        pairgossip train cells.csv --label class --radius 10 --model cells.json
        pairgossip train cells.csv --label class --method sketch --model best.json
    """
    import numpy as np

    from pairgossip.minimization import find_request, minimize

    # All input is checked before a run that may take hours.
    check_figures([outputs.plot])
    check_outputs([outputs.model, outputs.plot], [*files, network.graph_file, what.spec])
    specified = None
    groups.check(files, what.spec)
    if what.spec is not None:
        specified = Specified.read(what.spec, str(how.law), learns=True)
        if specified.spec.is_sums:
            options = (what, rows, outputs, network, parameters, groups, privacy, how)
            return _train_on_sums(specified, files, options, outputs)
        what, how = _apply_spec(specified, what, how)
    arguments = _arguments(what, how)
    if groups.construction is not None:
        arguments["construction"] = groups.construction
    checked = {"privacy": privacy.epsilon, **arguments, **rows.factors}
    request = find_request(arguments.get("method", DUAL_AVERAGING))(**checked)
    has_rounds = request.method == SKETCH
    if has_rounds:
        _check_rounds(groups, outputs)
    check_axis(outputs.against, request.clock)
    observations = (
        specified.observations(files, rows)
        if specified
        else _observations(files, what, groups.group_by, rows)
    )
    arguments["privacy"] = privacy.mechanism(observations, specified, None)
    # A run that diverges is reported in a sentence of its own.
    with tell_warnings(), np.errstate(over="ignore", invalid="ignore"):
        graph = network.build(observations.nodes, parameters, how.seed, observations.sites)
        if specified and how.step is not None:
            arguments["step"] = StepOfPeers(how.step, graph.edge_count)
        fit = minimize(
            observations.values,
            observations.labels,
            graph=graph,
            groups=observations.groups,
            bias=None if has_rounds else False,
            **observations.factors,
            **arguments,
        )
    positive = observations.name_positive(fit.positive)
    fit = replace(fit, rows_dropped=observations.dropped, positive=positive)
    _write(fit, observations, what, how, outputs)
    return EXIT_INTERRUPTED if fit.status == "interrupted" else 0


def _check_rounds(groups: GroupOptions, outputs: _TrainingOutputs) -> None:
    """Raise `InputError` for options that do not apply to rounds of averaging."""
    if groups.construction is not None:
        raise InputError("With --method sketch every site sends one sum: leave --construction out.")
    if canonical(outputs.against) == "time":
        raise InputError(
            "Method 'sketch' has rounds and no clock: draw --against exchanges, messages, bytes or "
            "iterations, which are the rounds."
        )


def _train_on_sums(
    specified: Specified,
    files: Sequence[Path],
    options: Sequence[DataclassInstance],
    outputs: _TrainingOutputs,
) -> int:
    """Learn from sums over all files, and write the model."""
    from pairgossip.cli.sums import print_result, try_sums

    used = ("spec", "json", "model")
    result, rows, _ = try_sums(specified, files, options, used)
    if result.model is None:
        raise InputError("The sums give no model: check that the rows have several classes.")
    settings = {"members": len(result.members), "rounds": result.rounds}
    labels = sorted({label for own in rows.values() for label in own[:, -1].tolist()})
    write_model(specified_model(specified.spec, result.model, labels, settings), outputs.model)
    print_result(result, json=outputs.json)
    tell(f"Wrote {outputs.model}")
    return 0


def _apply_spec(
    specified: Specified, what: LossOptions, how: DescentOptions
) -> tuple[LossOptions, DescentOptions]:
    """Fill in the options that the specification defines."""
    spec, learning = specified.spec, specified.spec.learning
    assert learning is not None  # a loss has one
    what = specified.fill_in(
        what,
        loss=spec.loss,
        column=list(spec.columns),
        label=spec.label,
        radius=learning.radius,
        l1=None,
        l2=learning.l2,
    )
    step = None if isinstance(learning.step, str) else learning.step
    peers = {"step": step, "clock": "async", "method": DUAL_AVERAGING}
    return what, specified.fill_in(how, **peers)


def _find_loss(name: str | None) -> str:
    from pairgossip.losses import CATALOG

    scores = [loss for loss in CATALOG if loss.startswith(("auc-", "ranking-"))]
    if name is not None and canonical(name) in set(CATALOG) - set(scores):
        raise InputError(
            f"Loss '{canonical(name)}' learns a distance, not a score: choose an auc or a "
            "ranking loss, or use pairgossip.learn.GossipMetricLearner in Python."
        )
    return choice("loss", MinimizeArguments.loss if name is None else name, scores)


def _arguments(what: LossOptions, how: DescentOptions) -> dict[str, Any]:
    """Return the arguments of `minimize` that the options give."""
    from pairgossip.losses import L1, Ball, SquaredL2, inverse_sqrt

    if what.l1 is not None and what.l2 is not None:
        raise InputError("Give --l1 or --l2, not both.")
    penalty = None if what.l1 is None else L1(what.l1)
    return given_options(how) | {
        "loss": _find_loss(what.loss),
        "step": None if how.step is None else inverse_sqrt(how.step),
        "constraint": None if what.radius is None else Ball(what.radius),
        "penalty": penalty if what.l2 is None else SquaredL2(what.l2),
    }


def _observations(
    files: Sequence[Path], what: LossOptions, group_by: str | None, rows: RowOptions
) -> Observations:
    label = what.label
    if label is None:
        raise InputError("Name the column of labels: give --label, or a --spec that names it.")
    observations = read_observations(files, what.column, label, group_by, rows, every_column=True)
    if label in observations.columns:
        raise InputError(f"Column '{label}' is the label: leave it out of --column.")
    return observations


def _write(
    fit: Fit,
    observations: Observations,
    what: LossOptions,
    how: DescentOptions,
    outputs: _TrainingOutputs,
) -> None:
    """Write the model first, then the figure, then the report."""
    from pairgossip.cli.outputs.fit import describe_settings, draw, fit_summary, print_fit

    summary = fit_summary(fit, observations)
    model = Model(
        loss=fit.loss,
        columns=list(observations.columns),
        theta=summary["theta"],
        label=str(observations.label),
        classes=summary["classes"],
        settings=describe_settings(fit, given_options(what, how)),
        versions=versions(),
    )
    write_model(model, outputs.model)
    if outputs.plot is not None:
        write_figure(draw(fit, canonical(outputs.against)), outputs.plot)
    for path in filter(None, (outputs.model, outputs.plot)):
        tell(f"Wrote {path}")
    if outputs.json:
        write_json(summary)
    else:
        print_fit(fit, summary, observations.describe())
