"""Problems of reaching members, in sentences for the operator."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping, Sequence

from pairgossip.peer.identity.certificates import expiry, is_early, is_expired
from pairgossip.peer.identity.early import describe_early, describe_own_early
from pairgossip.peer.identity.members import Member
from pairgossip.peer.identity.relays import read_relay_certificate
from pairgossip.peer.links.addresses import NameLookup, host_name
from pairgossip.peer.protocol.messages import VERSION
from pairgossip.study.protocol.records import Card
from pairgossip.study.service.invitations import as_member
from pairgossip.study.storage.folder import StudyHome

_NOTICE = datetime.timedelta(days=30)
"""Time before its end at which a certificate is first mentioned."""
_LONGEST_ALONE = 60.0
"""Seconds without any connection after which the operator is informed."""
_ALONE = (
    "No other member has been connected for a minute: see that this machine reaches them. A peer "
    "that all others have left out of their list is refused in silence: ask their operators."
)


class Links:
    """The ways to the other members, or to the relay at which they meet."""

    def __init__(self, relay: str | None, lookup: NameLookup | None = None) -> None:
        self._relay, self._lookup = relay, NameLookup() if lookup is None else lookup
        self._last_connected = time.monotonic()

    def problems(
        self, neighbors: Sequence[Member], connected: set[str], versions: Mapping[str, int]
    ) -> Iterator[str]:
        """Yield other versions, names that do not resolve, and the lack of all connections."""
        if connected:
            self._last_connected = time.monotonic()
        elif neighbors and time.monotonic() > self._last_connected + _LONGEST_ALONE:
            yield _ALONE
        for one in neighbors:
            if one.id in versions:
                yield _other_version(one.name, versions[one.id])
        away = [one for one in neighbors if one.id not in connected]
        if self._relay is not None:
            if away and self._unresolved([self._relay]):
                yield (
                    f"The name {host_name(self._relay)} of the relay does not resolve on this "
                    "machine: check relay in peer.toml, or this machine's name service."
                )
            return
        unresolved = self._unresolved([one.address for one in away])
        for one in away:
            if (name := host_name(one.address)) in unresolved:
                yield (
                    f"The name {name} in the address of '{one.name}' does not resolve on this "
                    "machine: check this machine's name service, or ask its operator."
                )

    def _unresolved(self, addresses: Sequence[str | None]) -> set[str | None]:
        """Return the names in addresses that did not resolve when last looked up."""
        names = {name for one in addresses if (name := host_name(one)) is not None}
        return {*self._lookup.find_unresolved(names)}


class Certificates:
    """The certificates needed for connections: this member's own, the others', the relay's."""

    def __init__(self, home: StudyHome, me: Card) -> None:
        self._me, self._place = me, home.relay
        has_relay = home.read_settings().relay is not None
        self._relay = read_relay_certificate(home.relay) if has_relay else None
        self._early: tuple[tuple[object, ...], str] = (), ""
        """The day and the certificates that are not valid yet, and the sentence about them."""

    def problems(self, neighbors: Sequence[Member]) -> Iterator[str]:
        """Yield the certificates that keep members from connecting, or soon will."""
        relay, soon = self._relay, datetime.datetime.now(datetime.UTC) + _NOTICE
        if relay is not None and expiry(relay) < soon:
            expires = "expired" if is_expired(relay) else "expires"
            yield (
                f"The certificate of the relay {expires} on {expiry(relay):%Y-%m-%d}, and nobody "
                "is reached by it then: let its operator make a new one with relay init, put "
                f"its certificate into {self._place}, and start this peer again."
            )
        yield from self._describe_early(neighbors)
        for one in (as_member(self._me), *neighbors):
            if is_expired(one.certificate):
                yield (
                    f"The certificate of '{one.name}' has expired: it must join under a new "
                    "identity."
                )
            elif expiry(one.certificate) < soon:
                end = expiry(one.certificate)
                yield f"The certificate of '{one.name}' expires on {end:%Y-%m-%d}."

    def _describe_early(self, neighbors: Sequence[Member]) -> Iterator[str]:
        """Yield one sentence about all; it is logged when it changes, so once a day."""
        own, now = self._me.certificate, datetime.datetime.now(datetime.UTC)
        early = [one for one in neighbors if is_early(one.certificate)]
        if not early and not is_early(own):
            return
        about = (now.date(), is_early(own), *(one.id for one in early))
        if self._early[0] != about:
            names, certificates = [one.name for one in early], [one.certificate for one in early]
            said = (
                describe_own_early(own, now)
                if is_early(own)  # then so are those of others: this clock is behind
                else describe_early(names, certificates, now)
            )
            self._early = about, said
        yield self._early[1]


def _other_version(name: str, theirs: int) -> str:
    older = "this peer" if theirs > VERSION else f"'{name}'"
    return (
        f"Member '{name}' speaks version {theirs} of the messages and this peer version {VERSION}: "
        f"update pairgossip at {older}; until then the two do not understand each other."
    )
