"""A relay on 127.0.0.1, and members who reach nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import zenoh

from pairgossip.peer.identity.relays import Relay, read_relay
from pairgossip.peer.links.relay_link import RelayLink, relayed_configuration
from pairgossip.peer.service.relay import RelayFolder, create_relay

from .zenoh_people import Heard, Person, free_address, lawless_session, site_of, until


class Meeting:
    """A relay that lets some people in."""

    def __init__(self, folder: Path, people: Sequence[Person]) -> None:
        self.folder: RelayFolder = create_relay(folder / "relay", free_address())
        self.people = people
        for number, one in enumerate(people):
            (self.folder.members / f"{number}.pem").write_text(one.certificate)
        self.relay: Relay = read_relay(self.folder.file)

    @contextmanager
    def open(self) -> Iterator[zenoh.Session]:
        """Run it."""
        session = zenoh.open(zenoh.Config.from_file(str(self.folder.configure())))
        try:
            yield session
        finally:
            session.close()  # type: ignore[no-untyped-call]

    @contextmanager
    def join(self, me: Person) -> Iterator[tuple[RelayLink, Heard]]:
        """Let one of the people meet all others."""
        heard = Heard()
        others = [one for one in self.people if one is not me]
        link = RelayLink(site_of(me, others), me.identity, heard, self.relay)
        try:
            yield link, heard
        finally:
            link.close()

    @contextmanager
    def all_joined(self) -> Iterator[list[tuple[RelayLink, Heard]]]:
        """Run it, and let everybody meet."""
        with ExitStack() as stack:
            stack.enter_context(self.open())
            links = [stack.enter_context(self.join(one)) for one in self.people]
            wanted = len(self.people) - 1
            assert until(lambda: all(len(link.connected()) == wanted for link, _ in links))
            yield links

    @contextmanager
    def intrude(self, me: Person, relay: Relay | None = None) -> Iterator[zenoh.Session]:
        """Open a session that does not follow our rules."""
        config = relayed_configuration(site_of(me, list(self.people)), relay or self.relay)
        with lawless_session(config) as session:
            yield session


def settle() -> None:
    """Wait long enough for anything that is not refused to arrive."""
    time.sleep(0.5)
