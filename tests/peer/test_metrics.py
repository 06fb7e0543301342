from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.metrics import MetricsServer
from pairgossip.peer.status import NeighborStatus, Status
from pairgossip.peer.view import view

from .homes import make_pair


class Served:
    def __init__(self, status: Status) -> None:
        self.status: Status | None = status
        self.server = MetricsServer("127.0.0.1:0", lambda: self.status)

    def get(self, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        connection.putrequest(method, path, skip_host=host is not None)
        if host is not None:
            connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        return answer.status, content


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [10.0])
    status = msgspec.structs.replace(
        view(ann).status(),
        updated=time.time(),
        estimate=(2.5,),
        exchanges=17,
        staleness=0.25,
        counts={"offers": 5, "refused: too long": 2},
        neighbors={"bob": NeighborStatus(True, True, 1.5, None)},
    )
    found = Served(status)
    yield found
    found.server.close()


def test_metrics_are_prometheus_text(served: Served) -> None:
    code, text = served.get("/metrics")
    assert code == 200
    lines = text.splitlines()
    for line in (
        'pairgossip_events_total{event="offers"} 5.0',
        'pairgossip_events_total{event="refused: too long"} 2.0',
        "pairgossip_exchanges 17.0",
        'pairgossip_estimate{entry="0"} 2.5',
        "pairgossip_staleness_seconds 0.25",
        "pairgossip_rows 3.0",
        "pairgossip_generation 1.0",
        'pairgossip_neighbor_agreed{neighbor="bob"} 1.0',
        'pairgossip_neighbor_silence_seconds{neighbor="bob"} 1.5',
    ):
        assert line in lines
    assert "pairgossip_interval_low" not in text


def test_metrics_hold_before_there_is_any(served: Served) -> None:
    served.status = None
    assert served.get("/metrics")[0] == 200
    assert served.get("/healthz")[0] == 503
    assert served.get("/readyz")[0] == 503


def test_health_is_a_recent_status(served: Served) -> None:
    assert served.get("/healthz") == (200, "alive\n")
    assert served.status is not None
    served.status = msgspec.structs.replace(served.status, updated=time.time() - 60)
    assert served.get("/healthz") == (503, "not alive\n")


def test_readiness_is_a_neighbor_that_agrees(served: Served) -> None:
    assert served.get("/readyz") == (200, "ready\n")
    assert served.status is not None
    alone = {"bob": NeighborStatus(False, True, None, None)}
    served.status = msgspec.structs.replace(served.status, neighbors=alone)
    assert served.get("/readyz") == (503, "not ready: no neighbor has agreed yet\n")


@pytest.mark.parametrize("path", ["/", "/metrics/..", "/../key.pem", "//", "/healthz/x"])
def test_there_are_no_other_pages(served: Served, path: str) -> None:
    assert served.get(path) == (404, "not found\n")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_name_that_is_not_this_machines_is_refused(served: Served, host: str) -> None:
    assert served.get("/metrics", host) == (403, "forbidden\n")


@pytest.mark.parametrize("host", ["localhost", "localhost:9464", "127.0.0.1", "[::1]:80", "[::1]"])
def test_this_machines_names_are_taken(served: Served, host: str) -> None:
    assert served.get("/healthz", host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_nothing_can_be_changed(served: Served, method: str) -> None:
    assert served.get("/metrics", method=method)[0] == 501


@pytest.mark.parametrize("place", ["0.0.0.0:9464", "example.org:80", "127.0.0.1", "9464", "[::]:1"])
def test_only_this_machine_is_served(place: str) -> None:
    with pytest.raises(InputError, match="give a port of this machine alone"):
        MetricsServer(place, lambda: None)


def test_an_occupied_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=f"Cannot serve metrics at {place}: Address already"):
            MetricsServer(place, lambda: None)
