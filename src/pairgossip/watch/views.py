"""What the server asks of a view besides the simulation, and which ones a page may show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pairgossip.watch.requests import answering, json_answer

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
