"""The page of a validation, and its text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pairgossip.curves.pictures import picture_decisions
from pairgossip.curves.thresholds import NAMES as POINT_NAMES
from pairgossip.curves.thresholds import OperatingPoint
from pairgossip.inference.answer import Answer
from pairgossip.inference.group_table import GroupTable
from pairgossip.inference.group_text import ALL_ROWS, list_notes, show_differences
from pairgossip.inference.number_text import NOTHING, is_open, list_numbers, spell
from pairgossip.pages.page import Facts, Figure, Heading, Paragraph, Part, Table
from pairgossip.text import format_count
from pairgossip.validation.calibration import Calibration
from pairgossip.validation.pictures import picture_calibration, picture_groups

if TYPE_CHECKING:
    from pairgossip.validation.groups import Groups
    from pairgossip.validation.validation import Validation

_OF_GROUPS = ("sensitivity", "specificity", "ppv")
"""The numbers of a threshold that the tables of groups show."""
_OF_ALL = ("Intervals", "Adjusted")
"""First words of notes that all tables share."""
_CERTAIN = "In square brackets: the ends between which the number lies for certain for these rows."


def list_parts(found: Validation) -> Iterator[Part]:
    """Return the parts of the page, from the top down."""
    yield Facts(tuple(list_facts(found)))
    yield Heading("Discrimination")
    yield _discrimination_figure(found)
    yield _numbers_table(discrimination(found), found.level)
    yield Heading("Calibration")
    yield from _calibration_parts(found)
    if found.thresholds:
        yield Heading("Thresholds")
        yield from _threshold_parts(found)
    if found.groups is not None:
        yield Heading("Groups")
        yield from _group_parts(found, found.groups)


def list_facts(found: Validation) -> Iterator[tuple[str, str]]:
    """Yield the facts above all parts: rows, outcomes and the level of intervals."""
    roc = found.roc
    rows = roc.positives + roc.negatives
    yield "rows", f"{rows:,}"
    named = "" if roc.positive is None else f" ({roc.positive})"
    yield f"with the outcome{named}", f"{roc.positives:,} ({100 * roc.positives / rows:.1f} %)"
    yield "intervals", f"{100 * found.level:g} %, for rows like these"
    if roc.least_cell > 1:
        yield "counted", f"in blocks of {format_count(roc.least_cell, 'row')} or more"


def discrimination(found: Validation) -> dict[str, Answer]:
    """Return the measures of discrimination by their names in publications."""
    within = {} if found.within is None else {"AUC within strata": found.within}
    return {"AUC": found.roc.auc, **within, "average precision": found.roc.average_precision}


def _discrimination_figure(found: Validation) -> Figure:
    regions = f"The region holds the population's whole curve at {100 * found.level:g} %."
    if not found.roc.scores.is_known:
        regions = (
            f"The light region holds the population's whole curve at {100 * found.level:g} %, the "
            "dark one that of these rows for certain."
        )
    return Figure(found.roc.picture(), f"ROC curve. {regions}")


def _numbers_table(numbers: Mapping[str, Answer], level: float) -> Table:
    header, *lines = list_numbers(numbers, level)
    return Table(header, tuple(lines))


def _calibration_parts(found: Validation) -> Iterator[Part]:
    calibration = found.calibration
    if calibration is None:
        yield Paragraph(f"There is no calibration. {found.no_calibration}")
        return
    yield Figure(
        picture_calibration(calibration, found.level),
        "Calibration. Each point is a bin of about as many rows; bars are intervals of the share "
        "with the outcome.",
    )
    yield _numbers_table(calibration.numbers(), found.level)
    yield from map(Paragraph, calibration.notes)
    yield _bins_table(calibration)


def _bins_table(found: Calibration) -> Table:
    lines = tuple(
        (
            f"{one.low:.4g} to {one.high:.4g}",
            f"{one.rows:,.0f}",
            f"{one.expected:#.4g}",
            spell(one.observed),
        )
        for one in found.bins
    )
    header = ("scores", "rows", "mean score", "share with the outcome")
    return Table(header, lines, "Bins of the figure")


def _threshold_parts(found: Validation) -> Iterator[Part]:
    yield _threshold_table(found.thresholds)
    if any(is_open(one.sensitivity) or is_open(one.flagged) for one in found.thresholds):
        yield Paragraph(_CERTAIN)
    if found.calibration is not None:
        yield Figure(
            picture_decisions(found.roc),
            "Decision curve: true positives less false ones at the odds of the threshold, per row.",
        )


def _threshold_table(points: Sequence[OperatingPoint]) -> Table:
    """Return the table of statistics at thresholds, one threshold per column."""
    lines = (
        (text, *(spell(getattr(point, name)) for point in points))
        for name, text in POINT_NAMES.items()
    )
    known = tuple(line for line in lines if set(line[1:]) != {NOTHING})
    return Table(("", *(f"at {point.threshold:g} or above" for point in points)), known)


def _group_parts(found: Validation, groups: Groups) -> Iterator[Part]:
    yield Figure(
        picture_groups(groups.auc, found.roc.auc.value),
        "AUC by group; the dashed line is that of all rows.",
    )
    yield _group_table(groups, found)
    for name, table in _list_differences(groups):
        yield table._replace(caption=f"Differences in {name}")
    yield from map(Paragraph, group_notes(groups))
    for at in range(len(found.thresholds)):
        yield _group_points(groups, found, at)


def _list_differences(groups: Groups) -> Iterator[tuple[str, Table]]:
    """Yield the names and tables of differences between groups, where groups are few enough."""
    for one in groups.tables:
        if (table := show_differences(one)).rows:
            yield name_statistic(one), table


def group_notes(groups: Groups) -> list[str]:
    """Return the notes about groups, each once."""
    notes = [
        note if note.startswith(_OF_ALL) else f"{name_statistic(table)}: {note}"
        for table in groups.tables
        for note in list_notes(table)
        if not note.startswith("Group ")
    ]
    notes += [f"Group '{name}': {one.reason}" for name, one in groups.items() if one.reason]
    return list(dict.fromkeys(notes))


def name_statistic(table: GroupTable) -> str:
    """Return the statistic of a table as publications spell it."""
    return "AUC" if table.statistic == "auc" else table.statistic


def _group_table(groups: Groups, found: Validation) -> Table:
    """Return the table of groups, with a line for all rows."""
    rows = found.roc.positives + found.roc.negatives
    lines: list[tuple[str, ...]] = [
        (
            name,
            f"{one.rows:,}",
            NOTHING if one.roc is None else f"{one.roc.positives:,}",
            spell(groups.auc[name]),
            *_spell_calibration(one.calibration),
        )
        for name, one in groups.items()
    ]
    whole = (f"{rows:,}", f"{found.roc.positives:,}", spell(found.roc.auc))
    lines.append((ALL_ROWS, *whole, *_spell_calibration(found.calibration)))
    header: tuple[str, ...] = (groups.by, "rows", "outcomes", "AUC", "observed / expected", "slope")
    if found.calibration is None:
        header, lines = header[:4], [line[:4] for line in lines]
    return Table(header, tuple(lines))


def _spell_calibration(found: Calibration | None) -> tuple[str, str]:
    if found is None:
        return NOTHING, NOTHING
    return spell(found.observed_expected), spell(found.slope)


def _group_points(groups: Groups, found: Validation, at: int) -> Table:
    """Return the statistics at one threshold, by group."""
    named = {name: one.thresholds for name, one in groups.items()} | {ALL_ROWS: found.thresholds}
    lines = tuple(
        (name, *(spell(getattr(points[at], one)) if points else NOTHING for one in _OF_GROUPS))
        for name, points in named.items()
    )
    header = (groups.by, *(POINT_NAMES[one] for one in _OF_GROUPS))
    return Table(header, lines, f"At {found.thresholds[at].threshold:g} or above")


def write_text(found: Validation) -> str:
    """Return the validation as text for a terminal."""
    blocks = ["\n".join(f"{name}: {said}" for name, said in list_facts(found))]
    numbers: dict[str, Answer] = discrimination(found)
    if found.calibration is not None:
        numbers |= found.calibration.numbers()
    blocks.append(_numbers_table(numbers, found.level).to_text())
    if found.calibration is None:
        blocks.append(f"no calibration: {found.no_calibration}")
    elif found.calibration.notes:
        blocks.append("\n".join(found.calibration.notes))
    if found.thresholds:
        blocks.append(_threshold_table(found.thresholds).to_text())
    if found.groups is not None:
        blocks.append(_group_table(found.groups, found).to_text())
        for name, table in _list_differences(found.groups):
            header = (f"{name}, {table.header[0]}", *table.header[1:])
            blocks.append(table._replace(header=header).to_text())
        blocks.append("\n".join(group_notes(found.groups)))
    return "\n\n".join(filter(None, blocks))
