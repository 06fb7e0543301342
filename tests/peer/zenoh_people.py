"""Peers with real keys and certificates on 127.0.0.1, honest and otherwise."""

from __future__ import annotations

import datetime
import hashlib
import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zenoh
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.x509.oid import NameOID

from pairgossip.peer.identity.certificates import _OCTETS, _SEALING_KEY, Sealer, static_key
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Member
from pairgossip.peer.links.zenoh_link import (
    Site,
    ZenohLink,
    configuration,
    key_between,
    signed_part,
)
from pairgossip.peer.protocol.messages import VERSION

PATIENCE = 60.0
LONG_ENOUGH = 1.0
"""Seconds after which anything that is not refused would have arrived."""


class Person:
    """A key and a certificate, by default like that of a peer."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        pretended_id: str | None = None,
        issuer: Person | None = None,
        days: tuple[int, int] = (-1, 3650),
        sealing_key: bytes | None = None,
        key_file: Path | None = None,
    ) -> None:
        self.key = Ed25519PrivateKey.generate() if key_file is None else read_key(key_file)
        self.id = id_of(self.key)
        self.certificate = _certificate(
            self.key,
            pretended_id or self.id,
            issuer.key if issuer else self.key,
            issuer.id if issuer else pretended_id or self.id,
            days,
            sealing_key or static_key(self.key).public_key().public_bytes_raw(),
        )
        self.certificate_file = folder / f"{name}.pem"
        self.certificate_file.write_text(self.certificate)
        self.key_file = folder / f"{name}.key"
        self.key_file.write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )

    def sign(self, content: bytes) -> bytes:
        return self.key.sign(content)

    @property
    def identity(self) -> Identity:
        return Identity(self.id, "", self.certificate, self.sign, self.agree)

    def agree(self, public: bytes) -> bytes:
        return static_key(self.key).exchange(X25519PublicKey.from_public_bytes(public))


def make_neighbor(id: str, certificate: str, address: str | None) -> Member:
    return Member(id, id[:8], 1, certificate, address, is_neighbor=True)


def read_key(file: Path) -> Ed25519PrivateKey:
    key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    assert isinstance(key, Ed25519PrivateKey)
    return key


def id_of(key: Ed25519PrivateKey) -> str:
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(public).hexdigest()


def _certificate(
    key: Ed25519PrivateKey,
    name: str,
    issuing_key: Ed25519PrivateKey,
    issuer: str,
    days: tuple[int, int],
    sealing_key: bytes,
) -> str:
    now = datetime.datetime.now(datetime.UTC)
    sealing = _OCTETS + sealing_key
    made = (
        x509.CertificateBuilder()
        .subject_name(_called(name))
        .issuer_name(_called(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=days[0]))
        .not_valid_after(now + datetime.timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("peer")]), critical=False)
        .add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier(_SEALING_KEY), sealing), critical=False
        )
        .sign(issuing_key, None)
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def free_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"tls/127.0.0.1:{taken.getsockname()[1]}"


@dataclass
class Heard:
    """The frames that a link has handed over."""

    frames: list[tuple[str, bytes]] = field(default_factory=list)

    def __call__(self, sender: str, frame: bytes) -> None:
        self.frames.append((sender, frame))


def site_of(
    me: Person,
    neighbors: Sequence[Person],
    *,
    listen: str | None = None,
    connect: str | None = None,
    longest_frame: int = 1 << 17,
) -> Site:
    """Return a site whose neighbors all have one address, or none."""
    known = [make_neighbor(one.id, one.certificate, connect) for one in neighbors]
    return Site(me.id, known, me.certificate_file, me.key_file, listen, longest_frame)


@contextmanager
def linked(me: Person, site: Site) -> Iterator[tuple[ZenohLink, Heard]]:
    heard = Heard()
    link = ZenohLink(site, me.identity, heard)
    try:
        yield link, heard
    finally:
        link.close()


def until(is_so: Callable[[], object], doing: Callable[[], None] = lambda: None) -> bool:
    """Repeat something until a condition holds, or time runs out."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        doing()
        if is_so():
            return True
        time.sleep(0.05)
    return False


@contextmanager
def bare_session(me: Person, others: Sequence[Person], connect: str) -> Iterator[zenoh.Session]:
    """Open a session that does not follow our rules."""
    with lawless_session(configuration(site_of(me, others, connect=connect))) as session:
        yield session


@contextmanager
def lawless_session(config: dict[str, Any]) -> Iterator[zenoh.Session]:
    """Open a session with this configuration, but without its rules."""
    config["access_control"] = {"enabled": False}
    session = zenoh.open(zenoh.Config.from_json5(json.dumps(config)))
    try:
        yield session
    finally:
        session.close()  # type: ignore[no-untyped-call]


def put_signed(
    session: zenoh.Session,
    signer: Person,
    sender: str,
    to: Person,
    frame: bytes = b"evil",
    version: int = VERSION,
) -> None:
    sealed = Sealer(sender).seal(to.id, to.certificate, frame)
    session.put(key_between(sender, to.id), envelope(signer, sender, to.id, sealed, version))


def envelope(signer: Person, sender: str, to: str, sealed: bytes, version: int = VERSION) -> bytes:
    return bytes([version]) + signer.sign(signed_part(sender, to, version, sealed)) + sealed


def has_connected(session: zenoh.Session) -> bool:
    return bool(session.info.links())


def keep_trying(doing: Callable[[], None]) -> None:
    end = time.monotonic() + LONG_ENOUGH
    while time.monotonic() < end:
        doing()
        time.sleep(0.05)
