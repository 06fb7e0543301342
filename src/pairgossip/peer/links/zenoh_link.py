"""Frames between neighbors over Eclipse Zenoh, and the rules for connections and frames.

Everything is refused by default. There are four layers of protection:

- TLS 1.3 both ways, which trusts only the certificates of neighbors. Evicted neighbors and those
  whose certificates have expired are not among them: see `admissible`.
- Rules on certificates' common names, which are ids: a neighbor ``b`` may only put frames at
  ``pairgossip/<me>/<b>``, and gets only those at ``pairgossip/<b>/<me>``; nothing else passes.
- A signature on every frame. TLS accepts anything that a trusted key has signed, so a neighbor
  could issue a certificate in another neighbor's name, even long after its own has expired. The
  first two layers let it pass; the third refuses its frames.
- A seal on every frame (`peer.identity.certificates`), so that such a neighbor cannot read the
  frames for the other, either.

Peers are not searched for: all addresses are in the list of members. Frames may be lost, and some
are dropped if too many arrive at once; exchanges survive that.

On the network a frame is a byte with the version, the signature, and the sealed content. Version
and signature will keep their places in all versions, and the signature covers the version and the
sealed content. So a peer recognizes for certain that a neighbor uses another version, after any
other change, and reports that instead of misunderstanding the frame.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InputError, needed_for
from pairgossip.peer.identity import certificates
from pairgossip.peer.identity.certificates import Opener, Sealer, is_expired, is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Member
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import VERSION
from pairgossip.text import TLS, parse_address

if TYPE_CHECKING:
    from zenoh import Sample, Session


_LEASE = 3_000
"""Longest silence of a neighbor, in milliseconds; then it is disconnected."""
_LONGEST_HANDSHAKE = 5_000
"""Largest time of a handshake, in milliseconds; then the connection is closed."""
_HEADER = 1 + 64
"""Number of bytes of the version and an Ed25519 signature."""
OVERHEAD = _HEADER + certificates.OVERHEAD
"""Number of bytes by which a frame is longer on the network."""
_SLACK = 1024
"""Number of further bytes that Zenoh may add to a frame."""
_PURPOSE = b"pairgossip frame\x00"
_BYTES = {Event.FRAME_SENT: Event.BYTES_SENT, Event.FRAME_RECEIVED: Event.BYTES_RECEIVED}
"""Events of frames, with the counters of their bytes."""
_MOST_WAITING = 1 << 26
"""Largest size of all frames in the inbox, in bytes; further ones are dropped, and sent again."""
_LONGEST_REOPENING = 15.0
"""Largest wait for the end of the old session, and then for its port, in seconds; then it fails."""
_LONGEST_CLOSING = 0.5
"""Largest wait of a stopping peer, in seconds; Zenoh waits up to 10 for an absent neighbor."""

OnFrame = Callable[[str, bytes], None]
"""``on_frame(sender, frame)``, called in a thread of Zenoh's."""


@dataclass(frozen=True)
class Site:
    """A peer's address and files, and the neighbors that may connect."""

    me: str
    neighbors: Sequence[Member]
    certificate: Path
    key: Path
    listen: str | None = None
    """The address at which the peer listens; None if only it connects to others."""
    longest_frame: int = 1 << 17


def admissible(neighbors: Sequence[Member], evicted: Collection[str]) -> tuple[Member, ...]:
    """Return the neighbors that may connect now: neither evicted nor expired.

    Those whose certificates are not valid yet are included: they connect once the clocks agree.
    """
    return tuple(
        one for one in neighbors if one.id not in evicted and not is_expired(one.certificate)
    )


def inbox_of(peer: str) -> str:
    """Return the Zenoh keys to which a peer listens."""
    return f"pairgossip/{peer}/*"


def key_between(sender: str, to: str) -> str:
    """Return the Zenoh key at which one peer puts frames for another."""
    return f"pairgossip/{to}/{sender}"


def configuration(site: Site) -> dict[str, Any]:
    """Return Zenoh's configuration of a peer."""
    if not site.neighbors:  # an empty list would make Zenoh trust every public authority
        raise InputError("This peer has no neighbors: add one with pairgossip peer join.")
    # The deadline is for connections on which nothing is sent.
    listen = f"{site.listen}#tls_handshake_timeout_ms={_LONGEST_HANDSHAKE}"
    return {
        "mode": "peer",
        "listen": {
            "endpoints": [] if site.listen is None else [listen],
            "exit_on_failure": True,
            "timeout_ms": 0,
        },
        "connect": {
            "endpoints": [one.address for one in site.neighbors if one.address is not None],
            "exit_on_failure": False,
            "timeout_ms": -1,  # forever: a neighbor may come up tomorrow
            "retry": {"period_init_ms": 250, "period_max_ms": 4_000, "period_increase_factor": 2},
        },
        "scouting": {"delay": 0, "multicast": {"enabled": False}, "gossip": {"enabled": False}},
        "open": {"return_conditions": {"connect_scouted": False, "declares": False}},
        "adminspace": {"enabled": False},
        "plugins_loading": {"enabled": False},
        "access_control": access_control(site.me, [one.id for one in site.neighbors]),
        "transport": {
            "shared_memory": {"enabled": False},
            "unicast": {
                "accept_timeout": _LONGEST_HANDSHAKE,
                "open_timeout": _LONGEST_HANDSHAKE,
                "compression": {"enabled": False},
            },
            "link": {
                "protocols": ["tls"],
                "tx": {"lease": _LEASE, "keep_alive": 4},
                "rx": {"max_message_size": site.longest_frame + OVERHEAD + _SLACK},
                "tls": _tls(site),
            },
        },
    }


def access_control(me: str, neighbors: Sequence[str]) -> dict[str, Any]:
    """Return the access rules: only frames between this peer and each neighbor may pass."""
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": [rule for neighbor in neighbors for rule in _rules(me, neighbor)],
        "subjects": [{"id": one, "cert_common_names": [one]} for one in neighbors],
        "policies": [
            {"rules": [rule["id"] for rule in _rules(me, one)], "subjects": [one]}
            for one in neighbors
        ],
    }


def _rules(me: str, neighbor: str) -> list[dict[str, Any]]:
    inbox, own = inbox_of(neighbor), inbox_of(me)
    return [
        allow(f"hear {neighbor}", "ingress", ["put"], key_between(neighbor, me)),
        allow(f"say {neighbor}", "egress", ["put"], key_between(me, neighbor)),
        allow(f"learn what it listens to {neighbor}", "ingress", ["declare_subscriber"], inbox),
        allow(f"tell what I listen to {neighbor}", "egress", ["declare_subscriber"], own),
    ]


def allow(name: str, flow: str, messages: Sequence[str], *keys: str) -> dict[str, Any]:
    """Return a Zenoh rule with a name, which lets messages about some keys pass."""
    return {
        "id": name,
        "permission": "allow",
        "flows": [flow],
        "messages": list(messages),
        "key_exprs": list(keys),
    }


def _tls(site: Site) -> dict[str, Any]:
    trusted = "\n".join(one.certificate.strip() for one in site.neighbors) + "\n"
    return {
        "root_ca_certificate_base64": base64.b64encode(trusted.encode()).decode(),
        "listen_certificate": str(site.certificate),
        "listen_private_key": str(site.key),
        "connect_certificate": str(site.certificate),
        "connect_private_key": str(site.key),
        "enable_mtls": True,
        "verify_name_on_connect": False,  # a peer is its key, wherever it is
        "close_link_on_expiration": True,
    }


class Inbox:
    """Frames that wait for the peer's own thread; a full inbox drops further ones."""

    def __init__(self, size: int = 1024, longest: int = _MOST_WAITING) -> None:
        self._size, self._longest = size, longest
        self._putting = threading.Lock()
        self._put = self._got = 0
        """The total sizes of frames that were put in and taken out, in bytes."""
        # Unlike with Queue, a signal handler may put something into it at any moment.
        self._queue: SimpleQueue[tuple[str, bytes] | None] = SimpleQueue()
        self.dropped = 0

    def put(self, sender: str, frame: bytes) -> None:
        """Add a frame; drop it if too many wait already."""
        with self._putting:
            waiting = self._put - self._got
            if self._queue.qsize() >= self._size or waiting > self._longest:
                self.dropped += 1
                return
            self._put += len(frame)
        self._queue.put((sender, frame))

    def wake(self) -> None:
        """Make `get` return at once."""
        self._queue.put(None)

    def get(self, timeout: float) -> tuple[str, bytes] | None:
        """Return the next frame and its sender; None after a timeout, or after `wake`."""
        try:
            next_ = self._queue.get(timeout=timeout) if timeout > 0 else self._queue.get_nowait()
        except Empty:
            return None
        self._got += 0 if next_ is None else len(next_[1])
        return next_


class ZenohLink:
    """The connection to the neighbors, a `pairgossip.peer.service.runtime.Link`."""

    def __init__(self, site: Site, identity: Identity, on_frame: OnFrame) -> None:
        self._sign = identity.sign
        self._on_frame = on_frame
        self._opener = Opener(site.me, identity.agree)
        self._counting = threading.Lock()
        self._counts: Counter[Event] = Counter()
        self._others: dict[str, int] = {}
        self._session: Session | None = None
        self._open(site)

    def send(self, to: str, frame: bytes) -> None:
        """Seal, sign and send a frame without waiting; it may be lost."""
        certificate = self._certificates.get(to)
        if certificate is None or self._session is None:
            self._count(Event.FRAME_NOT_SENT)
            return
        me = self._site.me
        sealed = self._sealer.seal(to, certificate, frame)
        signature = self._sign(signed_part(me, to, VERSION, sealed))
        whole = b"".join((bytes([VERSION]), signature, sealed))
        self._session.put(key_between(me, to), whole, **self._options)  # type: ignore[arg-type]
        self._count(Event.FRAME_SENT, len(whole))

    def counts(self) -> Counter[Event]:
        """Return the number of events of each kind."""
        with self._counting:
            return Counter(self._counts)

    def connected(self) -> set[str]:
        """Return the neighbors that are connected; a hint, for display."""
        if self._session is None:
            return set()
        return {
            link.auth_identifier
            for link in self._session.info.links()
            if link.auth_identifier in self._certificates
        }

    def other_versions(self) -> dict[str, int]:
        """Return the neighbors whose last frame had another version, with that version."""
        others = dict(self._others)  # a thread of Zenoh's may change it meanwhile
        return {one: version for one, version in others.items() if one in self._certificates}

    def reopen(self, neighbors: Sequence[Member]) -> None:
        """End the session with all its resources, and begin a new one with these neighbors.

        Frames on their way are lost. Without neighbors there is no session.
        """
        self.close(_LONGEST_REOPENING)  # so that its descriptors are closed first
        site = replace(self._site, neighbors=neighbors)
        end = time.monotonic() + _LONGEST_REOPENING
        while True:
            try:
                self._open(site)
                return
            except InputError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def close(self, longest: float = _LONGEST_CLOSING) -> None:
        """Disconnect; if a neighbor that is out of reach delays that, it ends in the background."""
        session, self._session = self._session, None
        if session is not None:
            closing = threading.Thread(target=_end, args=(session,), daemon=True)
            closing.start()
            closing.join(longest)

    def _open(self, site: Site) -> None:
        with needed_for("A peer", "pairgossip"):
            import zenoh

        self._site = site
        self._certificates = {one.id: one.certificate for one in site.neighbors}
        self._sealer = Sealer(site.me)
        self._options = {
            "congestion_control": zenoh.CongestionControl.DROP,
            "express": True,  # sent at once, not in a batch: the other side waits for it
        }
        if not site.neighbors:
            return
        try:
            config = zenoh.Config.from_json5(json.dumps(configuration(site)))
            self._session = session = zenoh.open(config)
            self._subscriber = session.declare_subscriber(inbox_of(site.me), self._take)
        except zenoh.ZError as problem:
            self.close()
            raise _opening_error(str(problem), site.listen) from None

    def _take(self, sample: Sample) -> None:
        size = len(sample.payload) - OVERHEAD
        if size > self._site.longest_frame:  # before anything is copied
            self._count(Event.FRAME_TOO_LONG)
            return
        _, to, sender = str(sample.key_expr).split("/")
        content = bytes(sample.payload)
        certificate = self._certificates.get(sender)
        if certificate is None or not _is_genuine(certificate, sender, to, content):
            self._count(Event.FRAME_NOT_SIGNED)
            return
        if content[0] != VERSION:
            self._others[sender] = content[0]
            self._count(Event.FRAME_OF_OTHER_VERSION)
            return
        self._others.pop(sender, None)
        frame = self._opener.open(sender, content[_HEADER:])
        if frame is None:
            self._count(Event.FRAME_NOT_SEALED)
            return
        self._count(Event.FRAME_RECEIVED, len(content))
        self._on_frame(sender, frame)

    def _count(self, event: Event, size: int = 0) -> None:
        """Count an event, and the bytes of a frame that was sent or received."""
        with self._counting:
            self._counts[event] += 1
            if (in_bytes := _BYTES.get(event)) is not None:
                self._counts[in_bytes] += size


def _end(session: Session) -> None:
    from zenoh import ZError

    with suppress(ZError):  # it took too long, and nobody waits for it any more
        session.close()  # type: ignore[no-untyped-call]


def signed_part(sender: str, to: str, version: int, sealed: bytes) -> bytes:
    """Return the bytes to sign for a frame; as they name the receiver, nobody can pass it on."""
    return b"%b%c%b/%b\x00%b" % (_PURPOSE, version, sender.encode(), to.encode(), sealed)


def _is_genuine(certificate: str, sender: str, to: str, content: bytes) -> bool:
    """Return whether a frame of any version is signed by its sender for its receiver."""
    if len(content) < _HEADER:
        return False
    signature, sealed = content[1:_HEADER], content[_HEADER:]
    return is_signed(certificate, signed_part(sender, to, content[0], sealed), signature)


def check_place(listen: str) -> None:
    """Raise `InputError` if this machine does not let a peer listen there.

    A peer without neighbors opens nothing yet, and one with neighbors tries for long.
    """
    host, port = parse_address(listen, TLS) or ("", 0)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found[:1]:  # as Zenoh listens at the first alone
            with socket.socket(family, kind, protocol) as place:
                place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                place.bind(address)
                place.listen()
    except (socket.gaierror, UnicodeError):  # UnicodeError: a label that no name can have
        raise InputError(
            f"Cannot listen: the name {host[:64]} does not resolve on this machine: give one of "
            "this machine's addresses, or 0.0.0.0 for all, in peer.toml."
        ) from None
    except OSError as problem:
        raise _opening_error(str(problem), listen) from None


def _opening_error(problem: str, listen: str | None) -> InputError:
    """Return the error for a problem that keeps Zenoh from opening."""
    place = (listen or "").removeprefix(TLS)
    sentences = {
        "Address already in use": f"{place} is in use by another program: stop it, or give another"
        " port in peer.toml",
        "Permission denied": f"{place} may not be opened: use a port above 1023 in peer.toml",
        "Cannot assign requested address": f"{place} is not an address of this machine: give one "
        "that is, or 0.0.0.0 for all, in peer.toml",
    }
    for sign, sentence in sentences.items():
        if sign in problem:
            return InputError(f"Cannot listen: {sentence}.")
    cause = " ".join(problem.split(" at /")[0].split())
    return InputError(f"Cannot open the network: {cause[:300].rstrip('.')}.")
