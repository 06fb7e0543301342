"""Costs of the rows of a peer: read from a file, held in memory, exchanged.

    python -m benchmarks.peer_rows [--seconds 3] [--rows 10 1000 50000] [--power-safe]

Exchanges per second are between two peers without a network between them. Everything else is as in
the field: real keys and signatures, the database, the peer's observations of itself, and its status
written every second. The cost of an exchange should not depend on the number of rows.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import deque
from pathlib import Path

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.invitations import add_invited, invitation, read_invitation
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import ExchangeReporter
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home

SPEC = """
algorithm.name = "exchange"
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
"""
Frames = deque[tuple[str, str, bytes]]


class Line:
    """A link in memory."""

    def __init__(self, frames: Frames, me: str) -> None:
        self._frames, self._me = frames, me

    def send(self, to: str, frame: bytes) -> None:
        """Append a frame to the queue."""
        self._frames.append((self._me, to, frame))


def make_homes(folder: Path, rows: int, *, power_safe: bool) -> list[Home]:
    """Make two peers with this many rows each, and let them join each other."""
    (folder / "gini.toml").write_text(SPEC)
    chance, homes = random.Random(rows), []
    for name in ("ann", "bob"):
        data = folder / f"{name}.csv"
        data.write_text("income\n" + "".join(f"{chance.uniform(0, 100)}\n" for _ in range(rows)))
        spec = folder / "gini.toml"
        homes.append(create_home(folder / name, name, spec, data, power_safe=power_safe))
    identities = [load_identity(home.folder) for home in homes]
    for home, me, them in zip(homes, identities, identities[::-1], strict=True):
        told = read_invitation(invitation(them, home.read_spec(), rows, None))
        add_invited(home.read_members(), me, home.read_spec(), told).save(home.members)
    return homes


def exchanges_per_second(
    rows: int, seconds: float, *, power_safe: bool
) -> tuple[float, float, float]:
    """Return exchanges per second, per second of processor time, and the seconds of a report."""
    with tempfile.TemporaryDirectory() as folder:
        homes = make_homes(Path(folder), rows, power_safe=power_safe)
        parts = [assemble(home) for home in homes]
        frames, peers, observers = Frames(), {}, []
        for one in parts:
            me = one.identity.id
            exchange = Exchange(one.context, one.state)
            observers.append(ExchangeReporter(one, exchange, Log(one.settings.name)))
            line, chance = Line(frames, me), random.Random(me)
            peers[me] = ExchangeRuntime(
                exchange, observers[-1], line, chance, 1.0, is_ringing=False
            )

        def deliver() -> None:
            while frames:
                sender, to, frame = frames.popleft()
                peers[to].received(sender, frame, 0.0)

        for peer in peers.values():
            peer.start(0.0)
        deliver()
        asking, asked = list(peers)
        made, looks = 0, 0.0
        used, begun = time.process_time(), time.perf_counter()
        last = begun
        while (now := time.perf_counter()) < begun + seconds:
            peers[asking]._carry_out(peers[asking].protocol.ring(asked), 0.0)
            deliver()
            made, asking, asked = made + 1, asked, asking
            if now - last >= 1.0:
                for reporter in observers:
                    reporter.report({}, set(), {}, {}, is_last=False)
                looks = (time.perf_counter() - now) / 2
                last = time.perf_counter()
        taken, used = time.perf_counter() - begun, time.process_time() - used
        counted = sum(peer.protocol.state.exchanges for peer in peers.values())
        for one in parts:
            one.close()
    if counted != 2 * made:
        raise RuntimeError(f"{counted} of {2 * made} exchanges were made")
    return made / taken, made / used, looks


def main() -> None:
    """Print a line for every number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rows", type=int, nargs="+", default=None)
    parser.add_argument("--power-safe", action="store_true", help="wait for the disk")
    options = parser.parse_args()
    for rows in options.rows or [10, 1_000, 50_000]:
        rate, pace, look = exchanges_per_second(
            rows, options.seconds, power_safe=options.power_safe
        )
        print(
            f"{rows:>9,} rows each: {rate:6,.0f} exchanges/s, {pace:6,.0f} per second of "
            f"processor time, "
            f"{1e3 * look:6.1f} ms a second to write the status",
            flush=True,
        )


if __name__ == "__main__":
    main()
