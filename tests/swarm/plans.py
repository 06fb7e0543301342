"""Small swarms for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pairgossip as pg
from pairgossip.swarm.plan import Plan, kernel_spec, make_plan
from pairgossip.swarm.study_plan import StudyPlan, plan_study
from pairgossip.tables import read_columns


def gini_plan(peers: int, rows: int, rate: float = 20.0) -> Plan:
    """Plan peers on a ring with this many rows in total."""
    table = np.random.default_rng(3).lognormal(size=(rows, 1)).round(3)
    text = kernel_spec("gini", ["income"], None, table, rate=rate)
    values = tuple((float(value),) for value in table[:, 0])
    graph = pg.graphs.cycle(peers) if peers > 2 else pg.graphs.path(2)
    return make_plan(text, values, graph, peers, seed=1)


AUC = """
kernel = "auc"
columns = ["risk"]
label = "died"
[ranges]
risk = [0, 1]
died = [0, 1]
"""
GINI = """
kernel = "gini"
columns = ["age"]
[ranges]
age = [0, 120]
"""
MODEL = """
loss = "auc-logistic"
columns = ["dose", "weight"]
label = "died"
[ranges]
dose = [0, 50]
weight = [0, 200]
died = [0, 1]
"""


def write_cohort(path: Path, rows: int) -> Path:
    """Write rows with higher scores for those who died."""
    chance = np.random.default_rng(5)
    died = np.arange(rows) % 2
    columns = (
        np.clip(chance.normal(0.4 + 0.2 * died, 0.15), 0, 1).round(7),
        chance.uniform(18, 110, rows).round(6),
        (chance.uniform(0, 20, rows) + 10 * died).round(6),
        chance.uniform(40, 150, rows).round(6),
        died,
    )
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["risk,age,dose,weight,died", *lines, ""]))
    return path


def study_plan(
    folder: Path, *texts: str, peers: int = 4, rows: int = 160, **more: int
) -> StudyPlan:
    """Plan a study of members that have the rows of a cohort."""
    table = read_columns(write_cohort(folder / "cohort.csv", rows), ())
    named = [(f"question-{number}.toml", text) for number, text in enumerate(texts, 1)]
    return plan_study(named, table, peers, 1, **more)
