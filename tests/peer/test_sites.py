"""Where sites are compared: schedules with crashes, evictions and batches, and planted defects."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from pairgossip.arrays import IntArray
from pairgossip.peer.protocol.program import Words
from pairgossip.peer.protocol.state import Counted
from pairgossip.peer.sums import batches, site_sums, sites
from pairgossip.peer.sums.batches import StatisticsProgram
from pairgossip.peer.sums.sites import Plan, plan_sites
from tests.peer.audit import Violated
from tests.peer.sites import SiteAuditor, run_comparing_schedule

SEEDS = 4


@pytest.fixture(autouse=True)
def _few_rows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_sums, "ROWS_PER_LEAST", 2)


def test_sums_over_sites_follow_from_counts_and_are_made_once() -> None:
    worlds = [run_comparing_schedule(seed) for seed in range(SEEDS)]
    auditors = [cast(SiteAuditor, world.auditor) for world in worlds]
    assert any(one.compared for one in auditors)
    assert any(len(one.tables) > 2 for one in auditors)


class ReadsRows(StatisticsProgram):
    """Reads the statistic of a site from its cells, which say more than its blocks."""

    def _tell_site(self, total: IntArray) -> Words:
        words = super()._tell_site(total)
        if words.any():
            words = words.copy()
            words[2] += np.uint64(1)
        return words


class ComparesAgain(StatisticsProgram):
    """Compares the sites of every table."""

    def take_cards(self, cards: Any) -> None:
        super().take_cards(cards)
        flags = dict.fromkeys(cards, 1)
        self._plan = plan_sites(self._added, flags)

    @property
    def _flags(self) -> int:
        return 1 if self._end(self._base) else super()._flags


class ShowsAll(StatisticsProgram):
    """Shows its line whatever its operator says."""

    def _tell_site(self, total: IntArray) -> Words:
        words = super()._tell_site(total).copy()
        words[3:] += np.uint64(1)
        return words


def compare_any(rows: Any, flags: Any) -> Plan:
    """Compare however few sites take part."""
    told = tuple(sorted(one for one, count in rows.items() if count and flags[one] & 1))
    return Plan(told) if told else Plan((), without="few")


def test_planted_defects_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    for planted, said in (
        (ReadsRows, "counts do not tell"),
        (ComparesAgain, "later table|counts do not tell"),
        (ShowsAll, "operator does not|none that a site has|stands in round"),
    ):
        with pytest.raises(Violated, match=said):
            for seed in range(40):
                run_comparing_schedule(seed, program_class=planted)
    monkeypatch.setattr(batches, "plan_sites", compare_any)
    with pytest.raises(Violated, match=r"compares \d sites"):
        for seed in range(40):
            run_comparing_schedule(seed)


def test_what_a_card_has_told_stands() -> None:
    from pairgossip.peer.protocol.state import Released
    from pairgossip.peer.sums.programs import Generation
    from tests.peer.batches import auc_spec

    spec = auc_spec(3, compares=True)
    rows = np.column_stack([np.arange(32.0), np.tile([0.0, 1.0], 16)])
    members = Generation({f"site {k}": 32 for k in range(6)})

    def make(released: Released, *, shows: bool) -> StatisticsProgram:
        return StatisticsProgram(spec, rows, members, None, released, me="site 0", shows=shows)

    told = make(Released(), shows=True)
    assert make(told.released, shows=False).card() == told.card()
    assert make(Released(), shows=False).card() != told.card()
    assert told.released.leave(is_finished=False).shows
    later = Released(Counted(b"x" * 40, 32), Counted(b"x" * 40, 32))
    assert make(later, shows=True).card()[-1] == 0


def test_few_sites_a_large_one_and_few_hidden_ones() -> None:
    rows = {f"site {k}": 1_000 for k in range(8)}
    takes_part = dict.fromkeys(rows, 1)
    assert plan_sites(rows, takes_part) == Plan(tuple(rows))
    few = takes_part | {"site 0": 0, "site 1": 0, "site 2": 2}
    assert plan_sites(rows, few).without == "few"
    assert plan_sites(rows | {"site 0": 7_000}, takes_part).without is None
    assert plan_sites(rows | {"site 0": 7_010}, takes_part).without == "large"
    assert plan_sites(rows | {"site 0": 0, "site 1": 0}, takes_part).sites == tuple(rows)[2:]

    def show(count: int) -> int:
        flags = takes_part | {f"site {k}": 3 for k in range(count)}
        return len(plan_sites(rows, flags).shown)

    assert [show(count) for count in range(9)] == [0, 1, 2, 3, 4, 0, 0, 0, 8]
    assert sites.Plan((), without="few").words == 0
