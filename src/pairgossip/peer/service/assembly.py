"""The assembly of a peer from its folder, with checks that the parts belong together.

`read_snapshot` reads the folder and changes nothing: the peer may be running meanwhile.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import expiry, is_early, is_expired
from pairgossip.peer.identity.early import describe_early, describe_own_early
from pairgossip.peer.identity.identity import Identity, load_identity
from pairgossip.peer.identity.members import Members, PeerContext, make_context
from pairgossip.peer.protocol.state import State
from pairgossip.peer.service.memory import give_back_memory
from pairgossip.peer.service.status import Problem, Status, read_ended, read_status, status_of
from pairgossip.peer.specification.agreement import link_name
from pairgossip.peer.specification.checks import check_link_names
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.folder import Home, OperatorSettings
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import read_saved_state
from pairgossip.peer.storage.row_keeping import other_part, read_in_force, read_to_run

_MOST_EARLY = 5
"""Largest number of members that are named for certificates not valid yet; the rest are counted."""


@dataclass(frozen=True)
class PeerSnapshot:
    """The contents of a peer's folder."""

    home: Home
    context: PeerContext
    state: State

    @property
    def identity(self) -> Identity:
        """The peer's identity."""
        return self.context.identity

    @property
    def spec(self) -> Spec:
        """The specification that all members agree on."""
        return self.context.agreed

    @property
    def members(self) -> Members:
        """The list of members."""
        return self.context.members

    def status(self) -> Status:
        """Return the peer's last status, or else one by its disk."""
        status = read_status(self.home.status)
        if status is None or status.id != self.context.me:
            status = status_of(self.context, self.state)
        return msgspec.structs.replace(status, ended=read_ended(self.home.ended, status.generation))


@dataclass(frozen=True)
class Assembly(PeerSnapshot):
    """All parts of a peer that is about to run."""

    settings: OperatorSettings
    journal: SqliteJournal
    problems: tuple[str, ...]
    """The problems that do not keep the peer from running, a sentence each.

    Certificates are not among them: their validity may change while the peer runs.
    """

    def close(self) -> None:
        """Close the database."""
        self.journal.close()


def assemble(home: Home) -> Assembly:
    """Read a peer's folder and put its parts together; raise `InputError` if they do not fit."""
    settings = home.read_settings()
    identity = load_identity(home.folder)
    if is_expired(identity.certificate):
        raise InputError(
            f"The certificate {home.cert} expired on {expiry(identity.certificate):%Y-%m-%d}, and "
            f"this machine's clock says {_now():%Y-%m-%d}: set the clock if it is off; if it is "
            "right, join again from a new folder."
        )
    spec, members = home.read_spec(), home.read_members()
    _check_members(home, identity, members)
    journal = SqliteJournal(home.state, settings.power_safe, create=False)
    try:
        about = journal.about()
        _check_unchanged(home, about, identity, spec)
        seed, state = about.get("draw_seed", ""), journal.load()
        if not seed.isdecimal() or state is None:  # `create_home` has saved both
            raise InputError(
                f"{home.state} is incomplete: run peer init again; a backup of it cannot go on."
            )
        own = read_to_run(home, about)
        context = make_context(identity, spec, own, members, int(seed), state.changes)
        _check_state(home, context, state)
    except BaseException:
        journal.close()
        raise
    give_back_memory()
    return Assembly(home, context, state, settings, journal, tuple(_problems(context, state)))


def _check_members(home: Home, identity: Identity, members: Members) -> None:
    if identity.id in members.names():
        raise InputError(f"{home.members} lists this peer itself: remove that entry.")
    if not members.neighbors():
        raise InputError(
            f"The peer in {home.folder} has no neighbors: exchange invitations with peer invite "
            f"and peer join first."
        )


def _check_unchanged(home: Home, about: Mapping[str, str], identity: Identity, spec: Spec) -> None:
    """Refuse a peer or a specification that is not the state's: both are in signed records."""
    for part, file, now in (("peer", home.key, identity.id), ("spec", home.spec, spec.hash)):
        if about.get(part) != now:
            raise other_part(home, file)


def _check_state(home: Home, context: PeerContext, state: State) -> None:
    if state.rows != len(context.own) or not state.fits(context):
        raise InputError(
            f"{home.state} is not of this run: put the right one back, or run peer init again."
        )


def _problems(context: PeerContext, state: State) -> list[str]:
    """Return the problems that the operator should solve."""
    problems, spec = list[str](), context.agreed
    total = sum(context.rows.values())  # at the beginning, without rows added since
    if spec.members is not None and spec.members != total:
        problems.append(
            f"The members known here have {total} rows in all, but the specification says "
            f"{spec.members}: join the others, or agree on another number."
        )
    try:
        _check_links(context)
    except InputError as problem:  # members may still join
        problems.append(str(problem))
    if context.me in state.evicted:
        problems.append("This peer was evicted: join again from a new folder.")
    if all(neighbor in state.evicted for neighbor in context.neighbors):
        problems.append("All neighbors were evicted: join others.")
    return problems


def _check_links(context: PeerContext) -> None:
    """Raise `InputError` if weights are of links that do not exist, as far as a peer knows."""
    me, links = context.identity.name, context.agreed.links or {}
    of_others = (link for link in links if me not in link.split())
    own = (link_name(me, one.name) for one in context.members.neighbors())
    check_link_names(links, (me, *context.members.names().values()), (*of_others, *own))


def untimely_certificates(context: PeerContext, evicted: Collection[str] = ()) -> list[Problem]:
    """Return problems of certificates not valid by this machine's clock, this peer's own first.

    A certificate that is not valid yet keeps no peer from running: a device without a battery for
    its clock has the right time only a while after its start, and TLS asks the clock anew whenever
    two peers connect.
    """
    listed = [one for one in context.members.listed if one.id not in evicted]
    early = [_early(one.name, one.certificate) for one in listed if is_early(one.certificate)]
    if (more := len(early) - _MOST_EARLY) > 0:
        rest = f"And {more} more certificates are not valid yet by this clock."
        early[_MOST_EARLY:] = [Problem(rest, ("more early certificates",))]
    own = context.identity.certificate
    if is_early(own):
        early.insert(0, Problem(describe_own_early(own, _now()), ("own early certificate",)))
    return early + [
        Problem(
            f"The certificate of '{one.name}' expired on {expiry(one.certificate):%Y-%m-%d}, and "
            f"this machine's clock says {_now():%Y-%m-%d}: set the clock if it is off; if it is "
            f"right, let '{one.name}' join again from a new folder."
        )
        for one in listed
        if is_expired(one.certificate)
    ]


def _early(name: str, certificate: str) -> Problem:
    return Problem(describe_early([name], [certificate], _now()), ("early certificate", name))


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def read_snapshot(home: Home) -> PeerSnapshot:
    """Read a peer's folder."""
    identity, state = load_identity(home.folder), read_saved_state(home.state)[0]
    own = read_in_force(home, state)
    context = make_context(
        identity, home.read_spec(), own, home.read_members(), changes=state.changes
    )
    return PeerSnapshot(home, context, state)
