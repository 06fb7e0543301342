"""A peer seen from its folder, without touching anything: it may be running meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.exchange import Setting
from pairgossip.peer.folder import Home
from pairgossip.peer.growth import rows_in_force
from pairgossip.peer.identity import Identity, load_identity
from pairgossip.peer.journal_file import inspected, reading
from pairgossip.peer.journal_reading import read_state
from pairgossip.peer.members import Members
from pairgossip.peer.setting import setting_for
from pairgossip.peer.spec import Spec
from pairgossip.peer.state import State
from pairgossip.peer.status import Status, read_ended, read_status, status_of


@dataclass(frozen=True)
class View:
    """What lies in a peer's folder."""

    home: Home
    identity: Identity
    spec: Spec
    members: Members
    """With the rows that they have in this generation."""
    setting: Setting
    state: State

    def status(self) -> Status:
        """Return what the peer last said of itself, or else what its disk says."""
        told = read_status(self.home.status)
        if told is None or told.id != self.identity.id:
            told = status_of(self.identity.name, self.spec, self.members, self.setting, self.state)
        return msgspec.structs.replace(told, ended=read_ended(self.home.ended, told.generation))


def view(home: Home) -> View:
    """Read a peer's folder."""
    identity = load_identity(home.folder)
    spec, listed = home.read_spec(), home.read_members()
    state = _state(home)
    rows = rows_in_force(home, len(state.nodes))
    setting = setting_for(identity, spec, rows, listed, evicted=state.evicted, grown=state.grown)
    members = listed.with_rows(state.changes.rows())
    return View(home, identity, spec, members, setting, state)


def _state(home: Home) -> State:
    inspected(home.state)
    with reading(home.state) as base:
        state = read_state(base, home.state)
    if state is None:
        raise InputError(f"{home.state} holds no state yet: start the peer first.")
    return state
