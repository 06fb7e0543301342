"""How sure a statistic is: sampling errors, intervals and tests."""

from pairgossip.inference.answer import Answer, interval, quantile_of_t
from pairgossip.inference.projection import Projection, project
from pairgossip.inference.questions import TestResult, exact, test

__all__ = [
    "Answer",
    "Projection",
    "TestResult",
    "exact",
    "interval",
    "project",
    "quantile_of_t",
    "test",
]
