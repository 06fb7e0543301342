"""Kinds of options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from pairgossip.arguments.argument import Argument, declared
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arguments.minimize import MinimizeArguments
from pairgossip.arguments.run import LARGEST_SEED
from pairgossip.checks import LARGEST_NUMBER
from pairgossip.errors import InputError, canonical
from pairgossip.text import format_count

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from cyclopts import Token

    from pairgossip.sketches import Recipe


# In the order of --help: what is needed most comes first.
MOST = Group.create_ordered("Needed most")
WATCHED = Group.create_ordered("What to watch")
STATISTIC = Group.create_ordered("Statistic")
NETWORK = Group.create_ordered("Network")
METHOD = Group.create_ordered("Method")
OUTPUT = Group.create_ordered("Output")
PRIVACY = Group.create_ordered("Privacy")
CHAOS = Group.create_ordered("Chaos")
SERVER = Group.create_ordered("Server")
_GROUPS = {"method": METHOD, "statistic": STATISTIC}
"""The group of options for each group of declared arguments."""


def _read_whole(largest: int) -> Callable[[Any, Sequence[Token]], int]:
    """Return a reader of whole numbers such as 1000000, 1_000_000 or 1e6."""

    def read(_: Any, tokens: Sequence[Token]) -> int:
        text = tokens[0].value
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("nan")
        if number.is_finite() and number > largest:
            raise ValueError(f"'{text}' is too large: give at most {largest:,}.")
        # Comparing first keeps 1e999999999 from being written out; abs() would overflow on it.
        if not number.is_finite() or number < -largest or number != int(number):
            raise ValueError(
                f"give a whole number such as 1000000, 1_000_000 or 1e6, not '{text}'."
            )
        return int(number)

    return read


Whole = Annotated[int, Parameter(converter=_read_whole(LARGEST_NUMBER))]
Seed = Annotated[int, Parameter(converter=_read_whole(LARGEST_SEED))]
Flag = Annotated[bool, Parameter(show_default=False)]
Json = Annotated[Flag, Parameter(help="Print one JSON object instead of tables.")]
TableFiles = Annotated[
    list[Path],
    Parameter(
        name="FILES",
        group=MOST,
        help="A table: CSV whose first line names its columns, plain or .gz, - for standard input; "
        "a file .parquet, .arrow or .feather, a folder of Parquet files, or a query for DuckDB in "
        "a file .sql. With several files, each is a site with the name of its file.",
    ),
]
Columns = Annotated[
    list[str] | None,
    Parameter(
        group=MOST,
        help="Column of numbers to use; for several, repeat it or separate names by commas. "
        "Optional if the file has only one column.",
    ),
]
Label = Annotated[
    str | None,
    Parameter(
        group=MOST,
        help="Column of labels for kernels that compare classes. With two numbers the higher one "
        "is the positive class; for text give --classes or --positive.",
    ),
]
Classes = Annotated[
    str | None,
    Parameter(
        help="The labels from the lowest to the highest, such as no,yes or none,mild,severe: they "
        "count as 0, 1, ... in this order, and others are refused. For reports and shared counts "
        "name all possible labels."
    ),
]
Positive = Annotated[
    str | None,
    Parameter(help="The positive one of two labels, instead of --classes."),
]
HomeFolder = Annotated[
    Path | None,
    Parameter(
        help="The peer's folder; by default PAIRGOSSIP_HOME, the current folder, or the only "
        "peer's folder in it."
    ),
]
KERNEL = Parameter(
    group=MOST,
    help="The kernel to average over pairs, such as gini; `pairgossip kernels` lists them.",
)
NEEDED = Parameter(group=MOST)
KernelName = Annotated[str | None, KERNEL]
Level = Annotated[
    float | None,
    Parameter(
        help="The level of an interval for the value in the population, such as 0.95: also print "
        "the sampling error."
    ),
]
TargetName = Annotated[str | None, Parameter(help=declared(EstimateArguments)["target"].help)]


def given_options(*options: DataclassInstance) -> dict[str, Any]:
    """Return by name the options that were given, which are not None."""
    named = {field.name: getattr(each, field.name) for each in options for field in fields(each)}
    return {name: value for name, value in named.items() if value is not None}


def arguments_among(door: type[DataclassInstance], *options: DataclassInstance) -> dict[str, Any]:
    """Return by name the options that were given and are arguments of a front door."""
    names = {each.name for each in fields(door)}
    return {name: value for name, value in given_options(*options).items() if name in names}


def make_options(name: str, arguments: Iterable[Argument]) -> Any:
    """Return declared arguments as a group of options."""
    options = [(one.name, _option_type(one), field(default=one.shown)) for one in arguments]
    made = make_dataclass(name, options, frozen=True, namespace={"__module__": __name__})
    return Parameter(name="*")(made)


def _method_arguments(door: type[DataclassInstance]) -> list[Argument]:
    """Return the arguments of a front door about the method and the length of a run."""
    return [one for one in declared(door).values() if one.help and one.group == "method"]


def _option_type(one: Argument) -> Any:
    """Return the type of an option, annotated for the parser."""
    kind: Any = one.kind
    if kind is int:
        largest = LARGEST_NUMBER if math.isinf(one.most) else int(one.most)
        kind = Annotated[int, Parameter(converter=_read_whole(largest))]
    group = MOST if one.is_needed else _GROUPS[one.group]
    how = Parameter(help=one.help, group=group, name=one.option or None)
    return Annotated[kind if one.shown is not None else kind | None, how]


if TYPE_CHECKING:  # an option that is not given is None, or the default that --help shows
    MethodOptions = EstimateArguments
    DescentOptions = MinimizeArguments
else:
    MethodOptions = make_options("MethodOptions", _method_arguments(EstimateArguments))
    DescentOptions = make_options("DescentOptions", _method_arguments(MinimizeArguments))


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class SketchOptions:
    """Options of method sketch; --bins and --range are those of private reports."""

    sketch_bins: Whole | None = None
    """For method sketch, the number of bins: more bins are more accurate and make longer messages.
    By default the kernel chooses it."""
    sketch_range: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    """For method sketch, the lowest and highest possible value, such as 0,5000, if all nodes know
    it; repeat it if two columns differ. Otherwise nodes first exchange their ranges."""

    def recipe(self, method: str | None, kernel: str | None) -> Recipe | None:
        """Return the kernel's sketch with what the options change; None if they change nothing."""
        first = next(iter(given_options(self)), None)
        if first is None:
            return None
        if canonical(method or "").removesuffix("-gossip") != "sketch" or kernel is None:
            option = f"--{first.replace('_', '-')}"
            raise InputError(f"{option} needs a sketch: give --method sketch, or leave it out.")
        from pairgossip.kernels import as_kernel
        from pairgossip.sketches import default_sketch

        chosen: Any = default_sketch(as_kernel(kernel))
        taken = {field.name for field in fields(chosen)}
        changes: dict[str, Any] = {} if self.sketch_bins is None else {"bins": self.sketch_bins}
        if self.sketch_range:
            changes |= self._ranges(columns=2 if "ranges" in taken else 1)
        superfluous = next((name for name in changes if name not in taken), None)
        if superfluous is not None:
            raise InputError(
                f"The sketch of kernel '{canonical(kernel)}', {type(chosen).__name__}, takes no "
                f"{superfluous}: leave --sketch-{superfluous} out."
            )
        sketch: Recipe = replace(chosen, **changes)
        return sketch

    def _ranges(self, columns: int) -> dict[str, Any]:
        option = "--sketch-range"
        ranges = [read_limits(text, option) for text in self.sketch_range or ()]
        if len(ranges) not in (1, columns):
            raise InputError(
                f"There are {len(ranges)} ranges for {format_count(columns, 'column')}: give "
                f"{option} once{' for all, or once for each' if columns > 1 else ''}."
            )
        if columns == 1:
            return {"range": ranges[0]}
        return {"ranges": tuple(ranges * columns if len(ranges) == 1 else ranges)}


def read_limits(text: str, option: str = "--range") -> tuple[float, float]:
    """Read the two ends of a range, such as 0,5000."""
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"'{text}' is not a range: give {option} lowest,highest, such as 0,5000.")
    try:
        return float(parts[0]), float(parts[1])
    except ValueError:
        raise InputError(f"'{text}' are not numbers: give them as in 0,1.") from None


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class GroupOptions:
    """Sites that hold several rows."""

    group_by: str | None = None
    """Column with the site of each row. The nodes of the network are then the sites: with
    --graph-file the nodes with the same names, or numbers, else in the order of the names."""
    construction: str | None = None
    """How sites exchange, with --group-by: lexicographic (default; one row at a time, rows of one
    site for free), blow-up (never rows of one site) or whole-sets (all rows at once)."""

    def check(self, files: Sequence[Path], spec: Path | None) -> None:
        """Raise `InputError` for a construction without sites, and for sites of a specification."""
        if self.construction is not None and self.group_by is None and len(files) == 1:
            raise InputError(
                "--construction is about sites that hold several rows: give --group-by, the column "
                "with the site of each row, too, or a file for each site."
            )
        if self.group_by is not None and len(files) > 1:
            raise InputError(
                f"Each of the {len(files)} files is a site: leave --group-by out, or put all rows "
                "into one file."
            )
        if self.construction is not None and spec is not None:
            raise InputError(
                f"{spec} is for peers, which exchange one row at a time: leave --construction out, "
                "or run without --spec."
            )
        if self.group_by is not None and spec is not None:
            raise InputError(
                f"{spec} is for peers, which use links equally often for any number of rows: leave "
                "--group-by out, or run without --spec."
            )
