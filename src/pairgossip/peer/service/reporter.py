"""Reports of a running peer that exchanges rows: status file, log, metrics, and problems."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.estimates.errors import population_error, readout_of, rows_of_others
from pairgossip.peer.identity.certificates import is_early, is_expired
from pairgossip.peer.identity.members import Member, PeerContext
from pairgossip.peer.links.addresses import NameLookup, host_name
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import VERSION, Notice, decode, generation_ordinal
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.assembly import Assembly, untimely_certificates
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.status import (
    NeighborStatus,
    Problem,
    Status,
    ended_generation,
    follow,
    keep_ended,
    read_ended,
    read_status,
    status_of,
    write_status,
)
from pairgossip.peer.specification.spec import differences
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.peer.service.metrics import MetricsServer


_LONELY = 30.0
"""Time in seconds without any frame after which there is a problem."""
_UNANSWERED = 5.0
"""Time in seconds without a frame of a neighbor that should answer, until it is a problem."""
NEVER_AGAIN = "If a member will never run again, pairgossip peer evict --help says what that means."
"""The only advice on eviction for an operator who waits, since an eviction cannot be undone."""
_MOST_UNANSWERED = 5
"""Largest number of neighbors, or of names, in the list of problems; the rest are counted."""
_MOST_DIFFERENCES = 5
"""Largest number of differences of specifications in one sentence; the rest are left out."""
_MOST_LOGGED = 8
"""Largest number of entries of an estimate in a line of the log; the rest are left out."""


class ExchangeReporter:
    """Follows one peer's exchanges, in its thread."""

    def __init__(self, parts: Assembly, exchange: Exchange, log: Log) -> None:
        self._parts = parts
        self._protocol = exchange
        self._log = log
        self._generation = parts.state.generation
        self._ended = read_ended(parts.home.ended, generation_ordinal(self._generation))
        self._heard_at: dict[str, float] = {}
        self._changed_at: float | None = None
        """The time of the last exchange."""
        self._started = time.time()
        self._started_at = time.monotonic()
        self._fatal: str | None = None
        self._logged: set[tuple[str, ...]] = set()
        self._agreed: set[str] = set()
        self._refused = 0
        self._connected: set[str] = set()
        self._versions: Mapping[str, int] = {}
        """The version of neighbors that speak another version of the messages."""
        self._lookup = NameLookup()
        self._unresolved: dict[str, str] = {}
        """The names that do not resolve, by the neighbors with these addresses."""
        self._server: MetricsServer | None = None
        self._unwritten: str | None = None
        self._written = 0.0
        self.status: Status | None = None
        before = _last_status(parts)
        self._met = {node.record.origin for node in parts.state.nodes} | set(
            before.heard_of if before else ()
        )
        self._before = parts.state, self._context
        self._uncertainty = follow(exchange.context, parts.state, before)

    @property
    def _context(self) -> PeerContext:
        context = self._protocol.context
        assert isinstance(context, PeerContext)
        return context

    def _name(self, member: str) -> str:
        return self._context.name_member(member)

    def save(self, change: Save) -> None:
        """Write a change to the peer's journal, and follow it, as a `runtime.Journal`."""
        is_new = change.state.generation != self._generation
        if is_new:
            self._keep_ended()
        self._parts.journal.save(change)
        if is_new:
            self._generation = change.state.generation
            self._log_generation(change.state)
        self._after_save(change, is_new)

    def serve(self, place: str | None) -> None:
        """Serve metrics, if there is a place for them."""
        if place is not None:
            from pairgossip.peer.service.metrics import MetricsServer

            self._server = MetricsServer(place, lambda: self.status)
            self._log.info("metrics served", at=f"http://{place}/metrics")
            if self._server.is_for_all:
                self._log.warning(
                    "metrics can be read by whoever reaches the port: let a firewall admit only "
                    "those who may"
                )

    def close(self) -> None:
        """Stop serving metrics."""
        if self._server is not None:
            self._server.close()

    def note_frame(self, sender: str, now: float) -> None:
        """Note the time at which a neighbor was heard."""
        self._heard_at[sender] = now

    def _keep_ended(self) -> None:
        """Keep the result of a generation that is about to end."""
        ended = ended_generation(self._status_before())
        if ended is not None:
            self._ended = keep_ended(self._parts.home.ended, ended)
            shown = [f"{entry:.6g}" for entry in ended.estimate[:_MOST_LOGGED]]
            self._log.info(
                "a generation ended",
                generation=ended.generation,
                estimate=", ".join(shown) + (", ..." if len(ended.estimate) > _MOST_LOGGED else ""),
                exchanges=ended.exchanges,
            )

    def fail(self, sentence: str) -> None:
        """Keep the reason why the peer ends."""
        self._fatal = sentence

    def report(
        self,
        counts: Mapping[Event, int],
        connected: set[str],
        versions: Mapping[str, int],
        waiting: Mapping[str, float],
        *,
        is_last: bool,
    ) -> None:
        """Write the status, and log what is new.

        The link counts events, and knows the connected members and those with other versions of the
        messages; the runtime knows for how many seconds others have not answered.
        """
        now = time.monotonic()
        self._connected, self._versions = connected, versions
        self._unresolved = self._find_unresolved()
        problems = self._problems(now, waiting)
        events = {**self._protocol.counts, **counts}
        all_counts = {one: count for one, count in events.items() if count}
        refused = {one.value: count for one, count in all_counts.items() if one.is_refusal}
        self.status = self._describe(
            name=self._parts.settings.name,
            neighbors={
                member.name: self._neighbor(member, now)
                for member in self._parts.members.neighbors()
            },
            staleness=None if self._changed_at is None else now - self._changed_at,
            counts={one.value: count for one, count in all_counts.items()},
            refused=refused,
            problems=tuple(problem.sentence for problem in problems),
            pid=os.getpid(),
            started=self._started,
            updated=time.time(),
            stopped=is_last,
            ended=self._ended,
        )
        self._write(self.status)
        self._log_news(problems, refused)

    def _write(self, status: Status) -> None:
        """Write the status; if that fails, report it as a problem and go on."""
        try:
            write_status(self._parts.home.status, status)
        except InputError as problem:
            self._unwritten = f"{problem} What it says is out of date."
            # Checks of health use the time of the last status that was written.
            self.status = replace(status, updated=self._written)
        else:
            self._unwritten, self._written = None, status.updated

    def _neighbor(self, member: Member, now: float) -> NeighborStatus:
        heard_at = self._heard_at.get(member.id)
        return NeighborStatus(
            agreed=member.id in self._protocol.agreed,
            connected=member.id in self._connected,
            heard=None if heard_at is None else now - heard_at,
            address=member.address,
            evicted=member.id in self._protocol.state.evicted,
            other_version=self._versions.get(member.id),
            away=member.id in self._protocol.away,
        )

    def _log_generation(self, state: State) -> None:
        """Log a new generation: with fewer members, or more rows, or both."""
        notice = decode(state.notice)
        assert isinstance(notice, Notice)
        fields = {
            "announced_by": self._name(notice.announcer),
            "without": ", ".join(map(self._name, state.evicted)),
            "rows": ", ".join(f"{self._name(one.member)} has {one.rows}" for one in state.grown),
        }
        self._log.warning(
            "began a new generation",
            generation=generation_ordinal(state.generation),
            **{name: text for name, text in fields.items() if text},
        )

    def _problems(self, now: float, waiting: Mapping[str, float]) -> list[Problem]:
        versions = self._versions
        problems = [Problem(sentence) for sentence in self._parts.problems]
        problems += untimely_certificates(self._context, self._protocol.state.evicted)
        problems += self._unresolved_names()
        problems += [Problem(self._other_version(*one)) for one in sorted(versions.items())]
        # A peer that ends for a reason of its own waits for nobody.
        silences = [] if self._fatal is not None else self._silences(now, waiting)
        problems += silences[:_MOST_UNANSWERED]
        if (more := len(silences) - _MOST_UNANSWERED) > 0:
            rest = f"And {more} more neighbors do not answer: see the table of neighbors."
            problems.append(Problem(rest, ("more neighbors",)))
        disagreeing, unlisted = self._protocol.disagreeing, self._protocol.unlisted
        problems += [Problem(self._disagreement(*one)) for one in disagreeing.items()]
        problems += [Problem(self._unlisted(*one)) for one in sorted(unlisted.items())]
        last = max(self._heard_at.values(), default=self._started_at)
        is_alone = now - last > _LONELY and self._fatal is None
        if is_alone and len(versions) < len(self._protocol.context.neighbors):
            other = "other " if versions else ""
            lonely = (
                f"No {other}neighbor was heard of for {now - last:.0f} seconds: see that they run, "
                f"that they have joined this peer and not evicted it, and that the addresses in "
                "members.json and the clocks of all machines are right."
            )
            problems.append(Problem(lonely, ("alone", other)))
        ends = (self._unwritten, self._fatal)
        return problems + [Problem(sentence) for sentence in ends if sentence is not None]

    def _find_unresolved(self) -> dict[str, str]:
        """Return the names that do not resolve, by the neighbors that are not connected."""
        exempt = {*self._connected, *self._protocol.state.evicted}
        names = {
            one.id: name
            for one in self._parts.members.neighbors()
            if one.id not in exempt and (name := host_name(one.address)) is not None
        }
        unresolved = self._lookup.find_unresolved(set(names.values()))
        return {one: name for one, name in names.items() if name in unresolved}

    def _unresolved_names(self) -> list[Problem]:
        problems = [
            Problem(
                f"The name {name} in the address of '{self._name(one)}' does not resolve "
                "on this machine: check the name in members.json, or this machine's name service."
            )
            for one, name in self._unresolved.items()
        ]
        if (more := len(problems) - _MOST_UNANSWERED) > 0:
            rest = f"And {more} more names do not resolve."
            problems[_MOST_UNANSWERED:] = [Problem(rest, ("more names",))]
        return problems

    def _cause(self, member: str) -> str:
        """Describe in a few words why a neighbor may not answer."""
        if member in self._versions:
            return "it speaks another version of the messages"
        if member in self._protocol.disagreeing:
            return "it runs another specification"
        if member in self._connected:
            return "connected"
        certificate, own = self._context.certificate_of(member), self._context.identity.certificate
        if is_early(certificate) or is_early(own) or is_expired(certificate):
            return "not connected, since certificates are not valid by this machine's clock"
        if member in self._unresolved:
            return "not connected, since the name in its address does not resolve here"
        return "not connected"

    def _other_version(self, neighbor: str, theirs: int) -> str:
        name = self._name(neighbor)
        older = "this peer" if theirs > VERSION else f"'{name}'"
        return (
            f"Neighbor '{name}' speaks version {theirs} of the messages and this peer version "
            f"{VERSION}: update pairgossip at {older}; until then the two do not exchange."
        )

    def _unlisted(self, neighbor: str, evicted: str) -> str:
        """Describe a neighbor's eviction of somebody who is not on this peer's list."""
        name, gone = self._name(neighbor), clean_text(evicted, 64)
        return (
            f"Neighbor '{name}' is in a generation without {gone}, which is not on this peer's "
            "list: if that was a member, join it here as well (peer join --not-a-neighbor) and "
            f"restart; if not, ask who runs '{name}', for only members can be evicted."
        )

    def _disagreement(self, neighbor: str, text: str) -> str:
        """Describe the differences of a neighbor's specification, also of text that is none."""
        try:
            reasons = differences(self._protocol.context.text, text)[:_MOST_DIFFERENCES]
        except Exception:  # its text may be anything
            reasons = ["its text cannot be read."]
        name, why = self._name(neighbor), clean_text(" ".join(reasons), 1000)
        return f"Neighbor '{name}' runs another specification: {why}"

    def _log_news(self, problems: list[Problem], refused: Mapping[str, int]) -> None:
        """Log what is new since the last report."""
        for neighbor in self._protocol.agreed - self._agreed:
            name = self._name(neighbor)
            self._log.info("neighbor has the same specification", neighbor=name)
        self._agreed = set(self._protocol.agreed)
        sentences = {problem.key: problem.sentence for problem in problems}
        for key, sentence in sentences.items():
            if sentence != self._fatal and key not in self._logged:
                self._log.warning(sentence)
        self._logged = set(sentences)
        if sum(refused.values()) > self._refused:
            self._refused = sum(refused.values())
            fields = {"_".join(name.replace(":", "").split()): refused[name] for name in refused}
            self._log.warning("refused what was received", **fields)

    def _describe(self, **more: Any) -> Status:
        """Describe the peer by its state and by the history of its masses."""
        return status_of(
            self._context,
            self._protocol.state,
            self._uncertainty,
            met=self._met,
            masses=self._uncertainty.masses,
            spread=self._uncertainty.spread() if self._parts.spec.loss is not None else None,
            done=self._is_done(),
            **more,
        )

    def progress(self) -> dict[str, int]:
        """Return the number of exchanges."""
        return {"exchanges": self._protocol.state.exchanges}

    def _status_before(self) -> Status:
        """Describe the peer as it was before the last change."""
        state, context = self._before
        return status_of(context, state, self._uncertainty, met=self._met, updated=time.time())

    def _after_save(self, change: Save, is_new: bool) -> None:
        context = self._context
        self._before = change.state, context
        if is_new:
            self._met.clear()
            self._uncertainty.renew(context.rule, change.state, rows_of_others(context))
        self._uncertainty.observe(change.state, change.nodes)
        rows = range(len(change.state.nodes)) if change.everything else change.nodes
        if change.nodes:
            self._changed_at = time.monotonic()
        self._met.update(change.state.nodes[row].record.origin for row in rows)

    def _is_done(self) -> bool:
        """Return whether the specification's goal is reached."""
        stop, population = self._parts.spec.stop, None
        if stop is not None and stop.enough:
            readout = readout_of(self._context, self._protocol.state)
            population = population_error(self._context, self._protocol.state, readout)
        return self._uncertainty.should_stop(stop, population)

    def _silences(self, now: float, waiting: Mapping[str, float]) -> list[Problem]:
        """Return the problems of neighbors that do not answer or are away, and their effects."""
        problems = []
        # A recent offer freezes a row, too, but is soon answered.
        overdue = sum(seconds > _UNANSWERED for seconds in waiting.values())
        is_stuck = overdue >= len(self._protocol.state.nodes)
        for neighbor in self._protocol.present:
            # A neighbor never heard is reported here only if others were heard: see _LONELY.
            is_missed = bool(self._heard_at) and neighbor not in self._heard_at
            never = _LONELY if is_missed else math.inf
            since = now - self._heard_at.get(neighbor, self._started_at)
            name, cause = self._name(neighbor), self._cause(neighbor)
            advice = (
                f"Nothing is lost, and it goes on once '{name}' runs; ask its operator. "
                f"{NEVER_AGAIN}"
            )
            if waiting.get(neighbor, 0.0) > _UNANSWERED:
                text = f"No answer from '{name}' for {waiting[neighbor]:.0f} s ({cause}): "
                meaning = self._frozen(neighbor, is_stuck)
                kind = ("no answer", neighbor, cause, meaning)
                problems.append(Problem(f"{text}{meaning}. {advice}", kind))
            elif neighbor in self._versions:
                continue  # it is there, and its version is the problem
            elif since > (_UNANSWERED if neighbor in self._protocol.away else never):
                text = f"'{name}' is away, and was not heard of for {since:.0f} s ({cause}): "
                meaning = self._going_on(neighbor, is_stuck)
                kind = ("away", neighbor, cause, meaning)
                problems.append(Problem(f"{text}{meaning}. {advice}", kind))
        return problems

    def _frozen(self, neighbor: str, is_stuck: bool) -> str:
        rows = len(self._protocol.state.nodes)
        if rows == 1:
            return "the only row of this peer waits for it, and the peer stands still until then"
        if is_stuck:
            return f"all {rows} rows of this peer wait for answers, and the peer stands still"
        return f"one of {rows} rows waits for it; {self._going_on(neighbor, is_stuck)}"

    def _going_on(self, neighbor: str, is_stuck: bool) -> str:
        if is_stuck:
            return "no row of this peer is free for the others either"
        there = set(self._protocol.present) - self._protocol.away - {neighbor}
        return "exchanges with the others go on" if there else "no other neighbor is there"


def _last_status(parts: Assembly) -> Status | None:
    """Return the last status in this generation before a restart: for display, it may be lost."""
    now = parts.identity.id, generation_ordinal(parts.state.generation)
    with contextlib.suppress(InputError):
        status = read_status(parts.home.status)
        if status is not None and (status.id, status.generation) == now:
            return status
    return None
