"""Answers of a study's sites against the same computed from all rows in one place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.signed_result import check_signed
from pairgossip.peer.sums.batches import read_table
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.study.protocol.records import digest_of
from pairgossip.study.site.layouts import read_text
from pairgossip.study.site.signed import path_of, read_answer, read_answer_with_table
from tests.study_site.consortium import AUC, Consortium, draw_rows, join_rows


@pytest.fixture
def five(tmp_path: Path) -> Consortium:
    return Consortium(tmp_path, [draw_rows(seed, 140 + 10 * seed) for seed in range(5)])


def plain_table(text: str, parts: list[dict[str, np.ndarray]]) -> np.ndarray:
    """Count the rows of each site in blocks, and add up."""
    cells = cells_of(read_text(text))
    counted = [cells.add_up(np.column_stack([one["risk"], one["died"]])) for one in parts]
    return np.sum(counted, axis=0)


def test_the_table_is_that_of_all_rows_and_the_answer_what_is_exact(five: Consortium) -> None:
    question, programs = five.answer(AUC)
    name, rows = digest_of(question), join_rows(five.rows)
    exact = pg.exact(rows["risk"], "auc", labels=rows["died"])
    for one, site in five.sites.items():
        result = programs[one].result
        assert result.rows == len(rows["risk"])
        low, high = result.bracket
        assert low <= exact <= high
        signed = read_answer_with_table(site.home, name)
        answer = site.answers.get(name)
        assert answer is not None
        table = site.answers.read(answer)
        assert (read_table(table).numbers == plain_table(question.text, five.rows)).all()
        assert signed.result == result
        assert check_signed(path_of(site.home, name)).signed.keys() == set(five.ids)
    assert read_answer(five.homes[0], name).result.members == {
        one: len(rows["risk"]) // 10 * 10 for one, rows in zip(five.ids, five.rows, strict=True)
    }
