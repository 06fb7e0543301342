"""Rows on workers: the same counts as in memory, from real clusters too, and no row travels."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pairgossip as pg

dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

c = pg.cells
N, PARTS = 1600, 16
RNG = np.random.default_rng(11)
DIED = RNG.integers(0, 2, N)
ROWS = pd.DataFrame(
    {
        "risk": np.round(RNG.beta(2 + DIED, 3), 6),
        "age": RNG.integers(20, 90, N),
        "died": DIED,
        "outcome": np.array(["well", "ill"])[DIED],
        "sex": np.array(["f", "m"])[RNG.integers(0, 2, N)],
        "ward": np.repeat([7, 8, 9, 10], N // 4),
        "often": RNG.integers(1, 4, N),
        "note": "-",
    }
)
SCORES = c.Even(0, 1, 1024)


def part(rows: pd.DataFrame, count: int = PARTS) -> Any:
    return dd.from_pandas(rows, npartitions=count, sort=False)


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "all is given": (
        "auc",
        {"columns": "risk", "labels": "died", "cells": SCORES, "classes": [0, 1]},
    ),
    "all follows": ("auc", {"columns": "risk", "labels": "died", "by": "sex", "within": "ward"}),
    "weights": ("auc", {"columns": "risk", "labels": "died", "weights": "often"}),
    "text": ("auc", {"columns": "risk", "labels": "outcome", "positive": "ill"}),
    "one column": ("median", {"columns": ["age"]}),
    "two columns": ("kendall", {"columns": ["age", "risk"]}),
    "event": ("concordance", {"columns": ["risk", "age", "died"]}),
    "apart": ("auc-difference", {"columns": ["risk", "age"], "labels": "died"}),
    "blocks": (
        "auc",
        {
            "columns": "risk",
            "labels": "died",
            "cells": SCORES,
            "classes": [0, 1],
            "least_cell": 5,
            "weights": "often",
        },
    ),
}


@pytest.mark.filterwarnings("ignore:Left out")
@pytest.mark.parametrize("asked", ASKED)
def test_the_same_counts_as_in_memory(asked: str) -> None:
    kernel, told = ASKED[asked]
    assert pg.summarize(part(ROWS), kernel, **told) == pg.summarize(ROWS, kernel, **told)


def test_a_partition_may_lack_rows_classes_and_groups() -> None:
    rows = ROWS.sort_values(["died", "sex"], ignore_index=True)  # one class and group in most
    parts = part(rows)
    parts = parts[parts["age"] != 0]
    without = parts.map_partitions(lambda one, partition_info=None: one[one["ward"] != 8])
    told: dict[str, Any] = {"columns": "risk", "labels": "died", "by": "sex"}
    assert pg.summarize(parts, "auc", **told) == pg.summarize(rows, "auc", **told)
    kept = rows[rows["ward"] != 8]
    assert pg.summarize(without, "auc", **told) == pg.summarize(kept, "auc", **told)
    halves = part(ROWS)
    some = halves.map_partitions(lambda one: one[one["ward"] == 7])  # most partitions are empty
    assert pg.summarize(some, "auc", **told).rows == N // 4


def test_categories() -> None:
    rows = ROWS.assign(sex=ROWS["sex"].astype("category"))
    told: dict[str, Any] = {"columns": "risk", "labels": "died", "by": "sex"}
    assert pg.summarize(part(rows), "auc", **told) == pg.summarize(ROWS, "auc", **told)


LABELS: dict[str, tuple[Any, str]] = {
    "other numbers": (DIED + 1, "auc"),
    "signs": (2 * DIED - 1, "mann-whitney"),
    "grades": (DIED + RNG.integers(0, 2, N), "kendall"),
    "no order": (ROWS["outcome"], "within-cluster-scatter"),
    "two of no order": (DIED, "within-cluster-scatter"),
    "ordered": (
        pd.Categorical(ROWS["outcome"], categories=["well", "ill"], ordered=True),
        "auc",
    ),
    "few": (np.where(np.arange(N) < 100, 5, 3), "auc"),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("cells", [None, SCORES])
def test_labels_are_known_as_in_memory(labels: str, cells: Any) -> None:
    label, kernel = LABELS[labels]
    rows = ROWS.assign(label=label)
    told: dict[str, Any] = {"columns": "risk", "labels": "label", "cells": cells}
    found = pg.summarize(part(rows), kernel, **told)
    assert found == pg.summarize(rows, kernel, **told)


def test_the_last_column_may_be_the_label() -> None:
    columns = ["risk", "died"]
    assert pg.summarize(part(ROWS), "auc", columns=columns) == pg.summarize(
        ROWS, "auc", columns=columns
    )


def test_missing_values_are_told_once() -> None:
    rows = ROWS.copy()
    rows.loc[:99, "risk"] = np.nan  # the whole first partition
    rows.loc[[500, 700], "risk"] = np.nan
    told: dict[str, Any] = {"columns": "risk", "labels": "died", "missing": "drop"}
    choices: list[dict[str, Any]] = [{}, {"cells": SCORES, "classes": [0, 1]}]
    for more in choices:
        with pytest.warns(pg.RowsDropped) as said:
            found = pg.summarize(part(rows), "auc", **told, **more)
        assert [str(one.message) for one in said] == [
            "Left out 102 of 1,600 rows, which have missing values: in all partitions together."
        ]
        with pytest.warns(pg.RowsDropped):
            assert (found.counts == pg.summarize(rows, "auc", **told, **more).counts).all()
    with pytest.raises(pg.InputError, match=r"^All 1,600 rows have missing values"):
        pg.summarize(part(rows.assign(risk=np.nan)), "auc", **told)


def refusal(data: Any, kernel: str = "auc", **told: Any) -> str:
    with pytest.raises(pg.InputError) as refused:
        pg.summarize(data, kernel, **told)
    return str(refused.value)


def test_what_is_wrong_is_said_in_one_sentence() -> None:
    gaps = part(ROWS.assign(risk=ROWS["risk"].where(ROWS.index != 203)))
    right: dict[str, Any] = {"columns": "risk", "labels": "died"}
    given = {**right, "cells": SCORES, "classes": [0, 1]}
    data = part(ROWS)
    assert refusal(gaps, **right).startswith(
        "partition 2 (counting from 0): Values are missing in column 'risk' (row 3)"
    )
    assert refusal(data, **{**given, "cells": c.Even(0, 0.5)}).startswith(
        "partition 0 (counting from 0): Even(0, 0.5, 256) leaves out"
    )
    cases: list[tuple[dict[str, Any], str]] = [
        ({"columns": "riks"}, "There is no column 'riks' in the data: did you mean 'risk'?"),
        ({"labels": "dead"}, "There is no column 'dead' in the data"),
        ({"labels": DIED}, "Rows on workers have all their columns in one table"),
        ({"labels": None}, "Kernel 'auc' takes 2 columns (score, label), but the data has 1"),
        ({"labels": "outcome"}, "partition 0 (counting from 0): Kernel 'auc' depends on which"),
        ({"labels": "ward"}, "Kernel 'auc' needs two classes, but the labels hold 4"),
        ({"cells": c.Quantiles(8)}, "Quantiles of rows on workers are not known"),
        ({"by": "risk"}, "partition 0 (counting from 0): Classes, groups, strata and weights have"),
        (
            {"least_cell": 3},
            "Classes that follow from the labels reveal something about them: give classes=",
        ),
    ]
    for wrong, sentence in cases:
        assert refusal(data, **{**right, **wrong}).startswith(sentence)
    assert refusal(data.map_partitions(lambda one: one[one["age"] < 0]), **given) == (
        "The data has no rows in any partition: give some."
    )
    with pytest.raises(pg.InputError, match=r"count its rows there with pg\.summarize"):
        pg.exact(data, "auc")


def test_blocks_of_arrays() -> None:
    array = pytest.importorskip("dask.array")
    values = ROWS["risk"].to_numpy()
    assert pg.summarize(array.from_array(values, 100), "gini", cells=SCORES) == pg.summarize(
        values, "gini", cells=SCORES
    )
    both = array.from_array(ROWS[["risk", "age"]].to_numpy(), (100, 1))
    assert refusal(both, "kendall") == (
        "The columns of the data are in different blocks: rechunk them together."
    )


# Real clusters.


def draw(seed: int) -> pd.DataFrame:
    """Draw the rows of a partition, on a worker."""
    rng = np.random.default_rng(seed)
    died = rng.integers(0, 2, 20_000)
    return pd.DataFrame({"risk": rng.beta(2 + died, 3), "died": died})


def check_cluster(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count on a cluster; no message to the client or between workers is as long as the rows."""
    gathered: list[int] = []
    gather = distributed.Client.gather

    def spy(self: Any, *arguments: Any, **more: Any) -> Any:
        found = gather(self, *arguments, **more)
        gathered.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(distributed.Client, "gather", spy)
    meta = pd.DataFrame({"risk": [0.5], "died": [0]})
    data = dd.from_map(draw, list(range(PARTS)), meta=meta)
    given: dict[str, Any] = {"columns": "risk", "labels": "died"}
    rows = pd.concat([draw(seed) for seed in range(PARTS)])
    choices: list[dict[str, Any]] = [{"cells": SCORES, "classes": [0, 1]}, {}]
    for more in choices:
        expected = pg.summarize(rows, "auc", **given, **more)
        assert pg.summarize(data, "auc", **given, **more) == expected
    assert len(gathered) == 3  # one for the first, and two for the other
    moved = client.run(
        lambda dask_worker: [one["total"] for one in dask_worker.transfer_incoming_log]
    )
    partition = rows.memory_usage(deep=True).sum() / PARTS
    assert max(gathered) < partition / 4
    assert max([0, *(size for sizes in moved.values() for size in sizes)]) < partition
    with pytest.raises(pg.InputError, match=r"^partition 0 .*leaves out"):
        pg.summarize(data, "auc", columns="risk", labels="died", cells=c.Even(0, 0.5))


@pytest.fixture
def quiet() -> Iterator[None]:
    """Ignore warnings of clusters while they start and stop."""
    with warnings.catch_warnings(), dask.config.set({"distributed.admin.log-level": "error"}):
        warnings.simplefilter("ignore")
        yield


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.slow
def test_a_cluster_of_commands(
    quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = shutil.which("dask", path=str(Path(sys.executable).parent)) or shutil.which("dask")
    if command is None:
        pytest.skip("Dask's command is not installed")
    address = f"tcp://127.0.0.1:{find_port()}"
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    port = re.sub(r".*:", "", address)
    programs = [["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--no-show"]]
    programs += [["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]] * 2
    with ExitStack() as stack:
        for program in programs:
            process = stack.enter_context(
                subprocess.Popen(
                    [command, *program],
                    cwd=tmp_path,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            stack.callback(process.kill)
        client = stack.enter_context(distributed.Client(address, timeout=60))
        client.wait_for_workers(2, timeout=60)
        check_cluster(client, monkeypatch)
