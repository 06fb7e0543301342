"""Users' functions of pairs, traced once by blocks that record the operations on them.

A function of two blocks of rows is called on two blocks without numbers. The operations that NumPy
would make row by row are recorded as operations on one pair. Everything that depends on the numbers
themselves, on other rows or on their number, and all unknown operations, are `Untraceable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from pairgossip.engine.exact.expressions import (
    BOOL,
    CALLED,
    FLOAT,
    INTEGER,
    Expressions,
    Term,
    Untraceable,
)

_DTYPES = {BOOL: np.dtype(np.bool_), INTEGER: np.dtype(np.int64), FLOAT: np.dtype(np.float64)}
_LOGICAL = {
    **{"logical_and": "and", "logical_or": "or", "logical_xor": "xor", "logical_not": "not"},
    **{"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "invert": "not"},
}
_COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
_WHOLE = frozenset({"add", "subtract", "multiply", "negative", "absolute", "square", "sign"})
_WHOLE |= {"minimum", "maximum", "positive"}
_REAL = _WHOLE | CALLED | {"divide", "exp", "tanh"}
_NAMES = {"true_divide": "divide", "fabs": "absolute", "fmin": "", "fmax": ""}
_POWERS: dict[float, Callable[[Any], Any]] = {
    1.0: np.positive,
    2.0: np.square,
    0.5: np.sqrt,
    1.5: lambda block: block * np.sqrt(block),
    3.0: lambda block: block * np.square(block),
    4.0: lambda block: np.square(np.square(block)),
}
_REDUCTIONS = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}
_SUMMED_IN_TURN = 7
"""The largest number of columns that NumPy adds one after the other."""


class _Count:
    """The number of rows: equal in all blocks, and without a value."""

    def __eq__(self, other: object) -> bool:
        raise Untraceable

    __hash__ = None  # type: ignore[assignment]


_COUNT = _Count()


class TracedBlock(NDArrayOperatorsMixin):
    """A block of m rows with the operations on one pair instead of numbers.

    Attributes
    ----------
    terms
        One term for shape (m,), or one per column for shape (m, d).
    ndim, dtype
        As for arrays.
    """

    def __init__(
        self, expressions: Expressions, terms: Sequence[Term], ndim: int, kind: str
    ) -> None:
        self.expressions, self.terms = expressions, tuple(terms)
        self.ndim, self.kind = ndim, kind
        self.is_shared = False
        """Whether writing to this block would change another one."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    def __getattr__(self, name: str) -> NoReturn:
        raise Untraceable

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its numbers."""
        return _DTYPES[self.kind]

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its shape; nothing can be computed from the number of rows."""
        return (_COUNT, len(self.terms))[: self.ndim]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable

    def __bool__(self) -> bool:
        raise Untraceable

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any
    ) -> TracedBlock:
        if method == "reduce" and ufunc in _REDUCTIONS:
            return _reduce(_REDUCTIONS[ufunc], *inputs, **how)
        out = how.pop("out", (None,))[0]
        if method != "__call__" or how or getattr(np, ufunc.__name__, None) is not ufunc:
            raise Untraceable
        result = _multiply_matrices(*inputs) if ufunc is np.matmul else _call(ufunc, inputs)
        if out is None:
            return result
        same = isinstance(out, TracedBlock) and (out.ndim, out.kind) == (result.ndim, result.kind)
        if not same or out.is_shared:
            raise Untraceable
        out.terms = result.terms
        return out

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, how: Any
    ) -> TracedBlock:
        if function not in _FUNCTIONS:
            raise Untraceable
        return _FUNCTIONS[function](*args, **how)

    def __getitem__(self, key: Any) -> TracedBlock:
        rows, column = key if isinstance(key, tuple) and len(key) == 2 else (None, None)
        if rows is not Ellipsis and rows != slice(None):
            raise Untraceable
        if column is None and self.ndim == 1:
            return self._view(self.terms, ndim=2)
        if self.ndim == 1 or isinstance(column, TracedBlock):
            raise Untraceable
        chosen = np.arange(len(self.terms))[column]
        if chosen.ndim > 1:
            raise Untraceable
        return self._view([self.terms[at] for at in np.atleast_1d(chosen)], ndim=1 + chosen.ndim)

    def astype(self, dtype: Any, copy: bool = True) -> TracedBlock:
        """Return the same numbers as another type."""
        kind = np.dtype(dtype).kind
        if np.dtype(dtype) not in _DTYPES.values() or (kind == INTEGER and self.kind == FLOAT):
            raise Untraceable
        terms = _to_bools(self) if kind == BOOL else _to_numbers(self)
        return (self._with if copy else self._view)(terms, kind=kind)

    def mark_inexact(self) -> TracedBlock:
        """Mark the block, whose last bits may differ from NumPy's, and return it."""
        for term in self.terms:
            self.expressions.mark_inexact(term)
        return self

    def copy(self) -> TracedBlock:
        """Return a block that the function may change."""
        return self._with(self.terms)

    def _reduce(self, how: str, axis: Any = None) -> TracedBlock:
        return _reduce(how, self, axis)

    sum, mean = partialmethod(_reduce, "sum"), partialmethod(_reduce, "mean")
    max, min = partialmethod(_reduce, "max"), partialmethod(_reduce, "min")

    def _view(self, terms: Sequence[Term], ndim: int = 0, kind: str = "") -> TracedBlock:
        view = self._with(terms, ndim, kind)
        self.is_shared = view.is_shared = True
        return view

    def _with(self, terms: Sequence[Term], ndim: int = 0, kind: str = "") -> TracedBlock:
        return TracedBlock(self.expressions, terms, ndim or self.ndim, kind or self.kind)


def trace(
    function: Callable[..., Any], columns: int | None
) -> tuple[Expressions, Term, bool] | None:
    """Return the computation of a function of a pair, and whether it is symmetric, or None.

    The numbers of the pair are named x0, x1, ... and y0, y1, ... With ``columns=None`` the block is
    one column of shape (m,). A function is symmetric if it has the same term in both orders.
    """
    expressions = Expressions()

    def follow(*names: str) -> Term:
        blocks = []
        for name in names:
            terms = [expressions.find_input(f"{name}{column}") for column in range(columns or 1)]
            blocks.append(TracedBlock(expressions, terms, 1 if columns is None else 2, FLOAT))
        result = function(*blocks)
        if not isinstance(result, TracedBlock) or result.ndim != 1:
            raise Untraceable
        return _to_numbers(result)[0]

    # A traced function may do anything; if it fails here, it is called on numbers as usual.
    try:
        term, mirrored = follow("x", "y"), follow("y", "x")
    except (Exception, Untraceable):
        return None
    return expressions, term, term == mirrored


def _call(ufunc: np.ufunc, inputs: Sequence[Any]) -> TracedBlock:
    """Apply a function of numbers to blocks and constants, row by row."""
    name = _NAMES.get(ufunc.__name__, ufunc.__name__)
    if name == "power":
        return _power(*inputs)
    kind = _kind(ufunc, inputs)
    blocks = _align(inputs)
    if name in _LOGICAL or (kind == BOOL and name in ("add", "multiply")):
        if kind != BOOL:
            raise Untraceable
        name = {"add": "or", "multiply": "and"}.get(name) or _LOGICAL[name]
        terms = [_to_bools(block) for block in blocks]
    else:
        if name not in (_COMPARISONS if kind == BOOL else _WHOLE if kind == INTEGER else _REAL):
            raise Untraceable
        terms = [_to_numbers(block) for block in blocks]
    apply = blocks[0].expressions.apply
    return blocks[0]._with([apply(name, *each) for each in zip(*terms, strict=True)], kind=kind)


def _kind(function: Callable[..., Any], inputs: Sequence[Any]) -> str:
    """Return the kind of number that NumPy makes of such inputs."""
    ones = [np.ones(1, part.dtype) if isinstance(part, TracedBlock) else part for part in inputs]
    with np.errstate(all="ignore"):
        dtype = np.asarray(function(*ones)).dtype
    if dtype not in _DTYPES.values():
        raise Untraceable
    return dtype.kind


def _align(inputs: Sequence[Any]) -> list[TracedBlock]:
    """Return blocks of equal shape, as NumPy would broadcast them; constants become blocks."""
    blocks = [part for part in inputs if isinstance(part, TracedBlock)]
    model = max(blocks, key=lambda block: block.ndim)
    width = max(len(block.terms) for block in blocks)
    return [_stretch(part, model, width) for part in inputs]


def _stretch(part: Any, model: TracedBlock, width: int) -> TracedBlock:
    if not isinstance(part, TracedBlock):
        values = np.asarray(part)
        if values.dtype.kind not in "biuf" or values.ndim > model.ndim - 1:
            raise Untraceable
        kind = {"u": INTEGER}.get(values.dtype.kind, values.dtype.kind)
        terms = [model.expressions.constant(float(value)) for value in np.atleast_1d(values)]
        # Constants are numbers of any type; truth values become floats.
        part = model._with(terms, kind=FLOAT if kind == BOOL else kind)
    elif part.ndim != model.ndim:
        raise Untraceable
    if len(part.terms) not in (1, width):
        raise Untraceable
    return part._with(part.terms * (width if len(part.terms) == 1 else 1), ndim=model.ndim)


def _to_numbers(block: TracedBlock) -> tuple[Term, ...]:
    if block.kind != BOOL:
        return block.terms
    return tuple(block.expressions.apply("float", term) for term in block.terms)


def _to_bools(block: TracedBlock) -> tuple[Term, ...]:
    if block.kind == BOOL:
        return block.terms
    zero = block.expressions.constant(0.0)
    return tuple(block.expressions.apply("not_equal", term, zero) for term in block.terms)


def _power(base: Any, exponent: Any) -> TracedBlock:
    if isinstance(exponent, TracedBlock) or np.ndim(exponent) or not isinstance(base, TracedBlock):
        raise Untraceable
    if _kind(np.power, (base, exponent)) != FLOAT:
        raise Untraceable
    if exponent < 0:
        return 1.0 / _power(base, -exponent)
    base = base.astype(np.float64)
    known = _POWERS.get(float(exponent))
    if known is not None:
        powers = known(base)
        return powers if exponent in (0.5, 1.0, 2.0) else powers.mark_inexact()
    apply, power = base.expressions.apply, base.expressions.constant(float(exponent))
    return base._with([apply("power", term, power) for term in base.terms])


def _multiply_matrices(first: Any, second: Any) -> TracedBlock:
    """Multiply rows by a constant vector or matrix."""
    factors = np.asarray(second, dtype=np.float64)
    if not isinstance(first, TracedBlock) or first.ndim != 2 or len(factors) != len(first.terms):
        raise Untraceable
    columns = [_add_products(first, column) for column in np.atleast_2d(factors.T)]
    return first._with([column.terms[0] for column in columns], ndim=factors.ndim)


def _add_products(first: Any, second: Any) -> TracedBlock:
    """Add up products of columns, in an order that NumPy does not specify."""
    products = first * second
    if first.kind != FLOAT or products.kind != FLOAT:
        raise Untraceable
    return _reduce("sum", products, 1).mark_inexact()


def _reduce(how: str, block: Any, axis: Any = None, **more: Any) -> TracedBlock:
    """Reduce the columns of every row to one number."""
    if not isinstance(block, TracedBlock) or block.ndim != 2 or axis not in (1, -1) or more:
        raise Untraceable
    kind = INTEGER if block.kind == BOOL and how in ("sum", "prod") else block.kind
    if kind == BOOL:
        raise Untraceable
    name = {"sum": "add", "mean": "add", "prod": "multiply"}.get(how) or how + "imum"
    total, *others = _to_numbers(block)
    for term in others:
        total = block.expressions.apply(name, total, term)
    reduced = block._with([total], ndim=1, kind=kind)
    if len(others) >= _SUMMED_IN_TURN:
        reduced.mark_inexact()
    return reduced / len(block.terms) if how == "mean" else reduced


def _choose(condition: Any, first: Any, second: Any) -> TracedBlock:
    blocks = _align((condition, first, second))
    kind = _kind(partial(np.where, True), (first, second))
    if kind == BOOL:
        raise Untraceable
    terms = zip(_to_bools(blocks[0]), *map(_to_numbers, blocks[1:]), strict=True)
    apply = blocks[0].expressions.apply
    return blocks[0]._with([apply("where", *each) for each in terms], kind=kind)


def _norm(block: Any, ord: Any = None, axis: Any = None) -> Any:
    if ord not in (None, 2):
        raise Untraceable
    return np.sqrt(_reduce("sum", np.square(block), axis))


def _contract(how: str, first: Any, second: Any) -> TracedBlock:
    if how.replace(" ", "") != "ij,ij->i":
        raise Untraceable
    return _add_products(first, second)


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: _choose,
    np.linalg.norm: _norm,
    np.einsum: _contract,
    np.clip: lambda block, low, high: np.minimum(np.maximum(block, low), high),
    np.sum: partial(_reduce, "sum"),
    np.mean: partial(_reduce, "mean"),
    np.prod: partial(_reduce, "prod"),
    **dict.fromkeys((np.max, np.amax), partial(_reduce, "max")),
    **dict.fromkeys((np.min, np.amin), partial(_reduce, "min")),
}
