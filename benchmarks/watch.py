"""How many updates a viewer gets per second, and how large they are, by number of nodes.

Run with ``python -m benchmarks.watch``. One viewer reads a running simulation for a few seconds
from a real server; goal: at least 10 updates a second at 1,000 nodes.
"""

from __future__ import annotations

import threading
import time

import httpx

from benchmarks.timing import only_help, row
from pairgossip.watch.server.server import ServerAddress, Service
from pairgossip.watch.simulation.view import Simulations

SECONDS = 5.0
CASES = ((100, "1000"), (1_000, "1000"), (1_000, "max"), (10_000, "10000"), (10_000, "max"))


def watched(client: httpx.Client, nodes: int, speed: str) -> tuple[int, int, int]:
    """Return how many updates came, how many bytes, and how many exchanges were made."""
    settings = {
        "data": "two-normals", "nodes": str(nodes), "column": "score", "kernel": "gini",
        "graph": "watts-strogatz", "speed": speed, "iterations": "1000000000",
    }  # fmt: skip
    opened = client.post("/api/sessions", json={"settings": settings})
    path = f"/api/sessions/{opened.json()['session']}"
    client.post(f"{path}/control", json={"action": "start"})
    updates = size = done = 0
    with client.stream("GET", f"{path}/events") as stream:
        lines = stream.iter_lines()
        began = None
        for line in lines:
            if line != "event: frame":
                continue
            frame = next(lines)
            if '"status":"running"' not in frame:
                continue
            began = began or time.perf_counter()  # now compiled
            if time.perf_counter() - began > SECONDS:
                break
            updates, size = updates + 1, size + len(frame)
            done = int(frame.partition('"done":')[2].partition(",")[0])
    client.post(f"{path}/control", json={"action": "pause"})
    return updates, size, done


def main() -> None:
    """Print one line per case."""
    only_help(__doc__)
    service = Service(ServerAddress(), [Simulations()])
    started = threading.Event()
    thread = threading.Thread(target=service.run, args=(started.set,))
    thread.start()
    started.wait()
    origin = {"Origin": service.address.rstrip("/")}
    print(row("nodes, exchanges per second asked for", "updates/s", "KB/s", "exchanges"))
    try:
        with httpx.Client(base_url=service.address, headers=origin, timeout=60) as client:
            for nodes, speed in CASES:
                updates, size, done = watched(client, nodes, speed)
                rates = f"{updates / SECONDS:.1f}", f"{size / SECONDS / 1000:.0f}"
                print(row(f"{nodes:,}, {speed}", *rates, f"{done:,}"))
    finally:
        service.stop()
        thread.join()


if __name__ == "__main__":
    main()
