"""What a running peer reports about itself: status file, log and metrics.

The log has one line per event, without data and without keys.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import PeerContext
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import VERSION, Notice, decode, generation_ordinal
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.assembly import Assembly, expired_certificates
from pairgossip.peer.service.errors import population_error, rows_of_others
from pairgossip.peer.service.status import (
    NeighborStatus,
    Status,
    ended_generation,
    follow,
    keep_ended,
    read_ended,
    read_status,
    status_of,
    write_status,
)
from pairgossip.peer.spec.spec import differences
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.peer.service.metrics import MetricsServer


_LOGGER = "pairgossip.peer"
_LONELY = 30.0
"""Seconds without any frame after which the operator should look."""
_UNANSWERED = 5.0
"""Seconds without a frame from a neighbor that should answer, or has gone away."""
_MOST_UNANSWERED = 5
_MOST_DIFFERENCES = 5
_MOST_LOGGED = 8
"""Entries of an estimate in one line of the log."""
_COUNT = re.compile(r"(?<= )\d+(?= )")
"""A number of seconds or rows; digits in a name are not set off by spaces."""


class Reporter:
    """Follows one peer's exchanges, in the thread of the peer."""

    def __init__(self, parts: Assembly, exchange: Exchange, log: Log) -> None:
        self._parts = parts
        self._exchange = exchange
        self._log = log
        self._names = parts.members.names()
        before = _last_status(parts)
        self._met = {node.record.origin for node in parts.state.nodes} | set(
            before.heard_of if before else ()
        )
        self._generation = parts.state.generation
        self._ended = read_ended(parts.home.ended, generation_ordinal(self._generation))
        self._before = parts.state, self._context
        self._uncertainty = follow(exchange.context, parts.state, before)
        self._heard_at: dict[str, float] = {}
        self._exchanged_at: float | None = None
        self._started = time.time()
        self._started_at = time.monotonic()
        self._fatal: str | None = None
        self._logged: set[str] = set()
        self._agreed: set[str] = set()
        self._refused = 0
        self._server: MetricsServer | None = None
        self._unwritten: str | None = None
        self._written = 0.0
        self.status: Status | None = None

    @property
    def _context(self) -> PeerContext:
        context = self._exchange.context
        assert isinstance(context, PeerContext)
        return context

    def save(self, change: Save) -> None:
        """Write a change to the peer's journal, and take note of it, as a `runtime.Journal`."""
        self.before_save(change)
        self._parts.journal.save(change)
        self._after_save(change)

    def serve(self, place: str | None) -> None:
        """Serve metrics, if that is asked for."""
        if place is not None:
            from pairgossip.peer.service.metrics import MetricsServer

            self._server = MetricsServer(place, lambda: self.status)
            self._log.info("metrics served", at=f"http://{place}/metrics")

    def close(self) -> None:
        """Stop serving metrics."""
        if self._server is not None:
            self._server.close()

    def note_frame(self, sender: str, now: float) -> None:
        """Note that a neighbor was heard."""
        self._heard_at[sender] = now

    def before_save(self, change: Save) -> None:
        """Keep the result of a generation that is about to end."""
        if change.state.generation == self._generation:
            return
        state, context = self._before
        ends = status_of(context, state, self._uncertainty, met=self._met, updated=time.time())
        ended = ended_generation(ends)
        if ended is not None:
            self._ended = keep_ended(self._parts.home.ended, ended)
            shown = [f"{entry:.6g}" for entry in ended.estimate[:_MOST_LOGGED]]
            self._log.info(
                "a generation ended",
                generation=ended.generation,
                estimate=", ".join(shown) + (", ..." if len(ended.estimate) > _MOST_LOGGED else ""),
                exchanges=ended.exchanges,
            )

    def _after_save(self, change: Save) -> None:
        self._before = change.state, self._context
        if change.state.generation != self._generation:
            self._generation = change.state.generation
            self._met.clear()
            self._began(change.state)
        self._uncertainty.observe(change.state, change.nodes)
        rows = range(len(change.state.nodes)) if change.everything else change.nodes
        if change.nodes:
            self._exchanged_at = time.monotonic()
        self._met.update(change.state.nodes[row].record.origin for row in rows)

    def fail(self, sentence: str) -> None:
        """Keep the reason why the peer ends."""
        self._fatal = sentence

    def report(
        self,
        counts: Mapping[str, int],
        connected: set[str],
        versions: Mapping[str, int],
        waiting: Mapping[str, float],
        *,
        is_last: bool,
    ) -> None:
        """Write the status, and log what is new.

        The link tells what it counted, who is connected and who speaks which other version of the
        messages; the runtime, for how many seconds neighbors have not answered an offer.
        """
        now = time.monotonic()
        problems = self._problems(now, versions, waiting)
        all_counts = {**self._exchange.counts, **counts}
        self.status = status_of(
            self._context,
            self._exchange.state,
            self._uncertainty,
            met=self._met,
            name=self._parts.settings.name,
            masses=self._uncertainty.masses,
            spread=self._uncertainty.spread() if self._parts.spec.loss is not None else None,
            done=self._is_done(),
            neighbors=self._neighbors(connected, versions, now),
            staleness=None if self._exchanged_at is None else now - self._exchanged_at,
            counts={name: count for name, count in all_counts.items() if count},
            problems=problems,
            pid=os.getpid(),
            started=self._started,
            updated=time.time(),
            stopped=is_last,
            ended=self._ended,
        )
        self._write(self.status)
        self._log_news(problems, all_counts)

    def _is_done(self) -> bool:
        """Return whether what the specification asks for is reached."""
        stop, population = self._parts.spec.stop, None
        if stop is not None and stop.enough:
            population = population_error(self._context, self._exchange.state)
        return self._uncertainty.should_stop(stop, population)

    def _write(self, status: Status) -> None:
        """Write the status; if that fails, the peer goes on and says so."""
        try:
            write_status(self._parts.home.status, status)
        except InputError as problem:
            self._unwritten = f"{problem} What it says is out of date."
            # Health goes by the time of the last status that was written.
            self.status = replace(status, updated=self._written)
        else:
            self._unwritten, self._written = None, status.updated

    def _neighbors(
        self, connected: set[str], versions: Mapping[str, int], now: float
    ) -> dict[str, NeighborStatus]:
        return {
            member.name: NeighborStatus(
                agreed=member.id in self._exchange.agreed,
                connected=member.id in connected,
                heard=now - self._heard_at[member.id] if member.id in self._heard_at else None,
                address=member.address,
                evicted=member.id in self._exchange.state.evicted,
                other_version=versions.get(member.id),
                away=member.id in self._exchange.away,
            )
            for member in self._parts.members.neighbors()
        }

    def _began(self, state: State) -> None:
        """A new generation: with fewer members, or more rows, or both."""
        context = self._exchange.context
        self._uncertainty.renew(context.rule, state, rows_of_others(context))
        names = {**self._names, self._parts.identity.id: self._parts.settings.name}
        gone = ", ".join(names.get(member, member) for member in state.evicted)
        rows = [f"{names.get(one.member, one.member)} has {one.rows}" for one in state.grown]
        notice = decode(state.notice)
        assert isinstance(notice, Notice)
        announcer = names.get(notice.announcer, notice.announcer)
        fields = {"announced_by": announcer, "without": gone, "rows": ", ".join(rows)}
        self._log.warning(
            "began a new generation",
            generation=generation_ordinal(state.generation),
            **{name: text for name, text in fields.items() if text},
        )

    def _problems(
        self, now: float, versions: Mapping[str, int], waiting: Mapping[str, float]
    ) -> tuple[str, ...]:
        expired = expired_certificates(self._parts.members)
        problems = list(dict.fromkeys((*self._parts.problems, *expired)))
        problems += [self._other_version(*one) for one in sorted(versions.items())]
        silences = self._silences(now, versions, waiting)
        problems += silences[:_MOST_UNANSWERED]
        if (more := len(silences) - _MOST_UNANSWERED) > 0:
            problems.append(f"And {more} more neighbors do not answer: see the table of neighbors.")
        for neighbor, text in self._exchange.disagreeing.items():
            problems.append(self._disagreement(neighbor, text))
        last = max(self._heard_at.values(), default=self._started_at)
        if now - last > _LONELY and len(versions) < len(self._exchange.context.neighbors):
            lonely = (
                f"No neighbor was heard of for {now - last:.0f} seconds: see that they run, that "
                "they have joined this peer and not evicted it, and that the addresses in "
                "members.json are right."
            )
            problems.append(lonely.replace("No ", "No other ", 1) if versions else lonely)
        if self._unwritten is not None:
            problems.append(self._unwritten)
        return (*problems, *([] if self._fatal is None else [self._fatal]))

    def _other_version(self, neighbor: str, theirs: int) -> str:
        name = self._names.get(neighbor, neighbor)
        older = "this peer" if theirs > VERSION else f"'{name}'"
        return (
            f"Neighbor '{name}' speaks version {theirs} of the messages and this peer version "
            f"{VERSION}: update pairgossip at {older}; until then the two do not exchange."
        )

    def _silences(
        self, now: float, versions: Mapping[str, int], waiting: Mapping[str, float]
    ) -> list[str]:
        """Say which neighbors do not answer or have gone, and what that means."""
        sentences = []
        # An offer made just now freezes a row too, but is answered in a moment.
        overdue = sum(seconds > _UNANSWERED for seconds in waiting.values())
        is_stuck = overdue >= len(self._exchange.state.nodes)
        for neighbor in self._exchange.present:
            # A neighbor never heard is reported here only if others were heard: see _LONELY.
            is_missed = bool(self._heard_at) and neighbor not in self._heard_at
            never = _LONELY if is_missed else math.inf
            since = now - self._heard_at.get(neighbor, self._started_at)
            name = self._names.get(neighbor, neighbor)
            advice = f"If it is gone for good, run: pairgossip peer evict {name}."
            if waiting.get(neighbor, 0.0) > _UNANSWERED:
                said = f"No answer from '{name}' for {waiting[neighbor]:.0f} s: "
                sentences.append(f"{said}{self._frozen(neighbor, is_stuck)}. {advice}")
            elif neighbor in versions:
                continue  # it is there, and the version is what to look at
            elif since > (_UNANSWERED if neighbor in self._exchange.away else never):
                said = f"'{name}' is away, and was not heard of for {since:.0f} s: "
                sentences.append(f"{said}{self._going_on(neighbor, is_stuck)}. {advice}")
        return sentences

    def _frozen(self, neighbor: str, is_stuck: bool) -> str:
        rows = len(self._exchange.state.nodes)
        if rows == 1:
            return "the only row of this peer waits for it, and the peer stands still until then"
        if is_stuck:
            return f"all {rows} rows of this peer wait for answers, and the peer stands still"
        return f"one of {rows} rows waits for it; {self._going_on(neighbor, is_stuck)}"

    def _going_on(self, neighbor: str, is_stuck: bool) -> str:
        if is_stuck:
            return "no row of this peer is free for the others either"
        there = set(self._exchange.present) - self._exchange.away - {neighbor}
        return "exchanges with the others go on" if there else "no other neighbor is there"

    def _disagreement(self, neighbor: str, text: str) -> str:
        """Say what differs in a neighbor's specification, whatever it has sent."""
        try:
            reasons = differences(self._exchange.context.text, text)[:_MOST_DIFFERENCES]
        except Exception:  # its text may be anything
            reasons = ["its text cannot be read."]
        name, why = self._names.get(neighbor, neighbor), clean_text(" ".join(reasons), 1000)
        return f"Neighbor '{name}' runs another specification: {why}"

    def _log_news(self, problems: tuple[str, ...], counts: Mapping[str, int]) -> None:
        """Log what is new since the last report."""
        for neighbor in self._exchange.agreed - self._agreed:
            self._log.info("neighbor runs the same", neighbor=self._names.get(neighbor, neighbor))
        self._agreed = set(self._exchange.agreed)
        # Two problems are the same although a number in them has changed.
        kinds = {problem: _COUNT.sub("", problem) for problem in problems}
        for problem, kind in kinds.items():
            if problem != self._fatal and kind not in self._logged:
                self._log.warning(problem)
        self._logged = set(kinds.values())
        refused = {name: count for name, count in counts.items() if "refused" in name and count}
        if sum(refused.values()) > self._refused:
            self._refused = sum(refused.values())
            fields = {"_".join(name.replace(":", "").split()): refused[name] for name in refused}
            self._log.warning("refused what was received", **fields)


def _last_status(parts: Assembly) -> Status | None:
    """Return what was told in this generation before a restart: for display, it may be lost."""
    now = parts.identity.id, generation_ordinal(parts.state.generation)
    with contextlib.suppress(InputError):
        status = read_status(parts.home.status)
        if status is not None and (status.id, status.generation) == now:
            return status
    return None


class Log:
    """Writes events under the name of one peer; fields are cleaned, whoever they come from."""

    def __init__(self, peer: str) -> None:
        self._logger = logging.getLogger(_LOGGER)
        self._peer = peer

    def info(self, event: str, **fields: object) -> None:
        """Tell what is as it should be."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Tell what somebody should look at."""
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Tell why the peer cannot go on."""
        self._write(logging.ERROR, event, fields)

    def _write(self, level: int, event: str, fields: dict[str, object]) -> None:
        plain = {
            name: value if isinstance(value, int | float | None) else clean_text(value)
            for name, value in fields.items()
        }
        extra = {"peer": self._peer, "fields": plain}
        self._logger.log(level, "%s", clean_text(event, 2000), extra=extra)


class _JsonLines(logging.Formatter):
    """One JSON object per line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{whole}.{int(record.created % 1 * 1000):03d}Z",
            "level": record.levelname.lower(),
            "peer": getattr(record, "peer", ""),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps(line)


class _PlainLines(logging.Formatter):
    """The same for people at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.capitalize()}: "
        fields = "".join(f"  {k}={v}" for k, v in getattr(record, "fields", {}).items())
        return f"{clock}  {level}{record.getMessage()}{fields}"


@contextlib.contextmanager
def write_logs(stream: TextIO | None = None) -> Iterator[None]:
    """Send a peer's events to standard error: as text to a terminal, as JSON otherwise."""
    stream = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_PlainLines() if stream.isatty() else _JsonLines())
    logger = logging.getLogger(_LOGGER)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
