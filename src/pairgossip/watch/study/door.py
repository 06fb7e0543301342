"""The rule for who may decide for a member: those who have the token that was printed.

Others on the same machine reach the server, too. A cookie would go to all servers of this machine,
whoever runs them; so the token is in the part of the address that browsers do not send, and the
page shows it with each request.
"""

from __future__ import annotations

import contextlib
import html
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pairgossip.watch.server.requests import make_route

_REFUSAL = "Open the address that pairgossip peer page has printed, with its token."
_FORWARDING = (
    '<!doctype html><meta charset="utf-8"><title>pairgossip</title>'
    '<meta http-equiv="refresh" content="0; url={}">\n'
)
_Answer = Callable[[Request], Awaitable[Response]]


class Door:
    """Lets in requests that show the token."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)

    def address(self, server: str) -> str:
        """Return the address of a server's page, with the token."""
        return f"{server}#token={self._token}"

    def make_route(self, path: str, answer: _Answer, method: str = "GET") -> Route:
        """Answer on a path, for requests that show the token."""

        async def let_in(request: Request) -> Response:
            if not self._has_token(request):
                return JSONResponse({"error": _REFUSAL}, 401)
            return await answer(request)

        return make_route(path, let_in, method)

    def _has_token(self, request: Request) -> bool:
        shown = request.headers.get("authorization", "")
        return secrets.compare_digest(shown.encode(), f"Bearer {self._token}".encode())


@contextlib.contextmanager
def forwarding(address: str) -> Iterator[str]:
    """Yield the address of a file, for this user alone, that leads a browser to an address.

    The arguments with which a browser is started can be read by all users of a machine.
    """
    number, name = tempfile.mkstemp(prefix="pairgossip-", suffix=".html")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(_FORWARDING.format(html.escape(address)))
        yield Path(name).as_uri()
    finally:
        Path(name).unlink(missing_ok=True)
