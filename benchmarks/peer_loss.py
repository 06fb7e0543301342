"""Kill one peer of a network of real processes, and measure how often the others exchange.

    python -m benchmarks.peer_loss --peers 3 --rows 20 --rate 10

Each peer in turn is killed with `kill -9`, and started again before the next one. Prints the rate
of exchanges among the others, as a fraction of what their links allow, and how long it took until
all neighbors of the killed peer reported it in their status. Exits with 1 if a fraction is below
0.8.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import pairgossip as pg
from pairgossip.peer.service.status import Status, read_status
from pairgossip.swarm.exchange import ExchangePeer
from pairgossip.swarm.plan import Plan, create_peers, introduce, kernel_spec, make_folder, make_plan
from pairgossip.swarm.processes import HOST, free_ports, start_all, stop_all

LEAST = 0.8
PATIENCE = 120.0


def main() -> int:
    """Kill every peer once; return 1 if the others were slowed down."""
    options = _options()
    plan = _plan(options)
    with tempfile.TemporaryDirectory(prefix="pairgossip-loss-") as above:
        peers = _create(plan, Path(above) / "peers")
        try:
            start_all(peers)
            _wait("all to exchange", lambda: all(_read(peer).exchanges for peer in peers))
            before = _rate(peers, plan.links, options)
            print(f"{plan.graph}, {options.rows} rows each: {before:.2f} with all peers")
            ratios = [_without(lost, peers, plan.links, options) for lost in range(len(peers))]
            stop_all(peers)
        finally:
            for peer in peers:
                peer.kill()
    print(f"lowest: {min(ratios):.2f}")
    return int(min(ratios) < LEAST)


def _without(
    lost: int, peers: Sequence[ExchangePeer], links: list[tuple[int, int]], options: _Options
) -> float:
    """Kill a peer, return the rate among the others, and start it again."""
    gone, others = peers[lost], [peer for peer in peers if peer is not peers[lost]]
    neighbors = [peers[i + j - lost] for i, j in links if lost in (i, j)]
    gone.kill()
    killed_at = time.monotonic()
    _wait(
        "neighbors to report the problem", lambda: all(_complains(one, gone) for one in neighbors)
    )
    reported_after = time.monotonic() - killed_at
    left = [link for link in links if lost not in link]
    ratio = _rate(others, left, options)
    frozen = [_read(one).pending for one in neighbors]
    print(
        f"  without {gone.name}: {ratio:.2f} on {len(left)} links; reported after "
        f"{reported_after:.1f} s; offers in doubt at its neighbors: {frozen}",
        flush=True,
    )
    gone.start()
    _wait("the peer to be back", lambda: _is_back(gone, neighbors))
    return ratio


def _is_back(peer: ExchangePeer, neighbors: Sequence[ExchangePeer]) -> bool:
    status = _read(peer)
    has_met_all = status.pid == peer.pid and all(one.agreed for one in status.neighbors.values())
    return has_met_all and not any(_complains(one, peer) for one in neighbors)


def _rate(
    peers: Sequence[ExchangePeer], links: Sequence[tuple[int, int]], options: _Options
) -> float:
    """Return the rate of exchanges, as a fraction of what the links allow."""
    first = [_read(peer) for peer in peers]
    time.sleep(options.seconds)
    then = [_read(peer) for peer in peers]
    # Rates use the times at which statuses were written, as these are up to a second old.
    rates = [
        (after.exchanges - before.exchanges) / (after.updated - before.updated)
        for before, after in zip(first, then, strict=True)
    ]
    return sum(rates) / 2 / (len(links) * options.rate)


def _complains(peer: ExchangePeer, about: ExchangePeer) -> bool:
    return any(f"'{about.name}'" in problem for problem in _read(peer).problems)


def _read(peer: ExchangePeer) -> Status:
    status = read_status(peer.home.status)
    assert status is not None, f"{peer.name} has no status"
    return status


def _wait(what: str, is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"Waited in vain for {what}.")
        time.sleep(0.2)


def _create(plan: Plan, folder: Path) -> list[ExchangePeer]:
    make_folder(folder)
    listen = [f"tls/{HOST}:{port}" for port in free_ports(len(plan.names))]
    homes = create_peers(plan, folder, listen, power_safe=True)
    identities = introduce(plan, homes, lambda _, j: listen[j])
    return [
        ExchangePeer(identity.name, identity.id, home.folder, folder / f"{identity.name}.log")
        for home, identity in zip(homes, identities, strict=True)
    ]


def _plan(options: _Options) -> Plan:
    count = options.peers * options.rows
    table = np.random.default_rng(0).lognormal(size=(count, 1)).round(4)
    text = kernel_spec("gini", ["income"], None, table, rate=options.rate)
    graph = pg.graphs.build(options.graph, options.peers)
    return make_plan(text, tuple((float(v),) for v in table[:, 0]), graph, options.peers, 0)


class _Options(argparse.Namespace):
    peers: int
    rows: int
    rate: float
    seconds: float
    graph: str


def _options() -> _Options:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20, help="of each peer")
    parser.add_argument("--rate", type=float, default=10.0, help="exchanges per second and link")
    parser.add_argument("--seconds", type=float, default=40.0, help="to count exchanges in")
    parser.add_argument("--graph", default="complete")
    return parser.parse_args(namespace=_Options())


if __name__ == "__main__":
    sys.exit(main())
