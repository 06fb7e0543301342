"""The swarm view: real peers, read once a second, shown to all viewers."""

from __future__ import annotations

import contextlib
import logging
import threading
from bisect import bisect_right
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph
from pairgossip.graphs.layout import fit_square, ring
from pairgossip.peer.reading import PeerReading, QuestionReading, SwarmReading
from pairgossip.watch.peers import Swarm, SwarmHistory, estimates_in
from pairgossip.watch.server.requests import Board, format_event, make_route, stream_answer
from pairgossip.watch.simulation.frames import (
    MOST_DRAWN_EDGES,
    color_levels,
    color_reach,
    layout,
    pack,
)

_SECONDS_BETWEEN_READINGS = 1.0
"""Peers write their status once a second."""
_PALE = 1.7
"""Reach of the colors where peers are on one side or the other: not the darkest colors."""
_log = logging.getLogger(__name__)


class SwarmView:
    """Reads peers in its own thread, with or without viewers."""

    name, title = "swarm", "Swarm"

    def __init__(self, swarm: Swarm) -> None:
        self._history = SwarmHistory(swarm)
        self._setup = format_event("setup", _setup(swarm, self._history.names))
        self._last: tuple[float, bytes] | None = None
        """The time of the last reading, and the message about it."""
        self._reach: float | None = None
        self._board = Board(self._opening)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="watch swarm", daemon=True)
        self._thread.start()

    def routes(self) -> list[Route]:
        """Return the paths of this view; none of them changes anything."""
        return [make_route("/api/swarm/events", self._events)]

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
                _log.exception("the peers could not be read")
            self._ended.wait(_SECONDS_BETWEEN_READINGS)

    def _read(self) -> None:
        reading = self._history.read()
        exact = self._history.swarm.exact
        middle = reading.median() if exact is None else exact
        questions = reading.questions()
        if reading.is_study:
            deviations, self._reach = _spoken(self._history.names, reading), _PALE
        else:
            deviations = estimates_in(reading) - (np.nan if middle is None else middle)
            self._reach = color_reach(deviations) or self._reach
        totals = ("seconds", "exchanges", "rate", "refused", "generation")
        content = {
            **{name: getattr(reading, name) for name in totals},
            "running": reading.is_running,
            "peers": [_peer(peer) for peer in reading.peers],
            "order": reading.by_urgency(),
            "study": _study(reading, questions) if reading.is_study else None,
            "levels": color_levels(deviations, self._reach),
            "middle": middle,
            "reach": self._reach,
        }
        look = format_event("look", content)
        self._last = reading.seconds, look
        self._board.post("look", look)

    def _opening(self) -> list[bytes]:
        """Return all messages for a viewer who connects late."""
        last = self._last
        if last is None:
            return [self._setup, _history([], [[] for _ in self._history.names])]
        seconds, estimates = self._history.curves()
        # The newest reading is shown once its picture is complete, and not before.
        count = bisect_right(seconds, last[0])
        return [self._setup, _history(seconds[:count], [one[:count] for one in estimates]), last[1]]

    async def _events(self, request: Request) -> Response:
        return stream_answer(request, self._board.messages())


def _spoken(names: tuple[str, ...], reading: SwarmReading) -> FloatArray:
    """Return -1 for members that a question waits for, 1 for others; NaN for unknown ones.

    It is the oldest open question, or else the last one.
    """
    questions = reading.questions()
    if not questions:  # metrics name none
        return np.full(len(names), np.nan)
    shown = next((one for one in questions if not one.is_over), questions[-1])
    signs = [
        -1.0 if name in shown.awaited else 1.0 if _knows(peer, shown) else np.nan
        for name, peer in zip(names, reading.peers, strict=True)
    ]
    return np.array(signs)


def _knows(peer: PeerReading, question: QuestionReading) -> bool:
    return any(one.name == question.name for one in peer.questions)


def _study(reading: SwarmReading, questions: tuple[QuestionReading, ...]) -> dict[str, Any]:
    """Return the questions of a study that the page shows: the open ones, then the newest."""
    ordered = sorted(questions, key=lambda one: (one.is_over, -one.seen if one.is_over else 0))
    return {
        "tally": reading.tally()._asdict(),
        "members": reading.members(),
        "questions": [one._asdict() for one in ordered],
    }


def _peer(peer: PeerReading) -> dict[str, Any]:
    names = (
        *("state", "estimate", "parameters", "exchanges", "rate", "refused"),
        *("generation", "covers", "members", "rows", "problems"),
    )
    plain = {name: getattr(peer, name) for name in names}
    awaited = next((one.awaited for one in peer.questions if not one.is_over), ())
    tally = None if peer.tally is None else peer.tally._asdict()
    return {
        **plain,
        **peer.errors.as_fields(),
        "heard": peer.silence,
        "tally": tally,
        "awaited": awaited,
    }


def _history(seconds: list[float], estimates: list[list[float]]) -> bytes:
    return format_event("history", {"seconds": seconds, "estimates": estimates})


def _setup(swarm: Swarm, names: tuple[str, ...]) -> dict[str, Any]:
    links = swarm.links if len(swarm.links) <= MOST_DRAWN_EDGES else []
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
        "positions": pack(_places(swarm) * 65_535),
        "edges": pack(np.array(links)),
        "longest_edge": None,
        "pixels": False,
        "note": note,
    }


def _places(swarm: Swarm) -> FloatArray:
    """Return the places of peers: from the swarm, else as for any network, else on a ring."""
    count = len(swarm.readers)
    if swarm.positions is not None:
        return fit_square(np.array(swarm.positions, dtype=np.float64))
    if len(swarm.links) >= count - 1 > 0:
        with contextlib.suppress(ValueError):  # in several parts, as seen from here
            is_whole = 2 * len(swarm.links) == count * (count - 1)
            family = "complete" if is_whole else swarm.family
            graph = Graph(count, np.array(swarm.links), family=family)
            return layout(graph, (count, family, *map(tuple, swarm.links)))
    return fit_square(ring(count))
