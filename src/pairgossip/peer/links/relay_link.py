"""Frames between members that cannot call each other: all connect outward, to a relay.

The relay is a router of Zenoh's, identified by its certificate. It is not trusted otherwise: frames
are sealed from member to member (`pairgossip.peer.protocol.sealing`), and its reports of members
that are present are only a hint. This peer connects to nobody else, and nobody connects to it.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.errors import needed_for
from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.relays import Relay, read_relay_certificate
from pairgossip.peer.links.zenoh_link import (
    _LONGEST_CLOSING,
    _SLACK,
    OnFrame,
    Site,
    ZenohLink,
    allow,
    configuration,
    inbox_of,
    key_between,
)
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.sealing import SealedPair, padded_size

if TYPE_CHECKING:
    from zenoh import Config, Sample

ALL_PRESENT = "pairgossip/alive/*"
"""The Zenoh keys at which members announce their presence to a relay."""
ASKING_WHO_IS_THERE = ("declare_liveliness_subscriber", "liveliness_query")
"""Zenoh's messages that ask a relay for the members that are present."""
_LONGEST_OPENING = 3_000
"""Largest time of an attempt to reach the relay, in milliseconds; then another one begins."""
_SECONDS_BETWEEN_HELLOS = 0.5
"""Least time, in seconds, between unprompted hellos to a neighbor, or attempts to connect."""
_MOST_WAITING = 4
"""Largest number of frames that wait for one neighbor's keys; with more, the oldest are lost."""
_LONGEST_WAITING = 1 << 18
"""Largest size of a frame that waits for keys, in bytes; a longer one is lost, and repeated."""


def open_link(
    site: Site, identity: Identity, on_frame: OnFrame, relay: str | None, certificate: Path
) -> ZenohLink:
    """Open the network of a peer: through the relay at an address, or directly to its neighbors."""
    if relay is None:
        return ZenohLink(site, identity, on_frame)
    return RelayLink(site, identity, on_frame, Relay(relay, read_relay_certificate(certificate)))


def presence_of(peer: str) -> str:
    """Return the Zenoh key at which a peer announces its presence to a relay."""
    return f"pairgossip/alive/{peer}"


def relayed_configuration(site: Site, relay: Relay) -> dict[str, Any]:
    """Return Zenoh's configuration of a peer that connects to a relay, not to its neighbors."""
    config = configuration(site)
    config["mode"] = "client"
    config["listen"]["endpoints"] = []
    config["connect"].update(
        endpoints=[relay.address], exit_on_failure=True, timeout_ms=_LONGEST_OPENING
    )
    config["access_control"] = _access_control(site)
    link = config["transport"]["link"]
    link["rx"]["max_message_size"] = padded_size(site.longest_frame) + _SLACK
    link["tls"]["root_ca_certificate_base64"] = base64.b64encode(
        relay.certificate.encode()
    ).decode()
    return config


def _access_control(site: Site) -> dict[str, Any]:
    """Return the access rules: only frames and announcements of presence may pass."""
    others = [one.id for one in site.neighbors]
    rules = [
        allow("hear others", "ingress", ["put"], *(key_between(one, site.me) for one in others)),
        allow("say to others", "egress", ["put"], *(key_between(site.me, one) for one in others)),
        allow("listen", "egress", ["declare_subscriber"], inbox_of(site.me)),
        allow("learn who is there", "ingress", ["liveliness_token"], *map(presence_of, others)),
        allow("be there", "egress", ["liveliness_token"], presence_of(site.me)),
        allow("ask who is there", "egress", ASKING_WHO_IS_THERE, ALL_PRESENT),
    ]
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": rules,
        "subjects": [{"id": "the relay", "link_protocols": ["tls"]}],
        "policies": [{"rules": [one["id"] for one in rules], "subjects": ["the relay"]}],
    }


class RelayLink(ZenohLink):
    """The connection to the neighbors through a relay, which may be off at first."""

    def __init__(self, site: Site, identity: Identity, on_frame: OnFrame, relay: Relay) -> None:
        self._relay = relay
        self._lock = threading.RLock()
        super().__init__(site, identity, on_frame)

    def send(self, to: str, frame: bytes) -> None:
        """Seal and send a frame without waiting; without keys, keep it until there are some."""
        with self._lock:
            pair = self._pairs.get(to)
            if pair is None:
                self._count(Event.FRAME_NOT_SENT)
            elif (sealed := pair.seal(frame)) is None:
                self._greet(to)
                if len(frame) <= _LONGEST_WAITING:
                    self._waiting[to].append(frame)
                else:
                    self._count(Event.FRAME_NOT_SENT)
            else:
                self._put(to, sealed, Event.FRAME_SENT)

    def connected(self) -> set[str]:
        """Return the neighbors that have keys and are present, as the relay reports; a hint."""
        with self._lock:
            return {one for one in self._present if self._pairs[one].has_keys}

    def close(self, longest: float = _LONGEST_CLOSING) -> None:
        """Disconnect, or stop attempts to connect."""
        with self._lock:
            self._closing.set()
        super().close(longest)

    def _open(self, site: Site) -> None:
        """Start to connect; only a few frames wait until the relay is reached."""
        with needed_for("A peer", "pairgossip"):
            import zenoh

        self._site = site
        self._certificates = {one.id: one.certificate for one in site.neighbors}
        self._options = {"congestion_control": zenoh.CongestionControl.DROP, "express": True}
        self._pairs = {
            one.id: SealedPair(site.me, one.id, self._sign, partial(is_signed, one.certificate))
            for one in site.neighbors
        }
        self._waiting = {one: deque[bytes](maxlen=_MOST_WAITING) for one in self._pairs}
        self._greeted_at = dict.fromkeys(self._pairs, 0.0)
        self._present: set[str] = set()
        self._closing = threading.Event()
        if site.neighbors:
            config = zenoh.Config.from_json5(json.dumps(relayed_configuration(site, self._relay)))
            # A thread of its own, since Zenoh waits for the relay.
            args = config, self._closing
            threading.Thread(target=self._keep_opening, args=args, daemon=True).start()

    def _keep_opening(self, config: Config, closing: threading.Event) -> None:
        import zenoh

        while not closing.is_set():
            try:
                session = zenoh.open(config)
            except zenoh.ZError:
                closing.wait(_SECONDS_BETWEEN_HELLOS)
                continue
            with self._lock:
                if not closing.is_set():
                    self._session = session
                    me = self._site.me
                    alive = session.liveliness()
                    self._declared = (
                        session.declare_subscriber(inbox_of(me), self._take),
                        alive.declare_subscriber(ALL_PRESENT, self._meet, history=True),
                        alive.declare_token(presence_of(me)),
                    )
                    return
            session.close()  # type: ignore[no-untyped-call]

    def _meet(self, sample: Sample) -> None:
        """Agree on keys with a neighbor that appears, and forget those of one that leaves."""
        import zenoh

        who = str(sample.key_expr).rpartition("/")[2]
        with self._lock:
            if who not in self._pairs:
                return
            if sample.kind == zenoh.SampleKind.DELETE:
                self._present.discard(who)
                self._pairs[who].forget_keys()
            else:
                self._present.add(who)
                self._greet(who)

    def _greet(self, to: str) -> None:
        """Send a hello, but not soon after another one."""
        now = time.monotonic()
        if now - self._greeted_at[to] > _SECONDS_BETWEEN_HELLOS:
            self._greeted_at[to] = now
            self._put(to, self._pairs[to].hello())

    def _put(self, to: str, content: bytes, event: Event | None = None) -> None:
        if self._session is not None:
            key = key_between(self._site.me, to)
            self._session.put(key, content, **self._options)  # type: ignore[arg-type]
            if event is not None:
                self._count(event, len(content))

    def _take(self, sample: Sample) -> None:
        if len(sample.payload) > padded_size(self._site.longest_frame):  # before it is copied
            self._count(Event.FRAME_TOO_LONG)
            return
        sender = str(sample.key_expr).rpartition("/")[2]
        content = bytes(sample.payload)
        with self._lock:
            frame = self._receive(sender, content)
        if frame is not None:
            self._count(Event.FRAME_RECEIVED, len(content))
            self._on_frame(sender, frame)

    def _receive(self, sender: str, content: bytes) -> bytes | None:
        """Return the frame in a message; answer it, and send the frames that waited for keys."""
        pair = self._pairs.get(sender)
        if pair is None:
            self._count(Event.FRAME_NOT_SIGNED)
            return None
        received = pair.receive(content)
        if received.refusal is not None:
            self._count(received.refusal)
        if received.other_version is not None:
            self._others[sender] = received.other_version
        elif received.refusal is None:
            self._others.pop(sender, None)
        if received.refusal is not None and received.answer is not None:
            self._greet(sender)
        elif received.answer is not None:
            self._put(sender, received.answer)
        while pair.has_keys and self._waiting[sender]:
            self.send(sender, self._waiting[sender].popleft())
        return received.frame
