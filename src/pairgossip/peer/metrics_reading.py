"""A peer as seen by its metrics, which are served on its own machine only."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from pairgossip.errors import InputError, needed_for
from pairgossip.peer.reading import (
    DOWN,
    FROZEN,
    STARTING,
    UNCLEAR,
    UP,
    PeerReading,
    count_refused,
)
from pairgossip.peer.service.errors import Errors
from pairgossip.peer.service.status import RoundsStatus
from pairgossip.text import clean_text, is_loopback, parse_address

_LONGEST_ANSWER = 2.0
"""Seconds that a metrics server may take; then the peer counts as frozen."""
_LARGEST_ANSWER = 1 << 20
"""Bytes of an answer; a longer one is refused."""
_Samples = Mapping[str, list[tuple[Mapping[str, str], float]]]


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
            code, text = self._get("/metrics")
            is_alive = code == 200 and self._get("/healthz")[0] == 200
            samples = _parse_samples(text) if code == 200 else None
        except TimeoutError:  # the system has accepted the connection, but nobody answers
            return PeerReading(FROZEN)
        except OSError:
            return PeerReading(DOWN)
        except (HTTPException, ValueError):
            samples = None
        if samples is None:
            problem = f"{self.name} does not serve a peer's metrics."
            return PeerReading(UNCLEAR, problems=(problem,))
        if "pairgossip_exchanges" not in samples:
            return PeerReading(STARTING)
        return _reading_of_samples(samples, UP if is_alive else FROZEN)

    def _get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(self.host, self.port, timeout=_LONGEST_ANSWER)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read(_LARGEST_ANSWER + 1)
            if len(content) > _LARGEST_ANSWER:
                raise ValueError("too long an answer")
            return answer.status, content.decode()
        finally:
            connection.close()


def _parse_samples(text: str) -> _Samples:
    with needed_for("Metrics", "pairgossip"):
        from prometheus_client.parser import text_string_to_metric_families
    samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append((sample.labels, float(sample.value)))
    except Exception as problem:  # any bytes may come from there, and fail in any way
        raise ValueError("not metrics") from problem
    return samples


def _reading_of_samples(samples: _Samples, state: str) -> PeerReading:
    def one(name: str) -> float | None:
        value = samples.get(f"pairgossip_{name}", [({}, math.nan)])[0][1]
        return value if math.isfinite(value) else None

    def count(name: str) -> int | None:
        value = one(name)
        return None if value is None else int(value)

    def ends(name: str) -> tuple[float, float] | None:
        low, high = one(f"{name}_low"), one(f"{name}_high")
        return None if low is None or high is None else (low, high)

    entries, rounds = samples.get("pairgossip_estimate", []), None
    number, most, held = count("round"), count("rounds_most"), count("round_held")
    if number is not None and most is not None and held is not None:
        kinds = [labels.get("kind", "") for labels, _ in samples.get("pairgossip_round_kind", [])]
        kind = clean_text(kinds[0], 16) if kinds else ""
        is_finished = bool(count("rounds_finished"))
        # Whose contributions are awaited is not among the metrics.
        rounds = RoundsStatus(number, most, held, (), is_finished, ends("bracket"), kind)
    met, members = count("members_met"), count("members")
    problems = count("problems") or 0
    events = [
        (labels.get("event", ""), value)
        for labels, value in samples.get("pairgossip_events_total", [])
        if math.isfinite(value)
    ]
    return PeerReading(
        state,
        estimate=one("estimate") if len(entries) == 1 else None,
        parameters=0 if len(entries) == 1 else len(entries),
        errors=Errors(
            gossip_error=one("gossip_error"),
            gossip_interval=ends("gossip_interval"),
            sampling_error=one("sampling_error"),
            sampling_interval=ends("sampling_interval"),
            privacy_error=one("privacy_error"),
        ),
        exchanges=count("exchanges"),
        refused=int(count_refused(events)),
        generation=count("generation"),
        rounds=rounds,
        covers=None if met is None or members is None else (met, members),
        updated=time.time() if state == UP else None,
        problems=(f"{problems} to look at: see peer status.",) if problems else (),
    )
