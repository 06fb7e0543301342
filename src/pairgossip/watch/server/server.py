"""The server: on 127.0.0.1 by default; on other addresses only with TLS and a token."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import logging
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pairgossip.errors import InputError
from pairgossip.text import LARGEST_PORT
from pairgossip.watch.server.guard import MOST_CONNECTIONS, Guard, PromptProtocol
from pairgossip.watch.server.requests import View, encode_json

_LOCAL = "127.0.0.1"
_LOCAL_NAMES = (_LOCAL, "localhost")
_KINDS = {
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
        elif PurePath(entry.name).suffix in _KINDS:
            yield prefix + entry.name


FOLDER = resources.files("pairgossip.watch") / "page"
FILES = {
    "/" if name == "index.html" else f"/{name}": (name, _KINDS[PurePath(name).suffix])
    for name in sorted(_list_files(FOLDER))
}
"""The files of the page, by path: name and kind. Only these paths are ever read from disk."""


@dataclass(frozen=True)
class ServerAddress:
    """The address to serve at: the host as viewers type it, the port, and TLS for another host."""

    host: str = _LOCAL
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in _LOCAL_NAMES

    def check(self) -> None:
        """Raise `InputError` for settings that are not safe, before anything is opened."""
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

    def __init__(
        self, place: ServerAddress, views: Sequence[View], page: str = "index.html"
    ) -> None:
        place.check()
        self._place = place
        self._socket = _bind(place)
        self.port = int(self._socket.getsockname()[1])
        self._token = None if place.is_local else secrets.token_urlsafe(24)
        config = uvicorn.Config(
            _build_app(views, page, self._hosts(), self._token),
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
        self._server = _Server(config, views)

    @property
    def address(self) -> str:
        """The address for a browser, token included."""
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
        names = _LOCAL_NAMES if self._place.is_local else (_in_address(self._place.host),)
        usual = 80 if self._place.is_local else 443
        with_port = [f"{name}:{self.port}" for name in names]
        return [*with_port, *(names if self.port == usual else ())]


class _Server(uvicorn.Server):
    """Reports its start, and disconnects viewers before it waits for them."""

    def __init__(self, config: uvicorn.Config, views: Sequence[View]) -> None:
        super().__init__(config)
        self.on_start: Callable[[], None] = lambda: None
        self._views = views

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for view in self._views:
            view.close()
        # The user wished to cut connections off, so it is not an error to log.
        log = logging.getLogger("uvicorn.error")
        level = log.level
        log.setLevel(logging.CRITICAL)
        try:
            await super().shutdown(sockets)
        finally:
            log.setLevel(level)


def _build_app(views: Sequence[View], page: str, hosts: list[str], token: str | None) -> ASGIApp:
    """Put the page and its views behind the guard; the first view is the default."""
    names = encode_json({"views": [(view.name, view.title) for view in views]})
    fixed = {"/api/views": Response(names, media_type="application/json"), **_read_page(page)}
    routes = [route for view in views for route in view.routes()]
    app = Starlette(routes=routes, exception_handlers={404: _not_found})
    app.router.redirect_slashes = False
    return Guard(_Fixed(fixed, app), hosts, secure=token is not None, token=token)


def _read_page(page: str) -> dict[str, Response]:
    """Return the answers with the files of a page, by path; the page itself is at /.

    The page asks for its files in a folder whose name is a digest of all of them: a browser may
    keep these files forever, and asks for others as soon as one of them has changed.
    """
    contents = {path: FOLDER.joinpath(name).read_bytes() for path, (name, _) in FILES.items()}
    folder = "/" + hashlib.sha256(repr(contents).encode()).hexdigest()[:16]
    contents["/"] = FOLDER.joinpath(page).read_bytes().replace(b'="/', f'="{folder}/'.encode())
    kept = {"Cache-Control": "private, max-age=31536000, immutable"}
    answers = {}
    for path, content in contents.items():
        answers[path] = Response(content, media_type=FILES[path][1])
        if path != "/":
            answers[folder + path] = Response(content, headers=kept, media_type=FILES[path][1])
    return answers


class _Fixed:
    """Answers that never change, found by their paths; other requests go to the application."""

    def __init__(self, answers: Mapping[str, Response], app: ASGIApp) -> None:
        self._answers = answers
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._answers.get(scope["path"], self._app)
        if answer is not self._app and scope["method"] not in ("GET", "HEAD"):
            answer = PlainTextResponse("Method Not Allowed", 405, {"Allow": "GET, HEAD"})
        await answer(scope, receive, send)


async def _not_found(_: Request, __: Exception) -> Response:
    return PlainTextResponse("There is nothing here.\n", 404)


def _bind(place: ServerAddress) -> socket.socket:
    host = _LOCAL if place.is_local else place.host
    bound = None
    try:
        kind = socket.getaddrinfo(host, place.port, type=socket.SOCK_STREAM)[0]
        if _is_wildcard(str(kind[4][0])):  # also for "0" and other spellings of it
            raise _every_address(host)
        # Only with a named protocol does asyncio send small answers at once.
        bound = socket.socket(kind[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
