"""The files of the page: a fixed table, read once; no path of a request reaches the disk."""

from __future__ import annotations

from importlib import resources

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

HTML, CSS, SCRIPT, PICTURE = (
    "text/html; charset=utf-8",
    "text/css; charset=utf-8",
    "text/javascript; charset=utf-8",
    "image/svg+xml",
)
FILES = {
    "/": ("index.html", HTML),
    "/style.css": ("style.css", CSS),
    "/views.css": ("views.css", CSS),
    "/favicon.svg": ("favicon.svg", PICTURE),
    "/main.js": ("main.js", SCRIPT),
    "/api.js": ("api.js", SCRIPT),
    "/chart.js": ("chart.js", SCRIPT),
    "/colors.js": ("colors.js", SCRIPT),
    "/elements.js": ("elements.js", SCRIPT),
    "/form.js": ("form.js", SCRIPT),
    "/network.js": ("network.js", SCRIPT),
    "/numbers.js": ("numbers.js", SCRIPT),
    "/peers.js": ("peers.js", SCRIPT),
    "/plot.js": ("plot.js", SCRIPT),
    "/readouts.js": ("readouts.js", SCRIPT),
    "/results.js": ("results.js", SCRIPT),
    "/simulation.js": ("simulation.js", SCRIPT),
    "/stream.js": ("stream.js", SCRIPT),
    "/swarm.js": ("swarm.js", SCRIPT),
    "/vendor/uPlot.iife.min.js": ("vendor/uPlot.iife.min.js", SCRIPT),
    "/vendor/uPlot.min.css": ("vendor/uPlot.min.css", CSS),
    "/vendor/LICENSE-uPlot.txt": ("vendor/LICENSE-uPlot.txt", "text/plain; charset=utf-8"),
}
"""What can be fetched, by path."""


def page_routes() -> list[Route]:
    """One route per file."""
    folder = resources.files("pairgossip.watch") / "page"
    return [
        Route(path, _answering(folder.joinpath(name).read_bytes(), kind), methods=["GET"])
        for path, (name, kind) in FILES.items()
    ]


def _answering(content: bytes, kind: str):  # type: ignore[no-untyped-def]
    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


async def not_found(_: Request, __: Exception) -> Response:
    """Answer every other path alike."""
    return PlainTextResponse("There is nothing here.\n", 404)
