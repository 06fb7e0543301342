"""Statistics of order: quantiles, ranks, trimmed means, and tests by ranks."""

from pairgossip.order_statistics.comparisons import TESTS, ClassTest, TestResult
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.ranking import TrimmedPairs, Window, rank_kernel
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Sampling,
    Shift,
    Statistic,
    TrimmedMean,
    WinsorizedMean,
)

__all__ = [
    "TESTS",
    "ClassTest",
    "Distribution",
    "HodgesLehmann",
    "Quantile",
    "Sampling",
    "Shift",
    "Statistic",
    "TestResult",
    "TrimmedMean",
    "TrimmedPairs",
    "Window",
    "WinsorizedMean",
    "rank_kernel",
]
