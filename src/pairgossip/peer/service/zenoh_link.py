"""Frames between neighbors over Eclipse Zenoh.

Every frame is sealed to its receiver and signed by its sender: see
`pairgossip.peer.identity.access` for why. Frames may be lost, also on purpose when too many come at
once: the exchange survives that.

On the network a frame is a byte that tells the version, the signature, and what is sealed. Version
and signature keep their places in all versions to come, and the signature covers what follows and
the version. So a peer knows for certain that a neighbor speaks another version, whatever else has
changed, and says so instead of misunderstanding it.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.peer.identity.access import (
    OVERHEAD,
    SIGNATURE,
    VERSION_BYTES,
    Neighbor,
    Site,
    configuration,
    inbox_of,
    key_between,
)
from pairgossip.peer.identity.certificates import Opener, Sealer, is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.protocol.messages import VERSION

if TYPE_CHECKING:
    from zenoh import Sample, Session


OnFrame = Callable[[str, bytes], None]
"""``on_frame(sender, frame)``, called in a thread of Zenoh's."""

_PURPOSE = b"pairgossip frame\x00"
_LONGEST_REOPENING = 5.0
"""Seconds until the port of the session before is free again."""


class Inbox:
    """Frames that wait for the peer's own thread; when it is full, more are dropped."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        # Unlike Queue, it may be filled by a handler of signals at any moment.
        self._queue: SimpleQueue[tuple[str, bytes] | None] = SimpleQueue()
        self.dropped = 0

    def put(self, sender: str, frame: bytes) -> None:
        """Add a frame, unless too many wait already."""
        if self._queue.qsize() >= self._size:
            self.dropped += 1
        else:
            self._queue.put((sender, frame))

    def wake(self) -> None:
        """Make `get` return at once."""
        self._queue.put(None)

    def get(self, timeout: float) -> tuple[str, bytes] | None:
        """Return the next frame and its sender, or None after a while or when woken."""
        try:
            return self._queue.get(timeout=timeout) if timeout > 0 else self._queue.get_nowait()
        except Empty:
            return None


class ZenohLink:
    """The way to the neighbors, as `pairgossip.peer.service.runtime.Link`."""

    def __init__(self, site: Site, identity: Identity, on_frame: OnFrame) -> None:
        self._sign = identity.sign
        self._on_frame = on_frame
        self._opener = Opener(site.me, identity.agree)
        self._counting = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._others: dict[str, int] = {}
        self._session: Session | None = None
        self._open(site)

    def send(self, to: str, frame: bytes) -> None:
        """Seal, sign and send a frame without waiting; it may be lost."""
        certificate = self._certificates.get(to)
        if certificate is None or self._session is None:
            self._count("frames not sent: neighbor shut out")
            return
        me = self._site.me
        sealed = self._sealer.seal(to, certificate, frame)
        signature = self._sign(signed_part(me, to, VERSION, sealed))
        whole = b"".join((bytes([VERSION]), signature, sealed))
        self._session.put(key_between(me, to), whole, **self._options)  # type: ignore[arg-type]
        self._count("frames sent", len(frame))

    def counts(self) -> Counter[str]:
        """Return what has happened, by name."""
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

    def reopen(self, neighbors: Sequence[Neighbor]) -> None:
        """Begin a new session with these neighbors, and end the one before with all it holds.

        Frames on their way are lost. Without neighbors there is no session.
        """
        self.close()
        site = dataclasses.replace(self._site, neighbors=neighbors)
        end = time.monotonic() + _LONGEST_REOPENING
        while True:
            try:
                self._open(site)
                return
            except InputError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def close(self) -> None:
        """Disconnect."""
        session, self._session = self._session, None
        if session is not None:
            session.close()  # type: ignore[no-untyped-call]

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
            self._count("frames refused: too long")
            return
        _, to, sender = str(sample.key_expr).split("/")
        content = bytes(sample.payload)
        known = self._certificates.get(sender)
        if known is None or not _is_genuine(known, sender, to, content):
            self._count("frames refused: not signed by their sender")
            return
        if content[0] != VERSION:
            self._others[sender] = content[0]
            self._count("frames refused: another version")
            return
        self._others.pop(sender, None)
        frame = self._opener.open(sender, content[VERSION_BYTES + SIGNATURE :])
        if frame is None:
            self._count("frames refused: not sealed to this peer")
            return
        self._count("frames received", len(frame))
        self._on_frame(sender, frame)

    def _count(self, event: str, size: int | None = None) -> None:
        with self._counting:
            self._counts[event] += 1
            if size is not None:
                self._counts[f"bytes in {event}"] += size + OVERHEAD


def signed_part(sender: str, to: str, version: int, sealed: bytes) -> bytes:
    """Return what the sender of a frame signs: the receiver too, so that nobody can pass it on."""
    return b"%b%c%b/%b\x00%b" % (_PURPOSE, version, sender.encode(), to.encode(), sealed)


def _is_genuine(certificate: str, sender: str, to: str, content: bytes) -> bool:
    """Whether a frame is signed by its sender for its receiver, in whatever version."""
    start = VERSION_BYTES + SIGNATURE
    if len(content) < start:
        return False
    signature, sealed = content[VERSION_BYTES:start], content[start:]
    return is_signed(certificate, signed_part(sender, to, content[0], sealed), signature)


def _sentence(problem: str, site: Site) -> InputError:
    """Say what keeps Zenoh from opening."""
    place = (site.listen or "").removeprefix("tls/")
    known = {
        "Address already in use": f"{place} is in use by another program: stop it, or give another"
        " port in peer.toml",
        "Permission denied": f"{place} may not be opened: use a port above 1023 in peer.toml",
        "Cannot assign requested address": f"{place} is no address of this machine: give one that"
        " is, or 0.0.0.0 for all, in peer.toml",
    }
    for sign, sentence in known.items():
        if sign in problem:
            return InputError(f"Cannot listen: {sentence}.")
    cause = " ".join(problem.split(" at /")[0].split())
    return InputError(f"Cannot open the network: {cause[:300].rstrip('.')}.")
