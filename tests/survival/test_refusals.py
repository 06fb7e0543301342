"""Data that are not times to an event are refused in one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pairgossip as pg

S = pg.survival
T, E, G, R = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1], ["a", "a", "b", "b"], [4, 3, 1, 2]
WHOLE = pg.cells.Whole(0, 9)


def summary(**more: Any) -> pg.Summary:
    """Return the counts of the rows above."""
    return pg.summarize(T, "auc", labels=E, **{"cells": WHOLE} | more)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: S.kaplan_meier([1, -2, 3], [1, 0, 1]),
            "Times are from 0 on, but time is negative in row 1 (counting from 0): correct it.",
        ),
        (
            lambda: S.kaplan_meier([1, math.inf, 3], [1, 0, 1]),
            "time has NaN or infinite values in row 1 (counting from 0): drop or impute them "
            "first.",
        ),
        (
            lambda: S.kaplan_meier([1, math.nan, 3], [1, 0, 1]),
            "Values are missing in time (row 1), counting from 0: fill them in, or leave these "
            "rows out with missing='drop'.",
        ),
        (
            lambda: S.kaplan_meier(T, [1, 2, 0, 1]),
            "Events are 1 (observed) or 0 (censored), but event is 2 in row 1 (counting from 0): "
            "recode it.",
        ),
        (
            lambda: S.kaplan_meier(T, ["yes", "no", "yes", "no"]),
            "Events are 1 (observed) or 0 (censored), but event holds text such as 'yes': recode "
            "it.",
        ),
        (
            lambda: S.kaplan_meier(pd.Series(T), pd.Series(["dead", "alive", "dead", "alive"])),
            "Events are 1 (observed) or 0 (censored), but event holds text such as 'dead': recode "
            "it.",
        ),
        (
            lambda: S.kaplan_meier(T, [1, 0]),
            "event has 2 rows, but time has 4: give one number per row.",
        ),
        (
            lambda: S.kaplan_meier(T, E, by=["a"]),
            "The shape of by is (1,) but there are 4 rows: give one group per row.",
        ),
        (
            lambda: S.kaplan_meier(T),
            "No argument says which rows failed: give event=, 1 for an event and 0 where the row "
            "was censored.",
        ),
        (
            lambda: S.kaplan_meier({"a": T, "b": T, "e": E}, "e"),
            "time is one column, but has 2 columns: name it with columns=.",
        ),
        (
            lambda: S.kaplan_meier(
                T, E, by=pd.Categorical(G, categories=["a", "b", "c"], ordered=True)
            ),
            "Group 'c' has no rows: leave it out of the groups.",
        ),
        (
            lambda: S.kaplan_meier(np.arange(100.0), np.ones(100), by=np.arange(100)),
            "by names 100 groups, but at most 64 have curves of their own: join groups.",
        ),
        (
            lambda: S.kaplan_meier(T, E, interval=95),
            "The level of an interval must be a number between 0 and 1, not 95.",
        ),
        (
            lambda: S.kaplan_meier(T, E).at(-1),
            "A time must be a number >= 0, not -1.",
        ),
        (
            lambda: S.kaplan_meier(T, E).picture(band="wide"),
            "Unknown band 'wide': choose one of none, pointwise, simultaneous.",
        ),
        (
            lambda: S.kaplan_meier(summary(), E),
            "A summary has its events, groups and strata already: leave event= out.",
        ),
        (
            lambda: S.kaplan_meier(pg.summarize(T, "gini", cells=WHOLE)),
            "A curve needs the time and whether an event was seen, 0 or 1, but this summary has no "
            "classes: summarize the times with labels=, and events as 0 and 1.",
        ),
        (
            lambda: S.kaplan_meier(
                pg.summarize(np.column_stack([T, T]), "auc-difference", labels=E, cells=WHOLE)
            ),
            "A curve takes one column of times, and this summary has two: summarize the times "
            "alone.",
        ),
        (
            lambda: S.kaplan_meier(pg.Summary.of("auc", cells=WHOLE, classes=[0, 1])),
            "No rows are counted, so there is no curve: add summaries.",
        ),
        (
            lambda: S.kaplan_meier(
                pg.summarize([-1, 2, 3, 4], "auc", labels=E, cells=pg.cells.Whole(-2, 9))
            ),
            "Times are from 0 on, but the cells of these counts begin below: give cells= from "
            "0 on.",
        ),
        (
            lambda: S.kaplan_meier(summary(by=G, groups=["a", "b", "c"])),
            "Group 'c' has no rows: leave it out of the groups.",
        ),
        (
            lambda: S.log_rank(T, E),
            "Curves of groups are compared: give by=.",
        ),
        (
            lambda: S.log_rank(T, E, by=["a"] * 4),
            "Curves of two groups or more are compared, but all rows are of group 'a': give by= of "
            "more.",
        ),
        (
            lambda: S.log_rank(summary()),
            "Curves of two groups or more are compared, but there are no groups: give by= of more.",
        ),
        (
            lambda: S.log_rank(T, [0] * 4, by=G),
            "No row has an event, so nothing shows how the groups fail.",
        ),
        (
            lambda: S.log_rank(T, E, by=G, weights="wilcox"),
            "Unknown weights 'wilcox': choose one of gehan, log-rank.",
        ),
        (
            lambda: S.concordance(T, E),
            "No argument says which rows should fail first: give risk=.",
        ),
        (
            lambda: S.concordance(T, [0] * 4, R),
            "No row has an event, so no pair shows which row failed first.",
        ),
        (
            lambda: S.concordance(T, E, R, truncation=2),
            "Harrell's index has no truncation: leave truncation= out, or choose weights='uno'.",
        ),
        (
            lambda: S.concordance(T, E, R, weights="uno", within=G),
            "Uno's weights are those of all rows together: leave within= out.",
        ),
        (
            lambda: S.concordance(T, E, R, weights="uno", truncation=0.5),
            "No event before the truncation has a row with a later time: no pair shows which row "
            "failed first.",
        ),
        (
            lambda: S.concordance(summary(), weights="uno"),
            "Uno's index cannot be read from counts",
        ),
        (
            lambda: S.concordance(summary()),
            "Harrell's index needs the risk, the time and the event of every row, which this "
            "summary does not hold: summarize these three columns for 'concordance'.",
        ),
        (
            lambda: S.concordance(summary(), risk=R),
            "A summary has its events, groups and strata already: leave risk= out.",
        ),
        (
            lambda: S.concordance([10, 2, 3], [1, 0, 0], [1, 2, 3]),
            "No event has a row with a later time: no pair shows which row failed first.",
        ),
        (
            lambda: S.concordance([1, 2, 1, 1], [0, 1, 1, 1], R, within=["a", "b", "c", "c"]),
            "No event has a row with a later time: no pair shows which row failed first.",
        ),
        (
            lambda: S.kaplan_meier(T, E, sites=3),
            "Sites belong to a summary, and these are rows: leave sites= out.",
        ),
    ],
)
def test_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(pg.InputError) as refused:
        call()
    assert str(refused.value).startswith(sentence)
