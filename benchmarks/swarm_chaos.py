"""Run a network of real peers through kills, freezes and partitions, and audit it.

    python -m benchmarks.swarm_chaos --kills 1000
    python -m benchmarks.swarm_chaos --peers 64 --rate 1 --kills 0 --seconds 160

Each peer is a separate process. Where the network is partitioned, all connections go through a
relay in this process. Only kills of peers that have exchanged since their start are counted. They
follow each other as fast as peers start again and exchange: most of the time is spent on starting
processes. Prints the costs of a swarm and the errors of its estimates; exits with 1 if anything was
lost or duplicated.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import pairgossip as pg
from pairgossip.cli.swarm.report import intervals_with, verdict
from pairgossip.peer.reading import SwarmReading
from pairgossip.swarm.chaos import Faults, format_faults
from pairgossip.swarm.plan import kernel_spec, make_plan
from pairgossip.swarm.running import SwarmOptions, run_swarm

BETWEEN_LINES = 10.0
SECONDS_PER_KILL = 0.4
"""Seconds per kill by default; a machine that starts peers more slowly takes longer."""
PART_IN_CHAOS = 0.75
SHORTEST = 30.0
KILLS_PER_FREEZE, KILLS_PER_PARTITION = 5, 20


def main() -> int:
    """Run one swarm; return 1 if the audit failed."""
    options = _options()
    random = np.random.default_rng(options.seed)
    table = random.lognormal(size=(options.peers * options.rows, 1)).round(4)
    text = kernel_spec("gini", ["income"], None, table, rate=options.rate)
    graph = pg.graphs.watts_strogatz(options.peers, k=4, p=0.3, seed=options.seed)
    rows = tuple((float(value),) for value in table[:, 0])
    plan = make_plan(text, rows, graph, options.peers, options.seed)
    faults = None
    if options.kills or options.freezes or options.partitions:
        window = PART_IN_CHAOS * options.seconds
        faults = Faults(options.kills, options.freezes, options.partitions, window)
    how = SwarmOptions(options.seconds, None, faults, options.seed, not options.fast)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pairgossip-swarm-") as above:
        report = run_swarm(plan, Path(above) / "swarm", how, _Lines(options.kills))
    audit, errors = report.books, report.errors()
    print(f"{options.peers} peers, {len(plan.links)} links, {audit.records} records")
    print(f"  {time.monotonic() - begin:.1f} s in all, {report.seconds:.1f} s from start to stop")
    print(f"  {audit.exchanges:,} exchanges, {report.rate:.1f} per second")
    share = report.cpu_seconds / report.seconds
    print(f"  {report.cpu_starting:.1f} s of processor time until all peers ran")
    print(f"  {report.cpu_seconds:.1f} s from then on, {share:.2f} processors on average")
    if report.memory is not None:
        resident, shared = (size / 1e6 for size in report.memory)
        print(f"  {resident:.1f} MB per peer, {shared:.1f} MB with shared pages divided")
    kills = report.faults.get("kills", 0)
    print(f"  {kills:,} kills of peers that had exchanged since their start")
    print(f"  {report.offers_in_flight:,} different offers in flight at these kills")
    print(f"  {audit.parked} offers in flight at the end, {audit.decided} of them decided")
    print(f"  {report.refused} frames refused")
    print(f"  weight {audit.weight!r}, due {audit.weight_due!r}")
    if errors:
        print(f"  errors: {np.mean(errors):.3%} on average, {max(errors):.3%} at most")
    covered = intervals_with(report)
    if covered is not None:
        print(f"  {covered[0]} of {covered[1]} gossip intervals hold the exact value")
    for problem in (*audit.violations, *report.failures):
        print(f"  problem: {problem}")
    print(f"Verdict: {verdict(report)}")
    return 0 if report.is_sound else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", type=int, default=16)
    parser.add_argument("--rows", type=int, default=3, help="rows of each peer")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--freezes", type=int, help="one for 5 kills unless given")
    parser.add_argument("--partitions", type=int, help="one for 20 kills unless given")
    parser.add_argument("--seconds", type=float, help="at least; by the kills unless given")
    parser.add_argument("--rate", type=float, default=5.0, help="exchanges per second and link")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="do not wait for the disk")
    options = parser.parse_args()
    if options.freezes is None:
        options.freezes = options.kills // KILLS_PER_FREEZE
    if options.partitions is None:
        options.partitions = options.kills // KILLS_PER_PARTITION
    if options.seconds is None:
        options.seconds = max(SHORTEST, SECONDS_PER_KILL * options.kills / PART_IN_CHAOS)
    return options


class _Lines:
    def __init__(self, kills: int) -> None:
        self._kills, self._next = kills, 0.0

    def __call__(self, reading: SwarmReading, faults: Mapping[str, int]) -> None:
        if reading.seconds >= self._next:
            self._next = reading.seconds + BETWEEN_LINES
            done = f"; {format_faults(faults)}" if faults else ""
            left = self._left(reading.seconds, faults.get("kills", 0))
            print(f"{reading.summary()}{done}{left}", flush=True)

    def _left(self, seconds: float, done: int) -> str:
        if not done or done >= self._kills:
            return ""
        left = seconds / done * (self._kills - done)
        return f"; {self._kills - done:,} more kills take about {left / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main())
