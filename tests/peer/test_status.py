from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import make_context
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import Changes
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.rules import PaperMixing, WeightedMixing
from pairgossip.peer.protocol.state import Node, Save, State
from pairgossip.peer.reading import FolderReader
from pairgossip.peer.service.assembly import PeerSnapshot, assemble, read_snapshot
from pairgossip.peer.service.shown import list_samples, show
from pairgossip.peer.service.status import estimate_of, read_status, write_status
from pairgossip.peer.storage.journal_file import export

from .homes import AUC, GINI, make_home, make_pair


def with_masses(state: State, *masses: tuple[float, ...], private: tuple[float, ...] = ()) -> State:
    nodes = tuple(
        Node(node.record, mass, private) for node, mass in zip(state.nodes, masses, strict=True)
    )
    return msgspec.structs.replace(state, nodes=nodes)


@pytest.fixture
def seen(tmp_path: Path) -> PeerSnapshot:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [10.0])
    return read_snapshot(ann)


def test_a_peer_that_never_ran_is_described_by_its_disk(seen: PeerSnapshot) -> None:
    status = seen.status()
    assert (status.name, status.measure, status.exchanges) == ("ann", "gini", 0)
    assert (
        status.estimate is None
        and set(status.as_fields().values()) == {None}
        and status.pid is None
    )
    assert status.covers.of_rows == 3
    assert not status.neighbors["bob"].agreed
    assert status.neighbors["bob"].address == "tls/127.0.0.1:7447"


def test_weights_count_when_rows_are_put_together(seen: PeerSnapshot) -> None:
    assert isinstance(seen.context.rule, WeightedMixing)
    state = with_masses(seen.state, (6.0, 1.0), (2.0, 3.0))
    assert estimate_of(seen.context, state) == (2.0,)
    assert estimate_of(seen.context, with_masses(state, (0.0, 0.0), (0.0, 0.0))) is None


def test_the_papers_estimates_are_averaged_over_rows_that_have_one(tmp_path: Path) -> None:
    home = make_home(tmp_path, "ann", [1.0, 2.0], 'algorithm.mixing = "paper"\n' + GINI)
    found = read_snapshot(home)
    assert isinstance(found.context.rule, PaperMixing)
    fresh = first_state(found.context)
    assert estimate_of(found.context, fresh) is None
    one = msgspec.structs.replace(
        fresh, nodes=(fresh.nodes[0], Node(fresh.nodes[1].record, (3.0,), (1.0,)))
    )
    assert estimate_of(found.context, one) == (3.0,)


def test_a_quotient_is_taken_last(tmp_path: Path) -> None:
    spec, data = tmp_path / "auc.toml", tmp_path / "auc.csv"
    spec.write_text(AUC)
    data.write_text("score,diseased\n0.5,1\n0.2,0\n")
    from pairgossip.peer.storage.home import create_home

    found = read_snapshot(create_home(tmp_path / "ann", "ann", spec, data))
    state = with_masses(found.state, (3.0, 4.0, 8.0), (1.0, 4.0, 2.0))
    assert estimate_of(found.context, state) == (0.5,)
    nothing = with_masses(found.state, (0.0, 0.0, 8.0), (0.0, 0.0, 2.0))
    assert estimate_of(found.context, nothing) is None


def test_evicted_members_are_not_covered(seen: PeerSnapshot) -> None:
    lost = seen.members.listed[0].id
    state = msgspec.structs.replace(seen.state, evicted=(lost,))
    from pairgossip.peer.service.status import status_of

    changes, own = Changes((lost,)), seen.context.own
    context = make_context(seen.identity, seen.spec, own, seen.members, changes=changes)
    status = status_of(context, state, met=[lost])
    assert status.evicted == ("bob",)
    assert (status.covers.members, status.covers.of_members) == (1, 1)
    assert status.neighbors["bob"].evicted


def test_generations_are_counted_from_1_wherever_they_are_shown(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [10.0])
    for expected in (1, 2):
        status, shown = read_snapshot(ann).status(), export(ann.state)
        assert status.generation == shown["generation"] == expected
        assert [node["holds"]["generation"] for node in shown["nodes"]] == [expected] * 2
        (gauge,) = (one.value for one in list_samples(show(status)) if one.name == "generation")
        assert gauge == expected
        write_status(ann.status, status)
        assert json.loads(ann.status.read_text())["generation"] == expected
        assert FolderReader("ann", status.id, ann).read().generation == expected
        ann.status.unlink()
        parts = assemble(ann)
        exchange = Exchange(parts.context, parts.state)
        for action in exchange.evict([parts.members.listed[0].id]):
            if isinstance(action, Save):
                parts.journal.save(action)
        parts.close()


def test_a_status_is_read_as_it_was_written(tmp_path: Path, seen: PeerSnapshot) -> None:
    status = msgspec.structs.replace(
        seen.status(), estimate=(math.pi,), gossip_interval=(3.0, 4.0), updated=1.5
    )
    path = tmp_path / "status.json"
    assert read_status(path) is None
    write_status(path, status)
    assert read_status(path) == status
    assert list(tmp_path.glob(".status*")) == []
    path.write_text("{")
    with pytest.raises(InputError, match="is not a peer's status: remove it"):
        read_status(path)
