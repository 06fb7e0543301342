"""Early loading of the first question's needs: memory is missing at the start or not at all."""

from __future__ import annotations

import numpy as np

from pairgossip.peer.bookkeeping.entries import Entries
from pairgossip.peer.bookkeeping.row_names import name_column
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.figures import find_estimate
from pairgossip.peer.sums.statistics import cells_of

_QUESTION = """
kernel = "auc"
columns = ["score"]
label = "class"
[ranges]
score = [0, 1]
class = [0, 1]
[algorithm]
least_cell = 3
"""


def load_all() -> None:
    """Name, count and read some rows, as a question does."""
    spec = parse_spec(_QUESTION)
    scores = np.linspace(0.0, 1.0, 60)
    name_column(bytes(32), Entries(scores))
    cells = cells_of(spec)
    counts = cells.report(cells.count_cells(np.column_stack([scores, np.arange(60) % 2])))
    find_estimate(spec, counts)
