"""How sure a statistic is: sampling errors, intervals and tests."""

from pairgossip.inference.answer import Answer, interval
from pairgossip.inference.projection import Projection, project
from pairgossip.inference.questions import exact, test
from pairgossip.order_statistics import TestResult

__all__ = [
    "Answer",
    "Projection",
    "TestResult",
    "exact",
    "interval",
    "project",
    "test",
]
