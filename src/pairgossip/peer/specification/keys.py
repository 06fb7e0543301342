"""Declarations of the keys of a specification: their runs, refusals and canonical forms.

A key is declared once, in its table. msgspec has its type and bounds. A `Key` in its annotation has
the rest: the runs that take it, its refusal in others, its canonical form, and what it discloses.
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
"""Algorithms: rows pass from member to member, or only sums over all rows become known."""
KERNEL, LOSS = "kernel", "loss"
"""Measures: a statistic, or a model to learn."""

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number of 64 bits; Python cannot print or convert every longer one that TOML allows."""
Count = Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=math.nextafter(math.inf, 0))]

_FOR = {
    SUMS: 'algorithm.name = "sums"',
    EXCHANGE: 'algorithm.name = "exchange"',
    KERNEL: "a kernel, whose columns have cells",
    LOSS: "a loss",
}
"""Names in error messages of the runs that have a key."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; an unknown key is an error."""


class Key(NamedTuple):
    """The declaration of a key, except for its type and bounds."""

    algorithm: str = ""
    """The only algorithm that has the key; empty for both."""
    measure: str = ""
    """The only measure that has the key; empty for both."""
    elsewhere: Mapping[str, str] = {}
    """The refusals that replace the usual one, by algorithm or measure."""
    refusal: str = "give a finite number > 0."
    """The advice for a number beyond the bounds."""
    canonical: Callable[[Any], Any] | None = None
    """The function that returns a value's canonical form; None if every value is canonical."""
    noise_refusal: str = ""
    """The refusal where noise is added; empty if the key is allowed there."""
    discloses: str = ""
    """A sentence on what leaves a member's machine because of the key; {} stands for the value."""

    def refuse(self, place: str, algorithm: str, measure: str) -> None:
        """Raise `InputError` if a run of this algorithm and measure does not have the key."""
        for only, here in ((self.algorithm, algorithm), (self.measure, measure)):
            if only and here and only != here:
                usual = f"is for {_FOR[only]}: remove it."
                raise InputError(f"{place} {self.elsewhere.get(here, usual)}")


@cache
def keys_of(table: type[msgspec.Struct]) -> dict[str, Key]:
    """Return the declarations of the keys of a table."""
    return {one.name: next(_find_keys(one.type), Key()) for one in fields(table)}


def _find_keys(kind: Any) -> Iterator[Key]:
    if get_origin(kind) is Annotated:
        yield from (one for one in kind.__metadata__ if isinstance(one, Key))
        yield from _find_keys(get_args(kind)[0])


_Table = TypeVar("_Table", bound=Strict)


def make_canonical(table: _Table) -> _Table:
    """Return a table with every value in its canonical form."""
    changes = {}
    for name, key in keys_of(type(table)).items():
        value = getattr(table, name)
        if isinstance(value, Strict):
            value = make_canonical(value)
        if value is not None and key.canonical is not None:
            value = key.canonical(value)
        changes[name] = value
    return replace(table, **changes)


def refuse_with_noise(table: Strict, prefix: str = "") -> None:
    """Raise `InputError` for a key that is not allowed with noise."""
    for name, key in keys_of(type(table)).items():
        value = getattr(table, name)
        if isinstance(value, Strict):
            refuse_with_noise(value, f"{name}.")
        elif key.noise_refusal and value is not None:
            raise InputError(f"{prefix}{name} and [privacy] {key.noise_refusal}: remove one.")


def disclosures(table: Strict) -> list[str]:
    """Return what leaves a member's machine because of each key in the file, in sentences."""
    values = ((key, getattr(table, name)) for name, key in keys_of(type(table)).items())
    return [key.discloses.format(value) for key, value in values if key.discloses and value]


def or_none(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a canonical form that writes an empty value as an absent one."""
    return lambda value: make(value) or None


def sort_values(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct values in ascending order."""
    return tuple(sorted(set(values)))


def sort_numbers(numbers: Iterable[float]) -> tuple[float, ...]:
    """Return the distinct numbers in ascending order, with 0 for minus zero."""
    return sort_values(one + 0.0 for one in numbers)
