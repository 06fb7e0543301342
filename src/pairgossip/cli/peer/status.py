"""`pairgossip peer status`: what a peer has found so far, and how it goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pairgossip.cli.console import (
    format_value,
    write_json,
    write_line,
    write_rows,
)
from pairgossip.cli.options import Flag, HomeFolder, Json
from pairgossip.cli.peer.folders import find_home, find_study_folder
from pairgossip.cli.peer.health import check_health, print_metrics
from pairgossip.errors import InputError
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.service.status import Ended, NeighborStatus, Status
    from pairgossip.peer.storage.folder import Home


_MOST_SHOWN = 8
"""Entries of an estimate that are shown; the rest are left out."""
_MOST_ENDED_SHOWN = 3
"""Generations; the JSON has them all."""


def status_command(
    *, home: HomeFolder = None, json: Json = False, prometheus: Flag = False, check: Flag = False
) -> int | None:
    """Show a peer's estimate, whose records it has met, its neighbors and counters; running or not.

    Problems come first, each with what to do.

    For example:

        pairgossip peer status --home clinic-a
        pairgossip peer status --home clinic-a --prometheus > clinic-a.prom

    Parameters
    ----------
    prometheus
        Print metrics as Prometheus reads them, for the textfile collector of its node exporter.
    check
        Print nothing but what is wrong, and end with 1 if the peer has not written a status for 15
        seconds, as a health check asks.
    """
    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.study_status import print_study_status

        return print_study_status(study, json=json, prometheus=prometheus, check=check)
    place = find_home(home)
    if check:
        from pairgossip.peer.service.status import read_status

        return check_health(place.folder, lambda: read_status(place.status))
    import msgspec

    from pairgossip.peer.reading import FolderReader
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.storage.growth import rows_waiting

    seen, is_running = read_snapshot(place), place.is_running()
    if prometheus:
        print_metrics(seen.status)
        return None
    state = FolderReader(seen.identity.name, seen.identity.id, place).read().state
    status, waiting = seen.status(), rows_waiting(place, seen.state.rows)
    problems = list(dict.fromkeys((*describe_eviction(place), *status.problems)))
    if json:
        write_json({
            **msgspec.to_builtins(status),
            "problems": problems,
            "running": is_running,
            "state": state,
            "rows_waiting": waiting,
            "privacy_budgets": _budgets(place),
        })  # fmt: skip
        return None
    for problem in problems:
        write_line(f"Problem: {problem}")
    added = [("added rows", f"{waiting}, taken up when the peer runs")] if waiting else []
    without = f", without {', '.join(status.evicted)}" if status.evicted else ""
    rows = [
        (status.measure, _estimate(status)),
        *_errors(status, seen.spec.kernel is not None),
        *_exchanges(status),
        ("generation", f"{status.generation}{without}"),
        ("state", _state(status, state, is_running)),
        ("id", status.id),
        *(
            (f"generation {one.generation}", f"ended with {describe_ended(one)}")
            for one in status.ended[-_MOST_ENDED_SHOWN:]
        ),
        *added,
        *_privacy(seen, status),
    ]
    write_rows(("peer", status.name), rows, numbers=False)
    _write_neighbors(status)
    if status.counts:
        counts = [(name, format_value(count)) for name, count in sorted(status.counts.items())]
        write_rows(("events since the start", "count"), counts)
    return None


def describe_eviction(home: Home) -> list[str]:
    """Say that the peer was evicted, if it was."""
    from pairgossip.peer.storage.folder import read_eviction

    try:
        evicted = read_eviction(home)
    except InputError as problem:
        return [str(problem)]
    return [] if evicted is None else [evicted.sentence()]


def _exchanges(status: Status) -> list[tuple[str, str]]:
    """Say what a peer that exchanges rows has met."""
    covers = status.covers
    return [
        ("has met", f"records of {covers.members} of {covers.of_members} members; "
         f"all have {format_value(covers.of_rows)} rows together"),
        ("exchanges", format_value(status.exchanges)),
        ("last exchange", _ago(status.staleness, status.updated)),
    ]  # fmt: skip


def _estimate(status: Status) -> str:
    if status.estimate is None:
        return "unknown: no exchange yet"
    return _format_estimate(status.estimate)


def _format_estimate(estimate: tuple[float, ...]) -> str:
    shown = ", ".join(format_value(entry) for entry in estimate[:_MOST_SHOWN])
    return shown + (", ..." if len(estimate) > _MOST_SHOWN else "")


def _errors(status: Status, is_statistic: bool) -> list[tuple[str, str]]:
    """Say how sure the estimate is: one line for each error, in its own words."""
    lines = []
    if status.gossip_interval is not None:
        low, high = status.gossip_interval
        what = "rows" if status.privacy is None else "reports"
        said = f"this peer is likely within {_short((high - low) / 2)} of the value over all {what}"
        error = _short(status.gossip_error)
        lines.append(("gossip error", f"{error} ({said}; falls with messages)"))
    if status.sampling_interval is not None:
        lines.append(("sampling error", _sampling_error(status)))
    if status.privacy is not None and is_statistic:
        size = "unknown yet"
        if status.privacy_error is not None:
            size = f"at most {_short(status.privacy_error)}"
        said = "reports instead of rows; falls with rows and a larger epsilon"
        lines.append(("privacy error", f"{size} ({said})"))
    return lines


def _sampling_error(status: Status) -> str:
    from pairgossip.text import format_ends

    assert status.sampling_interval is not None
    low, high = status.sampling_interval
    ends = " to ".join(format_ends(low, (low, high))[1:])
    error, level = _short(status.sampling_error), "95 %"
    if status.privacy is not None:
        error, level = f"at least {error}", "95 %, privacy error included"
    if status.sampling_error is None:
        error = "too small to tell"
    population = f"{ends} for the population the rows are drawn from"
    return f"{error} ({level}: {population}; falls with rows only)"


def _short(error: float | None) -> str:
    """Show an error's first two digits."""
    return format_value(error, 2)


def describe_ended(ended: Ended) -> str:
    """Say what a peer had found when a generation ended."""
    errors = {"gossip error": ended.gossip_error, "sampling error": ended.sampling_error}
    sizes = [f"{name} {_short(error)}" for name, error in errors.items() if error is not None]
    facts, covers = ", ".join([_format_estimate(ended.estimate), *sizes]), ended.covers
    how = (
        f"after {format_count(ended.exchanges, 'exchange')}, with records of "
        f"{covers.members} of {covers.of_members} members"
    )
    return f"{facts} ({how}, {format_value(covers.of_rows)} rows together)"


def _privacy(seen: PeerSnapshot, status: Status) -> list[tuple[str, str]]:
    """Say what is promised about the rows, and what was spent."""
    if status.privacy is None:
        return []
    facts = [("privacy", status.privacy)]
    for ledger, budget in _budgets(seen.home).items():
        state = budget.get("problem") or (
            f"epsilon {budget['spent']} of {budget['cap']} spent by every row ({ledger})"
        )
        facts.append(("privacy budget", state))
    return facts


def _budgets(home: Home) -> dict[str, dict[str, str]]:
    from pairgossip.peer.storage.accounting import accounts

    return {
        ledger: {"problem": str(account)}
        if isinstance(account, InputError)
        else {
            "spent": f"{account.spent.normalize():f}",
            "cap": f"{account.cap.normalize():f}",
        }
        for ledger, account in accounts(home).items()
    }


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
    return f"{how} {_format_seconds(time.time() - status.updated)} ago{offer}"


def _ago(staleness: float | None, updated: float) -> str:
    if staleness is None:
        return "none since the start"
    return f"{_format_seconds(staleness + max(time.time() - updated, 0.0))} ago"


def _format_seconds(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return format_count(round(max(seconds, 0.0)), "second")


def _write_neighbors(status: Status) -> None:
    if not status.neighbors:
        return
    columns = ("neighbor", "connected", "same specification", "last heard", "address")
    rows = []
    for name, one in sorted(status.neighbors.items()):
        heard = "never" if one.heard is None else _ago(one.heard, status.updated)
        address = one.address or "it connects"
        rows.append((name, format_value(one.connected), _agreement(one), heard, address))
    write_rows(columns, rows, numbers=False)


def _agreement(neighbor: NeighborStatus) -> str:
    if neighbor.evicted:
        return "evicted"
    if neighbor.other_version is not None:
        return f"no, version {neighbor.other_version}"
    if neighbor.heard is None and not neighbor.agreed:
        return "not known yet"
    return format_value(neighbor.agreed)
