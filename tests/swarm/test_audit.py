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
    """Return two peers that have made some exchanges and then stopped."""
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
    """Replace a peer's state by another one."""
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


def forge(state: State) -> State:
    return swapped(state, 0, record=replace(state.nodes[0].record, value=(50.0,)))


def lose_mass(place: int, by: float = 0.0, part: float = 1.0) -> Callable[[State], State]:
    def lose(state: State) -> State:
        mass = list(state.nodes[0].mass)
        mass[place] = part * mass[place] - by
        return swapped(state, 0, mass=tuple(mass))

    return lose


PRODUCTS = "The peers hold other products of rows in all than their visits have added."
FORGOTTEN = "bob has decided an offer of ann that the latter does not remember."
PLANTED: list[tuple[int, Callable[[State], State], list[str]]] = [
    (0, lambda state: swapped(state, 0, record=state.nodes[1].record), ["is lost.", "2 times."]),
    (1, forge, [" is not as its owner made it."]),
    (0, lose_mass(1, by=1e-4), ["The peers hold a weight of "]),
    (0, lose_mass(2, part=1 - 1e-4), [PRODUCTS]),
    (0, lose_mass(3, part=1 - 1e-4), [PRODUCTS]),
    (0, lambda state: replace(state, exchanges=state.exchanges - 1),
     ["ann has counted 36 updates in 11 exchanges.", "made by one side only.", "hold a weight of"]),
    (0, lambda state: replace(state, seq=0), [FORGOTTEN]),
    (1, lambda state: swapped(state, 2, mass=(math.nan, *state.nodes[2].mass[1:])),
     ["bob has a number that is not finite in row 2."]),
]  # fmt: skip


@pytest.mark.parametrize(("who", "how", "sentences"), PLANTED)
def test_what_was_planted_is_found(
    tmp_path: Path, who: int, how: Callable[[State], State], sentences: list[str]
) -> None:
    homes = exchanging(tmp_path)
    change(homes[who], how)
    violations = audit(homes).violations
    assert len(violations) == len(sentences)
    for sentence in sentences:
        assert any(sentence in one for one in violations)


def test_generations_must_agree(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    change(homes[0], lambda state: replace(state, generation=generation_name(5, ("x",))))
    assert audit(homes).violations[0].startswith("Not all peers are in the same generation")
