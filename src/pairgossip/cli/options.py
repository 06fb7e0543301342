"""Kinds of options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from cyclopts import Token

LARGEST_NUMBER = 10**15
LARGEST_SEED = 2**128 - 1
"""The seeds that Python draws for a run without one are that large."""

# In the order of --help: what is needed most comes first.
WATCHED = Group.create_ordered("What to watch")
STATISTIC = Group.create_ordered("Statistic")
NETWORK = Group.create_ordered("Network")
METHOD = Group.create_ordered("Method")
OUTPUT = Group.create_ordered("Output")
PRIVACY = Group.create_ordered("Privacy")
CHAOS = Group.create_ordered("Chaos")
SERVER = Group.create_ordered("Server")


def whole_number(_: Any, tokens: Sequence[Token]) -> int:
    """Read 1000000, 1_000_000 or 1e6."""
    return _whole(tokens[0].value, LARGEST_NUMBER)


def seed_number(_: Any, tokens: Sequence[Token]) -> int:
    """Read a whole number, however it is spelled, up to the largest seed."""
    return _whole(tokens[0].value, LARGEST_SEED)


def _whole(text: str, largest: int) -> int:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if number.is_finite() and number > largest:
        raise ValueError(f"'{text}' is too large: give at most {largest:,}.")
    # Comparing first keeps 1e999999999 from being written out; abs() would overflow on it.
    if not number.is_finite() or number < -largest or number != int(number):
        raise ValueError(f"give a whole number such as 1000000, 1_000_000 or 1e6, not '{text}'.")
    return int(number)


Whole = Annotated[int, Parameter(converter=whole_number)]
Seed = Annotated[int, Parameter(converter=seed_number)]
Flag = Annotated[bool, Parameter(show_default=False)]
