"""`pairgossip score` and `plot`: trained models and saved runs, read from their files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.checks import choice
from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Level
from pairgossip.cli.outputs.files import check_figures, check_outputs, write_figure
from pairgossip.cli.outputs.model import Model, ordered_share, read_model
from pairgossip.errors import InputError
from pairgossip.files import write_text
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.tables import Table


def score_command(
    model: Path,
    file: Path,
    /,
    *,
    label: str | None = None,
    interval: Level = None,
    out: Path | None = None,
) -> None:
    """Score the rows of a file by a trained model; with labels, print the AUC.

    With a label, print the AUC (after a ranking loss, the share of pairs of different labels in
    order). Without one, print the scores unless --out writes them to a file. With --interval a
    second line has the sampling error: the distance of these rows from the population.

    For example:

        pairgossip dataset breast-cancer-wisconsin --out cells.csv
        pairgossip train cells.csv --label class --radius 10 --model cells.json
        pairgossip score cells.json cells.csv --label class --out scores.csv
        pairgossip score cells.json cells.csv --label class --interval 0.95

    Parameters
    ----------
    model
        A model written by `pairgossip train` or `peer result`; a signed result is read once all
        its signatures are checked.
    file
        A table that has the model's columns, of any kind that `pairgossip exact` reads.
    label
        Column of labels, with the labels of the model.
    out
        The CSV file for the scores, one row per row of the file.
    """
    if interval is not None and label is None:
        raise InputError("An interval is about the AUC, which needs labels: give --label too.")
    check_outputs([out], [model, file])
    trained = read_model(model)
    from pairgossip.tables import read_columns

    table = read_columns(file, ())
    if label is not None:
        table = replace(table, words={label: [str(name) for name in trained.classes]})
    table.refuse_gaps([*trained.columns, *([] if label is None else [label])])
    table = table.with_columns(trained.columns)
    scores = trained.scores(table.matrix())
    labels = None if label is None else _labels(table, label, trained)
    answer = None
    if labels is not None and interval is not None:
        from pairgossip.inference.questions import exact

        kernel = "auc" if len(set(labels.tolist())) == 2 else "concordance"
        answer = exact(scores, kernel, labels=labels, interval=interval)
    if out is not None:
        _write(out, scores, table, label)
        tell(f"Wrote {out}")
    if labels is not None:
        from pairgossip.cli.outputs.facts import format_sampling_error
        from pairgossip.kernels.data import format_label

        if trained.is_bipartite:
            tell(f"positive: {format_label(trained.classes[-1])}")
        write_line(repr(ordered_share(scores, labels)))
        if answer is not None:
            write_line(format_sampling_error(answer))
    elif out is None:
        for line in ("score", *map(repr, scores.tolist())):
            write_line(line)


def _write(out: Path, scores: FloatArray, table: Table, label: str | None) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if label is None:
        writer.writerows([("score",), *((score,) for score in scores.tolist())])
    else:
        writer.writerow(("score", label))
        writer.writerows(zip(scores.tolist(), table.text(label), strict=True))
    write_text(out, [text.getvalue()])


def _labels(table: Table, label: str, model: Model) -> FloatArray:
    """Return the labels as numbers in the order of the model's classes."""
    import numpy as np

    place = f"Column '{label}' of {table.path}"
    is_text = isinstance(model.classes[0], str)
    entries: list[Any] = table.text(label) if is_text else table.numbers(label).tolist()
    if len(set(entries)) == 1:
        raise InputError(f"{place} holds one class only ({entries[0]}): the AUC needs two.")
    has_sizes = not is_text and model.classes == sorted(model.classes)
    if has_sizes and not model.is_bipartite:
        return np.array(entries, dtype=np.float64)
    codes = {name: float(code) for code, name in enumerate(model.classes)}
    for stranger in entries:
        if stranger not in codes:
            raise InputError(
                f"{place} holds '{stranger}', which is "
                f"{'neither' if len(codes) == 2 else 'none'} of the model's classes, "
                f"{join_names([str(name) for name in model.classes])}."
            )
    return np.array([codes[entry] for entry in entries])


def plot_command(
    run: list[Path],
    /,
    *,
    out: Path,
    what: str = "error",
    against: str = "exchanges",
) -> None:
    """Draw a saved run, or several on the same axes to compare them.

    A single run is drawn with its exact expectation and its bounds if the file holds them. Several
    runs are drawn with their measured curves, each labeled with the name of its file.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip estimate incomes.csv --column income --kernel gini --save run.npz
        pairgossip plot run.npz --out run.png

    Parameters
    ----------
    run
        Files written by `pairgossip estimate --save`.
    out
        The figure to write: .png, .pdf or .svg.
    what
        error: root mean square error over nodes; estimate: estimates around the exact value;
        spread: standard deviation over nodes.
    against
        The horizontal axis: exchanges, time (asynchronous runs), messages, bytes or iterations.
    """
    from pairgossip.results.charts import CHARTS
    from pairgossip.results.loading import load
    from pairgossip.results.plots import compare
    from pairgossip.results.result import AGAINST

    what, against = choice("curve", what, CHARTS["run"]), choice("axis", against, AGAINST)
    check_figures([out])
    check_outputs([out], run)
    runs = [load(file) for file in run]
    for file, loaded in zip(run, runs, strict=True):
        if loaded.kind == "fit":
            raise InputError(
                f"{file} is a fit, not a run: draw it in Python with plot() of what "
                "pairgossip.load returns."
            )
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    if len(runs) == 1:
        runs[0].plot(what, against=against, ax=figure.subplots())
    else:
        compared = CHARTS["run"][what].compared
        if compared is None:
            raise InputError(f"'{what}' is drawn of one run alone: give one file.")
        # By the files' names, or by their whole paths where names repeat.
        stems = [file.stem for file in run]
        labels = stems if len(set(stems)) == len(stems) else [str(file) for file in run]
        labeled = dict(zip(labels, runs, strict=True))
        compare(labeled, what=compared.name, against=against, ax=figure.subplots())
    write_figure(figure, out)
    tell(f"Wrote {out}")
