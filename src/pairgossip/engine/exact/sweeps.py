"""Users' own functions of pairs, compiled: their sums over all pairs, by rows.

A function that can be followed (`tracing`) becomes one loop over pairs without any block of
values. Rows are summed side by side, which a processor does several at a time, over the others in
always the same order: sums do not depend on how many threads share the rows.
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
"""How many rows are summed side by side, and over how many others before sums are added up."""
_PAIRS_TRIED = 1024
"""At how many pairs the compiled function must give what the function gives."""

_AT_ONCE, _SHORT = 4, 24
"""How many others a row meets at once, where a function has few enough operations."""

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
"""What is another number for every other row."""


_Range = tuple[int, int]


class PairLoop(NamedTuple):
    """A compiled function of pairs with the numbers it knows, and the columns of the rows."""

    loop: Callable[..., None]
    constants: FloatArray
    symmetric: bool
    table: FloatArray
    """One line per column; the last row is there again, to fill up, and has no weight."""

    def weigh(self, weights: FloatArray) -> FloatArray:
        """Return the weights of all rows of the table."""
        return np.append(weights, np.zeros(self.table.shape[1] - len(weights)))

    def add(self, rows: _Range, others: _Range, weights: FloatArray, sums: FloatArray) -> None:
        """Add to the sums of some rows what they have with some others, from a multiple of 4."""
        self.loop(self.table, weights, self.constants, *rows, *others, sums)


def sum_pairs(kernel: Kernel, data: FloatArray, progress: Progress | None = None) -> float | None:
    """Sum a kernel over all ordered pairs; None where blocks must do it."""
    sweep = prepare(kernel, data)
    if sweep is None:
        return None
    n, half = len(data), kernel.symmetric or sweep.symmetric
    weights, sums = sweep.weigh(np.ones(n)), np.zeros(n)

    def sum_strip(start: int) -> int:
        stop = min(start + _STRIP, n)
        if half:  # what is beyond the square on the diagonal counts both ways
            sweep.add((start, stop), (stop, n), weights, sums)
            sums[start:stop] *= 2.0
        sweep.add((start, stop), (start, stop) if half else (0, n), weights, sums)
        return (stop - start) * (n - start if half else n)

    _share_strips(sum_strip, n, progress, n * (n + _STRIP) // 2 if half else n * n)
    # Blocks find the pair that is to blame, if any single one is.
    return math.fsum(sums) if np.isfinite(np.abs(sums).sum()) else None


def sum_rows(kernel: Kernel, data: FloatArray, weights: FloatArray | None) -> FloatArray | None:
    """Sum a kernel over its second row, each by its weight; None where blocks must do it."""
    sweep = prepare(kernel, data)
    if sweep is None:
        return None
    n = len(data)
    given, sums = sweep.weigh(np.ones(n) if weights is None else weights), np.zeros(n)

    def sum_strip(start: int) -> int:
        sweep.add((start, min(start + _STRIP, n)), (0, n), given, sums)
        return _STRIP

    _share_strips(sum_strip, n)
    return sums if np.isfinite(sums).all() else None


def _share_strips(
    work: Callable[[int], int], n: int, progress: Progress | None = None, whole: int = 1
) -> None:
    """Do the work of all strips of rows in threads, and say which part of the whole is done."""
    strips = (delayed(work)(start) for start in range(0, n, _STRIP))
    done = 0
    for more in Parallel(n_jobs=-1, require="sharedmem", return_as="generator")(strips):
        done += more
        if progress is not None:
            progress(min(1.0, done / whole))


def prepare(kernel: Kernel, data: FloatArray) -> PairLoop | None:
    """Compile a kernel's function, if it can be followed and then gives the same numbers."""
    traced = trace(kernel.function, None if data.ndim == 1 else data.shape[1])
    if traced is None:
        return None
    expressions, term, symmetric = traced
    text = _write(*expressions.lines(term), column_count(data), len(expressions.constants))
    filled = np.pad(data.reshape(len(data), -1), ((0, -len(data) % _AT_ONCE), (0, 0)), mode="edge")
    try:
        loop = _compile(text)
    except (NumbaError, AttributeError):  # such as a function of NumPy that numba does not know
        return None
    sweep = PairLoop(
        loop, np.array(expressions.constants), symmetric, np.ascontiguousarray(filled.T)
    )
    return sweep if _agrees(sweep, kernel, data) else None


def _agrees(sweep: PairLoop, kernel: Kernel, data: FloatArray) -> bool:
    """Tell whether the compiled function gives what the function gives, at scattered pairs."""
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
    """Write the loop over pairs of a function, given what it does with one pair."""
    each, others = range(columns), range(_AT_ONCE if len(lines) <= _SHORT else 1)
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
    """Write a line for one of several others."""
    return _OF_ONE.sub(rf"\g<0>_{other}", line)


@lru_cache(maxsize=64)
def _compile(text: str) -> Callable[..., None]:
    names: dict[str, Any] = {"np": np, "exp": exponential, "tanh": hyperbolic_tangent}
    names |= {"smaller": smaller, "larger": larger}
    exec(text, names)
    numbers = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")
    arguments = (numbers[0], numbers[1], numbers[1], *[types.int64] * 4, numbers[1])
    return njit([types.void(*arguments)], nogil=True, error_model="numpy")(names["sweep"])


# The exponential, as the compiler can compute several at a time; libraries give one at a time.


def _named(name: str) -> Any:
    """Make a function of two numbers of LLVM's; NaN stays NaN."""

    @intrinsic
    def call(typing, first, second):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            number = ir.DoubleType()
            kind = ir.FunctionType(number, [number, number])
            get: Any = cgutils.get_or_insert_function
            return builder.call(get(builder.module, kind, name), arguments)

        return types.float64(types.float64, types.float64), generate

    return call


smaller, larger = _named("llvm.minimum.f64"), _named("llvm.maximum.f64")


_PARTS, _PART_BITS = 256, 8
_TABLE = (2.0 ** (np.arange(_PARTS) / _PARTS)).view(np.int64)
_TABLE -= np.arange(_PARTS) << (52 - _PART_BITS)
_SHIFT = 1.5 * 2.0**52
_LOG2E = _PARTS * 1.4426950408889634
_LN2 = 0.6931471805599453 / _PARTS


def _reading(given: Any, wanted: Any) -> Any:
    """Make a function that reads the bits of a number as another kind of number."""

    @intrinsic
    def read(typing, number):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(arguments[0], context.get_value_type(wanted))

        return wanted(given), generate

    return read


_bits, _from_bits = _reading(types.float64, types.int64), _reading(types.int64, types.float64)


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _split(y):  # type: ignore[no-untyped-def]
    """Give 2^(k/256) and exp(r) - 1, whose product is exp(y) - 2^(k/256), for |y| up to 708.

    k + 1.5 2^52 ends in the bits of k: the last eight choose from a table, the others are those of
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
    """exp(y), as exact as y is: the square of exp(y / 2), which overflows and vanishes rightly."""
    power, more = _split(0.5 * larger(smaller(y, 711.0), -747.0))
    root = power + power * more
    return root * root


@njit(error_model="numpy", forceinline=True)
def hyperbolic_tangent(y):  # type: ignore[no-untyped-def]
    """tanh(y), from exp(-2 |y|) - 1, which is exact where y is small."""
    power, more = _split(larger(-2.0 * abs(y), -708.0))
    less = (power - 1.0) + power * more
    return np.copysign(less / (2.0 + less), y)
