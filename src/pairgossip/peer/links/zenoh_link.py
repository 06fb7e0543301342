"""Frames between neighbors over Eclipse Zenoh: who may connect, and what each may say.

Everything is refused by default. Four locks, one behind the other:

- TLS 1.3 both ways, trusting the certificates of the neighbors and no other. Evicted neighbors and
  those whose certificates have expired are not among them: see `admissible`.
- Rules on certificates' common names, which are ids: from the neighbor ``b`` only what it puts at
  ``pairgossip/<me>/<b>``, to it only what is put at ``pairgossip/<b>/<me>``; nothing else passes.
- A signature on every frame. TLS takes whatever a trusted key has signed, so a neighbor could issue
  a certificate in another neighbor's name, also a long time after its own has expired. The first
  two locks let that through; what it says is refused by the third.
- A seal on every frame (`peer.identity.certificates`), so that such a neighbor cannot read what is
  meant for the other either.

Nothing looks for peers by itself: addresses are those that were given. Frames may be lost, also on
purpose when too many come at once: the exchange survives that.

On the network a frame is a byte that tells the version, the signature, and what is sealed. Version
and signature keep their places in all versions to come, and the signature covers what follows and
the version. So a peer knows for certain that a neighbor speaks another version, whatever else has
changed, and says so instead of misunderstanding it.
"""

from __future__ import annotations

import base64
import json
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
from pairgossip.text import TLS

if TYPE_CHECKING:
    from zenoh import Sample, Session


_LEASE = 3_000
"""Milliseconds of silence after which a neighbor is disconnected; signs of life come more often."""
_LONGEST_HANDSHAKE = 5_000
"""Milliseconds."""
_HEADER = 1 + 64
"""Bytes of the version, and of an Ed25519 signature."""
OVERHEAD = _HEADER + certificates.OVERHEAD
"""How many bytes longer a frame is on the network."""
_SLACK = 1024
"""Room for what Zenoh adds to a frame."""
_PURPOSE = b"pairgossip frame\x00"
_BYTES = {Event.FRAME_SENT: Event.BYTES_SENT, Event.FRAME_RECEIVED: Event.BYTES_RECEIVED}
"""Frames whose bytes are counted."""
_MOST_WAITING = 1 << 26
"""Bytes of frames in the inbox; further ones are dropped, and have to be sent again."""
_LONGEST_REOPENING = 15.0
"""Seconds until the session before has ended, and then until its port is free again."""
_LONGEST_CLOSING = 0.5
"""Seconds a stopping peer waits: Zenoh waits up to 10 for a neighbor whose cable is out."""

OnFrame = Callable[[str, bytes], None]
"""``on_frame(sender, frame)``, called in a thread of Zenoh's."""


@dataclass(frozen=True)
class Site:
    """Where a peer is, and who may come."""

    me: str
    neighbors: Sequence[Member]
    certificate: Path
    key: Path
    listen: str | None = None
    """None: this peer connects to others, and nobody to it."""
    longest_frame: int = 1 << 17


def admissible(neighbors: Sequence[Member], evicted: Collection[str]) -> tuple[Member, ...]:
    """Return the neighbors that may connect now: neither evicted nor expired.

    One whose certificate is not valid yet is among them: it connects as soon as the clocks agree.
    """
    return tuple(
        one for one in neighbors if one.id not in evicted and not is_expired(one.certificate)
    )


def inbox_of(peer: str) -> str:
    """Return the keys that a peer listens to."""
    return f"pairgossip/{peer}/*"


def key_between(sender: str, to: str) -> str:
    """Return the key at which one peer puts what is meant for another."""
    return f"pairgossip/{to}/{sender}"


def configuration(site: Site) -> dict[str, Any]:
    """Return Zenoh's configuration of a peer."""
    if not site.neighbors:  # an empty list would make Zenoh trust every public authority
        raise InputError("This peer has no neighbors: add one with pairgossip peer join.")
    # With a deadline for those who connect and then say nothing.
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
    """Return the rules: everything is denied but frames between me and each neighbor."""
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
    """Return the rule of Zenoh's, under its name, that lets messages about some keys pass."""
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
    """Frames that wait for the peer's own thread; when it is full, more are dropped."""

    def __init__(self, size: int = 1024, longest: int = _MOST_WAITING) -> None:
        self._size, self._longest = size, longest
        self._putting = threading.Lock()
        self._put = self._got = 0
        """Bytes of frames that came in, and of those that have gone out again."""
        # Unlike Queue, it may be filled by a handler of signals at any moment.
        self._queue: SimpleQueue[tuple[str, bytes] | None] = SimpleQueue()
        self.dropped = 0

    def put(self, sender: str, frame: bytes) -> None:
        """Add a frame, unless too many wait already."""
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
        """Return the next frame and its sender, or None after a while or when woken."""
        try:
            next_ = self._queue.get(timeout=timeout) if timeout > 0 else self._queue.get_nowait()
        except Empty:
            return None
        self._got += 0 if next_ is None else len(next_[1])
        return next_


class ZenohLink:
    """The way to the neighbors, as `pairgossip.peer.service.runtime.Link`."""

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
        """Return what has happened."""
        with self._counting:
            return Counter(self._counts)

    def connected(self) -> set[str]:
        """Return the neighbors with whom there is a connection; a hint, for display."""
        if self._session is None:
            return set()
        return {
            link.auth_identifier
            for link in self._session.info.links()
            if link.auth_identifier in self._certificates
        }

    def other_versions(self) -> dict[str, int]:
        """Return the neighbors that speak another version, and which, as of their last frame."""
        others = dict(self._others)  # a thread of Zenoh's may change it meanwhile
        return {one: version for one, version in others.items() if one in self._certificates}

    def reopen(self, neighbors: Sequence[Member]) -> None:
        """Begin a new session with these neighbors, and end the one before with all it holds.

        Frames on their way are lost. Without neighbors there is no session.
        """
        self.close(_LONGEST_REOPENING)  # it is gone, with its descriptors, before the next begins
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
        """Disconnect; what a neighbor that is out of reach holds up for longer ends by itself."""
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
            "express": True,  # a frame on its own, now: the other side waits for it
        }
        if not site.neighbors:
            return
        try:
            config = zenoh.Config.from_json5(json.dumps(configuration(site)))
            self._session = session = zenoh.open(config)
            self._subscriber = session.declare_subscriber(inbox_of(site.me), self._take)
        except zenoh.ZError as problem:
            self.close()
            raise _sentence(str(problem), site) from None

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
        """Count a frame, and the bytes of one that has gone its way."""
        with self._counting:
            self._counts[event] += 1
            if (in_bytes := _BYTES.get(event)) is not None:
                self._counts[in_bytes] += size


def _end(session: Session) -> None:
    from zenoh import ZError

    with suppress(ZError):  # it took too long: there is nobody left to tell
        session.close()  # type: ignore[no-untyped-call]


def signed_part(sender: str, to: str, version: int, sealed: bytes) -> bytes:
    """Return what the sender of a frame signs: the receiver too, so that nobody can pass it on."""
    return b"%b%c%b/%b\x00%b" % (_PURPOSE, version, sender.encode(), to.encode(), sealed)


def _is_genuine(certificate: str, sender: str, to: str, content: bytes) -> bool:
    """Whether a frame is signed by its sender for its receiver, in whatever version."""
    if len(content) < _HEADER:
        return False
    signature, sealed = content[1:_HEADER], content[_HEADER:]
    return is_signed(certificate, signed_part(sender, to, content[0], sealed), signature)


def _sentence(problem: str, site: Site) -> InputError:
    """Say what keeps Zenoh from opening."""
    place = (site.listen or "").removeprefix(TLS)
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
