"""What a function of a pair computes: its elementary operations, each written down once.

A term is a number: of the operation that gives it, counted from 1, negative for its negative.
Terms are kept in one form, in which a - b is the negative of b - a, a + b is b + a, and |-a| is
|a|. All of these hold to the last bit, but for the sign of zero, which only divisions show: what
is divided by zero is NaN here, so that two functions with the same term are equal.

Other libraries round other functions otherwise. What jumps, such as a comparison, would turn a
difference in the last bit into one of all bits, and is asked for exact terms only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Term = int

BOOL, INTEGER, FLOAT = "b", "i", "f"
MOST_OPERATIONS = 400
"""Longer functions take too long to compile, such as those of hundreds of columns."""

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
"""Functions that compiled code calls by NumPy's name."""
_ROUNDED = CALLED - {"sqrt", "absolute", "floor", "ceil"} | {"exp", "tanh", "power"}
_JUMPING = frozenset({"less", "less_equal", "equal", "not_equal", "floor", "ceil", "sign"})


class Untraceable(BaseException):
    """Something that the elementary operations do not say; the function is then called itself.

    No `Exception`, which the function could catch and go another way.
    """


class Operation(NamedTuple):
    """One elementary operation on terms, or one of the numbers that there are at first."""

    name: str
    terms: tuple[Term, ...] = ()
    text: str = ""
    """What a number that is there at first is called."""


class Expressions:
    """Operations in the order in which they are done; each is there once.

    Attributes
    ----------
    constants
        The numbers that the function knows: compiled code takes them as arguments.
    """

    def __init__(self) -> None:
        self.constants: list[float] = []
        self._known: dict[Operation, Term] = {}
        self._fixed: set[Term] = set()
        self._inexact: set[Term] = set()

    def given(self, name: str) -> Term:
        """Return the term of a number that is there at first."""
        return self._find(Operation("given", text=name))

    def constant(self, value: float) -> Term:
        """Return the term of a constant."""
        if not math.isfinite(value):
            raise Untraceable
        if value not in self.constants:
            self.constants.append(value)
        term = self.given(f"c{self.constants.index(value)}")
        self._fixed.add(term)
        return term

    def mark_inexact(self, term: Term) -> None:
        """Say that the last bits of a term may differ from those that NumPy finds."""
        self._inexact.add(abs(term))

    def apply(self, name: str, *terms: Term) -> Term:
        """Return the term of an operation, in its one form."""
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
        """Return what computes a term, line by line, and how the term is called then."""
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
