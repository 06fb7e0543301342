"""The metrics that a peer serves."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from pairgossip.errors import InputError
from pairgossip.peer.service import metrics
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.service.metrics import MetricsServer
from pairgossip.peer.service.status import NeighborStatus, Status

from .homes import make_pair
from .zenoh_people import until


class Served:
    def __init__(self, status: Status | None = None) -> None:
        self.status = status
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


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    found = Served()
    yield found
    found.server.close()


@pytest.fixture(scope="module")
def first_status(tmp_path_factory: pytest.TempPathFactory) -> Status:
    ann, _ = make_pair(tmp_path_factory.mktemp("peers"), [1.0, 2.0], [10.0])
    return read_snapshot(ann).status()


@pytest.fixture
def served(first_status: Status, server: Served) -> Served:
    server.status = msgspec.structs.replace(
        first_status,
        updated=time.time(),
        estimate=(2.5,),
        exchanges=17,
        staleness=0.25,
        sampling_error=0.5,
        sampling_interval=(1.5, 3.5),
        counts={"offers": 5, "refused: too long": 2},
        refused={"refused: too long": 2},
        neighbors={"bob": NeighborStatus(True, False, 1.5, None)},
    )
    return server


def test_metrics_are_prometheus_text(served: Served) -> None:
    assert served.status is not None
    served.status = msgspec.structs.replace(served.status, updated=1.8e9)
    code, text = served.get("/metrics")
    assert code == 200
    lines = text.splitlines()
    for line in (
        "pairgossip_status_timestamp_seconds 1.8e+09",
        'pairgossip_events_total{event="offers"} 5.0',
        'pairgossip_events_total{event="refused: too long"} 2.0',
        'pairgossip_refused_total{event="refused: too long"} 2.0',
        "pairgossip_exchanges 17.0",
        "pairgossip_sampling_error 0.5",
        "pairgossip_sampling_interval_low 1.5",
        "pairgossip_sampling_interval_high 3.5",
        'pairgossip_estimate{entry="0"} 2.5',
        "pairgossip_staleness_seconds 0.25",
        "pairgossip_rows 3.0",
        "pairgossip_generation 1.0",
        'pairgossip_neighbor_agreed{neighbor="bob"} 1.0',
        'pairgossip_neighbor_connected{neighbor="bob"} 0.0',
        'pairgossip_neighbor_silence_seconds{neighbor="bob"} 1.5',
    ):
        assert line in lines
    assert "pairgossip_gossip" not in text


def test_metrics_hold_before_there_is_any(served: Served) -> None:
    served.status = None
    assert served.get("/metrics")[0] == 200
    assert served.get("/status.json") == (200, "null")
    assert served.get("/healthz")[0] == 503
    assert served.get("/readyz")[0] == 503


def test_the_status_holds_no_more_than_the_metrics(served: Served) -> None:
    """It also holds no less: each has every number and every name of the other."""
    code, text = served.get("/status.json")
    numbers, names = set[float](), set[str]()

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            names.update(part)
            list(map(walk, part.values()))
        elif isinstance(part, list):
            list(map(walk, part))
        elif part is not None:
            numbers.add(float(part))

    walk(json.loads(text))
    metrics = served.get("/metrics")[1]
    samples = [one for family in parse(metrics) for one in family.samples]
    assert code == 200 and numbers == {one.value for one in samples}
    assert {text for one in samples for text in one.labels.values()} - {"0"} <= names
    assert [name for name in names if name not in metrics] == []


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


@pytest.mark.parametrize("place", ["127.0.0.1", "9464", "a:b"])
def test_a_place_has_a_port(place: str) -> None:
    with pytest.raises(InputError, match="give a port, such as"):
        MetricsServer(place, lambda: None)


def test_other_machines_are_served_if_the_operator_says_so(served: Served) -> None:
    """They may use any name for this machine."""
    server = MetricsServer("0.0.0.0:0", lambda: served.status)
    try:
        assert server.is_for_all and not served.server.is_for_all
        request = Request(f"http://127.0.0.1:{server.port}/healthz", headers={"Host": "clinic-a"})
        with urlopen(request, timeout=20) as answer:
            assert answer.read() == b"alive\n"
    finally:
        server.close()


def connected(served: Served, sent: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", served.server.port), timeout=20)
    client.sendall(sent)
    return client


def test_a_slow_client_is_disconnected_in_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte arrives before a timeout of the socket, but not the whole request."""
    monkeypatch.setattr(metrics, "_LONGEST_REQUEST", 0.5)

    def drip(client: socket.socket) -> bool:
        try:
            client.sendall(b"x")
            client.settimeout(0.1)
            return client.recv(100) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    with connected(served, b"GET /metrics HTTP/1.1\r\nX: ") as client:
        assert until(lambda: drip(client))
    assert served.get("/healthz")[0] == 200


def test_only_few_are_served_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_LONGEST_REQUEST", 1000.0)
    assert served.status is not None
    patient = Served(served.status)
    clients = [connected(patient) for _ in range(2 * metrics._MOST_CONNECTIONS)]
    for client in clients[metrics._MOST_CONNECTIONS :]:
        assert client.recv(100) == b""
    for client in clients[: metrics._MOST_CONNECTIONS]:
        client.settimeout(0.01)
        with pytest.raises(TimeoutError):
            client.recv(100)
    for client in clients:
        client.close()
    assert until(lambda: is_served(patient))
    patient.server.close()


def is_served(served: Served) -> bool:
    try:
        return served.get("/healthz")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_an_occupied_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=f"Cannot serve metrics at {place}: Address already"):
            MetricsServer(place, lambda: None)
