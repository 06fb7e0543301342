"""Rows added to a peer: its folder, and what the others learn."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.invitations import add_invited, invitation, read_invitation
from pairgossip.peer.identity.members import make_context
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import (
    Changes,
    Growth,
    generation_name,
    generations_before,
)
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.service.service import EXIT_UNFIT
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage import growth, row_keeping
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import (
    finish_interrupted_growth,
    request_growth,
    rows_waiting,
    take_up_rows,
)
from pairgossip.peer.storage.witness import witness_of
from pairgossip.swarm.audit import audit
from tests.peer.books import QuickMixing
from tests.peer.contexts import make_context as make_sealed_context
from tests.peer.homes import GINI, exchanges, introduce_each_other, make_home, make_pair
from tests.peer.test_service import FAST, Switchboard, running
from tests.peer.zenoh_people import until

U = GINI.replace("[ranges]", 'target = "u"\nmembers = 3\n[ranges]')


def more(folder: Path, *values: float) -> Path:
    file = folder / "more.csv"
    file.write_text("income\n" + "".join(f"{value}\n" for value in values))
    return file


class Silent:
    """A network without other peers."""

    def send(self, to: str, frame: bytes) -> None:
        """Lose it."""


def start(home: Home) -> None:
    """Do what a peer does at its start, up to its first check."""
    finish_interrupted_growth(home)
    parts = assemble(home)
    try:
        exchange = Exchange(parts.context, parts.state)
        runtime = ExchangeRuntime(exchange, parts.journal, Silent(), random.Random(0), 1.0)
        runtime.start(0.0)
        with take_up_rows(home, exchange.context.own) as rows:
            if rows is not None:
                runtime.grow(rows, 0.0)
    finally:
        parts.close()


def rows_and_nodes(home: Home) -> tuple[list[float], list[float]]:
    """Return the peer's rows, and those that its initial state holds as its own."""
    seen = read_snapshot(home)
    nodes = [node.record.value[0] for node in seen.state.nodes]
    return [row[0] for row in seen.context.own], nodes


# One peer


def test_added_rows_wait_for_the_next_start(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0, 4.0], [6.0])
    asked = request_growth(ann, more(tmp_path, 7.0, 8.0))
    assert (asked.added, asked.rows) == (2, 4)
    assert rows_and_nodes(ann) == ([1.0, 4.0], [1.0, 4.0])
    asked = request_growth(ann, more(tmp_path, 9.0))
    assert (asked.added, asked.rows) == (1, 5)
    assert rows_waiting(ann, 2) == 3
    start(ann)
    assert rows_waiting(ann, 5) == 0
    assert not asked.file.exists()
    assert rows_and_nodes(ann) == ([1.0, 4.0, 7.0, 8.0, 9.0],) * 2
    state = read_snapshot(ann).state
    assert generations_before(state.generation) == 1
    me = load_identity(ann.folder).id
    assert [(one.member, one.first, one.rows) for one in state.grown] == [(me, 2, 5)]
    start(ann)  # the second time nothing is added
    assert read_snapshot(ann).state == state


def test_a_peer_holds_no_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [6.0])
    monkeypatch.setattr(row_keeping, "MOST_TRAVELING", 3)
    request_growth(ann, more(tmp_path, 3.0))
    with pytest.raises(InputError, match="has 1 row and the peer has 3: a peer holds at most 3"):
        request_growth(ann, more(tmp_path, 4.0))


def test_a_request_that_is_of_other_rows_is_refused(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [6.0])
    for text in ("income\n1.0\n", "income\n2.0\n1.0\n3.0\n"):
        (ann.folder / "data.next.csv").write_text(text)
        with pytest.raises(InputError, match="does not begin with the rows that this peer has"):
            start(ann)
    (ann.folder / "data.next.csv").unlink()
    start(ann)


def test_who_adds_rows_waits_for_who_takes_them_up(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0], [6.0])
    request_growth(ann, more(tmp_path, 2.0))
    with growth._locked(ann), take_up_rows(ann, ((1.0,),)) as rows:
        assert rows is None  # the next check finds them
    start(ann)
    assert rows_and_nodes(ann)[0] == [1.0, 2.0]


def test_an_invitation_tells_what_a_peer_began_with(tmp_path: Path) -> None:
    """All lists agree, whenever they were made; a generation says how many rows it has now."""
    ann, bob = make_pair(tmp_path, [1.0], [6.0])
    request_growth(ann, more(tmp_path, 2.0))
    start(ann)
    me = load_identity(ann.folder)
    first = read_snapshot(ann).context.rows[me.id]
    assert first == 1
    text = invitation(me, ann.read_spec(), first, "tls/127.0.0.1:7448")
    listed = bob.read_members()
    again = add_invited(listed, load_identity(bob.folder), bob.read_spec(), read_invitation(text))
    assert [one.rows for one in again.listed] == [one.rows for one in listed.listed]


# All peers


def test_an_evicted_member_takes_its_added_rows_along() -> None:
    grown = (Growth("a", 3, 10, b""), Growth("b", 2, 4, b""))
    first = {"a": 10, "b": 2, "c": 5}  # at first a peer knows about itself only what it has now
    context = make_sealed_context("a", (), ((1.0,),) * 10, first, QuickMixing())

    def gone(*changes: Any) -> int:
        return context.with_changes(Changes(*changes)).rows_gone()

    assert gone((), grown) == -9
    assert gone(("a",), grown) == 3 - 2
    assert gone(("c",), grown) == 5 - 9
    assert gone(("stranger",), ()) == 0


def test_the_factor_of_u_follows_growth_and_evictions(tmp_path: Path) -> None:
    ann, bob = make_pair(tmp_path, [1.0], [6.0, 7.0], U)
    spec, listed = parse_spec(U), ann.read_members()
    me, them = load_identity(ann.folder), load_identity(bob.folder)
    own = tuple((float(k),) for k in range(5))
    grown = (Growth(me.id, 1, 5, b""), Growth(them.id, 2, 6, b""))
    for evicted, changes, n in (
        ((), (), 3),
        ((), grown, 3 + 4 + 4),
        ((them.id,), grown, 5),
        ((them.id,), (), 2),
    ):
        context = make_context(me, spec, own, listed, changes=Changes(evicted, changes))
        assert context.rule.scale == pytest.approx(n / (n - 1))  # type: ignore[attr-defined]


def test_real_keys_sign_growth(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0], [6.0, 7.0])
    ann, bob = (read_snapshot(home).context for home in homes)
    rows = tuple((float(k),) for k in range(4))
    claim = ann.with_own(rows).claim_growth()
    assert ann.is_genuine_growth(claim) and bob.is_genuine_growth(claim)
    for change in ({"rows": 5}, {"first": 2}, {"member": bob.me}, {"signature": b""}):
        assert not bob.is_genuine_growth(replace(claim, **change))
    wrong = dataclasses.replace(ann, rows={ann.me: 2}, own=rows).claim_growth()
    assert not bob.is_genuine_growth(wrong)  # it began with one
    theirs = bob.with_own(rows).claim_growth()
    assert not bob.is_genuine_growth(replace(theirs, member=ann.me, first=1))
    notice = ann.announce(generation_name(1, (), (claim,)), Changes((), (claim,)))
    assert bob.is_genuine_notice(notice)
    assert not bob.is_genuine_notice(replace(notice, grown=()))


def test_a_running_peer_takes_added_rows_up(tmp_path: Path) -> None:
    homes = [make_home(tmp_path, name, [float(k)], FAST) for k, name in enumerate("abc")]
    introduce_each_other(homes)
    with running(*homes) as (a, b, _):
        assert until(lambda: all(exchanges(home) > 10 for home in homes))
        asked = request_growth(homes[0], more(tmp_path, 50.0, 90.0))
        assert until(lambda: not asked.file.exists())
        assert until(
            lambda: all(
                generations_before(read_snapshot(home).state.generation) == 1 for home in homes
            )
        )
        assert until(lambda: all(exchanges(home) > 300 for home in homes))
        assert until(lambda: b.status().covers.of_rows == 5)
    found = audit(homes)
    assert (found.records, found.violations) == (5, ())
    assert a.status().generation == 2 and a.status().covers.of_rows == 5
    truth = np.abs(np.subtract.outer(*[[0.0, 1.0, 2.0, 50.0, 90.0]] * 2)).mean()
    assert a.status().estimate == pytest.approx((truth,), rel=0.5)


def whole_state(home: Home) -> tuple[Path, ...]:
    """Return the files of a backup that only neighbors can detect after it is restored."""
    return home.state, witness_of(home.state), home.data


def test_a_backup_from_before_rows_were_added_stops_with_a_sentence(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0], [10.0], FAST)
    kept = [(file, file.read_bytes()) for file in whole_state(homes[0])]
    request_growth(homes[0], more(tmp_path, 2.0))
    board = Switchboard()
    with running(homes[1], board=board):
        with running(homes[0], board=board):
            assert until(lambda: read_snapshot(homes[1]).state.changes.rows() != {})
        for file, content in kept:
            file.write_bytes(content)
        with running(homes[0], board=board) as (ann,):
            assert ann.wait() == EXIT_UNFIT
    (problem,) = ann.status().problems
    known = "holds a claim signed by this peer of more rows than this peer knows of"
    assert problem.startswith(f"Neighbor 'bob' {known}: the state is a restored backup")
