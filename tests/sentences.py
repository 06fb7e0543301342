"""Every refusal of the front doors, recorded as a whole sentence.

``python -m tests.sentences`` records them again; review the changes before you commit them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pairgossip as pg

FILE = Path(__file__).with_suffix(".json")
NAN = float("nan")
ROWS = [0.5, 0.25, 1.0, 0.75, 2.0, 0.125, 4.0, 3.0, 0.375, 1.5, 2.5, 0.625]
CLASSES = [0, 1] * 6
DOORS: dict[str, dict[str, Any]] = {
    "estimate": {"data": ROWS, "kernel": "gini", "iterations": 50, "n_jobs": 1},
    "exact": {"data": ROWS, "kernel": "gini"},
    "heterogeneity": {"data": ROWS, "reading": "gini", "by": CLASSES},
    "minimize": {"data": ROWS, "labels": CLASSES, "iterations": 50, "n_jobs": 1},
    "plan": {"data": ROWS, "kernel": "gini"},
    "summarize": {"data": ROWS, "kernel": "gini"},
    "test": {"data": np.column_stack([ROWS, ROWS[::-1]]), "kernel": "kendall"},
    "quantile": {"x": ROWS},
    "trimmed_mean": {"x": ROWS},
    "winsorized_mean": {"x": ROWS},
    "hodges_lehmann": {"x": ROWS},
    "ranks": {"x": ROWS},
}
"""The front doors, with arguments that they take."""
WRONG: dict[str, list[Any]] = {
    "accuracy": [0, 1, "x"],
    "alternative": ["above"],
    "between": [[1, 2]],
    "bias": ["x"],
    "bins": [0, 1, "x"],
    "by": [[1, 2], "sex", [0] * 12],
    "cells": [3, "x", [pg.cells.Even(0, 9)] * 2, pg.cells.Even(0, 1), pg.cells.Whole(0, 9)],
    "checkpoints": [0, [5, 3], "x"],
    "classes": [[0], "ab"],
    "clock": ["asink", None],
    "columns": ["x"],
    "constraint": [1, "x"],
    "construction": ["blow", None],
    "data": [[], "x", [1, NAN], [1, float("inf")]],
    "engine": ["fast"],
    "error": [0, -1, "x"],
    "graph": ["torsu", 3],
    "groups": [[1, 2]],
    "interval": [0, 1, 2, "x"],
    "iterations": [0, -1, "x", 1.5, True],
    "judged": ["x", -1],
    "kernel": ["ginni", None, 3, "auc"],
    "kind": ["w"],
    "labels": [[1, 2], "died"],
    "law": ["laws", 1, [0.5, 0.5], [0.5, 0.6], [1.5, -0.5]],
    "least_cell": [0, 2, 3, "x"],
    "loss": ["auc-logistik", 3],
    "method": ["gost", 3],
    "missing": ["keep"],
    "n_jobs": [0, "x", 1.5],
    "null": ["x", NAN],
    "order": ["first"],
    "penalty": [1, "x"],
    "positive": [3],
    "privacy": [1, "x"],
    "progress": ["x"],
    "range": [(1, 0), (0,), "x"],
    "record": ["all"],
    "reference": ["x", NAN],
    "relaxation": [0, 1.5, "x", 0.4],
    "schedule": ["sorted", "tree"],
    "seed": [-1, "x", 1.5],
    "share": [-1, 2, "x"],
    "sketch": [3, "x", 0],
    "start": ["nowhere.npz", 3],
    "step": [0, -1, "x"],
    "target": ["w", None],
    "tolerance": [0, -1, "x"],
    "trials": [0, -1, "x", 1.5, []],
    "until": ["soon"],
    "weights": [[1, 2], [-1.0] * 12, "x"],
    "within": [[1, 2]],
    "x": [[], "x", [1, NAN]],
}
"""Values that most front doors refuse, by argument."""
PASSED_ON = ("clock", "engine", "iterations", "kernel", "method", "nonsense", "privacy", "seed")
"""Arguments that statistics of order take or refuse on a graph, in addition to their own."""


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Return calls with one wrong argument each, by their text."""
    for name, right in DOORS.items():
        parameters = inspect.signature(getattr(pg, name)).parameters
        takes_more = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        for argument, values in {**WRONG, "nonsense": [1]}.items():
            more = {} if argument in parameters else {"graph": "cycle"}
            if more and not (takes_more and argument in PASSED_ON):
                continue
            for value in values:
                wrong = {argument: value, **more}
                text = ", ".join(f"{key}={each!r}" for key, each in wrong.items())
                yield f"pg.{name}({text})", _call(name, {**right, **wrong})


def _call(name: str, arguments: dict[str, Any]) -> Callable[[], object]:
    return lambda: getattr(pg, name)(**arguments)


def refusal(call: Callable[[], object]) -> str | None:
    """Return the sentence by which a call is refused; None if it is accepted."""
    try:
        call()
    except pg.InputError as error:
        return str(error)
    return None


if __name__ == "__main__":
    said = {text: sentence for text, call in calls() if (sentence := refusal(call)) is not None}
    FILE.write_text(json.dumps(said, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
