"""Rows that travel for a question: the exchange of peers, driven within a study.

The exchange itself is that of `pairgossip.peer.protocol.exchange`, with everything that names its
run bound to the question: records are signed for the digest of all yeses, frames carry it, and only
members of the question's list are heard. The study alone decides who takes part: notices of other
generations, by which peers evict each other elsewhere, are refused.

The state is in a separate folder that backups leave out, since it holds others' rows. Its start is
noted in the study's journal, so a missing folder is known to be lost and is not begun again:
earlier offers would be made twice. In the end it is overwritten and removed.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.peer.estimates.errors import (
    errors_of,
    population_error,
    readout_of,
    rows_of_others,
)
from pairgossip.peer.estimates.uncertainty import MassHistory, Uncertainty
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Member, Members, PeerContext, make_context
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    BadFrame,
    Notice,
    decode,
    digest_rows,
)
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.service.status import coverage, estimate_of
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.study.rows.journey import Journey, OwnEstimate
from pairgossip.study.storage.journal import CACHE_TAG

TAG = b"\xc1"
"""The first byte of an exchange's frame; MessagePack, as in the study's own frames, never has
it."""
RUN = 32
"""Number of bytes that name the run of a frame."""
_LARGEST_SEEN = 1 << 24
"""Largest size of the facts about the way, in bytes; a longer file is refused."""
BACKUP = (
    "This peer's state of the exchange is gone, or an earlier one, as in a restored backup: going "
    "on would count rows twice. Ask again."
)
_STATE, _SEEN = "state.sqlite", "seen.json"

SendFrame = Callable[[str, bytes], None]


class _Seen(msgspec.Struct, frozen=True):
    """Facts about the way so far, kept for restarts."""

    masses: MassHistory
    met: tuple[str, ...]


class ExchangeQuestion:
    """One question whose rows travel now, at one member.

    Parameters
    ----------
    journey, identity
        The question, whose members have all told their numbers of rows, and this member.
    folder
        The folder of the state; it is made if the exchange has not begun before.
    send
        Sends a frame to a member.
    """

    def __init__(
        self,
        journey: Journey,
        identity: Identity,
        folder: Path,
        send: SendFrame,
        *,
        is_begun: bool,
        power_safe: bool = True,
    ) -> None:
        self.journey, self._folder, self._send = journey, folder, send
        self._context = make_run(journey, identity)
        self._journal, state = _open_state(folder, self._context, is_begun, power_safe)
        self._exchange = Exchange(self._context, state)
        seen = _read_seen(folder) if is_begun else None
        self._met = set(seen.met) if seen else set()
        self._met.update(node.record.origin for node in state.nodes)
        self._uncertainty = Uncertainty(
            self._context.rule,
            state,
            rows_of_others(self._context),
            *((seen.masses, seen.met) if seen else ()),
        )
        chance, rate = random.SystemRandom(), journey.spec.algorithm.rate
        self._runtime = ExchangeRuntime(self._exchange, self, self, chance, rate)

    def start(self, now: float) -> None:
        """Begin, or continue after a restart."""
        self._runtime.start(now)

    def due(self) -> float:
        """The time of the next call of `advance`."""
        return self._runtime.due()

    def advance(self, now: float) -> None:
        """Do all due work."""
        if now >= self._runtime.due():
            self._runtime.advance(now)

    def receive(self, sender: str, frame: bytes, now: float) -> None:
        """Take a frame of a member: hellos, offers and answers of this one generation alone."""
        try:
            message = decode(frame, self._context.frame_limit)
        except BadFrame:
            return
        if isinstance(message, Notice) or message.generation != FIRST_GENERATION:
            return
        try:
            self._runtime.received(sender, frame, now)
        except RestoredBackup:
            self.journey.failure = BACKUP

    def lose(self, members: Iterable[str]) -> None:
        """Note that connections are gone."""
        self._exchange.away |= set(members)

    # Functions for the runtime: a journal and a link

    def save(self, change: Save) -> None:
        """Write a change, and learn from it how sure the estimate is."""
        self._journal.save(change)
        self._uncertainty.observe(change.state, change.nodes)
        rows = range(len(change.state.nodes)) if change.everything else change.nodes
        self._met.update(change.state.nodes[row].record.origin for row in rows)

    def send(self, to: str, frame: bytes) -> None:
        """Send a frame with the name of its run."""
        self._send(to, TAG + self.journey.run + frame)

    # The results

    def look(self) -> OwnEstimate:
        """Return the present estimate; facts about the way are kept."""
        journey, state = self.journey, self._exchange.state
        spec, context = journey.spec, self._context
        covers = coverage(context, self._met)
        seen = _Seen(self._uncertainty.masses, tuple(sorted(self._met)))
        files.replace(self._folder / _SEEN, msgspec.json.encode(seen), durable=False)
        return OwnEstimate(
            specification=spec.text,
            estimate=estimate_of(context, state),
            exchanges=state.exchanges,
            met=covers.members,
            members=covers.of_members,
            rows=covers.of_rows,
            updated=time.time(),
            labels=() if spec.label is None else tuple(sorted({row[-1] for row in journey.rows})),
            **errors_of(context, state, self._uncertainty, self._met).as_fields(),
        )

    def should_stop(self) -> bool:
        """Return whether the question's end is reached."""
        state, stop, population = self._exchange.state, self.journey.spec.stop, None
        if stop is not None and stop.enough:
            readout = readout_of(self._context, state)
            population = population_error(self._context, state, readout)
        return self._uncertainty.should_stop(stop, population)

    def close(self) -> None:
        """Release the state, which stays."""
        self._journal.close()


def make_run(journey: Journey, identity: Identity) -> PeerContext:
    """Return the run of a question's exchange: its list, its rows, and its name."""
    counts = journey.counts
    assert counts is not None
    cards = journey.members.cards
    own = cards[journey.me]
    members = Members(
        tuple(
            Member(
                *(one.id, one.name, counts[one.id], one.certificate, one.address),
                is_neighbor=own.address is not None or one.address is not None,
            )
            for one in journey.members.members
            if one.id != journey.me
        )
    )
    seed = int.from_bytes(journey.draws(journey.run)[:8])
    context = make_context(identity, journey.spec, journey.rows, members, seed)
    return replace(context, spec=journey.run.hex(), text="")


def erase_state(folder: Path) -> None:
    """Remove the state of an exchange, with others' rows in it."""
    if folder.is_dir():
        for path in folder.iterdir():
            files.erase(path)
        folder.rmdir()


def _open_state(
    folder: Path, context: PeerContext, is_begun: bool, power_safe: bool
) -> tuple[SqliteJournal, State]:
    about = {"peer": context.me, "spec": context.spec, "data": digest_rows(context.own)}
    if not is_begun:
        _make_folder(folder)
        journal, state = SqliteJournal(folder / _STATE, power_safe), first_state(context)
        journal.note(about)
        journal.save(Save(state, sync=True, everything=True))
        return journal, state
    journal = SqliteJournal(folder / _STATE, power_safe, create=False)
    loaded = journal.load()
    if not isinstance(loaded, State) or journal.about() != about or not loaded.fits(context):
        journal.close()
        raise InputError(BACKUP)
    return journal, loaded


def _make_folder(folder: Path) -> None:
    erase_state(folder)
    try:
        os.makedirs(folder, mode=0o700)
        (folder.parent / "CACHEDIR.TAG").write_text(CACHE_TAG)
        files.sync(folder.parent)
        files.sync(folder.parent.parent)
    except OSError as problem:
        raise files.unwritable(folder, problem, "make") from None


def _read_seen(folder: Path) -> _Seen | None:
    """Return the facts about the way; None if there are none, or a loss of power has torn them."""
    with contextlib.suppress(InputError):
        return files.read_struct(folder / _SEEN, _LARGEST_SEEN, _Seen, "what was seen")
    return None
