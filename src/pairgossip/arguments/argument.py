"""One argument: its values, its check, and its spelling on the command line and the page.

A front door declares its arguments as the fields of a dataclass; `argument(...)` declares those
that have a rule or a spelling. Its request inherits the fields, so type checkers and editors see
plain attributes. The options of the command line, the settings of the page, the code that the page
shows and the checks are loops over `declared(...)`. Public signatures are written out, and a test
checks that they equal the declarations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pairgossip.checks import LARGEST_NUMBER, choice, real, whole
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Value = TypeVar("_Value")


@dataclass(frozen=True, kw_only=True)
class Argument:
    """The values of an argument, and how the command line and the page spell it.

    >>> law = Argument(name="law", noun="edge law", choices=("uniform-edges", "node-clocks"))
    >>> law.check("Node_Clocks")
    'node-clocks'
    """

    name: str = ""
    kind: type = str
    """The type of the value as text: ``str``, ``int`` or ``float``; ``object`` for Python only."""
    default: Any = None
    """The default value; None where it depends on other arguments."""
    noun: str = ""
    """The name in messages, such as "edge law"; the argument's own name if empty."""
    choices: Collection[str] = ()
    """The names it accepts; any text if empty. A mapping also has the page's text for each."""
    takes_others: bool = False
    """Whether Python also accepts values other than names; they are checked elsewhere."""
    least: float = -math.inf
    most: float = math.inf
    """The limits of a number, inclusive; without a lower limit it is checked elsewhere."""
    belongs_to: str = ""
    """The only method that takes it; any method if empty."""
    reason: str = ""
    """Why other methods do not take it, such as "chooses its steps itself"."""

    help: str = ""
    """The sentence in ``--help``; if empty, the command line has no such option."""
    option: str = ""
    """The name of the option, if it differs from the argument's."""
    group: str = "method"
    """The group of its option; only options of the group "method" are made from declarations."""
    shown: Any = None
    """The default that ``--help`` shows; None if the help text itself says it."""
    is_needed: bool = False
    """Whether ``--help`` lists it among the most needed options."""
    label: str = ""
    """The label of its field on the page; if empty, the page has no such field."""
    placeholder: str = ""
    """The text in an empty field of the page."""

    def check(self, value: Any) -> Any:
        """Return the value in canonical form; raise `InputError` if it is not allowed."""
        try:
            return self._check(value)
        except InputError as problem:
            problem.subject = self.name  # for the page to mark
            raise

    def _check(self, value: Any) -> Any:
        noun = self.noun or self.name
        if value is None and self.default is None:
            return None
        if self.takes_others and not isinstance(value, str):
            return value
        if self.choices:
            return choice(noun, value, self.choices)
        if self.least == -math.inf or self.kind not in (int, float):
            return value
        if self.kind is int:
            return whole(f"The {noun}", value, int(self.least), int(min(self.most, LARGEST_NUMBER)))
        return real(f"The {noun}", value, self.least, self.most)

    def refuse_other_method(self, method: str, value: Any) -> None:
        """Raise `InputError` if a value is given for a method that does not use it."""
        is_default = value is None or (isinstance(value, str) and canonical(value) == self.default)
        if is_default or self.belongs_to == method:
            return
        raise InputError(
            f"Method '{method}' {self.reason}: leave {{argument}} out."
            if self.reason
            else f"{{argument}} belongs to method '{self.belongs_to}': leave it out, or choose "
            "that method.",
            self.name,
        )


def argument(default: _Value, **facts: Any) -> _Value:
    """Declare an argument as a field of a dataclass; ``facts`` are fields of `Argument`."""
    kind = {} if default is None else {"kind": type(default)}
    made = Argument(default=default, **(kind | facts))
    return field(default=default, metadata={"argument": made})


def vary(door: type[DataclassInstance], name: str, **facts: Any) -> Any:
    """Declare an argument of another front door again, with some facts changed."""
    one = replace(declared(door)[name], **facts)
    return field(default=one.default, metadata={"argument": one})


@cache
def declared(door: type[DataclassInstance]) -> Mapping[str, Argument]:
    """Return the declared arguments by name, in the order of the fields."""
    return {
        each.name: replace(each.metadata["argument"], name=each.name)
        for each in fields(door)
        if "argument" in each.metadata
    }


def on_page(door: type[DataclassInstance]) -> dict[str, Argument]:
    """Return the declared arguments that have a field on the page, by name."""
    return {name: one for name, one in declared(door).items() if one.label}


def check_declared(request: Any) -> None:
    """Replace every argument by its canonical value; raise `InputError` for a wrong one."""
    door: type[DataclassInstance] = type(request)
    for name, one in declared(door).items():
        value = getattr(request, name)
        if one.belongs_to:
            one.refuse_other_method(canonical(request.method), value)
        setattr(request, name, one.check(value))
