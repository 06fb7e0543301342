"""Frames between neighbors over Eclipse Zenoh.

Every frame is signed by its sender, for its receiver: see `pairgossip.peer.access` for why. Frames
may be lost, also on purpose when too many come at once: the exchange survives that.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.peer.access import Site, configuration, inbox_of, key_between
from pairgossip.peer.certificates import is_signed
from pairgossip.peer.records import Sign

if TYPE_CHECKING:
    from zenoh import Sample

OnFrame = Callable[[str, bytes], None]
"""``on_frame(sender, frame)``, called in a thread of Zenoh's."""

PURPOSE = b"pairgossip frame 1\x00"
SIGNATURE = 64
"""The length of an Ed25519 signature."""


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
    """The way to the neighbors, as `pairgossip.peer.runtime.Link`.

    Parameters
    ----------
    site
        Where this peer is, and who its neighbors are.
    sign
        Signs with the key of ``site.me``.
    on_frame
        Takes what neighbors send.
    """

    def __init__(self, site: Site, sign: Sign, on_frame: OnFrame) -> None:
        with needed_for("A peer", "pairgossip"):
            import zenoh

        self._site = site
        self._sign = sign
        self._on_frame = on_frame
        self._certificates = {one.id: one.certificate for one in site.neighbors}
        self._counting = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._options = {
            "congestion_control": zenoh.CongestionControl.DROP,
            "express": True,  # a frame on its own, now: the other side waits for it
        }
        try:
            config = zenoh.Config.from_json5(json.dumps(configuration(site)))
            self._session = zenoh.open(config)
            self._subscriber = self._session.declare_subscriber(inbox_of(site.me), self._take)
        except zenoh.ZError as problem:
            raise _sentence(str(problem), site) from None

    def send(self, to: str, frame: bytes) -> None:
        """Sign and send a frame without waiting; it may be lost."""
        signature = self._sign(signed_part(self._site.me, to, frame))
        key = key_between(self._site.me, to)
        self._session.put(key, signature + frame, **self._options)  # type: ignore[arg-type]
        self._count("frames sent", len(frame))

    def counts(self) -> Counter[str]:
        """Return what has happened, by name."""
        with self._counting:
            return Counter(self._counts)

    def connected(self) -> set[str]:
        """Return the neighbors with whom there is a connection; a hint, for display."""
        return {
            link.auth_identifier
            for link in self._session.info.links()
            if link.auth_identifier in self._certificates
        }

    def close(self) -> None:
        """Disconnect."""
        self._session.close()  # type: ignore[no-untyped-call]

    def _take(self, sample: Sample) -> None:
        size = len(sample.payload) - SIGNATURE
        if size > self._site.longest_frame:  # before anything is copied
            self._count("frames refused: too long")
            return
        _, to, sender = str(sample.key_expr).split("/")
        known = self._certificates.get(sender)
        content = bytes(sample.payload)
        signature, frame = content[:SIGNATURE], content[SIGNATURE:]
        if known is None or not is_signed(known, signed_part(sender, to, frame), signature):
            self._count("frames refused: not signed by their sender")
            return
        self._count("frames received", size)
        self._on_frame(sender, frame)

    def _count(self, event: str, size: int | None = None) -> None:
        with self._counting:
            self._counts[event] += 1
            if size is not None:
                self._counts[f"bytes in {event}"] += size + SIGNATURE


def signed_part(sender: str, to: str, frame: bytes) -> bytes:
    """What the sender of a frame signs: with the receiver, so that nobody can pass it on."""
    return b"".join((PURPOSE, sender.encode(), b"/", to.encode(), b"\x00", frame))


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
