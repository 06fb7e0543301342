"""Rows added to a peer that is killed in the process, at every point."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import (
    generations_before,
)
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.storage import growth, journal
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import finish_interrupted_growth, request_growth
from pairgossip.peer.storage.row_keeping import read_in_force
from tests.peer.homes import make_pair
from tests.peer.test_growth import more, rows_and_nodes, start


@contextmanager
def killed_at(point: int) -> Iterator[list[str]]:
    """End this process, as a kill would, at the n-th step that touches the disk."""
    passed: list[str] = []

    def step(what: str) -> None:
        passed.append(what)
        if len(passed) == point:
            os._exit(9)

    def around(owner: object, name: str) -> Callable[[], None]:
        real = getattr(owner, name)

        def stepping(*args: object, **more: object) -> object:
            step(f"before {name}")
            found = real(*args, **more)
            step(f"after {name}")
            return found

        setattr(owner, name, stepping)
        return lambda: setattr(owner, name, real)

    @contextmanager
    def transaction(base: sqlite3.Connection) -> Iterator[None]:
        step("before BEGIN")
        base.execute("BEGIN IMMEDIATE")
        yield
        step("before COMMIT")
        base.execute("COMMIT")
        step("after COMMIT")

    names = vars(journal)
    real_transaction = names["transaction"]
    names["transaction"] = transaction
    undo = [around(os, name) for name in ("replace", "fsync", "unlink", "open", "close")]
    try:
        yield passed
    finally:
        names["transaction"] = real_transaction
        for one in undo:
            one()


def in_a_process(work: Callable[[], None]) -> int:
    """Do something in a copy of this process; return its exit code."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


OLD, NEW = [1.0, 4.0], [1.0, 4.0, 7.0, 8.0]


def sweep(folder: Path, work: Callable[[Home], None], after: Callable[[Home], None]) -> int:
    """Kill the work at every step; ``after`` is called with the folder as it was left."""
    made, _ = make_pair(folder, OLD, [6.0])
    if work is start:
        request_growth(made, more(folder, 7.0, 8.0))
    for point in range(1, 10_000):
        ann = Home(shutil.copytree(made.folder, folder / str(point)))

        def doomed(point: int = point, home: Home = ann) -> None:
            with killed_at(point):
                work(home)

        code = in_a_process(doomed)
        assert code in (0, 9)
        after(ann)
        if code == 0:
            return point - 1
    raise AssertionError("it never ends")


def whole(home: Home) -> list[float]:
    """Return the peer's rows after checking that state and rows belong together."""
    rows, nodes = rows_and_nodes(home)
    assert rows == nodes
    assert rows in (OLD, NEW)
    state = read_snapshot(home).state
    assert generations_before(state.generation) == (rows == NEW) == len(state.grown)
    return rows


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_kill_anywhere_in_peer_add_leaves_the_old_rows_or_a_request(tmp_path: Path) -> None:
    data = more(tmp_path, 7.0, 8.0)
    ends = []

    def after(home: Home) -> None:
        assert whole(home) == OLD
        is_asked = (home.folder / "data.next.csv").exists()
        start(home)
        assert whole(home) == (NEW if is_asked else OLD)
        if not is_asked:
            request_growth(home, data)  # the operator tries again
            start(home)
        assert whole(home) == NEW
        assert not [name for name in os.listdir(home.folder) if name.startswith(".")]
        ends.append(is_asked)

    assert sweep(tmp_path, lambda home: void(request_growth(home, data)), after) > 10
    assert set(ends) == {False, True} and ends[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_kill_anywhere_in_the_start_afterward_leaves_the_old_rows_or_the_new(
    tmp_path: Path,
) -> None:
    ends = []

    def after(home: Home) -> None:
        left = whole(home)  # also for readers
        is_between = left == NEW and (home.folder / "data.next.csv").exists()
        assert len(home.read_rows()) == (2 if is_between else len(left))
        ends.append((left == NEW, is_between))
        start(home)
        assert whole(home) == NEW
        start(home)
        assert whole(home) == NEW

    assert sweep(tmp_path, start, after) > 10
    assert set(ends) == {(False, False), (True, True), (True, False)}


def void(_: object) -> None:
    """Return a function without its return value."""


def test_a_switch_without_its_transaction_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the checker: rows that are recorded apart from the state can be left half done."""
    monkeypatch.setattr(journal, "digest_rows", lambda rows: "something else")
    ann, _ = make_pair(tmp_path, OLD, [6.0])
    request_growth(ann, more(tmp_path, 7.0, 8.0))
    start(ann)
    with pytest.raises(InputError, match="is not the one that"):
        start(ann)


def test_what_is_found_half_done_is_made_safe_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file replaces the old one only once no loss of power can undo the database."""
    ann = half_done(tmp_path)
    done: list[str] = []
    real_sync, real_rename = files.sync, os.replace

    def sync(file: Path) -> None:
        done.append(file.name)
        real_sync(file)

    def rename(file: Path, name: Path) -> None:
        done.append("rename")
        real_rename(file, name)

    monkeypatch.setattr(growth, "sync", sync)
    monkeypatch.setattr(os, "replace", rename)
    finish_interrupted_growth(ann)
    assert done.index(ann.state.name) < done.index("rename")
    assert whole(ann) == NEW


def half_done(folder: Path) -> Home:
    """Make a peer whose state has the added rows, but whose file does not."""
    ann, _ = make_pair(folder, OLD, [6.0])
    request_growth(ann, more(folder, 7.0, 8.0))
    file = ann.folder / "data.next.csv"
    asked, old = file.read_bytes(), ann.data.read_bytes()
    start(ann)
    ann.data.write_bytes(old)
    file.write_bytes(asked)
    return ann


def test_rows_can_be_added_to_what_is_half_done(tmp_path: Path) -> None:
    ann = half_done(tmp_path)
    assert whole(ann) == NEW
    assert request_growth(ann, more(tmp_path, 9.0)).rows == 5
    start(ann)
    assert rows_and_nodes(ann) == ([*NEW, 9.0],) * 2


def test_rows_in_force_are_those_of_the_state(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, OLD, [6.0])
    request_growth(ann, more(tmp_path, 7.0, 8.0))
    state = read_snapshot(ann).state
    states = [replace(state, nodes=(state.nodes[0],) * wanted) for wanted in (2, 4, 3)]
    assert [len(read_in_force(ann, one)) for one in states] == [2, 4, 2]
