"""Certificates, which hold a peer's public keys, id and name, and the sealing of frames to them.

The id is the hash of the public key, so it outlives a renewed certificate. The certificate's
common name is the id, because the network's access rules go by common names.

Only the receiver of a sealed frame can open it, even if others get the frame. In addition to its
Ed25519 key, every peer has a static X25519 key, derived from the same secret, so that there is one
file to keep. Its public part is in an extension of the certificate. A sender draws another X25519
key whenever it opens its network. This key and the receiver's static key give the key that seals
frames to that receiver, with ChaCha20-Poly1305; the nonce is a count, so it never comes twice under
one key. The seal does not show the sender of a frame, but the signature does: see
`pairgossip.peer.links.zenoh_link`.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pairgossip.errors import InputError

LARGEST_CERTIFICATE = 4096
"""Largest number of characters of a certificate in PEM; a longer one is refused."""
_MOST_REMEMBERED = 1 << 14
"""Number of decoded certificates to keep: more than the members, all of which are checked often."""
_CLOCK_SKEW = datetime.timedelta(days=1)
"""Time by which a certificate is valid before it is made, for members with slow clocks."""
_SEALING_KEY = "2.25.45210410215305739811610708537868535528"
"""Identifier of the extension with the X25519 key, made of a random UUID."""
_OCTETS = b"\x04\x20"
"""Header of 32 bytes in DER, the encoding of extensions' values."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,32}")
_ID = re.compile(r"[0-9a-f]{64}")


def is_name(name: str) -> bool:
    """Return whether a text can be a peer's name: short, plain, and not a path."""
    return _NAME.fullmatch(name) is not None and set(name) != {"."}


def check_name(name: str) -> str:
    """Return a peer's name; raise `InputError` if it is not valid."""
    if not is_name(name):
        raise InputError(
            f"{name[:64]!r} is not a name for a peer: use 1 to 32 letters, digits, dots, dashes "
            f"and underscores."
        )
    return name


def is_id(text: str) -> bool:
    """Return whether a text has the form of a peer's id."""
    return _ID.fullmatch(text) is not None


class _Contents(NamedTuple):
    """The contents of a certificate, all read at once."""

    key: Ed25519PublicKey
    common_name: str
    names: tuple[str, ...]
    is_authority: bool
    start: datetime.datetime
    expiry: datetime.datetime
    is_own: bool
    """Whether it is signed by its own key."""
    sealing_key: bytes | None


def id_of_certificate(pem: str) -> str:
    """Return the id in a peer's certificate; raise `InputError` if it is not a peer's."""
    contents = _read(pem)
    id_of_its_key = id_of_key(contents.key)
    if contents.common_name != id_of_its_key:
        raise InputError("The certificate's common name is not the id of its key: make it again.")
    if contents.is_authority:
        raise InputError("The certificate is one of an authority, not of a peer: make it again.")
    if not contents.is_own:
        raise InputError("The certificate is not signed by its own key: make it again.")
    return id_of_its_key


def check_relay_certificate(pem: str) -> str:
    """Return a relay's certificate, which names no peer; raise `InputError` if it is invalid."""
    contents = _read(pem)
    if contents.is_authority or not contents.is_own:
        raise InputError(
            "The certificate is one of an authority, or signed by one: make one for the relay "
            "alone, with CA:FALSE and signed by its own key."
        )
    return pem


def sealing_key_of(pem: str) -> bytes:
    """Return the public X25519 key to which frames for the holder of a certificate are sealed."""
    key = _read(pem).sealing_key
    if key is None:
        raise InputError("The certificate has no key to seal frames to: make it again.")
    return key


def name_in_certificate(pem: str) -> str:
    """Return the peer's name in its certificate."""
    names = _read(pem).names
    if len(names) != 1:
        raise InputError("The certificate names no peer: make it again.")
    return check_name(names[0])


def start(pem: str) -> datetime.datetime:
    """Return the time at which a certificate becomes valid."""
    return _read(pem).start


def is_early(pem: str) -> bool:
    """Return whether a certificate is not valid yet: a clock is wrong, here or at its peer."""
    return start(pem) > datetime.datetime.now(datetime.UTC)


def expiry(pem: str) -> datetime.datetime:
    """Return the time at which a certificate expires."""
    return _read(pem).expiry


def is_expired(pem: str) -> bool:
    """Return whether a certificate has expired."""
    return expiry(pem) <= datetime.datetime.now(datetime.UTC)


def is_signed(pem: str, payload: bytes, signature: bytes) -> bool:
    """Return whether the holder of a certificate's key has signed a payload."""
    try:
        _read(pem).key.verify(signature, payload)
    except InvalidSignature:
        return False
    return True


def make_certificate(
    key: Ed25519PrivateKey, sealing: X25519PublicKey, name: str, years: int
) -> x509.Certificate:
    """Make a self-signed certificate."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, id_of_key(key.public_key()))])
    now = datetime.datetime.now(datetime.UTC)
    sealing_key = x509.UnrecognizedExtension(
        x509.ObjectIdentifier(_SEALING_KEY), _OCTETS + sealing.public_bytes_raw()
    )
    both_ways = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + datetime.timedelta(days=round(365.25 * years)))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(both_ways), critical=False)
        .add_extension(sealing_key, critical=False)
        .sign(key, algorithm=None)
    )


def id_of_key(key: Ed25519PublicKey) -> str:
    """Return the id of a public key."""
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


@lru_cache(maxsize=_MOST_REMEMBERED)
def _read(pem: str) -> _Contents:
    if len(pem) > LARGEST_CERTIFICATE:
        raise InputError("The certificate is too long to be one of a peer's.")
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        key = certificate.public_key()
        names, is_authority, sealing_key = _extensions(certificate)
        common_names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        common_name = str(common_names[0].value) if len(common_names) == 1 else ""
        since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        is_own = _is_own(certificate)
        whole = certificate.public_bytes(Encoding.PEM).decode()
    except Exception:
        # The library reads parts only when they are used, and raises a dozen unrelated classes.
        raise InputError("The certificate cannot be read: it must be PEM text.") from None
    # TLS trusts every certificate in the text, of which only the first was read.
    if pem.strip() != whole.strip():
        raise InputError("The certificate has other text before, in or after it: remove that.")
    if not isinstance(key, Ed25519PublicKey):
        raise InputError("The certificate's key is not of the Ed25519 type that peers have.")
    return _Contents(key, common_name, names, is_authority, since, until, is_own, sealing_key)


def _is_own(certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(certificate)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _extensions(certificate: x509.Certificate) -> tuple[tuple[str, ...], bool, bytes | None]:
    names: tuple[str, ...] = ()
    is_authority = False
    sealing_key: bytes | None = None
    for extension in certificate.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            names = tuple(extension.value.get_values_for_type(x509.DNSName))
        if isinstance(extension.value, x509.BasicConstraints):
            is_authority = extension.value.ca
        is_ours = extension.oid.dotted_string == _SEALING_KEY
        if is_ours and isinstance(extension.value, x509.UnrecognizedExtension):
            sealing_key = _usable(extension.value.value)
    return names, is_authority, sealing_key


def _usable(value: bytes) -> bytes | None:
    """Return the X25519 key in an extension; None if it cannot give a shared secret."""
    public = value.removeprefix(_OCTETS)
    try:
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        return None
    return public


Agree = Callable[[bytes], bytes]
"""``agree(public_key)``: return the secret that a static key shares with another key."""

_KEY_PURPOSE = b"pairgossip sealing key 1"
_FRAME_PURPOSE = b"pairgossip sealed frame 1\x00"
_PUBLIC_KEY = 32
_COUNT = 8
_TAG = 16
"""Sizes in bytes of a sealed frame's public key, count of frames, and cipher tag."""
OVERHEAD = _PUBLIC_KEY + _COUNT + _TAG
"""Number of bytes by which sealing lengthens a frame."""
_MOST_KEYS = 4
"""Largest number of keys kept of each sender, which has a new one whenever it opens its network."""


def static_key(identity: Ed25519PrivateKey) -> X25519PrivateKey:
    """Return the X25519 key that belongs to a peer's Ed25519 key."""
    return X25519PrivateKey.from_private_bytes(
        _derive(identity.private_bytes_raw(), _KEY_PURPOSE, salt=None)
    )


def _derive(secret: bytes, purpose: bytes, salt: bytes | None) -> bytes:
    """Return a key of 32 bytes for one purpose; keys for different purposes are unrelated."""
    return HKDF(SHA256(), _PUBLIC_KEY, salt, purpose).derive(secret)


class Sealer:
    """Seals frames that one peer sends, with a different key for each receiver."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._key = X25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes_raw()
        self._counts = itertools.count()
        self._ciphers: dict[str, ChaCha20Poly1305] = {}

    def seal(self, to: str, certificate: str, frame: bytes) -> bytes:
        """Return a frame that only the peer with this id and certificate can open."""
        cipher = self._ciphers.get(to)
        if cipher is None:
            theirs = X25519PublicKey.from_public_bytes(sealing_key_of(certificate))
            cipher = _cipher(self._key.exchange(theirs), self._me, to, self._public)
            self._ciphers[to] = cipher
        count = next(self._counts).to_bytes(_COUNT)
        return self._public + count + cipher.encrypt(_nonce(count), frame, None)


class Opener:
    """Opens frames that are sealed to one peer."""

    def __init__(self, me: str, agree: Agree) -> None:
        self._me = me
        self._agree = agree
        self._ciphers: dict[str, dict[bytes, ChaCha20Poly1305]] = {}
        self._lock = threading.Lock()

    def open(self, sender: str, sealed: bytes) -> bytes | None:
        """Return the frame that a sender has sealed to this peer; None if it cannot be opened."""
        if len(sealed) < OVERHEAD:
            return None
        public, count = sealed[:_PUBLIC_KEY], sealed[_PUBLIC_KEY : _PUBLIC_KEY + _COUNT]
        try:
            cipher = self._cipher_of(sender, public)
            return cipher.decrypt(_nonce(count), sealed[_PUBLIC_KEY + _COUNT :], None)
        except (InvalidTag, ValueError):  # ValueError: a public key without a shared secret
            return None

    def _cipher_of(self, sender: str, public: bytes) -> ChaCha20Poly1305:
        ciphers = self._ciphers.get(sender, {})
        if public in ciphers:
            return ciphers[public]
        cipher = _cipher(self._agree(public), sender, self._me, public)
        with self._lock:
            latest = {public: cipher, **self._ciphers.get(sender, {})}
            self._ciphers[sender] = dict(itertools.islice(latest.items(), _MOST_KEYS))
        return cipher


def _cipher(secret: bytes, sender: str, to: str, public: bytes) -> ChaCha20Poly1305:
    between = _FRAME_PURPOSE + f"{sender}/{to}".encode()
    return ChaCha20Poly1305(_derive(secret, between, salt=public))


def _nonce(count: bytes) -> bytes:
    return bytes(12 - _COUNT) + count
