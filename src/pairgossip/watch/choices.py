"""What a viewer can choose from, for the page's form."""

from __future__ import annotations

from typing import Any

from pairgossip.algorithms.methods import METHODS
from pairgossip.datasets import CATALOG as DATASETS
from pairgossip.datasets import Dataset
from pairgossip.graphs import FAMILIES
from pairgossip.kernels import describe
from pairgossip.losses import CATALOG as LOSSES
from pairgossip.watch.observations import LARGEST_UPLOAD, TWO_NORMALS_ROWS, two_normals
from pairgossip.watch.settings import MOST_NODES

LABELS = ("class",)
"""The columns of the data sets that are labels."""


def choices() -> dict[str, Any]:
    """List data sets, kernels, losses, families and methods with what each takes."""
    return {
        "data": [
            *(_dataset(build()) for build in DATASETS.values()),
            _dataset(two_normals(TWO_NORMALS_ROWS)),
        ],
        "kernels": [
            {
                "name": kernel.name,
                "columns": None if kernel.columns is None else list(kernel.columns),
                "description": kernel.description,
                "expression": kernel.expression,
            }
            for kernel in describe()
        ],
        "losses": [
            {"name": name, "description": build().description} for name, build in LOSSES.items()
        ],
        "graphs": [
            {
                "name": name,
                "description": family.description,
                "parameters": [each for each in family.parameters if each != "seed"],
                "defaults": {
                    key: value
                    for key, value in family.defaults(100).items()
                    if key not in family.derived_from_n
                },
            }
            for name, family in FAMILIES.items()
        ],
        "methods": [
            {
                "name": method.name,
                "description": method.description,
                "clocks": list(method.clocks),
                "pairs": method.estimates != "mean",
            }
            for method in METHODS.values()
        ],
        "most_nodes": MOST_NODES,
        "largest_upload": LARGEST_UPLOAD,
    }


def _dataset(data: Dataset) -> dict[str, Any]:
    return {
        "name": data.name,
        "rows": len(data),
        "columns": list(data.columns),
        "label": next((name for name in LABELS if name in data.columns), None),
        "description": data.description,
    }
