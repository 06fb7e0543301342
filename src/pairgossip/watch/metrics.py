"""A peer as shown by its metrics, which are served on its own machine only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.reading import DOWN, FROZEN, STARTING, UNCLEAR, UP, PeerReading
from pairgossip.peer.service.shown import Shown
from pairgossip.study.service.outside import tally_of
from pairgossip.study.service.status import ShownStudy
from pairgossip.text import is_loopback, parse_address

_LONGEST_ANSWER = 2.0
"""Longest wait for a metrics server, in seconds; after it the peer counts as frozen."""
_LARGEST_ANSWER = 1 << 20
"""Largest answer, in bytes; a longer one is refused."""


class _Kind(msgspec.Struct):
    """The key that distinguishes peers of single networks from members of studies."""

    exchanges: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """Counted by peers of single networks alone."""


_KIND = msgspec.json.Decoder(_Kind | None)
_SINGLE, _STUDY = msgspec.json.Decoder(Shown), msgspec.json.Decoder(ShownStudy)
"""Made before threads read several peers at once, which would crash if each made its own."""


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
    """Reads a peer's metrics server; its name is its address, since metrics hold no names."""

    host: str
    port: int
    id: str = ""

    @property
    def name(self) -> str:
        """The server's address."""
        return f"{self.host}:{self.port}"

    def read(self) -> PeerReading:
        """Ask once, with a short time limit."""
        try:
            code, content = self._get("/status.json")
            is_alive = code == 200 and self._get("/healthz")[0] == 200
            shown = _decode(content)
        except TimeoutError:  # the system has accepted the connection, but nobody answers
            return PeerReading(FROZEN)
        except OSError:
            return PeerReading(DOWN)
        except (HTTPException, ValueError, RecursionError):  # any bytes may come from there
            problem = f"{self.name} does not serve a peer's metrics, or those of another version."
            return PeerReading(UNCLEAR, problems=(problem,))
        if shown is None:
            return PeerReading(STARTING)
        state = UP if is_alive else FROZEN
        return _read_study(shown, state) if isinstance(shown, ShownStudy) else _read(shown, state)

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


def _decode(content: bytes) -> Shown | ShownStudy | None:
    """Return the numbers of a peer of either kind; None if there are none yet."""
    kind = _KIND.decode(content)
    if kind is None:
        return None
    is_study = kind.exchanges is msgspec.UNSET
    return _STUDY.decode(content) if is_study else _SINGLE.decode(content)


def _read(shown: Shown, state: str) -> PeerReading:
    """Return a peer's numbers as a reading; they do not say which peer it is."""
    estimate = shown.estimate
    is_single = len(estimate) == 1
    return PeerReading(
        state,
        estimate=estimate[0] if is_single else None,
        parameters=0 if is_single else len(estimate),
        errors=shown.errors,
        exchanges=shown.exchanges,
        refused=sum(shown.refused.values()),
        generation=shown.generation,
        covers=(shown.members_met, shown.members),
        updated=_updated(shown, state),
        problems=_count_problems(shown),
    )


def _read_study(shown: ShownStudy, state: str) -> PeerReading:
    """Return a study member's numbers as a reading; they do not name questions."""
    connected = sum(one.connected for one in shown.neighbor.values())
    return PeerReading(
        state,
        exchanges=0,
        refused=sum(shown.refused.values()),
        generation=1,
        covers=(connected, max(shown.members - 1, 0)),
        tally=tally_of(shown.questions, shown.questions_over),
        members=shown.members,
        rows=shown.rows,
        updated=_updated(shown, state),
        problems=_count_problems(shown),
    )


def _updated(shown: Shown | ShownStudy, state: str) -> float | None:
    return time.time() if state == UP else shown.status_timestamp_seconds


def _count_problems(shown: Shown | ShownStudy) -> tuple[str, ...]:
    return (f"{shown.problems} to look at: see peer status.",) if shown.problems else ()
