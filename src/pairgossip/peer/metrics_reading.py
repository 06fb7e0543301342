"""A peer as seen by its metrics, which are served on its own machine only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.reading import (
    DOWN,
    FROZEN,
    STARTING,
    UNCLEAR,
    UP,
    PeerReading,
)
from pairgossip.peer.service.shown import Shown
from pairgossip.peer.service.status import RoundsStatus
from pairgossip.text import clean_text, is_loopback, parse_address

_LONGEST_ANSWER = 2.0
"""Seconds that a metrics server may take; then the peer counts as frozen."""
_LARGEST_ANSWER = 1 << 20
"""Bytes of an answer; a longer one is refused."""
_DECODER = msgspec.json.Decoder(Shown | None)
"""Made before threads that read several peers at once, which would crash if each made it."""


def parse_metrics_address(text: str) -> tuple[str, int] | None:
    """Return the host and port of an address; None if the text is not one, but a folder's name."""
    address = text.removeprefix("http://").removesuffix("/metrics")
    if ":" not in address or "/" in address:
        return None
    parsed = parse_address(address)
    if parsed is None or parsed[1] == 0 or not is_loopback(parsed[0]):
        raise InputError(
            f"Metrics cannot be read from '{text[:80]}': peers serve them on their own machine "
            "only; give a port of this one, such as 127.0.0.1:9464, or set up a tunnel."
        )
    return parsed


@dataclass
class MetricsReader:
    """Asks a peer's metrics server; its name is its address, since metrics hold no names."""

    host: str
    port: int
    id: str = ""

    @property
    def name(self) -> str:
        """The server's address."""
        return f"{self.host}:{self.port}"

    def read(self) -> PeerReading:
        """Ask once, and not for long."""
        try:
            code, content = self._get("/status.json")
            is_alive = code == 200 and self._get("/healthz")[0] == 200
            shown = _DECODER.decode(content)
        except TimeoutError:  # the system has accepted the connection, but nobody answers
            return PeerReading(FROZEN)
        except OSError:
            return PeerReading(DOWN)
        except (HTTPException, ValueError, RecursionError):  # any bytes may come from there
            problem = f"{self.name} does not serve a peer's metrics, or those of another version."
            return PeerReading(UNCLEAR, problems=(problem,))
        if shown is None:
            return PeerReading(STARTING)
        return _reading_of(shown, UP if is_alive else FROZEN)

    def _get(self, path: str) -> tuple[int, bytes]:
        connection = HTTPConnection(self.host, self.port, timeout=_LONGEST_ANSWER)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read(_LARGEST_ANSWER + 1)
            if len(content) > _LARGEST_ANSWER:
                raise ValueError("too long an answer")
            return answer.status, content
        finally:
            connection.close()


def _reading_of(shown: Shown, state: str) -> PeerReading:
    """Return what a peer's numbers say; who it is, and whom it waits for, is not among them."""
    estimate, rounds = shown.estimate, shown.rounds
    is_single = len(estimate) == 1
    problems = f"{shown.problems} to look at: see peer status."
    return PeerReading(
        state,
        estimate=estimate[0] if is_single else None,
        parameters=0 if is_single else len(estimate),
        errors=shown.errors,
        exchanges=shown.exchanges,
        refused=sum(shown.refused.values()),
        generation=shown.generation,
        rounds=None
        if rounds is None
        else RoundsStatus(
            rounds.round,
            rounds.rounds_most,
            rounds.round_held,
            (),
            rounds.rounds_finished,
            rounds.bracket,
            clean_text(rounds.round_kind, 16),
        ),
        covers=(shown.members_met, shown.members),
        updated=time.time() if state == UP else shown.status_timestamp_seconds,
        problems=(problems,) if shown.problems else (),
    )
