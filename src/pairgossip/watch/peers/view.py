"""The swarm view: real peers, read once a second, shown to all viewers."""

from __future__ import annotations

import base64
import logging
import threading
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph
from pairgossip.peer.reading import PeerReading, SwarmReading
from pairgossip.watch.peers.history import SwarmHistory, estimates_in
from pairgossip.watch.peers.source import Swarm
from pairgossip.watch.server.board import Board
from pairgossip.watch.server.requests import answering, stream_answer
from pairgossip.watch.simulation.frames import color_levels, color_reach, encode_json, format_event
from pairgossip.watch.simulation.layouts import layout

SECONDS_BETWEEN_READINGS = 1.0
"""Peers write their status once a second."""
MOST_LINKS = 12_000
log = logging.getLogger(__name__)


class SwarmView:
    """Reads peers from a thread of its own, whether or not anybody watches."""

    name, title = "swarm", "Swarm"

    def __init__(self, swarm: Swarm) -> None:
        self._history = SwarmHistory(swarm)
        self._setup = format_event("setup", encode_json(_setup(swarm, self._history.names)))
        self._last: bytes | None = None
        self._reach: float | None = None
        self._board = Board(self._opening)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="watch swarm", daemon=True)
        self._thread.start()

    def routes(self) -> list[Route]:
        """The paths this view answers on; none changes anything."""
        return [Route("/api/swarm/events", answering(self._events), methods=["GET"])]

    def close(self) -> None:
        """Stop reading, and disconnect every viewer."""
        self._ended.set()
        self._board.close()
        self._thread.join(timeout=5)
        self._history.close()

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                self._read()
            except Exception:
                log.exception("the peers could not be read")
            self._ended.wait(SECONDS_BETWEEN_READINGS)

    def _read(self) -> None:
        reading = self._history.read()
        exact = self._history.swarm.exact
        middle = reading.median() if exact is None else exact
        deviations = estimates_in(reading) - (np.nan if middle is None else middle)
        self._reach = color_reach(deviations) or self._reach
        content = {
            **_content(reading),
            "levels": base64.b64encode(color_levels(deviations, self._reach or 1.0)).decode(),
            "middle": middle,
            "reach": self._reach,
        }
        self._last = format_event("look", encode_json(content))
        self._board.post("look", self._last)

    def _opening(self) -> list[bytes]:
        """Return all that a viewer needs who connects late."""
        seconds, estimates = self._history.curves()
        history = format_event("history", encode_json({"seconds": seconds, "estimates": estimates}))
        return [self._setup, history, *([] if self._last is None else [self._last])]

    async def _events(self, request: Request) -> Response:
        return stream_answer(request, self._board.messages())


def _content(reading: SwarmReading) -> dict[str, Any]:
    return {
        "seconds": reading.seconds,
        "running": reading.is_running,
        "peers": [_peer(peer) for peer in reading.peers],
        "exchanges": reading.exchanges,
        "rate": reading.rate,
        "refused": reading.refused,
        "generation": reading.generation,
    }


def _peer(peer: PeerReading) -> dict[str, Any]:
    return {
        "state": peer.state,
        "estimate": peer.estimate,
        "parameters": peer.parameters,
        "interval": peer.interval,
        "exchanges": peer.exchanges,
        "rate": peer.rate,
        "refused": peer.refused,
        "generation": peer.generation,
        "covers": peer.covers,
        "heard": peer.silence,
        "problems": peer.problems,
    }


def _setup(swarm: Swarm, names: tuple[str, ...]) -> dict[str, Any]:
    links = swarm.links if len(swarm.links) <= MOST_LINKS else []
    note = None
    if len(names) > 1 and not swarm.links:
        note = "Who is connected to whom is not known from here."
    elif len(links) < len(swarm.links):
        note = f"The {len(swarm.links):,} links are not drawn."
    return {
        "title": swarm.title,
        "names": names,
        "measure": swarm.measure,
        "exact": swarm.exact,
        "nodes": len(names),
        "link_count": len(swarm.links),
        "family": swarm.family,
        "positions": _pack(_places(swarm) * 65_535),
        "edges": _pack(np.array(links, dtype=np.float64)),
        "pixels": False,
        "note": note,
    }


def _places(swarm: Swarm) -> FloatArray:
    """Where peers are drawn: where the swarm says, else as any network, else on a ring."""
    count = len(swarm.readers)
    if count == 1:
        return np.full((1, 2), 0.5)
    if swarm.positions is None and len(swarm.links) >= count - 1:
        try:
            # A grid's sides are not told: by its links it is placed as well.
            family = swarm.family if swarm.family not in ("grid", "torus") else None
            graph = Graph(count, np.array(swarm.links), family=family)
            return layout(graph, (count, family, *map(tuple, swarm.links)))
        except ValueError:  # in several parts, as seen from here
            pass
    if swarm.positions is not None:
        placed = np.array(swarm.positions, dtype=np.float64)
        low, high = placed.min(axis=0), placed.max(axis=0)
        reach = float((high - low).max()) or 1.0
        return np.clip((placed - (low + high) / 2) / reach + 0.5, 0.0, 1.0)
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False) - np.pi / 2
    return 0.5 + 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _pack(values: FloatArray) -> str:
    return base64.b64encode(values.astype(np.uint16).tobytes()).decode()
