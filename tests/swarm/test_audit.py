"""The audit finds what was planted, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol.messages import generation_name
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.swarm.audit import audit
from tests.peer.homes import GINI, Pair, make_pair

PAPER = 'algorithm.mixing = "paper"\n' + GINI


def exchanging(folder: Path, first: int = 3, second: int = 4, spec: str = GINI) -> list[Home]:
    """Two peers that have made some exchanges and then stopped."""
    homes = make_pair(
        folder, [1.0 + k for k in range(first)], [20.0 + k for k in range(second)], spec
    )
    pair = Pair(homes)
    pair.deliver()
    for number in range(12):
        pair.ask(number % 2)
        pair.deliver()
    pair.close()
    return homes


def change(home: Home, how: Callable[[State], State]) -> None:
    """Write another state over a peer's."""
    journal = SqliteJournal(home.state, create=False)
    state = journal.load()
    assert isinstance(state, State)
    journal.save(Save(how(state), sync=True, everything=True))
    journal.close()


def test_honest_peers_pass(tmp_path: Path) -> None:
    found = audit(exchanging(tmp_path))
    assert found.is_sound and found.violations == ()
    assert (found.records, found.exchanges, found.parked, found.decided) == (7, 12, 0, 0)
    # Each exchange picks three rows on either side; a row's weight is its peer's rows over 3.
    assert found.weight == pytest.approx(12 * 3 * (3 / 3 + 4 / 3))
    assert found.weight_due == pytest.approx(found.weight)
    assert [finding.name for finding in found.findings] == ["ann", "bob"]
    assert all(finding.estimate is not None for finding in found.findings)


@pytest.mark.parametrize("rows", [(1, 1), (1, 3), (2, 2)])
def test_few_rows_pass_too(tmp_path: Path, rows: tuple[int, int]) -> None:
    assert audit(exchanging(tmp_path, *rows)).violations == ()


def test_without_weights_records_and_updates_count(tmp_path: Path) -> None:
    homes = exchanging(tmp_path, spec=PAPER)
    found = audit(homes)
    assert found.violations == () and found.weight is None
    change(homes[0], lambda state: replace(state, exchanges=state.exchanges + 2))
    assert audit(homes).violations == ("ann has counted 36 updates in 14 exchanges.",)


def test_local_exchanges_that_were_left_out_are_not_missed(tmp_path: Path) -> None:
    homes = exchanging(tmp_path, spec=PAPER)
    change(homes[0], lambda state: replace(state, exchanges=state.exchanges + 2, left_out=3))
    assert audit(homes).violations == ()


@pytest.mark.parametrize("is_heard", [True, False])
def test_what_was_decided_counts_as_done(tmp_path: Path, is_heard: bool) -> None:
    homes = exchanging(tmp_path)
    pair = Pair(homes)
    pair.deliver()
    pair.ask(0)
    if is_heard:
        sender, to, frame = pair._frames.popleft()
        pair.running[to].received(sender, frame, 0.0)
    pair.lose()
    pair.close()
    found = audit(homes)
    assert found.violations == ()
    assert (found.parked, found.decided) == (1, int(is_heard))
    assert found.exchanges == 12 + is_heard


def swapped(state: State, row: int, **changes: object) -> State:
    nodes = list(state.nodes)
    nodes[row] = replace(nodes[row], **changes)
    return replace(state, nodes=tuple(nodes))


def test_a_doubled_record_is_found(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    change(homes[0], lambda state: swapped(state, 0, record=state.nodes[1].record))
    violations = audit(homes).violations
    assert len(violations) == 2
    assert any(" is lost." in one for one in violations)
    assert any(" is held 2 times." in one for one in violations)


def test_a_changed_record_is_found(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)

    def forge(state: State) -> State:
        record = state.nodes[0].record
        return swapped(state, 0, record=replace(record, value=(50.0,)))

    change(homes[1], forge)
    (violation,) = audit(homes).violations
    assert violation.endswith(" is not as its owner made it.")


def test_lost_mass_is_found(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)

    def lighten(state: State) -> State:
        total, weight, *products = state.nodes[0].mass
        return swapped(state, 0, mass=(total, weight - 1e-4, *products))

    change(homes[0], lighten)
    (violation,) = audit(homes).violations
    assert violation.startswith("The peers hold a weight of ")


@pytest.mark.parametrize("place", [2, 3])
def test_lost_products_are_found(tmp_path: Path, place: int) -> None:
    homes = exchanging(tmp_path)

    def lose(state: State) -> State:
        mass = list(state.nodes[0].mass)
        mass[place] *= 1 - 1e-4
        return swapped(state, 0, mass=tuple(mass))

    change(homes[0], lose)
    assert audit(homes).violations == (
        "The peers hold other products of rows in all than their visits have added.",
    )


def test_half_an_exchange_is_found(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    change(homes[0], lambda state: replace(state, exchanges=state.exchanges - 1))
    violations = audit(homes).violations
    assert violations[:2] == (
        "ann has counted 36 updates in 11 exchanges.",
        "An exchange was made by one side only.",
    )
    assert violations[2].startswith("The peers hold a weight of ")


def test_a_restored_backup_is_found(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    change(homes[0], lambda state: replace(state, seq=0))
    assert audit(homes).violations == (
        "bob has decided an offer of ann that the latter does not remember.",
    )


def test_a_number_that_is_none_is_found(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    change(homes[1], lambda state: swapped(state, 2, mass=(math.nan, *state.nodes[2].mass[1:])))
    assert audit(homes).violations == ("bob has a number that is not finite in row 2.",)


def test_generations_must_agree(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    change(homes[0], lambda state: replace(state, generation=generation_name(5, ("x",))))
    assert audit(homes).violations[0].startswith("Not all peers are in the same generation")
