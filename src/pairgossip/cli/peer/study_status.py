"""`pairgossip peer status` of a study's member: the list, its questions, its problems."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import format_value, write_json, write_line, write_rows
from pairgossip.cli.peer.health import check_health, print_metrics
from pairgossip.text import clean_text, join_names

if TYPE_CHECKING:
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.service.status import StudyStatus

_FRESH = 5.0
"""Seconds after which a status is out of date, if its peer runs."""


def print_study_status(folder: Path, *, json: bool, prometheus: bool, check: bool) -> int | None:
    """Show a study's member: the list, proposals, questions that wait, problems."""
    from pairgossip.study.service.reading import StudyReading

    study = StudyReading(folder)
    if check:
        return check_health(folder, study.status)
    if prometheus:
        print_metrics(study.status)
        return None
    status = study.status()
    if json:
        import msgspec

        facts = {} if status is None else msgspec.to_builtins(status)
        write_json({**facts, "name": study.name, "running": study.is_running})
        return None
    _print_status(study, status)
    return None


def _print_status(study: StudyReading, status: StudyStatus | None) -> None:
    for problem in study.problems():
        write_line(f"Problem: {clean_text(problem, 2000)}")
    rows = [("state", _state(study, status))]
    if status is not None:
        rows += _facts(status)
    if waiting := study.waiting():
        rows.append(("requests", f"{len(waiting)} wait until the peer runs"))
    write_rows(("peer", study.name), rows, numbers=False)
    if status is not None and status.members:
        write_rows(
            ("member", "on the list", "accepted here", "connected", "address"),
            [
                (
                    one.card.name,
                    format_value(one.is_listed),
                    format_value(one.is_accepted),
                    _is_connected(status, one.card.name),
                    one.card.address or "it connects",
                )
                for one in status.members
            ],
            numbers=False,
        )
    for line in describe_proposals(status):
        write_line(line)


def _facts(status: StudyStatus) -> Iterator[tuple[str, str]]:
    listed = sum(one.is_listed for one in status.members)
    is_listed = any(one.is_listed and one.card.id == status.id for one in status.members)
    if not status.list:
        yield "members", "no list yet: all members must join all others, and run"
    elif is_listed:
        yield "members", f"{listed}, who have all signed this list"
    else:
        yield "members", f"{listed}, and this peer is none of them any more"
    yield from _describe_leavers(status, is_listed=is_listed)
    open_ones = ", ".join(f"{count} {phase}" for phase, count in sorted(status.phases.items()))
    yield "open questions", open_ones or "none"
    if status.waiting:
        numbers = join_names(list(map(str, status.waiting)))
        yield "waits for you", f"question {numbers}: see peer questions"
    batches = " + ".join(f"{rows:,}" for rows in status.batches)
    yield "rows", batches
    yield "id", status.id


def _describe_leavers(status: StudyStatus, *, is_listed: bool) -> Iterator[tuple[str, str]]:
    """Say who has asked to be left out of the list, and is on it still."""
    if not is_listed or not status.leavers:
        return
    others = [f"'{name}'" for name in status.leavers if name != status.name]
    if status.name in status.leavers:
        yield (
            "leaves",
            "this peer has asked to be left out: it is a member until all others have signed that "
            "and it has heard so",
        )
    if others:
        asked = "has asked" if len(others) == 1 else "have asked"
        yield "leave", f"{join_names(others)} {asked} to be left out of the next list"


def describe_proposals(status: StudyStatus | None) -> Iterator[str]:
    """Say which lists wait, and what this operator can do about it."""
    strangers = (
        set()
        if status is None
        else {one.card.name for one in status.members if not one.is_accepted}
    )
    for one in () if status is None else status.proposals:
        changes = [f"with {join_names(one.joins)}"] if one.joins else []
        changes += [f"without {join_names(one.leaves)}"] if one.leaves else []
        waits = join_names([f"'{name}'" for name in one.awaited] or ["nobody"])
        line = f"Proposed: a list {' and '.join(changes)}; it waits for {waits}."
        match sorted(strangers.intersection(one.joins)):
            case []:
                pass
            case [name]:
                line += f" To agree, run peer accept {name}."
            case names:
                line += f" To agree, run peer accept for each of {', '.join(names)}."
        yield line


def _is_connected(status: StudyStatus, name: str) -> str:
    if name == status.name:
        return "this peer"
    neighbor = status.neighbors.get(name)
    return format_value(neighbor is not None and neighbor.connected)


def _state(study: StudyReading, status: StudyStatus | None) -> str:
    if status is None:
        return "running" if study.is_running else "has never run"
    if study.is_running:
        is_old = time.time() - status.updated > _FRESH
        return "running, and silent" if is_old else f"running as process {status.pid}"
    return "stopped" if status.stopped else "not running; it ended without saying so"
