"""Reports of a peer that exchanges rows: its estimate, how sure that is, and who is awaited."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.state import Save
from pairgossip.peer.service.assembly import Assembly
from pairgossip.peer.service.errors import population_error, readout_of, rows_of_others
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import (
    LONELY,
    NEVER_AGAIN,
    UNANSWERED,
    Reporter,
    last_status,
)
from pairgossip.peer.service.status import Problem, Status, follow, status_of


class ExchangeReporter(Reporter):
    """Follows one peer's exchanges."""

    _protocol: Exchange

    def __init__(self, parts: Assembly, exchange: Exchange, log: Log) -> None:
        super().__init__(parts, exchange, log)
        before = last_status(parts)
        self._met = {node.record.origin for node in parts.state.nodes} | set(
            before.heard_of if before else ()
        )
        self._before = parts.state, self._context
        self._uncertainty = follow(exchange.context, parts.state, before)

    def _describe(self, **more: Any) -> Status:
        """Describe the peer by its state and by what was seen of its masses."""
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
        """Return how many exchanges were made."""
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
        """Return whether what the specification asks for is reached."""
        stop, population = self._parts.spec.stop, None
        if stop is not None and stop.enough:
            readout = readout_of(self._context, self._protocol.state)
            population = population_error(self._context, self._protocol.state, readout)
        return self._uncertainty.should_stop(stop, population)

    def _silences(self, now: float, waiting: Mapping[str, float]) -> list[Problem]:
        """Say which neighbors do not answer or have gone, and what that means."""
        problems = []
        # An offer made just now freezes a row too, but is answered in a moment.
        overdue = sum(seconds > UNANSWERED for seconds in waiting.values())
        is_stuck = overdue >= len(self._protocol.state.nodes)
        for neighbor in self._protocol.present:
            # A neighbor never heard is reported here only if others were heard: see LONELY.
            is_missed = bool(self._heard_at) and neighbor not in self._heard_at
            never = LONELY if is_missed else math.inf
            since = now - self._heard_at.get(neighbor, self._started_at)
            name, cause = self._name(neighbor), self._cause(neighbor)
            advice = (
                f"Nothing is lost, and it goes on once '{name}' runs; ask its operator. "
                f"{NEVER_AGAIN}"
            )
            if waiting.get(neighbor, 0.0) > UNANSWERED:
                said = f"No answer from '{name}' for {waiting[neighbor]:.0f} s ({cause}): "
                meaning = self._frozen(neighbor, is_stuck)
                kind = ("no answer", neighbor, cause, meaning)
                problems.append(Problem(f"{said}{meaning}. {advice}", kind))
            elif neighbor in self._versions:
                continue  # it is there, and the version is what to look at
            elif since > (UNANSWERED if neighbor in self._protocol.away else never):
                said = f"'{name}' is away, and was not heard of for {since:.0f} s ({cause}): "
                meaning = self._going_on(neighbor, is_stuck)
                kind = ("away", neighbor, cause, meaning)
                problems.append(Problem(f"{said}{meaning}. {advice}", kind))
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
