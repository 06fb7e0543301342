"""The peers of a swarm whose rows travel: their folders, processes and books."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.peer.protocol.state import State
from pairgossip.peer.reading import PeerReading, SwarmReading, reading_of
from pairgossip.peer.service.status import Status, read_status
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.journal_file import read_saved_state
from pairgossip.swarm.audit import Audit, audit
from pairgossip.swarm.processes import PeerProcess, Remains

if TYPE_CHECKING:
    from pairgossip.swarm.plan import Plan

PROGRAM: Sequence[str] = ("-P", "-m", "pairgossip.peer")
"""The module behind `peer run`; a start through the command line would cost twice as much."""


class ExchangePeer(PeerProcess):
    """A peer whose rows travel."""

    _exchanges_before = 0

    @property
    def program(self) -> Sequence[str]:
        """The arguments of Python, before the folder, that run the peer."""
        return PROGRAM

    @property
    def home(self) -> Home:
        """The folder."""
        return Home(self.folder)

    def _read_status(self) -> Status | None:
        return read_status(self.home.status)

    def _describe(self) -> PeerReading:
        status = self.status
        return reading_of(status if isinstance(status, Status) else None, self.state)

    @property
    def has_worked(self) -> bool:
        """Whether the present process has reported an exchange of its own."""
        status = self.status
        return isinstance(status, Status) and status.exchanges != self._exchanges_before

    def remains(self) -> Remains:
        """Read the state that a killed process has left; the next one begins with it."""
        try:
            state = read_saved_state(self.home.state)[0]
        except InputError:  # the next start reports the error
            return Remains(has_worked=False)
        assert isinstance(state, State)
        before, self._exchanges_before = self._exchanges_before, state.exchanges
        offers = frozenset(offer.seq for offer in state.pending.values())
        return Remains(state.exchanges != before, offers)


@dataclass
class ExchangeCrew:
    """All peers of such a swarm; they exchange until they are stopped."""

    plan: Plan
    peers: list[PeerProcess]
    exchanges: int | None = None
    """The number of exchanges in the whole network after which it ends; None for no limit."""

    begins_together = True
    """The peers start together: otherwise the first would exchange only with each other at
    first."""
    has_calm = True
    """Whether the run continues for a while after the last fault."""

    @cached_property
    def exact(self) -> float | None:
        """The value that all peers estimate."""
        return self.plan.exact()

    def step(self, now: float) -> None:
        """Do nothing: there is no work while they run."""

    def is_due(self, reading: SwarmReading) -> bool:
        """Return whether the exchanges have been made."""
        return self.exchanges is not None and reading.exchanges >= self.exchanges

    def audit(self, *, is_interrupted: bool) -> Audit:
        """Read all disks once the peers have stopped."""
        return audit([Home(peer.folder) for peer in self.peers])
