"""The computation of a function of a pair: its elementary operations, each stored once.

A term is the number of the operation that gives it, counted from 1, and negative for its negative.
Terms have one form, in which a - b is the negative of b - a, a + b is b + a, and |-a| is |a|. All
of these hold to the last bit, except for the sign of zero, which only divisions show: here division
by zero gives NaN, so that two functions with the same term are equal.

Other libraries round some functions differently. Operations that jump, such as comparisons, would
turn a difference in the last bit into a large one, so they accept exact terms only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Term = int

BOOL, INTEGER, FLOAT = "b", "i", "f"
MOST_OPERATIONS = 400
"""The largest number of operations; longer functions take too long to compile, such as those of
hundreds of columns."""

_COMMUTE = frozenset({"add", "multiply", "minimum", "maximum", "hypot", "equal", "not_equal"})
_LOGIC = {"and": "&", "or": "|", "xor": "!="}
_ODD = frozenset({"sin", "tan", "tanh", "sinh", "arctan", "arcsin", "arcsinh", "cbrt", "sign"})
_EVEN = frozenset({"absolute", "cos", "cosh"})
_PLAIN = {
    "add": "{} + {}",
    "multiply": "{} * {}",
    "divide": "{0} / {1} if {1} != 0.0 else np.nan",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "where": "{1} if {0} else {2}",
    "float": "1.0 if {} else 0.0",
    "not": "not {}",
    "exp": "exp({})",
    "tanh": "tanh({})",
    "minimum": "smaller({}, {})",
    "maximum": "larger({}, {})",
    "power": "{} ** {}",
    "sign": "1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else {0})",
} | {name: f"{{}} {sign} {{}}" for name, sign in _LOGIC.items()}
CALLED = frozenset(
    {
        *("sqrt", "log", "log2", "log10", "log1p", "expm1", "exp2", "absolute", "cos", "cosh"),
        *("floor", "ceil", "arccos", "hypot"),
        *(_ODD - {"sign", "tanh"}),
    }
)
"""The functions that compiled code calls by NumPy's name."""
_ROUNDED = CALLED - {"sqrt", "absolute", "floor", "ceil"} | {"exp", "tanh", "power"}
_JUMPING = frozenset({"less", "less_equal", "equal", "not_equal", "floor", "ceil", "sign"})


class Untraceable(BaseException):
    """Raised where elementary operations are not enough; the function itself is then called.

    It is not an `Exception`, which the function could catch.
    """


class Operation(NamedTuple):
    """One elementary operation on terms, or one of the inputs."""

    name: str
    terms: tuple[Term, ...] = ()
    text: str = ""
    """The name of an input."""


class Expressions:
    """Operations in their order, each stored once.

    Attributes
    ----------
    constants
        The constants of the function: compiled code takes them as arguments.
    """

    def __init__(self) -> None:
        self.constants: list[float] = []
        self._known: dict[Operation, Term] = {}
        self._fixed: set[Term] = set()
        self._inexact: set[Term] = set()

    def find_input(self, name: str) -> Term:
        """Return the term of an input."""
        return self._find(Operation("input", text=name))

    def constant(self, value: float) -> Term:
        """Return the term of a constant."""
        if not math.isfinite(value):
            raise Untraceable
        if value not in self.constants:
            self.constants.append(value)
        term = self.find_input(f"c{self.constants.index(value)}")
        self._fixed.add(term)
        return term

    def mark_inexact(self, term: Term) -> None:
        """Mark a term whose last bits may differ from NumPy's."""
        self._inexact.add(abs(term))

    def apply(self, name: str, *terms: Term) -> Term:
        """Return the term of an operation, in its standard form."""
        if name == "subtract":
            return self.apply("add", terms[0], -terms[1])
        if name in ("negative", "positive"):
            return -terms[0] if name == "negative" else terms[0]
        if name in ("greater", "greater_equal"):
            return self.apply(name.replace("greater", "less"), terms[1], terms[0])
        if name == "square":
            return self.apply("multiply", abs(terms[0]), abs(terms[0]))
        if name in _EVEN:
            return self._operate(name, abs(terms[0]))
        sign = 1
        if name in ("multiply", "divide") or name in _ODD:
            sign = math.prod(1 if term > 0 else -1 for term in terms)
            terms = tuple(map(abs, terms))
        if name in _COMMUTE or name in _LOGIC:
            terms = tuple(sorted(terms, key=abs))
        if name in ("add", "equal", "not_equal") and terms[0] < 0:
            sign = -1 if name == "add" else 1
            terms = tuple(-term for term in terms)
        if name not in _PLAIN and name not in CALLED:
            raise Untraceable
        return sign * self._operate(name, *terms)

    def lines(self, result: Term) -> tuple[list[str], str]:
        """Return the lines of code that compute a term, and its name there."""
        operations = list(self._known)
        needed, waiting = set(), [abs(result)]
        while waiting:
            term = waiting.pop()
            if term not in needed:
                needed.add(term)
                waiting.extend(map(abs, operations[term - 1].terms))
        names = {term: operations[term - 1].text or f"t{term}" for term in needed}

        def spell(term: Term) -> str:
            return names[term] if term > 0 else f"(-{names[-term]})"

        written = []
        for term in sorted(needed):
            name, terms, text = operations[term - 1]
            if not text:
                form = _PLAIN.get(name, f"np.{name}({', '.join('{}' for _ in terms)})")
                written.append(f"t{term} = {form.format(*map(spell, terms))}")
        return written, spell(result)

    def _operate(self, name: str, *terms: Term) -> Term:
        inexact = not self._inexact.isdisjoint(map(abs, terms))
        if inexact and name in _JUMPING:
            raise Untraceable
        found = self._find(Operation(name, terms))
        if inexact or name in _ROUNDED or (name == "divide" and terms[1] not in self._fixed):
            self._inexact.add(found)
        return found

    def _find(self, operation: Operation) -> Term:
        if len(self._known) >= MOST_OPERATIONS:
            raise Untraceable
        return self._known.setdefault(operation, len(self._known) + 1)
