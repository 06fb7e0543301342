"""The simulation view: the paths of its page, and the sessions behind them."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar, TypeVarTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pairgossip.errors import InputError
from pairgossip.watch.server.requests import (
    json_answer,
    make_route,
    read_body,
    read_json,
    stream_answer,
)
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import (
    LARGEST_UPLOAD,
    Uploads,
    describe_upload,
    list_choices,
)
from pairgossip.watch.simulation.session import Session
from pairgossip.watch.simulation.settings import Settings

_MOST_SESSIONS = 8
_BUILDERS = 2
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class _Opening(msgspec.Struct, forbid_unknown_fields=True):
    """Settings to watch, and the session that may show them already."""

    settings: dict[str, str | list[str]]
    session: str = ""


class _Control(msgspec.Struct, forbid_unknown_fields=True):
    """A button that was pressed."""

    action: str
    value: str = ""


class Simulations:
    """All sessions of a server."""

    name, title = "simulation", "Simulation"

    def __init__(self, uploads: Uploads | None = None) -> None:
        self._uploads = uploads or Uploads()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()
        self._theory = ThreadPoolExecutor(1, thread_name_prefix="watch theory")
        # Large files and networks take memory while they are read and built: a few at a time.
        self._builders = ThreadPoolExecutor(_BUILDERS, thread_name_prefix="watch builder")

    def routes(self) -> list[Route]:
        """Return the paths of this view."""
        return [
            make_route("/api/choices", self._choices),
            make_route("/api/uploads", self._upload, "POST"),
            make_route("/api/sessions", self._open, "POST"),
            make_route("/api/sessions/{key}/control", self._control, "POST"),
            make_route("/api/sessions/{key}/events", self._events),
        ]

    def open(self, fields: dict[str, str | list[str]], key: str = "") -> Session:
        """Return the session with this key if it shows these settings, or a new one."""
        settings = Settings.read(fields)
        with self._lock:
            known = self._sessions.get(key)
        if known is not None and not known.closed and _same_run(known.settings, settings):
            return known
        runs = build_runs(settings, self._uploads)
        with self._lock:
            self._make_room()
            session = Session(secrets.token_urlsafe(9), settings, runs)
            self._sessions[session.key] = session
        return session

    def close(self) -> None:
        """End all sessions."""
        for pool in (self._theory, self._builders):
            pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()
        for session in sessions:
            session.join()

    def _make_room(self) -> None:
        """Drop the oldest session without viewers."""
        while len(self._sessions) >= _MOST_SESSIONS:
            idle = next((key for key, each in self._sessions.items() if not each.is_watched), None)
            if idle is None:
                raise InputError(
                    f"{_MOST_SESSIONS} simulations are being watched already: close one of them."
                )
            self._sessions.pop(idle).close()

    def _find(self, request: Request) -> Session:
        with self._lock:
            session = self._sessions.get(request.path_params["key"])
        if session is None:
            raise LookupError("This simulation is no longer here: open it again.")
        return session

    async def _build(self, build: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._builders, build, *arguments)

    async def _choices(self, _: Request) -> Response:
        files = await run_in_threadpool(self._uploads.describe_given)
        return json_answer({**await run_in_threadpool(list_choices), "files": files})

    async def _upload(self, request: Request) -> Response:
        content = await read_body(request, LARGEST_UPLOAD, "application/octet-stream")
        name = request.query_params.get("name", "")
        key, table = await self._build(self._uploads.add, content, name)
        return json_answer(describe_upload(key, table))

    async def _open(self, request: Request) -> Response:
        opening = await read_json(request, _Opening)
        session = await self._build(self.open, opening.settings, opening.session)
        return json_answer({"session": session.key})

    async def _control(self, request: Request) -> Response:
        session = self._find(request)
        control = await read_json(request, _Control)
        session.control(control.action, control.value)
        return json_answer({})

    async def _events(self, request: Request) -> Response:
        messages = self._find(request).messages(self._on_join)
        return stream_answer(request, messages)

    def _on_join(self, session: Session) -> None:
        """Compute the theory of a run that has a viewer; nobody waits for the others."""
        if session.claim_theory():
            with contextlib.suppress(RuntimeError):  # the server is closing
                self._theory.submit(session.find_theory)


def _same_run(one: Settings, other: Settings) -> bool:
    """Return whether two settings show the same runs, at any speed and following any node."""
    return replace(one, speed=0, follow=None) == replace(other, speed=0, follow=None)
