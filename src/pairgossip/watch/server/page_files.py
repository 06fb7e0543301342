"""The files of the page: a fixed table, read once; no path of a request reaches the disk."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


def _list_files(folder: Traversable, prefix: str = "") -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _list_files(entry, f"{prefix}{entry.name}/")
        elif PurePath(entry.name).suffix in KINDS:
            yield prefix + entry.name


FOLDER = resources.files("pairgossip.watch") / "page"
FILES = {
    "/" if name == "index.html" else f"/{name}": (name, KINDS[PurePath(name).suffix])
    for name in sorted(_list_files(FOLDER))
}
"""What can be fetched, by path: the name of the file and its kind."""


def page_routes() -> list[Route]:
    """One route per file."""
    return [
        Route(path, _answering(FOLDER.joinpath(name).read_bytes(), kind), methods=["GET"])
        for path, (name, kind) in FILES.items()
    ]


def _answering(content: bytes, kind: str):  # type: ignore[no-untyped-def]
    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


async def not_found(_: Request, __: Exception) -> Response:
    """Answer every other path alike."""
    return PlainTextResponse("There is nothing here.\n", 404)
