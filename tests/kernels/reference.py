"""Every built-in kernel again, one pair at a time in plain Python, and data to test it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.kernels import Combination, Kernel

Row = Sequence[float]
Scalar = Callable[[Row, Row], float]


def _same(x: Row, y: Row) -> bool:
    return x[-1] == y[-1]


def _events(x: Row) -> bool:
    return len(x) < 3 or x[2] == 1


def _precedes(x: Row, y: Row) -> bool:
    """Return whether x is known to fail before y: y is later, or censored at the same time."""
    return _events(x) and (x[1] < y[1] or (x[1] == y[1] and not _events(y)))


def _comparable(x: Row, y: Row) -> float:
    return float(_precedes(x, y) or _precedes(y, x))


def _concordant(x: Row, y: Row) -> float:
    if x[0] == y[0]:
        return 0.5 * _comparable(x, y)
    return float(_precedes(x, y) if x[0] < y[0] else _precedes(y, x))


def _auc(x: Row, y: Row, column: int = 0) -> float:
    s, r = x[column], y[column]
    return float(x[-1] > y[-1]) * (0.5 if s == r else float(s > r))


def _separate(x: Row, y: Row) -> float:
    """Return how far two rows are ordered by their scores for classes 0 and 1."""
    if {x[-1], y[-1]} != {0, 1}:
        return 0.0
    zero, one = (x, y) if x[-1] == 0 else (y, x)
    gaps = zero[0] - one[0], one[1] - zero[1]
    return sum(0.5 if gap == 0 else float(gap > 0) for gap in gaps) / 2


def _agree(x: Row, y: Row) -> float:
    return math.copysign(1, p) if (p := (x[0] - y[0]) * (x[1] - y[1])) else 0.0


def _apart(x: Row, y: Row) -> float:
    return float(x[0] != y[0])


def _hinge(x: Row, y: Row) -> float:
    return max(0.0, 1.0 - (1.0 - math.dist(x[:-1], y[:-1])) * (1 if _same(x, y) else -1))


def _distance(x: Row, y: Row) -> float:
    return math.dist(x[:-1], y[:-1])


def _likeness(x: Row, y: Row) -> float:
    return math.exp(-(_distance(x, y) ** 2) / 2)


def _compared(side: int | None, function: Scalar | None) -> Scalar:
    def value(x: Row, y: Row) -> float:
        counted = x[-1] != y[-1] if side is None else x[-1] == y[-1] == side
        return float(counted) * (1.0 if function is None else function(x, y))

    return value


SCALARS: dict[str, tuple[Scalar, ...]] = {
    "variance": (lambda x, y: (x[0] - y[0]) ** 2 / 2,),
    "gini": (lambda x, y: abs(x[0] - y[0]),),
    "distance": (math.dist,),
    "kendall": (_agree,),
    "concordance": (_concordant, _comparable),
    "auc": (_auc, lambda x, y: float(x[1] > y[1])),
    "ranking-risk": (lambda x, y: float((x[0] - y[0]) * (x[1] - y[1]) < 0),),
    "within-cluster-scatter": (lambda x, y: math.dist(x[:-1], y[:-1]) ** 2 * _same(x, y),),
    "metric-learning-risk": (_hinge,),
    "gini-coefficient": (lambda x, y: abs(x[0] - y[0]), lambda x, y: (x[0] + y[0]) / 2),
    "kendall-b": (_agree, _apart, lambda x, y: float(x[1] != y[1])),
    "somers-d": (_agree, _apart),
    "goodman-kruskal-gamma": (_agree, lambda x, y: _apart(x, y) * (x[1] != y[1])),
    "energy-distance": tuple(
        _compared(side, sums) for side in (None, 0, 1) for sums in (_distance, None)
    ),
    "mmd": tuple(_compared(side, sums) for side in (None, 0, 1) for sums in (_likeness, None)),
    "auc-difference": (
        _auc,
        lambda x, y: _auc(x, y, 1),
        lambda x, y: float(x[-1] > y[-1]),
    ),
    "hand-till": (_separate, lambda x, y: float({x[-1], y[-1]} == {0, 1})),
}
COMBINE: dict[str, Callable[..., float]] = {
    "gini-coefficient": lambda difference, mean: difference / mean / 2,
    "kendall-b": lambda agree, x, y: agree / math.sqrt(x * y),
    "auc-difference": lambda first, second, compared: (first - second) / compared,
    "energy-distance": lambda a, p, b, q, c, r: 2 * a / p - b / q - c / r,
    "mmd": lambda a, p, b, q, c, r: b / q + c / r - 2 * a / p,
}
"""How averages are combined, where the statistic is not one average or a quotient of two."""

WIDTHS = {
    "variance": (1,),
    "gini": (1,),
    "gini-coefficient": (1,),
    "auc-difference": (3,),
    "hand-till": (3,),
    "energy-distance": (2, 3),
    "mmd": (2, 3),
    "distance": (1, 2, 3),
    "concordance": (2, 3),
    "within-cluster-scatter": (2, 3, 4),
    "metric-learning-risk": (2, 3, 4),
}
"""The numbers of columns that a kernel may take, where they are not two."""
TWO_CLASSES = ("auc", "auc-difference", "energy-distance", "hand-till", "mmd")


def brute_force(rows: Sequence[Row], scalars: Sequence[Scalar], kind: str, name: str = "") -> float:
    """Average by a double loop; return a quotient for two functions, or what the name says."""
    n = len(rows)
    sums = [
        math.fsum(
            scalar(rows[k], rows[other])
            for k in range(n)
            for other in range(n)
            if kind == "v" or k != other
        )
        for scalar in scalars
    ]
    pairs = n * n if kind == "v" else n * (n - 1)
    if name in COMBINE:
        try:
            return COMBINE[name](*(total / pairs for total in sums))
        except ZeroDivisionError:
            return math.nan
    if len(sums) == 2:
        return sums[0] / sums[1] if sums[1] else math.nan
    return sums[0] / pairs


def rows_of(data: FloatArray) -> list[list[float]]:
    return [list(row) for row in data.reshape(len(data), -1).tolist()]


def random_data(name: str, n: int, seed: int = 0, levels: int = 6) -> FloatArray:
    """Draw data with many ties that suits a built-in kernel."""
    rng = np.random.default_rng(seed)
    width = WIDTHS.get(name, (2,))[-1]
    data = rng.integers(0, levels, (n, width)).astype(float)
    if name in TWO_CLASSES:
        data[:, -1] = np.arange(n) % 2
    if name == "concordance":
        data[:, 2] = rng.integers(0, 2, n)
    return data[:, 0].copy() if width == 1 else data


@st.composite
def samples(draw: st.DrawFn, name: str, smallest: int = 1) -> FloatArray:
    """Draw small data, ties and extremes included, that suits a built-in kernel."""
    width = draw(st.sampled_from(WIDTHS.get(name, (2,))))
    n = draw(st.integers(max(smallest, 2 if name in TWO_CLASSES else 1), 9))
    number = st.one_of(
        st.integers(-3, 3).map(float),
        st.floats(-100, 100, width=32),
    )
    rows = draw(st.lists(st.tuples(*[number] * width), min_size=n, max_size=n))
    data = np.array(rows, dtype=float)
    if name in ("within-cluster-scatter", "metric-learning-risk"):
        data[:, -1] = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    if name == "concordance" and width == 3:
        data[:, 2] = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    if name in TWO_CLASSES:
        flips = draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))
        data[:, -1] = [1, 0, *flips]
    if name == "gini-coefficient":
        data = np.abs(data) + (data == 0).all()
    return data[:, 0].copy() if width == 1 else data


def without_closed_forms(kernel: Kernel | Combination) -> Kernel | Combination:
    """Return the same kernel without closed forms, so that it is computed in blocks."""
    if isinstance(kernel, Combination):
        parts = [_plain(part) for part in kernel.components]
        return kernel.with_kernels(parts)
    return _plain(kernel)


def _plain(kernel: Kernel) -> Kernel:
    return Kernel(
        kernel.function,
        name=kernel.name,
        symmetric=kernel.symmetric,
        zero_diagonal=kernel.zero_diagonal,
        columns=kernel.columns,
    )
