"""Users' own functions of pairs, compiled: their sums over all pairs, by rows.

A function that can be traced (`tracing`) becomes one loop over pairs without any block of values.
Rows are summed side by side, several at a time in the processor, over the other rows in a fixed
order: sums do not depend on the number of threads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from pairgossip.arrays import FloatArray
from pairgossip.engine.exact.tracing import trace
from pairgossip.kernels.blocks import Progress
from pairgossip.kernels.data import column_count
from pairgossip.kernels.exact import scattered_pairs
from pairgossip.kernels.kernel import Kernel, evaluate

_STRIP, _CHUNK = 512, 512
"""The number of rows summed side by side, and the number of other rows per partial sum."""
_PAIRS_TRIED = 1024
"""The number of pairs at which the compiled function is compared with the original."""

_AT_ONCE, _MOST_LINES = 4, 24
"""The number of other rows in one step, and the most operations of a function for such steps."""

_SWEEP = """
def sweep(table, weights, constants, start, stop, begin, end, sums):
    part = np.empty(stop - start)
    {known}
    for first in range(begin, end, {chunk}):
        part[:] = 0.0
        for other in range(first, min(first + {chunk}, end), {at_once}):
            {second}
            for k in range(stop - start):
                {first}
                part[k] += {result}
        for k in range(stop - start):
            sums[start + k] += part[k]
"""

_OF_ONE = re.compile(r"\b[ty]\d+\b")
"""The names of numbers that differ between the other rows."""


_Range = tuple[int, int]


class PairLoop(NamedTuple):
    """A compiled function of pairs with its constants, and the columns of the rows."""

    loop: Callable[..., None]
    constants: FloatArray
    symmetric: bool
    table: FloatArray
    """One line per column; copies of the last row pad it, and have no weight."""

    def weigh(self, weights: FloatArray) -> FloatArray:
        """Return the weights of all rows of the table."""
        return np.append(weights, np.zeros(self.table.shape[1] - len(weights)))

    def add(self, rows: _Range, others: _Range, weights: FloatArray, sums: FloatArray) -> None:
        """Add, to the sums of some rows, their pairs with some others from a multiple of 4 on."""
        self.loop(self.table, weights, self.constants, *rows, *others, sums)


def sum_pairs(kernel: Kernel, data: FloatArray, progress: Progress | None = None) -> float | None:
    """Sum a kernel over all ordered pairs; return None where blocks must do it."""
    sweep = prepare(kernel, data)
    if sweep is None:
        return None
    n, half = len(data), kernel.symmetric or sweep.symmetric
    weights, sums = sweep.weigh(np.ones(n)), np.zeros(n)

    def sum_strip(start: int) -> int:
        stop = min(start + _STRIP, n)
        if half:  # pairs beyond the square on the diagonal count in both orders
            sweep.add((start, stop), (stop, n), weights, sums)
            sums[start:stop] *= 2.0
        sweep.add((start, stop), (start, stop) if half else (0, n), weights, sums)
        return (stop - start) * (n - start if half else n)

    _share_strips(sum_strip, n, progress, n * (n + _STRIP) // 2 if half else n * n)
    # Without a finite sum, blocks find the pair that causes it, if it is a single one.
    return math.fsum(sums) if np.isfinite(np.abs(sums).sum()) else None


def sum_rows(kernel: Kernel, data: FloatArray, weights: FloatArray | None) -> FloatArray | None:
    """Sum a kernel over its second row, by weight; return None where blocks must do it."""
    sweep = prepare(kernel, data)
    if sweep is None:
        return None
    n = len(data)
    row_weights, sums = sweep.weigh(np.ones(n) if weights is None else weights), np.zeros(n)

    def sum_strip(start: int) -> int:
        sweep.add((start, min(start + _STRIP, n)), (0, n), row_weights, sums)
        return _STRIP

    _share_strips(sum_strip, n)
    return sums if np.isfinite(sums).all() else None


def _share_strips(
    work: Callable[[int], int], n: int, progress: Progress | None = None, whole: int = 1
) -> None:
    """Do the work of all strips of rows in threads, and report the part of the whole done."""
    strips = (delayed(work)(start) for start in range(0, n, _STRIP))
    done = 0
    for more in Parallel(n_jobs=-1, require="sharedmem", return_as="generator")(strips):
        done += more
        if progress is not None:
            progress(min(1.0, done / whole))


def prepare(kernel: Kernel, data: FloatArray) -> PairLoop | None:
    """Compile a kernel's function, if it can be traced and then gives the same numbers."""
    traced = trace(kernel.function, None if data.ndim == 1 else data.shape[1])
    if traced is None:
        return None
    expressions, term, symmetric = traced
    text = _write(*expressions.lines(term), column_count(data), len(expressions.constants))
    filled = np.pad(data.reshape(len(data), -1), ((0, -len(data) % _AT_ONCE), (0, 0)), mode="edge")
    try:
        loop = _compile(text)
    except (NumbaError, AttributeError):  # such as a NumPy function that numba does not support
        return None
    sweep = PairLoop(
        loop, np.array(expressions.constants), symmetric, np.ascontiguousarray(filled.T)
    )
    return sweep if _agrees(sweep, kernel, data) else None


def _agrees(sweep: PairLoop, kernel: Kernel, data: FloatArray) -> bool:
    """Return whether the compiled function gives the same numbers, at scattered pairs."""
    nodes, held = scattered_pairs(len(data), min(_PAIRS_TRIED, len(data)))
    weights, sums = sweep.weigh(np.zeros(len(data))), np.zeros(len(data))
    found = np.empty(len(nodes))
    for at, (row, other) in enumerate(zip(nodes.tolist(), held.tolist(), strict=True)):
        first = other - other % _AT_ONCE
        sums[row], weights[other] = 0.0, 1.0
        sweep.add((row, row + 1), (first, first + _AT_ONCE), weights, sums)
        found[at], weights[other] = sums[row], 0.0
    with np.errstate(all="ignore"):
        values = evaluate(kernel, data[nodes], data[held])
    scale = float(np.abs(values).max())
    return bool(np.allclose(found, values, rtol=1e-9, atol=1e-13 * scale))


def _write(lines: list[str], result: str, columns: int, constants: int) -> str:
    """Write the loop over pairs, given the lines for one pair."""
    each, others = range(columns), range(_AT_ONCE if len(lines) <= _MOST_LINES else 1)
    known = [f"column{c} = table[{c}, start:stop]" for c in each]
    known += [f"c{number} = constants[{number}]" for number in range(constants)]
    second = [f"w_{o} = weights[other + {o}]" for o in others]
    second += [f"y{c}_{o} = table[{c}, other + {o}]" for o in others for c in each]
    first = [f"x{c} = column{c}[k]" for c in each]
    first += [_number(line, o) for o in others for line in lines]
    products = (f"w_{o} * {_number(result, o)}" for o in others)
    parts = {"known": (known, 4), "second": (second, 12), "first": (first, 16)}
    text = {name: ("\n" + " " * by).join(part) for name, (part, by) in parts.items()}
    return _SWEEP.format(
        chunk=_CHUNK, at_once=len(others), result=f"({' + '.join(products)})", **text
    )


def _number(line: str, other: int) -> str:
    """Write a line for one of several other rows."""
    return _OF_ONE.sub(rf"\g<0>_{other}", line)


@lru_cache(maxsize=64)
def _compile(text: str) -> Callable[..., None]:
    names: dict[str, Any] = {"np": np, "exp": exponential, "tanh": hyperbolic_tangent}
    names |= {"smaller": smaller, "larger": larger}
    exec(text, names)
    numbers = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")
    arguments = (numbers[0], numbers[1], numbers[1], *[types.int64] * 4, numbers[1])
    return njit([types.void(*arguments)], nogil=True, error_model="numpy")(names["sweep"])


# An exponential that the compiler can vectorize; those of libraries take one number at a time.


def _make_function(name: str) -> Any:
    """Make a function of two numbers from one of LLVM's; NaN stays NaN."""

    @intrinsic
    def call(typing, first, second):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            number = ir.DoubleType()
            kind = ir.FunctionType(number, [number, number])
            get: Any = cgutils.get_or_insert_function
            return builder.call(get(builder.module, kind, name), arguments)

        return types.float64(types.float64, types.float64), generate

    return call


smaller, larger = _make_function("llvm.minimum.f64"), _make_function("llvm.maximum.f64")


_PARTS, _PART_BITS = 256, 8
_TABLE = (2.0 ** (np.arange(_PARTS) / _PARTS)).view(np.int64)
_TABLE -= np.arange(_PARTS) << (52 - _PART_BITS)
_SHIFT = 1.5 * 2.0**52
_LOG2E = _PARTS * 1.4426950408889634
_LN2 = 0.6931471805599453 / _PARTS


def _make_reader(source: Any, target: Any) -> Any:
    """Make a function that reads the bits of a number as a number of another type."""

    @intrinsic
    def read(typing, number):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return read


_bits, _from_bits = (
    _make_reader(types.float64, types.int64),
    _make_reader(types.int64, types.float64),
)


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _split(y):  # type: ignore[no-untyped-def]
    """Return 2^(k/256) and exp(r) - 1, whose product is exp(y) - 2^(k/256), for |y| up to 708.

    k + 1.5 2^52 ends in the bits of k: the last eight select from a table, the others are those of
    the exponent. |r| is at most ln 2 / 512.
    """
    shifted = y * _LOG2E + _SHIFT
    k = shifted - _SHIFT
    r = y - k * _LN2
    bits = _bits(shifted)
    power = _from_bits(
        _TABLE[np.uint64(bits) & np.uint64(_PARTS - 1)] + (bits << (52 - _PART_BITS))
    )
    return power, r + r * r * (0.5 + r * ((1 / 6) + r * (1 / 24)))


@njit(error_model="numpy", forceinline=True)
def exponential(y):  # type: ignore[no-untyped-def]
    """Return exp(y) as the square of exp(y / 2), which overflows and vanishes at the right y."""
    power, more = _split(0.5 * larger(smaller(y, 711.0), -747.0))
    root = power + power * more
    return root * root


@njit(error_model="numpy", forceinline=True)
def hyperbolic_tangent(y):  # type: ignore[no-untyped-def]
    """Return tanh(y), from exp(-2 |y|) - 1, which is exact where y is small."""
    power, more = _split(larger(-2.0 * abs(y), -708.0))
    less = (power - 1.0) + power * more
    return np.copysign(less / (2.0 + less), y)
