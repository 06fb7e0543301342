"""What keeps members from being reached, in sentences for the operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pairgossip.peer.identity.members import Member
from pairgossip.peer.protocol.messages import VERSION
from pairgossip.peer.service.addresses import NameLookup, host_name


class Links:
    """The ways to the other members, or to the relay at which they meet."""

    def __init__(self, relay: str | None, lookup: NameLookup | None = None) -> None:
        self._relay, self._lookup = relay, NameLookup() if lookup is None else lookup

    def problems(
        self, neighbors: Sequence[Member], connected: set[str], versions: Mapping[str, int]
    ) -> Iterator[str]:
        """Say who speaks another version of the messages, and which names do not resolve."""
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


def _other_version(name: str, theirs: int) -> str:
    older = "this peer" if theirs > VERSION else f"'{name}'"
    return (
        f"Member '{name}' speaks version {theirs} of the messages and this peer version {VERSION}: "
        f"update pairgossip at {older}; until then the two do not understand each other."
    )
