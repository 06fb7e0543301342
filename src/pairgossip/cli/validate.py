"""`pairgossip validate`: validate scores against an outcome, from rows or from files of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.cli.console import tell, write_json, write_line
from pairgossip.cli.data.row_options import ValidatedRows
from pairgossip.cli.options import MOST, NEEDED, OUTPUT, Columns, Flag, Json, Label
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.cli.data.observations import Observations
    from pairgossip.validation.validation import Validation


@Parameter(name="*")
@dataclass(frozen=True)
class _Scores:
    """The columns of scores and outcomes."""

    column: Annotated[
        Columns,
        Parameter(
            help="Column of scores, such as predicted risks. Optional if the file has only one "
            "other column."
        ),
    ] = None
    label: Annotated[
        Label,
        Parameter(
            help="Column of outcomes. With two numbers the higher one is the positive class; for "
            "text give --classes or --positive."
        ),
    ] = None


_NO_ROWS, _NO_SCORES = ValidatedRows(), _Scores()


def validate_command(
    files: Annotated[
        list[Path],
        Parameter(
            name="FILES",
            group=MOST,
            help="A table of rows, such as a file of CSV or Parquet, or several; or files of "
            "counts, .summary, which are added up.",
        ),
    ],
    /,
    *,
    scores: _Scores = _NO_SCORES,
    thresholds: Annotated[
        list[str] | None,
        Parameter(group=MOST, consume_multiple=True),
    ] = None,
    rows: ValidatedRows = _NO_ROWS,
    interval: Annotated[float, NEEDED] = 0.95,
    html: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    json: Annotated[Json, Parameter(group=OUTPUT)] = False,
    curve: Annotated[Flag, Parameter(group=OUTPUT)] = False,
) -> None:
    """Validate scores against an outcome: all numbers of a published validation.

    Discrimination is the AUC and the average precision. Calibration, if scores are probabilities,
    is observed over expected outcomes, intercept and slope, and the Brier score. Thresholds have
    sensitivity, specificity, predictive values and net benefit. --by adds all of these by group,
    with the differences between groups. Every number has an interval, and every number from counts
    also a range that certainly holds it. --html writes a page with figures that opens in any
    browser.

    For example:

        pairgossip dataset breast-cancer-wisconsin --out bcw
        pairgossip validate bcw --column bare_nuclei --label class --thresholds 3 6
        pairgossip validate a.csv --column risk --label died --by sex --html a.html
        pairgossip validate hospital-1.summary hospital-2.summary --html both.html

    Parameters
    ----------
    thresholds
        Thresholds that were agreed on before anyone saw the rows, such as 0.1 0.2. Rows with this
        score or a higher one count as positive.
    interval
        The level of all intervals.
    html
        Write the page, one file with all figures and tables.
    curve
        With --json, add all points of the ROC curve, its band and the region that certainly holds
        it.
    """
    from pairgossip.cli.outputs.files import check_outputs
    from pairgossip.cli.summaries.files import SUFFIX
    from pairgossip.curves.thresholds import check_thresholds
    from pairgossip.inference.answer import check_level

    check_outputs([html], files)
    if curve and not json:
        raise InputError("The points of the curve are for programs: give --json with --curve.")
    agreed = None if thresholds is None else check_thresholds(_split(thresholds))
    how = {"thresholds": agreed, "interval": check_level(interval)}
    counted = [file for file in files if file.suffix == SUFFIX]
    if 0 < len(counted) < len(files):
        raise InputError(
            f"{counted[0]} holds counts, and others rows: give files of one kind, or count the "
            "rows with `pairgossip summarize`."
        )
    read = _validate_counts if counted else _validate_rows
    found, title = read(files, scores, rows, how)
    if html is not None:
        found.to_html(html, title)
    if json:
        write_json(found.to_dict() | ({"curve": found.roc.to_dict()} if curve else {}))
    else:
        write_line(str(found))
    if html is not None:
        tell(f"Wrote {html}")


def _split(texts: Sequence[str]) -> list[str]:
    """Return thresholds that blanks or commas separate."""
    return [one for text in texts for one in text.split(",") if one.strip()]


def _validate_rows(
    files: Sequence[Path], scores: _Scores, rows: ValidatedRows, how: dict[str, Any]
) -> tuple[Validation, str]:
    """Return the validation of rows, and the title of its page."""
    from pairgossip.cli.data.observations import read_observations
    from pairgossip.validation.reading import validate

    if scores.label is None:
        raise InputError("Which rows have the outcome? Name its column: give --label.")
    read = read_observations(files, scores.column, scores.label, None, rows)
    if len(read.columns) != 1:
        raise InputError(
            f"One score is validated, but the columns are {', '.join(read.columns)}: choose one "
            "with --column."
        )
    tell(read.describe())
    data, by = _name_columns(read)
    found = validate(
        data,
        scores.label,
        columns=list(read.columns),
        classes=read.class_names,
        by=by,
        **{name: read.factors[name] for name in ("weights", "within") if name in read.factors},
        **how,
    )
    return found, _name_page(read.columns, scores.label)


def _name_page(columns: Sequence[str], label: str | None) -> str:
    """Compose the title of the page."""
    return f"Validation of {', '.join(columns)}" + (f" for {label}" if label else "")


def _name_columns(read: Observations) -> tuple[dict[str, Any], str | None]:
    """Return the columns by name, with named classes, and the name of the column of groups."""
    labels, names = read.labels, read.class_names
    if names is not None:
        labels = [names[int(code)] for code in labels]
    data = {read.columns[0]: read.values[:, 0], str(read.label): labels}
    by = read.factor_columns.get("by")
    return data if by is None else data | {by: read.factors["by"]}, by


def _validate_counts(
    files: Sequence[Path], scores: _Scores, rows: ValidatedRows, how: dict[str, Any]
) -> tuple[Validation, str]:
    """Return the validation of counts, added up over files, and the title of its page."""
    from pairgossip.cli.summaries.files import add_files
    from pairgossip.validation.reading import validate

    for options, defaults in ((scores, _NO_SCORES), (rows, _NO_ROWS)):
        for field in fields(defaults):
            if getattr(options, field.name) != getattr(defaults, field.name):
                raise InputError(
                    "Files of counts have their columns, classes and groups already: leave "
                    f"--{field.name} out."
                )
    whole = add_files(files)[1]
    label, parts = whole.parts[0].label, ", ".join(part.name for part in whole.parts)
    columns = whole.columns[: len(whole.summary.cells)]
    named = "" if label is None else f"; label: {label}"
    tell(f"column: {', '.join(columns)}{named}; parts: {parts}")
    return validate(whole.summary, **how), _name_page(columns, label)
