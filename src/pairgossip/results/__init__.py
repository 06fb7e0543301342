"""The results of runs: named arrays, tables, files, pictures."""

from pairgossip.results.fit import Fit
from pairgossip.results.run import Run

__all__ = ["Fit", "Run"]
