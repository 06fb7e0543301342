"""One look at one peer through its metrics, which are served on its own machine only."""

from __future__ import annotations

import ipaddress
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.watch.swarm_reading import DOWN, FROZEN, STARTING, UNCLEAR, UP, Reading

LONGEST_ANSWER = 2.0
LARGEST_ANSWER = 1 << 20
LARGEST_PORT = 65_535
_PLACE = re.compile(r"(?:http://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})(?:/metrics)?")
Samples = Mapping[str, list[tuple[Mapping[str, str], float]]]


def metrics_place(text: str) -> tuple[str, int] | None:
    """Read a host and a port; None if the text is none, as a folder's name."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    host, port = found[1].strip("[]"), int(found[2])
    if not 0 < port <= LARGEST_PORT or not _is_here(host):
        raise InputError(
            f"Metrics cannot be read from '{text[:80]}': peers serve them on their own machine "
            "only; give a port of this one, such as 127.0.0.1:9464, or lead a tunnel there."
        )
    return host, port


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class MetricsReader:
    """Asks a peer's metrics server; its name is its place, for metrics do not tell names."""

    host: str
    port: int
    id: str = ""

    @property
    def name(self) -> str:
        """Where it is asked."""
        return f"{self.host}:{self.port}"

    def read(self) -> Reading:
        """Ask once, and not for long."""
        try:
            code, text = self._get("/metrics")
            is_alive = code == 200 and self._get("/healthz")[0] == 200
        except TimeoutError:  # the system has taken the call, but nobody answers
            return Reading(FROZEN)
        except OSError:
            return Reading(DOWN)
        except (HTTPException, ValueError):
            code, text, is_alive = 0, "", False
        try:
            samples = _samples(text) if code == 200 else None
        except ValueError:
            samples = None
        if samples is None:
            return Reading(UNCLEAR, problems=(f"{self.name} does not serve a peer's metrics.",))
        if "pairgossip_exchanges" not in samples:
            return Reading(STARTING)
        return _reading(samples, UP if is_alive else FROZEN)

    def _get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(self.host, self.port, timeout=LONGEST_ANSWER)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER + 1)
            if len(content) > LARGEST_ANSWER:
                raise ValueError("too long an answer")
            return answer.status, content.decode()
        finally:
            connection.close()


def _samples(text: str) -> Samples:
    with needed_for("Metrics", "pairgossip"):
        from prometheus_client.parser import text_string_to_metric_families
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((sample.labels, float(sample.value)))
    except Exception as problem:  # a stranger's text fails in as many ways as there are bytes
        raise ValueError("not metrics") from problem
    return found


def _reading(samples: Samples, state: str) -> Reading:
    def one(name: str) -> float | None:
        value = samples.get(f"pairgossip_{name}", [({}, math.nan)])[0][1]
        return value if math.isfinite(value) else None

    def count(name: str) -> int | None:
        value = one(name)
        return None if value is None else int(value)

    entries = samples.get("pairgossip_estimate", [])
    low, high = one("interval_low"), one("interval_high")
    met, members, generation = count("members_met"), count("members"), count("generation")
    problems = count("problems") or 0
    events = samples.get("pairgossip_events_total", [])
    return Reading(
        state,
        estimate=one("estimate") if len(entries) == 1 else None,
        parameters=0 if len(entries) == 1 else len(entries),
        interval=None if low is None or high is None else (low, high),
        exchanges=count("exchanges"),
        refused=int(sum(value for labels, value in events if "refused" in labels.get("event", ""))),
        generation=generation,
        covers=None if met is None or members is None else (met, members),
        updated=time.time() if state == UP else None,
        problems=(f"{problems} to look at: see peer status.",) if problems else (),
    )
