"""`pairgossip score`: a trained model's scores of a file's rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.outputs import check_figures, check_outputs, write_figure
from pairgossip.cli.summaries.model import Model, ordered_share, read_model
from pairgossip.errors import InputError, canonical, unknown_name

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.tables import Table


def score_command(
    model: Path, file: Path, /, *, label: str | None = None, out: Path | None = None
) -> None:
    """Score the rows of a file by a trained model; with labels, print the AUC.

    With a label the AUC goes to standard output (after a ranking loss, the share of pairs of
    different labels in order), otherwise the scores do unless they go to a file.

    For example:

        pairgossip dataset breast-cancer-wisconsin --out cells.csv
        pairgossip train cells.csv --label class --radius 10 --model cells.json
        pairgossip score cells.json cells.csv --label class --out scores.csv

    Parameters
    ----------
    model
        A model written by `pairgossip train`.
    file
        A CSV file that has the model's columns; - for standard input.
    label
        Column of labels, those of the model.
    out
        The CSV file to write the scores to, one row per row of the file.
    """
    check_outputs([out], [model, file])
    trained = read_model(model)
    from pairgossip.tables import read_columns

    table = read_columns(file, ())
    table.refuse_gaps([*trained.columns, *([] if label is None else [label])])
    table = table.with_columns(trained.columns)
    scores = trained.scores(table.matrix())
    labels = None if label is None else _labels(table, label, trained)
    if out is not None:
        _write(out, scores, table, label)
        tell(f"Wrote {out}")
    if labels is not None:
        write_line(repr(ordered_share(scores, labels)))
    elif out is None:
        for line in ("score", *map(repr, scores.tolist())):
            write_line(line)


def _write(out: Path, scores: FloatArray, table: Table, label: str | None) -> None:
    import csv
    import io

    from pairgossip.files import write_text

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
    found: list[Any] = table.text(label) if is_text else table.numbers(label).tolist()
    if len(set(found)) == 1:
        raise InputError(f"{place} holds one class only ({found[0]}): the AUC needs two.")
    if not model.is_bipartite:
        return np.array(found, dtype=np.float64)
    codes = {known: float(code) for code, known in enumerate(model.classes)}
    for stranger in found:
        if stranger not in codes:
            raise InputError(
                f"{place} holds '{stranger}', which is neither of the model's classes, "
                f"{model.classes[0]} and {model.classes[1]}."
            )
    return np.array([codes[entry] for entry in found])


# `pairgossip plot`: figures of saved runs.


def plot_command(
    run: list[Path],
    /,
    *,
    out: Path,
    what: str = "error",
    against: str = "exchanges",
) -> None:
    """Draw a saved run, or several on the same axes to compare them.

    A single run is drawn with its exact expectation and its bounds where the file holds them,
    several by their measured curves, each labeled by the name of its file.

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
        error: root mean square error over nodes; estimate: estimates around the exact value.
    against
        What to draw against: exchanges, time (asynchronous runs), messages, bytes or iterations.
    """
    from pairgossip.results.loading import load
    from pairgossip.results.plots import compare

    what, against = canonical(what), canonical(against)
    if what not in ("error", "estimate"):
        raise unknown_name("curve", what, ("error", "estimate"))
    check_figures([out])
    check_outputs([out], run)
    runs = [load(file) for file in run]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    if len(runs) == 1:
        runs[0].plot(what, against=against, ax=figure.subplots())
    else:
        curve = "mean" if what == "estimate" else "error"
        labeled = dict(zip(_curve_labels(run), runs, strict=True))
        compare(labeled, what=curve, against=against, ax=figure.subplots())
    write_figure(figure, out)
    tell(f"Wrote {out}")


def _curve_labels(files: list[Path]) -> list[str]:
    """Call each run by its file's name, or by the whole path where names repeat."""
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [str(file) for file in files]
