"""Sources added to a peer that is killed meanwhile, at every point."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pairgossip.peer.protocol.messages import generations_before
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.service.sums_service import RoundsRuntime
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import (
    finish_interrupted_growth,
    request_growth,
    rows_waiting,
    take_up_rows,
)
from tests.peer.test_growth import Silent
from tests.peer.test_growth_killed import in_a_process, killed_at
from tests.peer.test_sources import MODEL, draw, make_peers, write_csv

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


def start(home: Home) -> None:
    """What a peer does when it starts, up to its first look around."""
    finish_interrupted_growth(home)
    parts = assemble(home)
    try:
        assert isinstance(parts.saved, SumsState)
        rounds = Rounds(parts.context, parts.saved)
        runtime = RoundsRuntime(rounds, parts.journal, Silent(), random.Random(0))
        runtime.start(0.0)
        with take_up_rows(home, rounds.context.own) as rows:
            if rows is not None:
                runtime.grow(rows, 0.0)
    finally:
        parts.close()


def sweep(made: Home, work: Callable[[Home], object], after: Callable[[Home], None]) -> int:
    """Kill the work at every step; ``after`` is told the folder as it was left."""
    for point in range(1, 10_000):
        ann = Home(shutil.copytree(made.folder, made.folder.with_name(f"point-{point}")))

        def doomed(point: int = point, home: Home = ann) -> None:
            with killed_at(point):
                work(home)

        code = in_a_process(doomed)
        assert code in (0, 9)
        after(ann)
        if code == 0:
            return point - 1
    raise AssertionError("it never ends")


def sizes(home: Home) -> list[int]:
    """The peer's batches, once it is sure that state, generation and digests belong together."""
    state = read_snapshot(home).saved
    assert isinstance(state, SumsState)
    found = [one.rows for one in state.batches]
    assert sum(found) == state.rows and found in ([40], [40, 30])
    assert generations_before(state.generation) == len(found) - 1 == len(state.grown)
    return found


def test_a_kill_anywhere_in_peer_add_leaves_the_old_rows_or_a_request(tmp_path: Path) -> None:
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)], MODEL)
    more, ends = write_csv(tmp_path / "more.csv", draw(30)), []

    def after(one: Home) -> None:
        assert sizes(one) == [40] and len(one.read_settings().sources) == 1
        is_asked = one.next_sources.exists()
        assert rows_waiting(one, 40) == 30 * is_asked
        start(one)
        assert sizes(one) == ([40, 30] if is_asked else [40])
        if not is_asked:
            request_growth(one, more)  # the operator tries again
            start(one)
        assert_whole(one, more)
        ends.append(is_asked)

    assert sweep(home, lambda one: request_growth(one, more), after) > 10
    assert set(ends) == {False, True} and ends[-1]


def test_a_kill_anywhere_in_the_start_afterward_leaves_the_old_rows_or_the_new(
    tmp_path: Path,
) -> None:
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)], MODEL)
    more, ends = write_csv(tmp_path / "more.csv", draw(30)), set()
    request_growth(home, more)

    def after(one: Home) -> None:
        left, named = sizes(one), len(one.read_settings().sources)
        assert named <= len(left), "no source is named that the state does not know"
        ends.add((len(left), named, one.next_sources.exists()))
        for _ in range(2):
            start(one)
            assert_whole(one, more)

    assert sweep(home, start, after) > 10
    assert ends == {(1, 1, True), (2, 1, True), (2, 2, True), (2, 2, False)}


def assert_whole(home: Home, more: Path) -> None:
    """The peer has all rows, and nothing is left of the request."""
    assert sizes(home) == [40, 30] and home.read_settings().sources[1:] == (str(more),)
    assert not home.next_sources.exists()
    assert not [name for name in os.listdir(home.folder) if name.startswith(".")]
