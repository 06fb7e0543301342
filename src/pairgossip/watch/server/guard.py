"""Checks of every request, whatever its method, before this server answers it.

Any web page that the user visits can make the browser send requests to 127.0.0.1. So the Host
header must be one of this server's own names; otherwise a foreign name that resolves here could
read answers. A request that says it comes from another origin is refused, including streams and
unusual methods; and a request that changes something must say where it comes from.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_METHODS = ("GET", "HEAD", "POST")
_READING = ("GET", "HEAD")
_COOKIE = "__Host-pairgossip-"
"""The start of the cookie's name; browsers then take it from this very host alone."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Refuses requests that do not come from this server's own page; adds headers to all
    answers."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], *, secure: bool = False, token: str | None = None
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        scheme = "https" if secure else "http"
        self._origins = frozenset(f"{scheme}://{host}" for host in self._hosts)
        self._token = token
        # Cookies do not depend on ports: servers side by side must not overwrite each other's.
        self._cookie = _COOKIE + hashlib.sha256((token or "").encode()).hexdigest()[:8]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # not used by the page
                await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or headers["host"].lower() not in self._hosts:
            return _refuse("This server does not go by that name.", 421)
        if scope["method"] not in _METHODS:
            return _refuse("This method is not used here.", 405)
        if not self._comes_from_here(scope, headers):
            return _refuse("Requests from other pages are refused.", 403)
        return None if self._token is None else self._ask_for_token(scope, headers)

    def _comes_from_here(self, scope: Scope, headers: Headers) -> bool:
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or origins[0].lower() not in self._origins):
            return False
        if scope["method"] not in _READING and not origins:
            return False
        site = headers.get("sec-fetch-site", "none")
        # A link from elsewhere may lead to the page, and to nothing else.
        navigates = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        return site in ("none", "same-origin") or (navigates and scope["method"] in _READING)

    def _ask_for_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Require the token: once in the address, from then on in a cookie."""
        assert self._token is not None
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        if cookie is not None and _same(cookie.value, self._token):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        typed = dict(query).get("token", "")
        if scope["path"] != "/" or not _same(typed, self._token):
            return PlainTextResponse("Open the address with the token that was printed.\n", 401)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        answer = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._token, secure=True, httponly=True, samesite="strict")
        return answer


def _same(typed: str, token: str) -> bool:
    return secrets.compare_digest(typed.encode(), token.encode())


def _refuse(sentence: str, status: int) -> Response:
    return JSONResponse({"error": sentence}, status)


# Connections that hold a place without using it are cut, so that honest viewers find one.
#
# A request that never ends, or an answer that is never read, costs its sender nothing. Each has a
# deadline here, and if no place is left, the oldest incomplete request makes room.


MOST_CONNECTIONS = 256
"""Largest number of connections at once; more are refused."""
_CROWDED = 128
"""Number of connections from which each new one takes the place of one with an incomplete request;
the remaining places are for complete requests, and for connections that take a moment to end."""
_CHECK_SECONDS = 1.0
"""Seconds between two checks of a connection."""
_HEAD_SECONDS = 10.0
"""Seconds allowed for the head of a request; after that the connection is closed."""
_BODY_SECONDS = 60.0
"""Seconds allowed for its body; after that the connection is closed."""
_UNREAD_SECONDS = 30.0
"""Seconds without a byte of an answer taken, after which the viewer counts as gone."""


class PromptProtocol(H11Protocol):
    """HTTP with deadlines for the request, and for reading the answer."""

    _timer: asyncio.TimerHandle | None = None
    _waits_for: tuple[Any, ...] = ()
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find a place for a connection, and start its clock."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) >= _CROWDED:
            self._make_room()
        self._check()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    @property
    def is_asking(self) -> bool:
        """Whether its request is not complete, or not even begun."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _make_room(self) -> None:
        asking = [
            one
            for one in self.connections
            if isinstance(one, PromptProtocol)
            and one is not self
            and one.is_asking
            and not one.transport.is_closing()
        ]
        if asking:
            min(asking, key=lambda one: one._since).transport.abort()

    def _check(self) -> None:
        """Cut the connection if the bytes that it waits for have not moved in time."""
        waits_for, patience = self._state()
        now = self.loop.time()
        if waits_for != self._waits_for:
            self._waits_for, self._since = waits_for, now
        if now - self._since >= patience:
            self.transport.abort()
            return
        self._timer = self.loop.call_later(_CHECK_SECONDS, self._check)

    def _state(self) -> tuple[tuple[Any, ...], float]:
        """The bytes that have to move next, and the seconds allowed for that."""
        unread = self.transport.get_write_buffer_size()
        if unread:
            # A slow reader takes some bytes and so gets more time.
            return ("unread", unread), _UNREAD_SECONDS
        if self.is_asking:
            patience = _HEAD_SECONDS if self.conn.their_state is h11.IDLE else _BODY_SECONDS
            return (self.conn.their_state, id(self.cycle)), patience
        return ("ours",), float("inf")
