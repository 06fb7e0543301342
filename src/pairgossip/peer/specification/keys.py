"""What is said beside a key of a specification: its bounds, whom it is for, how it is written.

A key is declared once, in its table. Its type and bounds are msgspec's. A `Key` in its annotation
says the rest: which runs have it, what refuses it elsewhere, its canonical form, what it discloses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import fields, replace

from pairgossip.errors import InputError

EXCHANGE, SUMS = "exchange", "sums"
"""Algorithms: rows pass from member to member, or nothing but sums over all rows becomes known."""
KERNEL, LOSS = "kernel", "loss"
"""Measures: a statistic, or a model that is learned."""

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""TOML may hold whole numbers so long that Python neither prints them nor makes floats of them."""
Count = Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=math.nextafter(math.inf, 0))]

_FOR = {
    SUMS: 'algorithm.name = "sums"',
    EXCHANGE: 'algorithm.name = "exchange"',
    KERNEL: "a kernel, whose columns have cells",
    LOSS: "a loss",
}
"""How a sentence calls the runs that alone have a key."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; a key it does not know is an error."""


class Key(NamedTuple):
    """What is said beside a key, but its type and its bounds."""

    algorithm: str = ""
    """The only algorithm that has it; empty for both."""
    measure: str = ""
    """The only measure that has it; empty for both."""
    elsewhere: Mapping[str, str] = {}
    """By algorithm or measure, what refuses it there in place of the usual words."""
    refusal: str = "give a finite number > 0."
    """What to do about a number beyond the bounds."""
    canonical: Callable[[Any], Any] | None = None
    """Returns the one way in which a value is written; None if as it is given."""
    beside_noise: str = ""
    """What refuses it where noise is added; empty if nothing does."""
    discloses: str = ""
    """What it lets leave a member's machine, a sentence with {} for the value."""

    def refuse(self, place: str, algorithm: str, measure: str) -> None:
        """Raise `InputError` in a run of this algorithm and measure, unless it has the key."""
        for only, here in ((self.algorithm, algorithm), (self.measure, measure)):
            if only and here and only != here:
                usual = f"is for {_FOR[only]}: remove it."
                raise InputError(f"{place} {self.elsewhere.get(here, usual)}")


@cache
def keys_of(table: type[msgspec.Struct]) -> dict[str, Key]:
    """Return what is said beside the keys of a table."""
    return {one.name: next(_find_keys(one.type), Key()) for one in fields(table)}


def _find_keys(kind: Any) -> Iterator[Key]:
    if get_origin(kind) is Annotated:
        yield from (one for one in kind.__metadata__ if isinstance(one, Key))
        yield from _find_keys(get_args(kind)[0])


_Table = TypeVar("_Table", bound=Strict)


def make_canonical(table: _Table) -> _Table:
    """Write every value of a table the one way."""
    changes = {}
    for name, key in keys_of(type(table)).items():
        value = getattr(table, name)
        if isinstance(value, Strict):
            value = make_canonical(value)
        if value is not None and key.canonical is not None:
            value = key.canonical(value)
        changes[name] = value
    return replace(table, **changes)


def refuse_beside_noise(table: Strict, prefix: str = "") -> None:
    """Raise `InputError` for a key that does not go together with noise."""
    for name, key in keys_of(type(table)).items():
        value = getattr(table, name)
        if isinstance(value, Strict):
            refuse_beside_noise(value, f"{name}.")
        elif key.beside_noise and value is not None:
            raise InputError(f"{prefix}{name} and [privacy] {key.beside_noise}: remove one.")


def disclosures(table: Strict) -> list[str]:
    """Say of every key that is given what it lets leave a member's machine."""
    given = ((key, getattr(table, name)) for name, key in keys_of(type(table)).items())
    return [key.discloses.format(value) for key, value in given if key.discloses and value]


def or_none(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the canonical form of a key for which nothing is as good as absent."""
    return lambda value: make(value) or None


def sort_values(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return different values in their order."""
    return tuple(sorted(set(values)))


def sort_numbers(numbers: Iterable[float]) -> tuple[float, ...]:
    """Return different numbers in their order, none of them minus zero."""
    return sort_values(one + 0.0 for one in numbers)
