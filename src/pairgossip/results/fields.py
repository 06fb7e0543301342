"""Facts about the fields of results, declared beside each field as its metadata.

Collecting records, saving, loading, joining, tables and the facts that the command line and the
page show are loops over these fields, so a new number is one field and its computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.graphs import GroupedGraph

if TYPE_CHECKING:
    from pairgossip.engine.estimation.trial import Setup

_KEY = "about"
TRIAL, ITERATION, NODE, ROW = "trial", "iteration", "node", "row"
CURVE, PER_NODE, PER_TRIAL = (TRIAL, ITERATION), (TRIAL, NODE), (TRIAL,)
REST = "..."
"""Stands last for any number of further dimensions, which differ from part to part."""
JSON, TABLE, PAGE = "json", "table", "page"
"""The places where a fact is shown: in the command line's JSON object, its table, on the page."""


Condition = Callable[[Any], bool]


def _always(setup: Any) -> bool:
    return True


class Fact(NamedTuple):
    """The way a field is shown; a field that is None is left out of tables."""

    label: str = ""
    summarize: Callable[[Any], Any] = float
    """Return the number to show for the value: for an array over nodes, for instance, its mean."""
    of: str = ""
    """The attribute that is shown in place of the field; empty for the field itself."""
    digits: int = 4
    places: tuple[str, ...] = (JSON, TABLE, PAGE)


class Parts(NamedTuple):
    """Arrays that make up one field, and their names in files."""

    make: Callable[..., Any]
    names: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class About:
    """Facts about a field besides its type."""

    dims: tuple[str, ...] | None = None
    """Dimensions of an array; None for a field in the header of files. Arrays whose first dimension
    is the trials are joined."""
    source: str = ""
    """Its name in the records of trials; empty if it does not come from these."""
    when: Condition = _always
    """Whether trials of a setup measure it; if they do not, it is None."""
    column: str = ""
    """The name of a curve, or of a number per trial, in tables; empty if it is in no table."""
    alike: bool = False
    """Whether only results with the same value are joined; otherwise the first one's is kept."""
    encode: Callable[[Any], Any] = lambda value: value
    """Return the value as the header holds it; not called for None."""
    decode: Callable[[Any], Any] = lambda value: value
    """Return the value that a file holds."""
    omitted: bool = False
    """Whether the header leaves it out if it is None."""
    parts: Parts | None = None
    fact: Fact | None = None


def about(**facts: Any) -> Mapping[str, About]:
    """Return the metadata of a field that is saved."""
    return {_KEY: About(**facts)}


def curve(
    source: str, when: Condition = _always, fact: Fact | None = None, *, column: str = ""
) -> Mapping[str, About]:
    """Return the metadata of a number per trial and checkpoint."""
    return about(dims=CURVE, source=source, column=column or source, when=when, fact=fact)


def per_node(
    source: str, when: Condition = _always, fact: Fact | None = None
) -> Mapping[str, About]:
    """Return the metadata of a number per trial and node, at the end."""
    return about(dims=PER_NODE, source=source, when=when, fact=fact)


def parts_of(kind: Any, prefix: str) -> Parts:
    """Return the parts of a named tuple."""
    return Parts(kind, {name: f"{prefix}_{name}" for name in kind._fields})


def saved_fields(kind: Any) -> dict[str, About]:
    """Return the facts about the saved fields of a result, or of its class, by name."""
    return {each.name: each.metadata[_KEY] for each in fields(kind) if _KEY in each.metadata}


def collect(kind: Any, setup: Any, records: Sequence[Any], at: slice | IntArray) -> dict[str, Any]:
    """Return the fields that trials recorded, at these checkpoints; None if not measured."""

    def stack(about: About) -> FloatArray | None:
        values: list[Any] = [getattr(record, about.source, None) for record in records]
        if not about.when(setup) or any(value is None for value in values):
            return None
        has_checkpoints = about.dims is not None and ITERATION in about.dims
        return np.array([value[at] for value in values] if has_checkpoints else values)

    return {name: stack(about) for name, about in saved_fields(kind).items() if about.source}


def join_fields(
    results: Sequence[Any], join: Callable[[Sequence[Any]], Any], dims: tuple[str, ...]
) -> dict[str, Any]:
    """Join the arrays of results whose dimensions begin with these; None if some lack them."""
    joined: dict[str, Any] = {}
    for name, about in saved_fields(results[0]).items():
        if about.dims is None or about.dims[: len(dims)] != dims:
            continue
        values = [getattr(result, name) for result in results]
        if any(value is None for value in values):
            joined[name] = None
        elif about.parts is None:
            joined[name] = join(values)
        else:
            make, parts = about.parts
            joined[name] = make(**{n: join([getattr(one, n) for one in values]) for n in parts})
    return joined


def shown_facts(result: Any, place: str) -> Iterator[tuple[str, Fact, Any]]:
    """Return the facts of a result that are shown in one place, by attribute; None if unknown."""
    for name, about in saved_fields(result).items():
        if about.fact is not None and place in about.fact.places:
            shown = about.fact.of or name
            value = getattr(result, shown)
            yield shown, about.fact, None if value is None else about.fact.summarize(value)


def has_faults(setup: Any) -> bool:
    """Whether trials of any kind have faults."""
    return getattr(setup, "faulty", None) is not None


def loses_halves(setup: Any) -> bool:
    """Whether exchanges are half lost."""
    return has_faults(setup) and setup.faulty.faults.half_loss > 0


def at_end(curve: Any) -> float:
    """Return the last entry of a curve."""
    return float(curve[-1])


def learns_errors(setup: Setup) -> bool:
    """Whether nodes learn their sampling errors."""
    return setup.level is not None


def learns_rows(setup: Setup) -> bool:
    """Whether nodes learn their sampling errors from rows that visit them."""
    return learns_errors(setup) and setup.learns_rows


def has_site_errors(setup: Setup) -> bool:
    """Whether nodes also learn errors for sites that are drawn whole."""
    return learns_rows(setup) and isinstance(setup.graph, GroupedGraph)


def has_ends(setup: Setup) -> bool:
    """Whether nodes find the ends of intervals, instead of an error around a kernel's average."""
    return learns_errors(setup) and setup.problem.kernel is None and not setup.tests


def is_test(setup: Setup) -> bool:
    """Whether nodes find p-values."""
    return learns_errors(setup) and setup.tests


def has_null_errors(setup: Setup) -> bool:
    """Whether nodes learn the standard error without an effect."""
    return setup.node_test is not None


def stops_early(setup: Setup) -> bool:
    """Whether trials end when all nodes have enough."""
    return learns_errors(setup) and setup.stops_early


def is_private(setup: Setup) -> bool:
    """Whether nodes use private reports of the rows."""
    return setup.privacy_error is not None
