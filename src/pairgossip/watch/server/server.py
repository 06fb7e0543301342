"""The server: on 127.0.0.1 unless asked otherwise, and then with TLS and a token."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import secrets
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from pairgossip.errors import InputError
from pairgossip.text import LARGEST_PORT
from pairgossip.watch.server.guard import MOST_CONNECTIONS, Guard, PromptProtocol
from pairgossip.watch.server.page_files import not_found, page_routes
from pairgossip.watch.server.requests import View, views_route
from pairgossip.watch.simulation.view import Simulations

LOCAL = "127.0.0.1"
LOCAL_NAMES = (LOCAL, "localhost")


@dataclass(frozen=True)
class ServerAddress:
    """Where to serve: the host as viewers type it, the port, and what another host needs."""

    host: str = LOCAL
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL_NAMES

    def check(self) -> None:
        """Raise `InputError` for what cannot be served safely, before anything is opened."""
        if not 0 <= self.port <= LARGEST_PORT:
            raise InputError(f"The port is {self.port}: give 1 to {LARGEST_PORT:,}.")
        if self.is_local:
            if self.certificate or self.key:
                raise InputError(
                    "A certificate is for another host than this machine itself: "
                    "give --host too, or leave --certificate and --key out."
                )
            return
        if _is_wildcard(self.host):
            raise _every_address(self.host)
        if self.certificate is None or self.key is None:
            raise InputError(
                f"Others could read along on {self.host}: give --certificate and --key for TLS, "
                "or leave --host out to stay on this machine."
            )
        for file in (self.certificate, self.key):
            if not file.is_file():
                raise InputError(f"There is no file {file}: check the path.")
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                self.certificate, self.key
            )
        except (ssl.SSLError, OSError):
            raise InputError(
                f"{self.certificate} and {self.key} are not a certificate and its key, in PEM."
            ) from None


class Service:
    """A server that is bound to its port and not yet running."""

    def __init__(self, place: ServerAddress, views: Sequence[View] = ()) -> None:
        place.check()
        self._place = place
        self._socket = _bind(place)
        self.port = int(self._socket.getsockname()[1])
        self._token = None if place.is_local else secrets.token_urlsafe(24)
        self._simulations = Simulations()
        config = uvicorn.Config(
            build_app(self._simulations, self._hosts(), self._token, views),
            http=PromptProtocol,
            ws="none",
            proxy_headers=False,
            lifespan="off",
            log_level=logging.WARNING,
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=3,
            ssl_certfile=place.certificate,
            ssl_keyfile=place.key,
        )
        closing = [self._simulations.close, *(view.close for view in views)]
        self._server = _Server(config, closing)

    @property
    def address(self) -> str:
        """Where to point a browser, the token included."""
        name = _in_address(self._place.host)
        if self._token is None:
            return f"http://{name}:{self.port}/"
        return f"https://{name}:{self.port}/?{urlencode({'token': self._token})}"

    def run(self, on_start: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C, or until `stop` is called."""
        self._server.on_start = on_start
        # The signal that ended the server is raised again afterward: it was the user's wish.
        with contextlib.suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])
        self._socket.close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True

    def _hosts(self) -> list[str]:
        names = LOCAL_NAMES if self._place.is_local else (_in_address(self._place.host),)
        usual = 80 if self._place.is_local else 443
        with_port = [f"{name}:{self.port}" for name in names]
        return [*with_port, *(names if self.port == usual else ())]


class _Server(uvicorn.Server):
    """Says when it has started, and lets viewers go before it waits for them."""

    def __init__(self, config: uvicorn.Config, closing: Sequence[Callable[[], None]]) -> None:
        super().__init__(config)
        self.on_start: Callable[[], None] = lambda: None
        self._closing = closing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for close in self._closing:
            close()
        # What is cut off now was the user's wish, and no error to be told of.
        told = logging.getLogger("uvicorn.error")
        level = told.level
        told.setLevel(logging.CRITICAL)
        try:
            await super().shutdown(sockets)
        finally:
            told.setLevel(level)


def build_app(
    simulations: Simulations,
    hosts: list[str],
    token: str | None = None,
    views: Sequence[View] = (),
) -> ASGIApp:
    """Put the views behind the guard."""
    more = [route for view in views for route in view.routes()]
    app = Starlette(
        routes=[*page_routes(), views_route(views), *simulations.routes(), *more],
        exception_handlers={404: not_found},
    )
    app.router.redirect_slashes = False
    return Guard(app, hosts, secure=token is not None, token=token)


def _bind(place: ServerAddress) -> socket.socket:
    host = LOCAL if place.is_local else place.host
    bound = None
    try:
        kind = socket.getaddrinfo(host, place.port, type=socket.SOCK_STREAM)[0]
        if _is_wildcard(str(kind[4][0])):  # which "0" and other spellings come to
            raise _every_address(host)
        bound = socket.socket(kind[0], socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(kind[4])
    except OSError as problem:
        if bound is not None:
            bound.close()
        where = f"port {place.port}" if place.port else "a port"
        raise InputError(
            f"Cannot open {where} on {place.host} ({problem.strerror}): choose another."
        ) from None
    return bound


def _is_wildcard(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return not host or "*" in host
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_unspecified or (mapped is not None and mapped.is_unspecified)


def _every_address(host: str) -> InputError:
    return InputError(
        f"The host is {host}, which is every address at once: "
        "give the one name or address that viewers will type."
    )


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host
