"""A plan: one row per method, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from pairgossip.algorithms.methods import METHODS
from pairgossip.errors import InputError, Notice, needed_for
from pairgossip.pages.page import Paragraph, Table, show
from pairgossip.text import align_columns, format_bytes, format_count, join_names

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PlannedMethod:
    """The cost of one method to reach the error, and what it shows to whom."""

    method: str
    clock: str
    schedule: str
    exchanges: int | None = None
    """Mean number of exchanges until the error is reached; None if it is not, see `why_not`."""
    messages: int | None = None
    """Two per exchange, three where rows are collected, one along a tree."""
    bytes: int | None = None
    """Payload of all messages, 8 per number."""
    basis: str | None = None
    """The source of these numbers: "exact" or "counted" from theory, "simulated" in part or in
    whole, or "fitted" to a pilot run and extrapolated."""
    remaining_error: float | None = None
    """The error of the sketch, which no longer run reduces, relative to the exact value."""
    shows: str = ""
    """The part of the rows that each node sees."""
    tolerates: str = ""
    """The faults and lies that it withstands, and those that it does not."""
    refusal: Notice | None = field(default=None, repr=False, compare=False)
    """The reason why the error is not reached, if it is not."""

    @property
    def name(self) -> str:
        """The method with its schedule or, as for GoSta, its clock."""
        is_apart = METHODS[self.method].set_apart_by_clock
        return f"{self.method} ({self.clock if is_apart else self.schedule})"

    @property
    def why_not(self) -> str | None:
        """A sentence that says why the method does not reach the error; None if it does."""
        return None if self.refusal is None else str(self.refusal)

    def record(self) -> dict[str, Any]:
        """Return all fields of the method by name."""
        names = [each.name for each in fields(self) if each.name != "refusal"]
        return {name: getattr(self, name) for name in [*names, "why_not"]}


class Bounds(NamedTuple):
    """The least cost of any method after which every node's answer can depend on every row.

    With less, only a large error can be reached.
    """

    calls: int
    """Exchanges; see `pairgossip.theory.fewest_calls`."""
    messages: int
    """One-way messages; see `pairgossip.theory.fewest_messages`."""
    pairs: int | None
    """The number of random pairs with this error on average, without any network; None where there
    are too many pairs to compute it. See `pairgossip.theory.fewest_pairs`."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The result of `plan`: the cost of every method to reach an error."""

    rows: tuple[PlannedMethod, ...]
    """One per method and schedule; first those that reach the error, by messages."""
    error: float
    """The root mean square error over nodes to reach, relative to the exact value."""
    target: float
    """The exact value."""
    bounds: Bounds
    """The least cost after which every node's answer can depend on every row."""
    title: str = ""
    """The statistic and the network."""

    @property
    def reaching(self) -> tuple[PlannedMethod, ...]:
        """The rows that reach the error, fewest messages first."""
        return tuple(row for row in self.rows if row.messages is not None)

    @property
    def best(self) -> PlannedMethod:
        """The row with the fewest messages among those that reach the error.

        Raise `InputError` if none does.
        """
        if not self.reaching:
            raise InputError("No method reaches the error on this network: allow a larger one.")
        return self.reaching[0]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a table."""
        with needed_for("Plan.to_pandas"):
            import pandas
        counts = ("exchanges", "messages", "bytes")
        frame = pandas.DataFrame([row.record() for row in self.rows])
        return frame.astype(dict.fromkeys(counts, "Int64"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the messages that every method needs, and return the matplotlib axes.

        Below the line on the left some node's answer lacks some row, with any method. Hatched bars
        are extrapolated from a pilot run.
        """
        from pairgossip.planning.figure import draw_plan

        return draw_plan(self, ax)

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table as text; its columns are `COLUMNS`."""
        return [
            (
                row.name,
                _format(row.exchanges, "{:,}".format),
                _format(row.messages, "{:,}".format),
                _format(row.bytes, format_bytes),
                row.basis or "-",
                _format(row.remaining_error, _format_part),
            )
            for row in self.rows
        ]

    def sights(self) -> list[tuple[str, str]]:
        """Return groups of methods that show the same parts of rows to nodes, and which parts."""
        return self._name_groups([row.shows if row.refusal is None else None for row in self.rows])

    def tolerances(self) -> list[tuple[str, str]]:
        """Return groups of methods that withstand the same faults, and which faults."""
        return self._name_groups(
            [row.tolerates or None if row.refusal is None else None for row in self.rows]
        )

    def reasons(self) -> list[tuple[str, Notice]]:
        """Return groups of methods that fail for the same reason, and the reason."""
        notices = {row.why_not: row.refusal for row in self.rows if row.refusal is not None}
        groups = self._name_groups([row.why_not for row in self.rows])
        return [(names, notices[why]) for names, why in groups]

    def _name_groups(self, texts: Sequence[str | None]) -> list[tuple[str, str]]:
        """Group the rows by a text about each; all schedules of a method go by its name."""
        groups: dict[str, list[PlannedMethod]] = {}
        for row, text in zip(self.rows, texts, strict=True):
            if text is not None:
                groups.setdefault(text, []).append(row)
        return [(join_names(self._names(rows)), text) for text, rows in groups.items()]

    def _names(self, rows: Sequence[PlannedMethod]) -> list[str]:
        names: dict[str, None] = {}
        for row in rows:
            is_whole = all(other in rows for other in self.rows if other.method == row.method)
            names[row.method if is_whole else row.name] = None
        return list(names)

    @property
    def summary(self) -> str:
        """The bounds in a sentence."""
        calls, messages, pairs = self.bounds
        has = "has" if pairs == 1 else "have"
        sampled = (
            "" if pairs is None else f"; {format_count(pairs, 'random pair')} {has} this error"
        )
        return (
            f"It takes at least {format_count(messages, 'message')}, or "
            f"{format_count(calls, 'exchange')}, until every node can know of every row{sampled}."
        )

    def _repr_html_(self) -> str:
        notes = [f"{names}: shows {what}." for names, what in self.sights()]
        table = Table(COLUMNS, tuple(self.cells()), self.title)
        return show((table, *map(Paragraph, [self.summary, *notes])))

    def __repr__(self) -> str:
        table = align_columns([COLUMNS, *self.cells()])
        reasons = [f"Not {names}: {why}" for names, why in self.reasons()]
        sights = [f"{names}: shows {what}." for names, what in self.sights()]
        tolerances = [f"{names}: tolerates {what}." for names, what in self.tolerances()]
        return "\n".join([self.title, *table, self.summary, *reasons, *sights, *tolerances])


COLUMNS = ("method", "exchanges", "messages", "bytes", "known by", "error that stays")


def _format(number: Any, form: Callable[[Any], str]) -> str:
    return "-" if number is None else form(number)


def _format_part(part: float) -> str:
    """Return an error relative to the exact value in percent; rounding errors count as none."""
    return "none" if part < 1e-12 else f"{100 * part:.2g} %"
