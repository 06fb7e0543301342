"""A real server in a thread of this process, and clients of it."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from pairgossip.watch.server.requests import View
from pairgossip.watch.server.server import ServerAddress, Service
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.view import Simulations

PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""TLS settings without certificates, as HTTP is plain here, and loading takes 30 ms per client."""
Fields = dict[str, str | list[str]]
GINI: Fields = {
    "data": "engel",
    "column": ["income"],
    "kernel": "gini",
    "graph": "watts-strogatz",
}


class Served:
    """A running server, with requests like those of its own page."""

    def __init__(
        self, place: ServerAddress, views: Sequence[View] = (), files: Sequence[Path] = ()
    ) -> None:
        self._service = Service(place, [*views, Simulations(Uploads(files))])
        started = threading.Event()
        self._thread = threading.Thread(target=self._service.run, args=(started.set,))
        self._thread.start()
        assert started.wait(30)
        self.port = self._service.port
        self.address = self._service.address
        self.origin = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.origin, timeout=60, trust_env=False, verify=PLAIN)

    def stop(self) -> None:
        self.client.close()
        self._service.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def link(self, **fields: str | list[str]) -> str:
        """Return the address of the page with these settings."""
        return f"{self.address}?{urlencode(fields, doseq=True)}"

    def ask(self, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        headers = {"Origin": self.origin, **options.pop("headers", {})}
        given = {name: value for name, value in headers.items() if value is not None}
        return self.client.request(method, path, headers=given, **options)

    def open(self, session: str = "", /, **fields: str | list[str]) -> str:
        """Open a session and return its key."""
        answer = self.ask("/api/sessions", "POST", json={"settings": fields, "session": session})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["session"])

    def refuse(self, **fields: str | list[str]) -> str:
        """Open a session that must be refused; return the sentence."""
        return str(self.read_refusal(**fields)["error"])

    def read_refusal(self, **fields: str | list[str]) -> dict[str, str | None]:
        """Open a session that must be refused; return the sentence and the wrong setting."""
        answer = self.ask("/api/sessions", "POST", json={"settings": fields})
        assert answer.status_code == 400, answer.text
        refusal: dict[str, str | None] = answer.json()
        return refusal

    def control(self, key: str, action: str, value: str = "") -> httpx.Response:
        told = {"action": action, "value": value}
        return self.ask(f"/api/sessions/{key}/control", "POST", json=told)

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)

    @contextmanager
    def watching(self, key: str = "", path: str = "") -> Iterator[Iterator[tuple[str, Any]]]:
        """Yield the names and contents of events of a session, or of a path."""
        with self.client.stream("GET", path or f"/api/sessions/{key}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _events(answer)

    def upload(self, content: bytes, name: str = "data.csv", **options: Any) -> httpx.Response:
        headers = {"Content-Type": "application/octet-stream", **options.pop("headers", {})}
        path = f"/api/uploads?{urlencode({'name': name})}"
        return self.ask(path, "POST", content=content, headers=headers)


def _events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def until_status(events: Iterator[tuple[str, Any]], status: str) -> dict[str, Any]:
    """Read up to the first frame with this status; return the newest frame of every kind."""
    newest: dict[str, Any] = {}
    for name, content in events:
        newest[name] = content
        if name == "frame" and content["status"] == status:
            return newest
    raise AssertionError(f"the stream ended before it was {status}")
