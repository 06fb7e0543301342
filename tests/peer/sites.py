"""Peers that compare sites, and an auditor that knows what each adds about itself."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pairgossip.agreement.scales import place_evenly
from pairgossip.peer.sums.batches import StatisticsProgram, read_table
from pairgossip.peer.sums.sites import FEWEST_HIDDEN
from pairgossip.peer.sums.statistics import summary_of
from tests.peer.audit import Violated
from tests.peer.batches import Added, CountingWorld, TableAuditor, auc_spec
from tests.peer.contexts import name_of
from tests.peer.schedules import BAD, GOOD, draw_faults, draw_graph, plan_evictions
from tests.peer.sums import SumsDisk

EMPTY = bytes(32)


class SiteAuditor(TableAuditor):
    """Sees to it that what is added about a site follows from its counts, and is added once."""

    compared = 0
    """How many tables have sums over sites."""

    def _check_sites(self, me: str, added: Added) -> None:
        world = cast(ComparingWorld, self._world)
        if not len(added.sites) or not added.sites.any():
            return
        if added.base != EMPTY:
            raise Violated(f"{me} adds to a later table what says how sites differ")
        if added.sites[:3].tolist() != _read_site(world.least, added.counts.tobytes()):
            raise Violated(f"{me} adds about itself what its counts do not tell")
        lines = added.sites[3:]
        if (lines != 0).sum() > (me in world.shown):
            raise Violated(f"{me} shows what its operator does not")

    def _check_table(self, name: str) -> None:
        program = cast(CountingWorld, self._world).rounds(name).program
        assert isinstance(program, StatisticsProgram)
        before = len(self.tables)
        super()._check_table(name)
        if len(self.tables) == before:
            return
        assert program._stated is not None
        sums = read_table(program._stated.table).sites
        assert sums is not None and program.result is not None
        if program.result.heterogeneity != sums:
            raise Violated(f"{name} states other sums over sites")
        if sums.without is not None or program._base.table:
            return
        self.compared += 1
        generation = cast(CountingWorld, self._world).rounds(name).state.generation
        own = [one.sites for (when, _), one in self._added.items() if when == generation]
        total = np.sum(own, axis=0)
        if total[:3].tolist() != [sums.logits, sums.squares, sums.errors]:
            raise Violated(f"{name} found other sums over sites than they have")
        telling = sum(bool(one.any()) for one in own)
        if telling < 6 or telling != sums.sites:
            raise Violated(f"{name} compares {telling} sites")
        hidden = sums.sites - len(sums.shown or ())
        if sums.shown and 0 < hidden < FEWEST_HIDDEN:
            raise Violated(f"only {hidden} sites are not shown")


@functools.cache
def _read_site(least: int, kept: bytes) -> list[int]:
    """Return what a site with these counts adds."""
    summary = summary_of(auc_spec(least), np.frombuffer(kept, np.int64)[1:])
    found, classes = summary.find(), summary.layout.split(summary.counts.ravel())[0]
    smaller = classes.reshape(2, -1).sum(axis=1).min()
    y, v = place_evenly(found.value, found.error, smaller)
    a, w = round(min(max(y, -5), 5) / 0.25), max(1, round(min(v**0.5, 1.5) / 0.05))
    return [a, a * a, w * w]


@dataclass
class ComparingWorld(CountingWorld):
    """Peers that compare sites."""

    compares: bool = True

    def _make_auditor(self) -> SiteAuditor:
        return SiteAuditor(self)


def run_comparing_schedule(seed: int, **more: Any) -> ComparingWorld:
    """Run one schedule of six or more members; raise `Violated` if it breaks anything."""
    chance = random.Random(f"sites {seed}")
    graph = draw_graph(chance, chance.randint(7, 9))

    def draw(count: int) -> list[float]:
        return [float(chance.randrange(64)) for _ in range(count)]

    values = [draw(chance.choice([8, 24, 30, 40, 40, 40])) for _ in range(graph.n)]
    growths = [(chance.uniform(0.2, BAD), k, 8) for k in range(graph.n) if chance.random() < 0.3]
    growths += [(BAD + GOOD + chance.uniform(0.0, 0.5), k, 20) for k in range(graph.n)]
    growths.sort()
    added: dict[int, list[float]] = {}
    for _, number, by in growths:
        added.setdefault(number, []).extend(draw(by))
    shown = tuple(name_of(k) for k in range(graph.n) if chance.random() < 0.3)
    faults = draw_faults(chance)
    world = ComparingWorld(
        graph, values, seed, faults, more=added, disk_class=SumsDisk, shown=shown, **more
    )
    world.let_operators_agree()
    plan_evictions(world, chance)
    for when, number, by in growths:
        world._at(when, lambda number=number, by=by: world.grow(name_of(number), by))  # type: ignore[misc]
    world.run(BAD + 2 * GOOD)
    world.finish()
    world.check_sums()
    return world
