"""One argument: its values, its check, and its spelling on the command line and the page.

A front door declares its arguments as the fields of a dataclass, one `argument(...)` each.
Its request inherits the fields, so type checkers and editors see plain attributes; the command
line's options, the page's settings, the code that the page shows and the refusals are loops over
`declared(...)`. Public signatures stay written out, and a test holds them equal to the
declarations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar

from pairgossip.checks import LARGEST_NUMBER, choice, real, whole

_Value = TypeVar("_Value")


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What users may give for an argument, and how they are told of it.

    >>> law = Argument(name="law", noun="edge law", choices=("uniform-edges", "node-clocks"))
    >>> law.check("Node_Clocks")
    'node-clocks'
    """

    name: str = ""
    kind: type = str
    """What text is read as: ``str``, ``int`` or ``float``; ``object`` for Python's values alone."""
    default: Any = None
    """The value unless given; None where it depends on other arguments."""
    noun: str = ""
    """The name in refusals, such as "edge law"; the argument's own if empty."""
    choices: Collection[str] = ()
    """The names it may have; any text if empty."""
    least: float = -math.inf
    most: float = math.inf
    """The limits of a number, which belong to it."""
    help: str = ""
    """The sentence of ``--help``; the command line has no such option if it is empty."""

    def check(self, value: Any) -> Any:
        """Return the value as it is used; raise `InputError` unless it is a possible one."""
        if value is None and self.default is None:
            return None
        noun = self.noun or self.name
        if self.choices:
            return choice(noun, value, self.choices)
        if self.kind is int:
            return whole(f"The {noun}", value, int(self.least), int(min(self.most, LARGEST_NUMBER)))
        if self.kind is float:
            return real(f"The {noun}", value, self.least, self.most)
        return value


def argument(default: _Value, **facts: Any) -> _Value:
    """Declare an argument as a field of a dataclass; facts are fields of `Argument`."""
    kind = {} if default is None else {"kind": type(default)}
    made = Argument(default=default, **(kind | facts))
    return field(default=default, metadata={"argument": made})


@cache
def declared(door: type) -> Mapping[str, Argument]:
    """Return the arguments that a dataclass declares, by name and in their order."""
    return {
        each.name: replace(each.metadata["argument"], name=each.name)
        for each in fields(door)
        if "argument" in each.metadata
    }
