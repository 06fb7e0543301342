"""The metrics of a peer for Prometheus, and its checks of health."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from pairgossip.errors import InputError, needed_for
from pairgossip.peer.service.shown import list_samples
from pairgossip.text import is_loopback, parse_address

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_LONGEST_SILENCE = 15.0
"""Largest age of the status of a live peer, in seconds; a peer with an older one is not alive."""
_LONGEST_REQUEST = 5.0
"""Time in seconds for a client's request and for its answer; then it is disconnected."""
_MOST_CONNECTIONS = 16
"""Largest number of connections at the same time; more are refused."""


class _AnyStatus(Protocol):
    """A status of any kind of peer."""

    @property
    def updated(self) -> float: ...
    @property
    def is_ready(self) -> bool: ...
    def show(self) -> msgspec.Struct: ...


_Current = Callable[[], "_AnyStatus | None"]


class MetricsServer:
    """Serves ``/metrics``, ``/status.json``, ``/healthz`` and ``/readyz`` from its own threads.

    The place is a host and port of this machine, such as ``127.0.0.1:9464``. At another address
    anybody who reaches the port may read all pages. Other threads call the function that returns
    the latest status.
    """

    def __init__(self, place: str, current: _Current) -> None:
        address = parse_address(place)
        if address is None:
            raise InputError(
                f"Metrics cannot be served at '{place}': give a port, such as 127.0.0.1:9464."
            )
        self.is_for_all = not is_loopback(address[0])
        try:
            self._server = _MetricsServer(address, _handler(MetricsPages(current), self.is_for_all))
        except OSError as problem:
            raise InputError(
                f"Cannot serve metrics at {place}: {problem.strerror}; give another place as "
                "metrics in peer.toml."
            ) from None
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """The port; if 0 was requested, the free one that was taken."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _MetricsServer(ThreadingHTTPServer):
    """An HTTP server with few connections at a time, and none for long."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 2 * _MOST_CONNECTIONS

    def __init__(self, *place_and_handler: Any) -> None:
        self._ends: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        super().__init__(*place_and_handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is room for this connection; called for each."""
        with self._lock:
            has_room = len(self._ends) < _MOST_CONNECTIONS
            if has_room:
                self._ends[request] = time.monotonic() + _LONGEST_REQUEST
        return has_room

    def service_actions(self) -> None:
        """Close connections whose time is over; called about twice a second."""
        now = time.monotonic()
        with self._lock:
            for request, end in self._ends.items():
                if now > end:
                    with contextlib.suppress(OSError):
                        request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, at the end of its request or instead of it."""
        with self._lock:
            self._ends.pop(request, None)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing about a client that went away."""


class MetricsPages:
    """The pages served; Prometheus's registry collects from here too."""

    def __init__(self, current: _Current) -> None:
        with needed_for("Metrics", "pairgossip"):
            from prometheus_client import CollectorRegistry, generate_latest
            from prometheus_client.exposition import CONTENT_TYPE_LATEST
        self._current = current
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._generate = generate_latest
        self._type = CONTENT_TYPE_LATEST

    def get(self, path: str) -> tuple[int, str, bytes]:
        """Return code, content type and content of a page."""
        if path == "/metrics":
            return 200, self._type, self._generate(self._registry)
        status = self._current()
        if path == "/status.json":
            shown = None if status is None else status.show()
            return 200, "application/json", msgspec.json.encode(shown)
        if path == "/healthz":
            is_alive = status is not None and time.time() - status.updated < _LONGEST_SILENCE
            return _answer(is_alive, "alive", "not alive")
        if path == "/readyz":
            is_ready = status is not None and status.is_ready
            return _answer(is_ready, "ready", "not ready: no neighbor has agreed yet")
        return 404, "text/plain", b"not found\n"

    def collect(self) -> Iterator[Metric]:
        """Turn the latest status into metrics."""
        status = self._current()
        return iter(()) if status is None else _make_families(status.show())


def _answer(is_so: bool, yes: str, no: str) -> tuple[int, str, bytes]:
    return 200 if is_so else 503, "text/plain", f"{yes if is_so else no}\n".encode()


def _handler(pages: MetricsPages, is_for_all: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _LONGEST_REQUEST
        server_version, sys_version = "pairgossip", ""

        def do_GET(self) -> None:
            # An attacker may point the name of another site here: its pages may not read this.
            if not is_for_all and not _is_local(self.headers.get("Host", "")):
                self._send(403, "text/plain", b"forbidden\n")
                return
            self._send(*pages.get(self.path.partition("?")[0]))

        def _send(self, code: int, kind: str, content: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep requests out of the peer's log."""

    return Handler


def _make_families(shown: msgspec.Struct) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    for name, group in groupby(list_samples(shown), key=lambda sample: sample.name):
        samples = list(group)
        first = samples[0]
        kind = CounterMetricFamily if first.counts else GaugeMetricFamily
        family = kind(f"pairgossip_{name}", first.says, labels=[*first.labels])
        for sample in samples:
            family.add_metric([*sample.labels.values()], sample.value)
        yield family


def _is_local(host: str) -> bool:
    """Return whether a Host header names this machine."""
    address = parse_address(host)
    return is_loopback(host if address is None else address[0])
