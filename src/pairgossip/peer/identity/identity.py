"""A peer's identity: an Ed25519 key that never leaves its folder, and the key's certificate."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, refuse_open_link, sync_descriptor, unwritable
from pairgossip.peer.identity.certificates import (
    LARGEST_CERTIFICATE,
    Agree,
    check_name,
    id_of_certificate,
    id_of_key,
    is_expired,
    make_certificate,
    name_in_certificate,
    sealing_key_of,
    static_key,
)

_KEY_FILE = "key.pem"
_CERTIFICATE_FILE = "cert.pem"


@dataclass(frozen=True)
class Identity:
    """A peer's id, name and certificate, with its means to sign and to open frames."""

    id: str
    name: str
    certificate: str
    sign: Callable[[bytes], bytes]
    agree: Agree
    """The function for the secret that the peer's static X25519 key shares with another key."""

    def __repr__(self) -> str:
        return f"Identity({self.name}, {self.id[:12]})"


def create_identity(
    folder: Path, name: str, years: int = 10, *, old: Path | None = None
) -> Identity:
    """Make a key and a certificate in a folder that has neither.

    With another peer's folder, ``old``, both are copied from there. But a certificate of another
    name, or one that has expired, is replaced by a new one for the same key.
    """
    check_name(name)
    key = Ed25519PrivateKey.generate() if old is None else _load_key(old / _KEY_FILE)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    other = None if old is None else load_identity(old)
    if other is not None and other.name == name and not is_expired(other.certificate):
        certificate = other.certificate.encode()
    else:
        new = make_certificate(key, static_key(key).public_key(), name, years)
        certificate = new.public_bytes(Encoding.PEM)
    write_new(folder / _KEY_FILE, private, 0o600)
    try:
        write_new(folder / _CERTIFICATE_FILE, certificate, 0o644)
    except InputError:
        with contextlib.suppress(OSError):
            os.unlink(folder / _KEY_FILE)
        raise
    return load_identity(folder)


def load_identity(folder: Path) -> Identity:
    """Read a key and its certificate; refuse a key that others can read."""
    key = _load_key(folder / _KEY_FILE)
    file = folder / _CERTIFICATE_FILE
    if not file.exists():
        raise missing_file(file)
    try:
        certificate = read_bytes(file, LARGEST_CERTIFICATE).decode("ascii")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not a certificate: restore it.") from None
    try:
        its_id, sealing_key = id_of_certificate(certificate), sealing_key_of(certificate)
    except InputError as problem:
        raise problem.at(file) from None
    static = static_key(key)
    is_its_own = sealing_key == static.public_key().public_bytes_raw()
    if its_id != id_of_key(key.public_key()) or not is_its_own:
        raise InputError(f"{file} does not belong to the key beside it: restore the two together.")
    return Identity(
        its_id,
        name_in_certificate(certificate),
        certificate,
        key.sign,
        lambda public: static.exchange(X25519PublicKey.from_public_bytes(public)),
    )


def missing_file(file: Path) -> InputError:
    """Return the error for a missing file of a peer's folder."""
    return InputError(f"{file.name} is missing in {file.parent}: restore it.")


def write_new(file: Path, content: bytes, mode: int) -> None:
    """Write a file that must not exist yet; it has its permissions from the first byte on."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "wb") as opened:
            os.fchmod(descriptor, mode)
            opened.write(content)
            opened.flush()
            sync_descriptor(descriptor)
    except FileExistsError:
        raise InputError(f"{file} exists already: choose another folder.") from None
    except OSError as problem:
        raise unwritable(file, problem) from None


def _load_key(file: Path) -> Ed25519PrivateKey:
    try:
        with open(file, "rb") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            if mode & 0o077:
                refuse_open_link("The key", file)
                raise InputError(f"Others can read the key {file}: run chmod 600 {file}")
            content = opened.read(1 << 16)
    except FileNotFoundError:
        raise missing_file(file) from None
    except OSError as problem:
        raise InputError(f"Cannot read the key {file}: {problem.strerror}.") from None
    # For a damaged key, the library raises a dozen unrelated classes, even its InternalError.
    with contextlib.suppress(Exception):
        key = load_pem_private_key(content, password=None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise InputError(f"{file} is not an Ed25519 key: restore the file that peer init wrote.")
