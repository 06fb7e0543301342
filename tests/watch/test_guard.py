"""Who may use the server, and how long a connection may take."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import re
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pairgossip.errors import InputError
from pairgossip.watch.server import guard
from pairgossip.watch.server import server as serving
from pairgossip.watch.server.guard import MOST_CONNECTIONS, Guard, PromptProtocol
from pairgossip.watch.server.server import FILES, FOLDER, ServerAddress, Service

from .serving import GINI, Served

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
PATHS = ("/", "/main.js", "/api/choices", "/api/uploads", "/api/sessions", "/nothing")


@pytest.mark.parametrize("path", [*PATHS, "/api/sessions/x/events", "/api/sessions/x/control"])
def test_another_host_is_refused(served: Served, path: str) -> None:
    hosts = ("evil.example", f"evil.example:{served.port}", "127.0.0.1", "127.0.0.1:1", "")
    for method, host in product(METHODS, hosts):
        answer = served.ask(path, method, headers={"Host": host})
        assert answer.status_code in (400, 421), (method, host)


@pytest.mark.parametrize("path", [*PATHS, "/api/sessions/x/events", "/api/sessions/x/control"])
def test_another_origin_is_refused(served: Served, path: str) -> None:
    secure = f"https://127.0.0.1:{served.port}"
    origins = ("https://evil.example", "null", secure, "http://127.0.0.1")
    for method, origin in product(METHODS, origins):
        answer = served.ask(path, method, headers={"Origin": origin})
        assert answer.status_code in (403, 405), (method, origin)


def test_the_stream_of_a_real_session_is_refused_too(served: Served) -> None:
    key = served.open(**GINI)
    path = f"/api/sessions/{key}/events"
    assert served.ask(path, headers={"Origin": "https://evil.example"}).status_code == 403
    foreign = {"Origin": None, "Sec-Fetch-Site": "cross-site"}
    assert served.ask(path, headers=foreign).status_code == 403
    assert served.ask(path, headers={"Host": "evil.example"}).status_code == 421


def test_changing_something_needs_an_origin(served: Served) -> None:
    told = {"settings": GINI}
    answer = served.ask("/api/sessions", "POST", json=told, headers={"Origin": None})
    assert answer.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_from_elsewhere_leads_to_the_page_only(served: Served, site: str) -> None:
    headers = {"Origin": None, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert served.ask("/", headers=headers).status_code == 200
    assert served.ask("/api/choices", headers=headers).status_code == 403
    embedded = {**headers, "Sec-Fetch-Mode": "no-cors"}
    assert served.ask("/main.js", headers=embedded).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods_are_refused(served: Served, method: str) -> None:
    assert served.ask("/", method).status_code == 405


def test_every_answer_carries_the_headers(served: Served) -> None:
    answers = [served.ask(path) for path in ("/", "/style.css", "/api/choices", "/nothing")]
    answers.append(served.ask("/", headers={"Host": "evil.example"}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_small_answers_are_sent_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each waits 40 ms for the browser to acknowledge the previous one."""
    is_delayed = []
    usual = PromptProtocol.connection_made

    def connect(self: PromptProtocol, transport: Any) -> None:
        accepted = transport.get_extra_info("socket")
        is_delayed.append(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        usual(self, transport)

    monkeypatch.setattr(PromptProtocol, "connection_made", connect)
    with httpx.Client(base_url=served.origin, trust_env=False) as client:
        client.get("/")
    assert is_delayed and not any(is_delayed)


def test_there_is_no_inline_script_or_style(served: Served) -> None:
    html = served.ask("/").text
    assert "<style" not in html and " style=" not in html and " onclick" not in html
    assert html.count("<script ") == html.count("<script src=")


def test_the_files_of_the_page(served: Served) -> None:
    for path, (_, kind) in FILES.items():
        answer = served.ask(path)
        assert answer.status_code == 200 and answer.content, path
        assert answer.headers["content-type"] == kind, path


def test_a_browser_keeps_files_until_one_of_them_changes(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.ask("/").headers["cache-control"] == "no-store"
    assert served.ask("/main.js").headers["cache-control"] == "no-store"
    before = asked_for(served)
    for path in before:
        answer = served.ask(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    shutil.copytree(str(FOLDER), tmp_path / "page")
    (tmp_path / "page" / "common" / "axes.js").write_text("// as of another version\n")
    monkeypatch.setattr(serving, "FOLDER", tmp_path / "page")
    other = Served(ServerAddress())
    try:
        assert len(before) > 10 and not before & asked_for(other)
        assert other.ask(min(before)).status_code == 404
    finally:
        other.stop()


def asked_for(served: Served) -> set[str]:
    """Return the paths that the page itself names."""
    return set(re.findall(r'(?:src|href)="(/[^"]*)"', served.ask("/").text))


def test_every_file_of_the_page_is_in_the_table() -> None:
    folder = Path(str(FOLDER))
    on_disk = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert on_disk == {name for name, _ in FILES.values()}


def test_lines_of_the_page_are_as_short_as_in_python() -> None:
    """Formatters leave long strings and comments alone."""
    own = [name for name, _ in FILES.values() if not name.startswith("vendor/")]
    lines = [line for name in own for line in FOLDER.joinpath(name).read_text().splitlines()]
    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/index.html", "/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/vendor/",
     "/vendor", "//etc/passwd", "/main.js/", "/main.js%00", "/server.py", "/api", "/api/"],
)  # fmt: skip
def test_nothing_else_is_there(served: Served, path: str) -> None:
    answer = spoken(served, f"GET {path} HTTP/1.1")
    assert answer.startswith(b"HTTP/1.1 404")
    assert answer.endswith(b"\r\n\r\nThere is nothing here.\n")


def test_it_listens_on_this_machine_only(served: Served) -> None:
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in others - {"127.0.0.1"}:
        family = socket.AF_INET6 if ":" in str(address) else socket.AF_INET
        with socket.socket(family) as other:
            other.settimeout(5)
            assert other.connect_ex((str(address), served.port)) != 0


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (ServerAddress("0.0.0.0"), "The host is 0.0.0.0, which is every address at once: "),
        (ServerAddress("::"), "The host is ::, which is every address at once: "),
        (ServerAddress("example.org"), "Others could read along on example.org: give --cert"),
        (ServerAddress("example.org", 0, Path("a.pem")), "Others could read along on example.org"),
        (ServerAddress("example.org", 0, Path("a"), Path("b")), "There is no file a: check the "),
        (ServerAddress(port=70_000), "The port is 70000: give 1 to 65,535."),
        (ServerAddress(certificate=Path("a")), "A certificate is for another host than this"),
    ],
)
def test_places_that_are_refused(place: ServerAddress, sentence: str) -> None:
    with pytest.raises(InputError) as problem:
        Service(place, [])
    assert sentence in str(problem.value)


@pytest.mark.parametrize("host", ["0", "0x0", "00.0.0.0", "::ffff:0.0.0.0"])
def test_other_spellings_of_every_address(tmp_path: Path, host: str) -> None:
    with pytest.raises(InputError, match="which is every address at once"):
        Service(ServerAddress(host, 0, *self_signed(tmp_path)), [])


@pytest.mark.parametrize("target", ["http://evil.example/", "http://evil.example/api/views", "*"])
def test_whole_addresses_as_targets_lead_nowhere(served: Served, target: str) -> None:
    assert spoken(served, f"GET {target} HTTP/1.1").startswith(b"HTTP/1.1 404")


def test_the_head_of_a_stream_has_an_end(served: Served) -> None:
    key = served.open(**GINI)
    answer = served.ask(f"/api/sessions/{key}/events", "HEAD")
    assert answer.status_code == 200 and not answer.content
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_there_are_no_web_sockets(served: Served) -> None:
    wish = "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    answer = spoken(served, "GET /nothing HTTP/1.1", f"{wish}Sec-WebSocket-Key: {'A' * 22}==\r\n")
    assert answer.startswith(b"HTTP/1.1 404")


def test_a_port_in_use_is_named(served: Served) -> None:
    with pytest.raises(InputError, match=f"Cannot open port {served.port} on 127.0.0.1"):
        Service(ServerAddress(port=served.port), [])


def test_another_host_takes_tls_and_the_token(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    server = Served(ServerAddress("127.0.0.2", 0, certificate, key))
    trust = ssl.create_default_context(cafile=str(certificate))
    base = f"https://127.0.0.2:{server.port}"
    try:
        with httpx.Client(verify=trust, base_url=base) as client:
            for path in ("/", "/api/choices", "/?token=wrong", "/main.js?token=wrong"):
                assert client.get(path).status_code == 401
            welcome = client.get(server.address.removeprefix(base) + "&seed=4")
            assert (welcome.status_code, welcome.headers["location"]) == (303, "/?seed=4")
            cookie = welcome.headers["set-cookie"].lower()
            assert all(word in cookie for word in ("httponly", "secure", "samesite=strict"))
            assert cookie.startswith("__host-pairgossip-")
            assert client.get("/").status_code == 200
            assert client.get("/api/choices").status_code == 200
            forged = client.get("/", headers={"Origin": f"http://127.0.0.2:{server.port}"})
            assert forged.status_code == 403
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.2:{server.port}/")
    finally:
        server.stop()


def test_servers_side_by_side_have_cookies_of_their_own() -> None:
    async def nothing(*_: object) -> None: ...

    names = {Guard(nothing, ["a"], secure=True, token=token)._cookie for token in ("x", "y")}
    assert len(names) == 2


def spoken(served: Served, request: str, headers: str = "Connection: close\r\n") -> bytes:
    """Send a request by hand, as clients clean up odd requests before they send them."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        told = f"{request}\r\nHost: 127.0.0.1:{served.port}\r\n{headers}\r\n"
        connection.sendall(told.encode())
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.2 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "watch")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.2"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


UPLOT = "/vendor/uPlot.iife.min.js"


@pytest.fixture
def server() -> Iterator[Served]:
    """Run a separate server, whose connections are counted."""
    server = Served(ServerAddress())
    yield server
    server.stop()


def connected(server: Served, request: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(request.replace("HERE", f"127.0.0.1:{server.port}").encode())
    return connection


def has_ended(connection: socket.socket) -> bool:
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True  # otherwise it has timed out


def is_open(server: Served, client: tuple[str, int]) -> bool:
    known = list(server._service._server.server_state.connections)
    return any(getattr(one, "client", None) == client for one in known)


HALF = {
    "nothing": "",
    "half a head": "GET / HTTP/1.1\r\nHost: HERE\r\n",
    "half a body": (
        "POST /api/sessions HTTP/1.1\r\nHost: HERE\r\nOrigin: http://HERE\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    ),
}


@pytest.mark.parametrize("request_", HALF.values(), ids=HALF)
def test_a_request_that_never_ends_is_cut(
    server: Served,
    request_: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(guard, "_CHECK_SECONDS", 0.02)
    monkeypatch.setattr(guard, "_HEAD_SECONDS", 0.2)
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.2)
    with caplog.at_level(logging.ERROR), connected(server, request_) as connection:
        assert has_ended(connection)
        assert server.ask("/api/views").status_code == 200
    assert not caplog.records  # it is not an error of the server


@pytest.mark.parametrize("request_", HALF.values(), ids=HALF)
def test_many_that_never_end_leave_a_place(server: Served, request_: str) -> None:
    held = [connected(server, request_) for _ in range(MOST_CONNECTIONS + 20)]
    try:
        assert server.ask("/api/views").status_code == 200
    finally:
        for connection in held:
            connection.close()


def test_a_watcher_keeps_its_place_however_many_come(server: Served) -> None:
    key = server.open(**GINI)
    with server.watching(key) as events:
        assert next(events)[0] == "setup"
        held = [connected(server) for _ in range(MOST_CONNECTIONS + 20)]
        try:
            server.control(key, "step")
            done = (content["runs"][0]["done"] for name, content in events if name == "frame")
            assert 1 in done
        finally:
            for connection in held:
                connection.close()


def test_an_answer_that_is_never_read_is_cut(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_CHECK_SECONDS", 0.02)
    monkeypatch.setattr(guard, "_UNREAD_SECONDS", 0.3)
    size, times = len(server.ask(UPLOT).content), 400
    asked = f"GET {UPLOT} HTTP/1.1\r\nHost: HERE\r\n\r\n" * times
    with connected(server, asked) as connection:
        taken = len(connection.recv(1))  # it has been accepted
        end = time.monotonic() + 30
        while is_open(server, connection.getsockname()):
            assert time.monotonic() < end, "nobody cut it"
            time.sleep(0.05)
        try:
            while part := connection.recv(1 << 20):
                taken += len(part)
        except ConnectionResetError:
            pass
    assert taken < size * times


def test_whoever_reads_on_is_left_alone(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_CHECK_SECONDS", 0.02)
    monkeypatch.setattr(guard, "_HEAD_SECONDS", 0.2)
    monkeypatch.setattr(guard, "_UNREAD_SECONDS", 0.2)
    key = server.open(**GINI, speed="20", iterations="20")
    with server.watching(key) as events:
        server.control(key, "start")
        assert any(name == "frame" and content["status"] == "done" for name, content in events)
