"""Reading requests within limits, and answering mistakes with one sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pairgossip.errors import InputError, PairgossipError
from pairgossip.watch.simulation.frames import encode_json

LARGEST_REQUEST = 64 << 10
Answer = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class TooLarge(PairgossipError):
    """A request is larger than it may be."""


def answering(answer: Answer) -> Answer:
    """Turn a mistake of the user's into JSON with one sentence."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except ClientDisconnect:  # in the middle of its request: nobody reads this
            return Response(status_code=400)
        except TooLarge as problem:
            return JSONResponse({"error": str(problem)}, 413)
        except LookupError as absent:
            return JSONResponse({"error": str(absent.args[0])}, 404)
        except PairgossipError as problem:
            return JSONResponse({"error": str(problem)}, 400)

    return answered


def json_answer(value: Any) -> Response:
    """Answer with JSON in which what is not a finite number is null."""
    return Response(encode_json(value), media_type="application/json")


def stream_answer(request: Request, messages: AsyncIterator[bytes]) -> Response:
    """Answer with server-sent events; whoever asks for the head alone gets it and is done."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(messages, media_type="text/event-stream")


async def body_of(request: Request, most: int, kind: str) -> bytes:
    """Read a body of one content type, and no more of it than allowed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise InputError(f"The request must be {kind}.")
    too_large = TooLarge(f"That is too large: at most {most / 2**20:.3g} MiB are taken.")
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


async def json_of(request: Request, kind: type[T]) -> T:
    """Read JSON of exactly this shape."""
    body = await body_of(request, LARGEST_REQUEST, "application/json")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"The request cannot be read: {problem}.") from None


# What the server asks of a view besides the simulation, and which ones a page may show.


SIMULATION = ("simulation", "Simulation")


class View(Protocol):
    """A part of the page with paths of its own."""

    name: str
    """As in the page's address."""
    title: str

    def routes(self) -> list[Route]:
        """The paths it answers on."""

    def close(self) -> None:
        """End, and let every viewer go."""


def views_route(views: Sequence[View]) -> Route:
    """Tell the page which views there are; the first is the one to begin with."""
    names = [*((view.name, view.title) for view in views), SIMULATION]

    async def answer(_: Request) -> Response:
        return json_answer({"views": names})

    return Route("/api/views", answering(answer), methods=["GET"])
