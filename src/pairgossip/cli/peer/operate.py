"""`pairgossip peer run`, `add`, `evict`, `agree` and `export`: a peer at work."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from pairgossip.cli.console import EXIT_FAILED, tell
from pairgossip.cli.options import Flag, HomeFolder
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.cli.peer.folders import find_home, find_study_folder, is_answered_yes
from pairgossip.cli.peer.init import LedgerOptions, RegisterOptions
from pairgossip.errors import InputError
from pairgossip.files import write_json_file
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.storage.folder import Home

_PATIENCE = 10.0
"""Seconds for which a command waits until a running peer has done it."""
_BATCHES = (
    "These rows are a table of their own, added to those before: few large batches leave less open "
    "than many small ones (5,000 rows at once, an AUC certain to .017; in ten batches to .20)."
)
_ONCE_AGREED = "once the operators of all others have run peer agree"
"""When a sum that takes the agreement of all becomes known."""


def run_command(*, home: HomeFolder = None) -> int:
    """Run the peer until it is stopped with Ctrl-C or SIGTERM; it may be killed at any moment.

    It exchanges with its neighbors whenever they are there, and goes on after a restart where it
    was. Events are written to standard error, as JSON unless that is a terminal; what it has
    found is shown by `peer status`.

    Exit codes: 0 stopped, 1 something must be repaired before it goes on, 2 something was
    wrong from the start, 3 this peer cannot go on (evicted, or a restored backup).

    For example:

        pairgossip peer run --home clinic-a
    """
    study = find_study_folder(home)
    folder = find_home(home).folder if study is None else study
    if sys.argv[1:3] == ["peer", "run"] and sys.executable:
        # This process is nothing but the command: it may become the peer, without its libraries.
        # -P: modules are not looked for in the folder where it happens to be started.
        kind = "peer" if study is None else "study"
        program = [sys.executable, "-P", "-m", f"pairgossip.{kind}", str(folder)]
        os.execv(program[0], program)
    from pairgossip.peer.service.log import write_logs

    with write_logs():
        if study is not None:
            from pairgossip.study.service.service import run_study
            from pairgossip.study.site.folder import open_study

            return run_study(open_study(study))
        from pairgossip.peer.service.service import run_peer

        return run_peer(find_home(home))


def add_command(
    what: Path | None = None,
    /,
    *,
    home: HomeFolder = None,
    data: Annotated[Path | None, Parameter(name=("--data", "--source"))] = None,
    yes: Flag = False,
    register: RegisterOptions = RegisterOptions(),
    privacy: LedgerOptions = LedgerOptions(),
) -> int:
    """Add rows to a peer, or to a member of a study.

    A study counts them in questions from then on, and nobody starts again. In a single run all
    members start again, with these rows among theirs.

    The others hear of it by themselves, and know from then on how many rows this peer has; of
    statistics on sums, rounded down to tens. What was found until then is kept and shown by `peer
    status`. Rows can be added as often as needed; they cannot be taken back.

    Counts of a statistic on sums go on: the new rows are a table of their own, which is added to
    those before. Everything else begins again, with the rows of every peer, and what was added
    twice by mistake counts twice.

    Where sums are computed and this peer has contributed to one, members learn the sum of what was
    added since: it says so and asks first. That is this operator's agreement; there is a new result
    once those of all others have run `peer agree`.

    A running peer takes them up within a second or so, another as soon as it is started.

    For example:

        pairgossip peer add more.csv --home hospital-1
        pairgossip peer add clinic-a --data more.csv

    Parameters
    ----------
    what
        The file with the rows; or the peer's folder, where --data names the file.
    data
        A table with the columns that the specification names, and none of the rows that the peer
        has already; of any kind that `peer init` reads.
    yes
        Do not ask.
    """
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.storage.growth import request_growth

    if data is None:
        data, what = what, None
    if data is None:
        raise InputError("Name the file with the rows: peer add more.csv.")
    if what is not None and home is not None:
        raise InputError("Two folders are named: leave out the first, or --home.")
    home = home or what
    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.studies import add_to_study

        add_to_study(study, data, yes=yes, visible=register.visible)
        return 0
    place = find_home(home)
    shown = _describe_difference(read_snapshot(place))
    if shown and not yes and not _is_agreed("Adding rows", [f"- {shown}."], "Add these rows?"):
        return EXIT_FAILED
    asked = request_growth(
        place, data, privacy.ledger, privacy.budget, register.release, partial(_tell_release, place)
    )
    rows = format_count(asked.added, "row")
    if not place.is_running():
        tell(f"{rows} will be added as soon as this peer is started: it then has {asked.rows:,}.")
        return 0
    if _is_waiting(asked.file):
        tell(f"{rows} will be added when the peer comes to it: it then has {asked.rows:,}.")
    else:
        tell(f"Added {rows}: the peer has {asked.rows:,}, and has begun a new generation.")
        tell("What the one before has found is kept: see peer status.")
    if shown:
        tell(f"There is a new result {_ONCE_AGREED}.")
    return 0


def _tell_release(place: Home, sentences: list[str]) -> None:
    """Say what is noted of added rows, and what a table of their own costs."""
    from pairgossip.peer.storage.kept_releases import releases_tables

    spec = place.read_spec()
    is_counted = releases_tables(spec) and not spec.has_noise
    for sentence in [*sentences, *([_BATCHES] if is_counted else [])]:
        tell(sentence)


def _describe_difference(seen: PeerSnapshot, member: str | None = None) -> str:
    """Say what a further sum tells beside the last one; empty if this peer contributed to none.

    The two differ by the rows of ``member``, who is evicted, or else by rows that this peer adds.
    """
    if not seen.saved.summed_in or (member is not None and member not in seen.saved.summed):
        return ""
    if cost := seen.spec.cost_of_sum:
        return f"{cost}, {_ONCE_AGREED}"
    if not seen.context.rounds_sizes:
        rows = "the added rows" if member is None else "its rows"
        return f"every member can tell the sums over {rows}, by difference, {_ONCE_AGREED}"
    if member is None:
        return f"the added rows are counted as a table of their own, {_ONCE_AGREED}"
    return (
        "its rows stay in tables that all have signed; of one that not all have signed, every "
        f"member can tell its counts, by difference, {_ONCE_AGREED}"
    )


def _is_waiting(request: Path) -> bool:
    """Give the running peer a while; return whether it still has not taken up a request."""
    end = time.monotonic() + _PATIENCE
    while request.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return request.exists()


def evict_command(member: str, /, *, home: HomeFolder = None, yes: Flag = False) -> int:
    """Go on without a member that is lost for good, and cannot return.

    In a single run all members start again; a study goes on by a list that all others have signed.

    Only for a peer that will not come back, or whose state was restored from a backup: one that is
    merely switched off is waited for, and nothing is lost. The others hear of it by themselves.
    Where sums are computed, a peer that has contributed to one together with the member contributes
    to none without it before its own operator has agreed, for the difference tells the member's
    numbers: this command is the agreement of this operator, and those of all others run `peer
    agree`.
    Every peer puts its own rows back, and counting begins again; what was found until then is kept
    and shown by `peer status`. There is no way back: the same machine can join again as a new peer.

    It says what this means and asks first. A running peer then does it within a second or so,
    another as soon as it is started.

    For example:

        pairgossip peer evict clinic-b

    Parameters
    ----------
    member
        The name of the member, or its id.
    yes
        Do not ask.
    """
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.storage.folder import find_member, request_eviction

    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.studies import evict_from_study

        evict_from_study(study, member, yes=yes)
        return 0
    place = find_home(home)
    seen = read_snapshot(place)
    lost = find_member(seen.members, seen.identity.id, member)
    name = seen.members.names()[lost]
    if lost in seen.saved.evictions:
        raise InputError(f"'{name}' was evicted before: there is nothing left to do.")
    if not yes and not _is_agreed(
        f"Evicting '{name}'", _describe_eviction(seen, lost, name), f"Evict {name}?"
    ):
        return EXIT_FAILED
    request = request_eviction(place, lost)
    if not place.is_running():
        tell(f"{name} is evicted as soon as this peer is started.")
        return 0
    tell(f"{name} {'will be' if _is_waiting(request) else 'is'} evicted.")
    if _describe_difference(seen, lost):
        tell(f"There is a new result {_ONCE_AGREED}.")
    return 0


def _describe_eviction(seen: PeerSnapshot, lost: str, name: str) -> list[str]:
    """Say what an eviction means."""
    from pairgossip.cli.peer.status import describe_ended
    from pairgossip.peer.service.status import ended_generation

    status, rows = seen.status(), seen.context.present_rows.get(lost)
    meaning = []
    gone = f"its {format_count(rows or 0, 'row')} count no more"
    if seen.context.rounds_sizes:  # others know a rounded number
        gone = "its rows count no more in new tables"
    if rows is not None:  # else others have evicted it, and this operator agrees
        meaning += [
            f"- {gone};",
            f"- generation {status.generation + 1} begins, from the members' own rows alone;",
        ]
    if shown := _describe_difference(seen, lost):
        meaning.append(f"- {shown};")
    meaning.append(f"- {name} can come back only as a new peer, by new invitations.")
    ended = ended_generation(status)
    if rows is not None and ended is not None:
        meaning.append(f"Generation {status.generation} then ends with {describe_ended(ended)}.")
    return meaning


def agree_command(*, home: HomeFolder = None, yes: Flag = False) -> int:
    """Contribute to a further sum, although the difference from the last one tells something.

    A peer that has contributed to a sum contributes to no other one before its own operator has
    agreed: whoever knows two sums takes one from the other. So after an eviction, or once a member
    has added rows, there is a new result only when the operators of all members have agreed. Who
    runs `peer evict` or `peer add` has agreed to that by it; all others run this. One who does not
    is enough to keep a new result from being found; the last one stays.

    It says what has changed since this peer contributed, and what becomes known, and asks first. If
    another generation begins before the peer has taken it up, nothing is agreed to, and it says so.
    A running peer takes it up within a second or so, another as soon as it is started.

    For example:

        pairgossip peer agree --home clinic-a

    Parameters
    ----------
    yes
        Do not ask.
    """
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.storage.folder import request_agreement

    place = find_home(home)
    seen = read_snapshot(place)
    generation, meaning = _describe_agreement(seen)
    if not yes and not _is_agreed("Agreeing", meaning, "Agree?"):
        return EXIT_FAILED
    request = request_agreement(place, generation)
    if not place.is_running():
        tell("It is agreed as soon as this peer is started, unless another generation has begun.")
        return 0
    if _is_waiting(request):
        tell("It will be agreed when the peer comes to it.")
        return 0
    if read_snapshot(place).sums.consent.generation != generation:
        tell(
            "Another generation has begun meanwhile, so that nothing was agreed: run peer agree "
            "again to see what has changed."
        )
        return EXIT_FAILED
    tell("Agreed: there is a new result once the operators of all members have agreed.")
    return 0


def _describe_agreement(seen: PeerSnapshot) -> tuple[str, list[str]]:
    """Return the generation that waits for consent, and what it means; raise if none does."""
    from pairgossip.peer.protocol.consent import (
        describe_changes,
        describe_disclosure,
        find_difference,
        refuse_sum,
    )
    from pairgossip.peer.protocol.summation import read_next

    state, context = seen.sums, seen.context
    if (notice := read_next(state)) is not None:
        if context.me in notice.evicted:
            name = context.name_member(notice.announcer)
            raise InputError(f"'{name}' has evicted this peer: there is nothing to agree to.")
        state = msgspec.structs.replace(state, generation=notice.generation)
        context = context.with_changes(notice.changes)
    once = context.rounds_sizes
    refusal = refuse_sum(
        state, context.present_rows, context.rows, context.name_member, counts_once=once
    )
    if refusal is None and notice is None:
        raise InputError(
            "This peer may contribute already, for nothing has changed, or it was agreed to: there "
            "is nothing left to do."
        )
    difference = find_difference(state, context.present_rows, context.rows)
    if difference.joined and refusal is not None:
        raise InputError(refusal)
    since = "since this peer contributed to a sum, " if state.summed_in else ""
    changes = describe_changes(difference, context.name_member)
    meaning = [f"- {since}{change};" for change in changes]
    if notice is not None:
        meaning.append("- the present generation ends here: a result not signed yet is given up;")
    if (cost := seen.spec.cost_of_sum) and state.summed_in:
        meaning.append(f"- {cost};")
    told = describe_disclosure(difference, counts_once=once)
    disclosure = f"a further sum tells every member {told}"
    if not state.summed_in:
        disclosure = "this peer's numbers are added to those of fewer members"
    meaning.append(f"- {disclosure}, once the operators of all members have agreed.")
    return state.generation, meaning


def _is_agreed(what: str, meaning: list[str], question: str) -> bool:
    """Say what something means that cannot be undone, and ask whether it is meant."""
    refusal = f"{what} cannot be undone, and there is no terminal to ask on: give --yes."
    is_meant = is_answered_yes([f"{what} cannot be undone:", *meaning], question, refusal)
    if not is_meant:
        tell("Nothing was done.")
    return is_meant


def export_command(*, out: Path, home: HomeFolder = None, with_data: Flag = False) -> None:
    """Write the peer's durable state as JSON: whose records it holds, offers, outcomes, sums.

    No observation is written unless asked for, and never the key. The peer may be running.
    This is for looking only: a peer cannot be restored from it.

    For example:

        pairgossip peer export --out state.json

    Parameters
    ----------
    out
        The JSON file to write.
    with_data
        Also write the observations that the peer holds, its own and those of others.
    """
    from pairgossip.peer.storage.journal_file import export

    place = find_home(home)
    check_outputs([out])
    write_json_file(out, export(place.state, private=with_data))
    tell(f"Wrote {out}")
