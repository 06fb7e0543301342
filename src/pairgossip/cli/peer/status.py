"""`pairgossip peer status`: what a peer has found, and whose records it has met."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import format_value, new_table, write_json, write_line, write_table
from pairgossip.cli.options import Flag
from pairgossip.cli.peer.setup import find_home

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.service.status import Ended, NeighborStatus, Status
    from pairgossip.peer.storage.folder import Home

MOST_SHOWN = 8
MOST_ENDED_SHOWN = 3
"""Generations; the JSON has them all."""


def status_command(*, home: Path | None = None, json: Flag = False) -> None:
    """Show a peer's estimate, whose records it has met, its neighbors and counters; running or not.

    For example:

        pairgossip peer status --home clinic-a

    Parameters
    ----------
    home
        The peer's folder; by default this one, or the only peer's in it.
    json
        Print one JSON object instead of tables.
    """
    import msgspec

    from pairgossip.peer.reading import FolderReader
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.service.privacy_noise import noise_of
    from pairgossip.peer.storage.home import rows_waiting

    place = find_home(home)
    seen, is_running = read_snapshot(place), place.is_running()
    state = FolderReader(seen.identity.name, seen.identity.id, place).read().state
    status, waiting = seen.status(), rows_waiting(place, len(seen.state.nodes))
    if json:
        write_json({
            **msgspec.to_builtins(status),
            "running": is_running,
            "state": state,
            "rows_waiting": waiting,
            "privacy_noise": noise_of(seen),
            "privacy_budgets": _budgets(place),
        })  # fmt: skip
        return
    added = [("added rows", f"{waiting}, taken up when the peer runs")] if waiting else []
    _write_facts(
        status, _state(status, state, is_running), _ended(status) + added + _privacy(seen, status)
    )
    _write_neighbors(status)
    if status.counts:
        counts = new_table(("events since the start", "count"))
        for name, count in sorted(status.counts.items()):
            counts.add_row(name, format_value(count))
        write_table(counts)
    for problem in status.problems:
        write_line(f"Problem: {problem}")


def _write_facts(status: Status, state: str, more: list[tuple[str, str]]) -> None:
    covers = status.covers
    facts = new_table(("peer", status.name), numbers=False)
    rows = [
        (status.measure, _estimate(status)),
        ("has met", f"records of {covers.members} of {covers.of_members} members; "
         f"all have {format_value(covers.of_rows)} rows together"),
        ("exchanges", format_value(status.exchanges)),
        ("generation", f"{status.generation}{_without(status)}"),
        ("last exchange", _ago(status.staleness, status.updated)),
        ("state", state),
        ("id", status.id),
        *more,
    ]  # fmt: skip
    for name, value in rows:
        facts.add_row(name, value)
    write_table(facts)


def _estimate(status: Status) -> str:
    if status.estimate is None:
        return "unknown: no exchange yet"
    return _found(status.estimate, status.interval, status.privacy is not None)


def _found(
    estimate: tuple[float, ...], interval: tuple[float, float] | None, is_private: bool
) -> str:
    if len(estimate) > 1:
        shown = ", ".join(format_value(entry) for entry in estimate[:MOST_SHOWN])
        return shown + (", ..." if len(estimate) > MOST_SHOWN else "")
    value = format_value(estimate[0])
    if interval is None:
        return value
    what = "reports" if is_private else "rows"
    between = " and ".join(map(format_value, interval))
    return f"{value}; the value over all {what} is likely between {between}"


def describe_ended(ended: Ended, status: Status) -> str:
    """Say what a peer had found when a generation ended."""
    found = _found(ended.estimate, ended.interval, status.privacy is not None)
    covers = ended.covers
    return (
        f"{found} (after {format_value(ended.exchanges)} exchanges, with records of "
        f"{covers.members} of {covers.of_members} members, {format_value(covers.of_rows)} rows "
        "together)"
    )


def _ended(status: Status) -> list[tuple[str, str]]:
    return [
        (f"generation {one.generation}", f"ended with {describe_ended(one, status)}")
        for one in status.ended[-MOST_ENDED_SHOWN:]
    ]


def _privacy(seen: PeerSnapshot, status: Status) -> list[tuple[str, str]]:
    """Say what is promised about the rows, what that costs in exactness, and what was spent."""
    if status.privacy is None:
        return []
    from pairgossip.peer.service.privacy_noise import noise_of

    facts = [("privacy", status.privacy)]
    if seen.spec.kernel is not None:
        noise = noise_of(seen)
        known = (
            "unknown yet" if noise is None else f"a standard error of at most {format_value(noise)}"
        )
        facts.append(("privacy noise", f"{known}, besides what the interval allows for"))
    for ledger, budget in _budgets(seen.home).items():
        told = budget.get("problem") or (
            f"epsilon {budget['spent']} of {budget['cap']} spent by every row ({ledger})"
        )
        facts.append(("privacy budget", told))
    return facts


def _budgets(home: Home) -> dict[str, dict[str, str]]:
    from pairgossip.errors import InputError
    from pairgossip.peer.storage.home import accounts

    return {
        ledger: {"problem": str(account)}
        if isinstance(account, InputError)
        else {
            "spent": f"{account.spent.normalize():f}",
            "cap": f"{account.cap.normalize():f}",
        }
        for ledger, account in accounts(home).items()
    }


def _without(status: Status) -> str:
    return f", without {', '.join(status.evicted)}" if status.evicted else ""


def _state(status: Status, state: str, is_running: bool) -> str:
    from pairgossip.peer.reading import FROZEN

    offers = "an offer waits for its answer" if status.pending == 1 else "offers wait for answers"
    offer = f", {offers}" if status.pending else ""
    done = ", has reached what the specification asks for" if status.done else ""
    if is_running:
        how = "frozen" if state == FROZEN else "running"
        return f"{how} as process {status.pid}{offer}{done}"
    if not status.updated:
        return f"not running{offer}"
    how = "stopped" if status.stopped else "not running, last seen"
    return f"{how} {_spoken(time.time() - status.updated)} ago{offer}"


def _ago(staleness: float | None, updated: float) -> str:
    if staleness is None:
        return "none since the start"
    return f"{_spoken(staleness + max(time.time() - updated, 0.0))} ago"


def _spoken(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} seconds"


def _write_neighbors(status: Status) -> None:
    table = new_table(
        ("neighbor", "connected", "runs the same", "last heard", "address"), numbers=False
    )
    for name, one in sorted(status.neighbors.items()):
        heard = "never" if one.heard is None else _ago(one.heard, status.updated)
        address = one.address or "it connects"
        table.add_row(name, format_value(one.connected), _agreement(one), heard, address)
    if status.neighbors:
        write_table(table)


def _agreement(neighbor: NeighborStatus) -> str:
    if neighbor.evicted:
        return "evicted"
    if neighbor.other_version is not None:
        return f"no, version {neighbor.other_version}"
    return format_value(neighbor.agreed)
