"""Requests read within limits, answers and errors, and a board for streams of messages."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pairgossip.errors import InputError, PairgossipError
from pairgossip.text import json_value

_LARGEST_REQUEST = 64 << 10
"""Largest request in JSON, in bytes; a longer one is refused."""
_HEARTBEAT_SECONDS = 5.0
"""Seconds without a message after which a stream sends a comment, so that it stays open."""
_FIELDS = {"positive": "positive class"}
"""Labels of fields of the page that differ from the names of their arguments."""
_Answer = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class View(Protocol):
    """A part of the page with its own paths."""

    name: str
    """The name in the page's address."""
    title: str

    def routes(self) -> list[Route]:
        """Return its paths."""

    def close(self) -> None:
        """End, and disconnect every viewer."""


def spell_on_page(problem: PairgossipError) -> str:
    """Return the sentence of an error with its argument as a field, not as Python spells it."""

    def spell(argument: str, value: object) -> str:
        field = _FIELDS.get(argument, argument)
        return field if value is None else f"{field} {value}"

    return problem.spell(spell)


class _TooLarge(PairgossipError):
    """The error for a request that is larger than allowed."""


def make_route(path: str, answer: _Answer, method: str = "GET") -> Route:
    """Answer on a path; a user's error becomes JSON with one sentence."""

    async def answer_mistakes(request: Request) -> Response:
        try:
            return await answer(request)
        except ClientDisconnect:  # in the middle of its request: nobody reads this
            return Response(status_code=400)
        except _TooLarge as problem:
            return JSONResponse({"error": str(problem)}, 413)
        except LookupError as absent:
            return JSONResponse({"error": str(absent.args[0])}, 404)
        except PairgossipError as problem:
            error = {"error": spell_on_page(problem), "argument": problem.subject}
            return JSONResponse(error, 400)

    return Route(path, answer_mistakes, methods=[method])


def encode_json(value: Any) -> bytes:
    """Return JSON; a number that is not finite becomes null."""
    return msgspec.json.encode(json_value(value))


def format_event(name: str, value: Any) -> bytes:
    """Return a value as one server-sent event: JSON, which has no line ends."""
    return b"event: " + name.encode() + b"\ndata: " + encode_json(value) + b"\n\n"


def json_answer(value: Any) -> Response:
    """Answer with JSON; numbers that are not finite become null."""
    return Response(encode_json(value), media_type="application/json")


def stream_answer(request: Request, messages: AsyncIterator[bytes]) -> Response:
    """Answer with server-sent events; a request for the head alone gets only the head."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(messages, media_type="text/event-stream")


async def read_body(request: Request, most: int, kind: str) -> bytes:
    """Read a body of one content type, at most as long as allowed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise InputError(f"The request must be {kind}.")
    too_large = _TooLarge(f"That is too large: at most {most / 2**20:.3g} MiB are accepted.")
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > most:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


async def read_json(request: Request, kind: type[T]) -> T:
    """Read JSON of exactly this shape."""
    body = await read_body(request, _LARGEST_REQUEST, "application/json")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"The request cannot be read: {problem}.") from None


class _Viewer:
    """Woken from another thread when there is a message."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.news = asyncio.Event()

    def wake(self) -> None:
        # The viewer's loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.news.set)


class Board:
    """The newest message of every kind, and the viewers that wait for the next.

    Posting never waits: a slow viewer finds only the newest message of every kind when it is ready
    for more. A late one first gets the `opening`; without an opening, the newest message of every
    kind is all it needs.
    """

    def __init__(self, opening: Callable[[], list[bytes]] | None = None) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._slots: dict[str, tuple[int, bytes]] = {}
        self._viewers: set[_Viewer] = set()
        self._closed = False

    @property
    def is_watched(self) -> bool:
        """Whether there are viewers."""
        return bool(self._viewers)

    def post(self, kind: str, message: bytes, *, only_if_new: bool = False) -> None:
        """Replace the message of a kind; from any thread."""
        with self._lock:
            version, before = self._slots.get(kind, (0, b""))
            if only_if_new and message == before:
                return
            self._slots[kind] = (version + 1, message)
        self._wake_all()

    def close(self) -> None:
        """Disconnect every viewer."""
        self._closed = True
        self._wake_all()

    async def messages(self, on_join: Callable[[], None] = lambda: None) -> AsyncIterator[bytes]:
        """Yield the past messages, then all new ones, until the board is closed."""
        viewer = _Viewer()
        seen: dict[str, int] = {}
        with self._lock:
            self._viewers.add(viewer)
            if self._opening is not None:
                seen = {kind: version for kind, (version, _) in self._slots.items()}
        try:
            on_join()
            for message in self._opening() if self._opening else ():
                yield message
            while not self._closed:
                viewer.news.clear()
                with self._lock:
                    slots = list(self._slots.items())
                for kind, (version, message) in slots:
                    if version != seen.get(kind):
                        seen[kind] = version
                        yield message
                try:
                    await asyncio.wait_for(viewer.news.wait(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            with self._lock:
                self._viewers.discard(viewer)

    def _wake_all(self) -> None:
        with self._lock:
            viewers = list(self._viewers)
        for viewer in viewers:
            viewer.wake()
