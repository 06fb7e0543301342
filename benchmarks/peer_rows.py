"""Costs of the rows of a peer: made from a file, held in memory, exchanged.

    python -m benchmarks.peer_rows [--seconds 3] [--rows 10 1000 50000] [--power-safe]
    python -m benchmarks.peer_rows --sums [--rows 10 1000000]

Exchanges per second are between two peers without a network between them. Everything else is as in
the field: real keys and signatures, the database, what the peer notices about itself, and its
status written every second. The cost of an exchange should not depend on the number of rows.

With --sums, rows of a score and a label are counted for an AUC. `peer init` is compared with
reading both columns of the file in the same process, in processor time, at best of three; and the
memory of a peer that has started is that of the whole process, which should not depend on the
number of rows. All modules are loaded before anything is measured.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pairgossip.peer.storage.kept_releases import ReleaseOptions

from benchmarks.questions import own_register
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.invitations import add_invited, invitation, read_invitation
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.service.exchange_reporter import ExchangeReporter
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.tables import read_columns

SPEC = """
algorithm.name = "exchange"
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
"""
AUC = """
algorithm.name = "sums"
kernel = "auc"
columns = ["score"]
label = "died"
[ranges]
score = [0, 1]
died = [0, 1]
"""
STARTED = """
import sys
from pathlib import Path
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.storage.folder import Home
parts = assemble(Home(Path(sys.argv[1])))
rounds = Rounds(parts.context, parts.saved)
said = dict(line.split(":") for line in open("/proc/self/status"))
print(*(int(said[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")))
"""
"""Starts the peer of a folder, and prints the megabytes that it has now and has had at most."""
Frames = deque[tuple[str, str, bytes]]


class Line:
    """A line in memory."""

    def __init__(self, frames: Frames, me: str) -> None:
        self._frames, self._me = frames, me

    def send(self, to: str, frame: bytes) -> None:
        """Put a frame behind the others."""
        self._frames.append((self._me, to, frame))


def make_homes(folder: Path, rows: int, *, power_safe: bool) -> list[Home]:
    """Found two peers with so many rows each, and let them join each other."""
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
    """Return exchanges per second and per second of processor time, and the seconds of a look."""
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


def make_sums(folder: Path, rows: int) -> tuple[float, float, float]:
    """Make a peer; return seconds of reading its file and of making it, and megabytes of that."""
    chance = np.random.default_rng(rows)
    died = chance.integers(0, 2, rows)
    lines = zip(((chance.random(rows) + died) / 2).tolist(), died.tolist(), strict=True)
    data, spec = folder / "rows.csv", folder / "auc.toml"
    spec.write_text(AUC)
    with data.open("w") as file:
        file.write("score,died\n")
        file.writelines(f"{score!r},{label}\n" for score, label in lines)
    reading, making = [], []
    for number in range(3):
        begun = time.process_time()
        read_columns(data, ["score", "died"])
        reading.append(time.process_time() - begun)
        release = ReleaseOptions(folder / f"{number}.releases")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with own_register(folder / str(number)):
            begun = time.process_time()
            name = f"ann-{number}"
            create_home(folder / name, name, spec, data, release=release)
            making.append(time.process_time() - begun)
        if not number:
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return min(reading), min(making), grown


def start_sums(folder: Path) -> tuple[float, float]:
    """Start a peer in a process of its own; return its megabytes then, and at most."""
    home, other = Home(folder / "ann-0"), Home(folder / "bob")
    told = read_invitation(
        invitation(load_identity(other.folder), other.read_spec(), 10, "tls/127.0.0.1:7448")
    )
    me = load_identity(home.folder)
    add_invited(home.read_members(), me, home.read_spec(), told).save(home.members)
    program = [sys.executable, "-c", STARTED, str(home.folder)]
    with own_register(folder / "0"):
        said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    now, most = map(float, said.split())
    return now, most


def print_sums(sizes: Sequence[int]) -> None:
    """Print a line for every number of rows."""
    with tempfile.TemporaryDirectory() as name:
        warm = Path(name) / "warm"
        warm.mkdir()
        make_sums(warm, 10)
        for rows in sizes:
            folder = Path(name) / str(rows)
            folder.mkdir()
            read, made, grown = make_sums(folder, rows)
            (warm / "ann-1").rename(folder / "bob")
            now, most = start_sums(folder)
            (folder / "bob").rename(warm / "ann-1")
            print(
                f"{rows:>9,} rows: read in {read:.3f} s, peer init {made:.3f} s "
                f"({made / read:.1f} times) and {grown:.0f} MB more; started {now:.0f} MB "
                f"(at most {most:.0f} MB)",
                flush=True,
            )


def main() -> None:
    """Print a line for every number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rows", type=int, nargs="+", default=None)
    parser.add_argument("--sums", action="store_true", help="rows that are counted")
    parser.add_argument("--power-safe", action="store_true", help="wait for the disk")
    options = parser.parse_args()
    if options.sums:
        print_sums(options.rows or [10, 1_000_000])
        return
    for rows in options.rows or [10, 1_000, 50_000]:
        rate, pace, look = exchanges_per_second(
            rows, options.seconds, power_safe=options.power_safe
        )
        print(
            f"{rows:>9,} rows each: {rate:6,.0f} exchanges/s, {pace:6,.0f} per second of "
            f"processor time, "
            f"{1e3 * look:6.1f} ms a second to tell the status",
            flush=True,
        )


if __name__ == "__main__":
    main()
