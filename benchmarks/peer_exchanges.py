"""Exchanges per second between two real peers, and round trips of the transport alone.

python -m benchmarks.peer_exchanges [--seconds 5] [--rows 1]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from queue import SimpleQueue

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.invitations import add_invited, invitation, read_invitation
from pairgossip.peer.links.zenoh_link import Site, ZenohLink
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home

SPEC = """
algorithm.name = "exchange"
algorithm.rate = 5000.0
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
"""
FRAME = bytes(200)
"""A frame about as long as an offer."""


def free_address() -> str:
    """Return an address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tls/127.0.0.1:{probe.getsockname()[1]}"


def make_homes(folder: Path, power_safe: bool, rows: int = 1) -> list[Home]:
    """Make two peers with this many rows each that are each other's neighbors."""
    (folder / "gini.toml").write_text(SPEC)
    homes = []
    for name, value in (("ann", 1.0), ("bob", 8.0)):
        (folder / f"{name}.csv").write_text("income\n" + f"{value}\n" * rows)
        home = create_home(
            folder / name,
            name,
            folder / "gini.toml",
            folder / f"{name}.csv",
            free_address(),
            power_safe=power_safe,
        )
        homes.append(home)
    for home, other in (homes, homes[::-1]):
        text = invitation(
            load_identity(other.folder), other.read_spec(), rows, other.read_settings().listen
        )
        members = add_invited(
            home.read_members(),
            load_identity(home.folder),
            home.read_spec(),
            read_invitation(text),
            True,
        )
        members.save(home.members)
    return homes


def exchanges(seconds: float, rows: int = 1, *, power_safe: bool) -> tuple[float, float, float]:
    """Return exchanges per second, bytes sent per exchange and side, and megabytes of memory."""
    with tempfile.TemporaryDirectory() as folder:
        homes = make_homes(Path(folder), power_safe, rows)
        peers = [
            subprocess.Popen(
                [sys.executable, "-m", "pairgossip.peer", str(home.folder)],
                stderr=subprocess.DEVNULL,
            )
            for home in homes
        ]
        try:
            status = homes[0].status
            while not (status.exists() and json.loads(status.read_text())["exchanges"] > 50):
                time.sleep(0.2)
            first = json.loads(status.read_text())
            time.sleep(seconds)
            last = json.loads(status.read_text())
            memory = _megabytes(peers[0].pid)
        finally:
            for peer in peers:
                peer.send_signal(signal.SIGTERM)
            for peer in peers:
                peer.wait(30)
    made = last["exchanges"] - first["exchanges"]
    sent = [told["counts"].get("bytes in frames sent", 0) for told in (first, last)]
    return made / (last["updated"] - first["updated"]), (sent[1] - sent[0]) / made, memory


def _megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmRSS"))
    return int(kilobytes) / 1024


def _site(home: Home) -> Site:
    neighbors = home.read_members().neighbors()
    me = load_identity(home.folder).id
    return Site(me, neighbors, home.cert, home.key, home.read_settings().listen, 10_000)


def _echo(folder: str) -> None:
    """Answer every frame with itself, until the process is ended."""
    home = Home(Path(folder))
    received: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
    link = ZenohLink(_site(home), load_identity(home.folder), lambda *frame: received.put(frame))
    while True:
        link.send(*received.get())


def round_trips(seconds: float) -> float:
    """Return round trips per second of sealed frames over TLS, without writes to the disk."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = make_homes(Path(folder), True)
        process = multiprocessing.get_context("spawn").Process(
            target=_echo, args=(str(there.folder),), daemon=True
        )
        process.start()
        received: SimpleQueue[bytes] = SimpleQueue()
        link = ZenohLink(
            _site(here), load_identity(here.folder), lambda _, frame: received.put(frame)
        )
        to = load_identity(there.folder).id
        try:
            while True:  # until both are connected
                link.send(to, FRAME)
                time.sleep(0.1)
                if not received.empty():
                    break
            while not received.empty():
                received.get()
            count, end = 0, time.monotonic() + seconds
            begun = time.monotonic()
            while time.monotonic() < end:
                link.send(to, FRAME)
                received.get(timeout=5)
                count += 1
            return count / (time.monotonic() - begun)
        finally:
            link.close()
            process.kill()
            process.join()


def main() -> None:
    """Print the rates and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rows", type=int, default=1)
    options = parser.parse_args()
    seconds, rows = options.seconds, options.rows
    print(f"two peers, rows each: {rows:,}; one link, mutual TLS on loopback")
    trips = round_trips(seconds)
    print(f"transport alone, sealed frames: {trips:,.0f} round trips/s")
    for power_safe in (True, False):
        rate, size, memory = exchanges(seconds, rows, power_safe=power_safe)
        how = "safe from power loss" if power_safe else "safe from crashes only"
        print(
            f"exchanges, {how}: {rate:,.0f}/s, {trips / rate:.1f} round trips each, "
            f"{size:.0f} bytes sent by each side, {memory:.0f} MiB resident"
        )


if __name__ == "__main__":
    main()
