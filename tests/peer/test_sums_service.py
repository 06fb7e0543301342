"""Peers that compute sums, with real folders, keys and databases, and a network in memory."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Proof, generation_name
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import Consent, SumsState
from pairgossip.peer.protocol.summation import read_next
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.service.log import write_logs
from pairgossip.peer.service.metrics import MetricsPages
from pairgossip.peer.service.status import ended_generation, read_status, sums_status
from pairgossip.peer.signed_result import SignedResult, check_signed, sign_result, write_signed
from pairgossip.peer.storage.folder import (
    Home,
    find_member,
    request_agreement,
    request_eviction,
    requested_agreements,
)
from pairgossip.peer.storage.growth import request_growth
from pairgossip.peer.storage.kept_results import list_kept
from pairgossip.peer.storage.kept_tables import read_kept_table
from pairgossip.peer.sums.batches import read_table
from tests.peer.homes import introduce_each_other, make_home
from tests.peer.test_service import Running, Switchboard, running
from tests.peer.zenoh_people import until

SUMS = """
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
[algorithm]
name = "sums"
least_cell = 1
"""
ROWS = ([3.25, 8.5, 41.0, 77.125], [12.0, 93.5], [5.0, 66.0625, 20.0])
PLANTED = "61.73205080756887"


def make_homes(tmp_path: Path, rows: Sequence[list[float]] = ROWS, spec: str = SUMS) -> list[Home]:
    homes = [
        make_home(tmp_path, f"clinic-{k}", given, spec, f"tls/127.0.0.1:{7450 + k}")
        for k, given in enumerate(rows)
    ]
    introduce_each_other(homes)
    return homes


def is_complete(one: Running) -> bool:
    rounds = one.status().rounds if one.home.status.exists() else None
    return rounds is not None and rounds.is_finished


def run_all(homes: list[Home], board: Switchboard | None = None) -> None:
    with running(*homes, board=board or Switchboard()) as peers:
        assert until(lambda: all(map(is_complete, peers)))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Home]:
    """Members whose run has ended, for tests that only read what it left."""
    homes = make_homes(tmp_path_factory.mktemp("finished"))
    run_all(homes)
    return homes


def test_members_find_the_statistic_of_all_rows(finished: list[Home]) -> None:
    truth = pg.exact(np.concatenate([np.array(rows) for rows in ROWS]), "gini")
    found = [read_snapshot(home).status() for home in finished]
    assert len({status.estimate for status in found}) == 1
    for status in found:
        assert status.estimate is not None
        assert status.rounds is not None
        assert status.estimate[0] == pytest.approx(truth, rel=0.02)
        assert status.sampling_error is not None
        assert (status.covers.members, status.covers.of_rows) == (3, 9)
        assert status.rounds.awaited == ()


class Tap(Switchboard):
    """A network that keeps every frame."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[bytes] = []

    def connect(self, parts, on_frame):  # type: ignore[no-untyped-def]
        line = super().connect(parts, on_frame)
        send = line.send

        def tapped(to: str, frame: bytes) -> None:
            self.frames.append(frame)
            send(to, frame)

        line.send = tapped  # type: ignore[method-assign]
        return line


def test_no_row_is_on_anybody_elses_machine(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A value that only one member has is in no frame, file, log or metric of the others."""
    planted = float(PLANTED)
    homes = make_homes(tmp_path, ([planted, 2.0], [12.0, 93.5], [5.0, 66.0625]))
    board = Tap()
    with write_logs():
        run_all(homes, board)
    packed = (PLANTED.encode(), np.float64(planted).tobytes(), np.float64(planted).tobytes()[::-1])
    others = [path for home in homes[1:] for path in home.folder.rglob("*") if path.is_file()]
    metrics = [
        MetricsPages(partial(read_status, home.status)).get("/metrics") for home in homes[1:]
    ]
    logs = capfd.readouterr().err.encode()
    contents = [*board.frames, *(path.read_bytes() for path in others), logs]
    contents += [content for _, _, content in metrics]
    assert len(others) > 10 and b"all rounds ended" in logs
    assert all(b"pairgossip_estimate" in content for _, _, content in metrics)
    assert not any(value in content for content in contents for value in packed)
    own = (tmp_path / "clinic-0.csv").read_bytes()
    assert PLANTED.encode() in own, "the search finds what is there"
    # Not even the member's own folder tells it: it names the source, and has a digest and counts.
    mine = [path.read_bytes() for path in homes[0].folder.rglob("*") if path.is_file()]
    assert len(mine) > 5 and not any(value in content for content in mine for value in packed)
    with contextlib.closing(assemble(homes[0])) as parts:
        assert parts.saved.rows == 2
    assert os.stat(homes[0].state).st_mode & 0o077 == 0


def test_silence_after_the_last_round_is_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.reporter.LONELY", 0.1)
    with running(*make_homes(tmp_path), board=Switchboard()) as peers:
        assert until(lambda: all(map(is_complete, peers)))
        ended = peers[0].status().updated
        assert until(lambda: peers[0].status().updated > ended + 0.5)
        assert peers[0].status().problems == ()


def awaits(one: Running, *names: str) -> bool:
    rounds = one.status().rounds if one.home.status.exists() else None
    return rounds is not None and rounds.awaited == names


def is_in_second_generation(one: Running) -> bool:
    return is_complete(one) and one.status().generation == 2


def agree_to_next(home: Home) -> None:
    """Let an operator agree to the generation that waits."""
    state = read_snapshot(home).saved
    assert isinstance(state, SumsState)
    waits = read_next(state)
    assert waits is not None
    request_agreement(home, waits.generation)


def agree_to_all(homes: list[Home]) -> bool:
    """Let operators agree to whatever waits for them; return whether something did."""
    count = 0
    for home in homes:
        seen = read_snapshot(home)
        assert isinstance(seen.saved, SumsState)
        if (asked := Rounds(seen.context, seen.saved).asks_consent) is not None:
            request_agreement(home, asked)
            count += 1
    return count > 0


def is_third(one: Running) -> bool:
    return one.status().generation > 2 and is_complete(one)


def test_an_eviction_after_a_sum_needs_every_operator(tmp_path: Path) -> None:
    homes = make_homes(tmp_path, (*ROWS, [50.0]))
    run_all(homes)
    with running(*homes[:3], board=Switchboard()) as peers:
        request_eviction(homes[0], find_member(homes[0].read_members(), "", "clinic-3"))
        assert until(lambda: peers[1].status().problems != ())
        (problem,) = peers[1].status().problems
        assert peers[1].status().generation == 1 and peers[1].status().done, "it stays"
    assert problem == (
        "Since this peer contributed to a sum, 'clinic-3' was evicted: a further sum would tell "
        "everybody the counts of rows that were added since, as a table of their own, and where "
        "not all have signed the last result, by the difference those of who was evicted. If that "
        "may be known, run: pairgossip peer agree."
    )
    state = read_snapshot(homes[1]).saved
    assert isinstance(state, SumsState)
    waits = read_next(state)
    assert waits is not None and (len(state.summed), len(waits.evicted)) == (4, 1)
    request_agreement(homes[1], waits.generation)
    request_agreement(homes[1], FIRST_GENERATION)
    request_eviction(homes[2], find_member(homes[2].read_members(), "", "clinic-3"))
    with running(*homes[:3], board=Switchboard()) as peers:
        assert until(lambda: all(map(is_in_second_generation, peers)))
    assert requested_agreements(homes[1]) == ()
    after = read_snapshot(homes[1]).saved
    assert isinstance(after, SumsState)
    assert after.consent.generation == after.generation == waits.generation
    # All rows were counted, so there is no further sum that anything could be taken from.
    assert after.summed_in == FIRST_GENERATION
    first, second = (signed.signed.result for signed in list_kept(homes[1])[0])
    assert (second.value, second.rows, second.table) == (first.value, 10, first.table)
    assert (second.rounds, len(second.members)) == (0, 3)
    assert after.evictions == set(waits.evicted)


def test_an_agreement_to_another_generation_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    homes = make_homes(tmp_path)
    run_all(homes)
    request_agreement(homes[0], generation_name(1, ("f" * 64,)))
    with running(*homes, board=Switchboard()):
        assert until(lambda: requested_agreements(homes[0]) == ())
    state = read_snapshot(homes[0]).saved
    assert isinstance(state, SumsState) and state.consent == Consent()
    said = "nothing was agreed to: another generation has begun since"
    assert said in [one.message for one in caplog.records]


def test_added_rows_begin_a_generation_with_them(tmp_path: Path) -> None:
    homes = make_homes(tmp_path)
    run_all(homes)
    more = [np.linspace(1 + k, 90 + k, 12).round(3).tolist() for k in range(3)]

    def add(k: int) -> None:
        file = tmp_path / f"more-{k}.csv"
        file.write_text("\n".join(["income", *map(str, more[k])]))
        request_growth(homes[k], file)

    add(1)
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: all(one.status().problems for one in peers[::2]))
        for one in peers[::2]:
            (problem,) = one.status().problems
            assert "'clinic-1' has 10 rows instead of 1: a further sum" in problem
            agree_to_next(one.home)
        assert until(
            lambda: all(one.status().generation == 2 and is_complete(one) for one in peers)
        )
    status = read_snapshot(homes[0]).status()
    assert status.covers.of_rows == 9 and status.rounds is not None
    assert "fewer than 3 members" in dict(status.rounds.table)["no table"]
    add(0)
    add(2)
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: not agree_to_all(homes) and all(map(is_third, peers)))
    (*_, kept), _ = list_kept(homes[0])
    result = kept.signed.result
    assert (result.rows, result.batches, result.left_out) == (45, 2, None)
    truth = pg.exact(np.concatenate([*map(np.array, (*ROWS, *more))]), "gini")
    assert result.value == pytest.approx(truth, rel=0.02)
    for home in homes:
        table = read_kept_table(home, kept.signed)
        assert int(read_table(table).numbers[0]) == 45 and len(list(home.tables.iterdir())) == 3


@pytest.mark.parametrize(
    ("members", "least_rows", "sentence"),
    [
        (2, "1", "The run has only 2 members, and this peer contributes among 3 or more: wait for "
         "others to join, or change least_members in peer.toml."),
        (3, "10", "All members but the largest together have 2 rows, and this peer contributes "
         "among 10 or more: wait for more rows, or change least_rows in peer.toml."),
    ],
)  # fmt: skip
def test_too_few_are_told_and_contribute_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, members: int, least_rows: str, sentence: str
) -> None:
    monkeypatch.setenv("PAIRGOSSIP_LEAST_ROWS", least_rows)
    homes = make_homes(tmp_path, ROWS[:members])
    with running(*homes, board=Switchboard()) as (first, *_):
        assert until(lambda: first.home.status.exists() and first.status().problems != ())
        assert first.status().problems == (sentence,)
    assert not any(read_snapshot(home).saved.contributions for home in homes)  # type: ignore[union-attr]


def test_an_operator_may_allow_two_members(tmp_path: Path) -> None:
    homes = make_homes(tmp_path, ROWS[:2])
    for home in homes:
        settings = home.peer.read_text().replace("least_members = 3", "least_members = 2")
        home.peer.write_text(settings)
    run_all(homes)
    truth = pg.exact(np.concatenate([np.array(rows) for rows in ROWS[:2]]), "gini")
    for home in homes:
        estimate = read_snapshot(home).status().estimate
        assert estimate is not None and estimate[0] == pytest.approx(truth, rel=0.02)


@pytest.fixture(scope="module")
def signed_result(tmp_path_factory: pytest.TempPathFactory, finished: list[Home]) -> str:
    """What all members of a finished run have signed."""
    file = tmp_path_factory.mktemp("signed") / "result.json"
    write_signed(signed_by(finished[0]), file)
    return file.read_text()


def signed_by(home: Home) -> SignedResult:
    seen = read_snapshot(home)
    assert isinstance(seen.saved, SumsState)
    return sign_result(seen.context, Rounds(seen.context, seen.saved))


ALTERED: dict[str, Callable[[dict[str, Any], str, str], object]] = {
    "value": lambda table, *_: table["result"].update(value=0.5),
    "rows": lambda table, *_: table["result"].update(rows=1),
    "question": lambda table, *_: table["result"].update(question="the wealth of all"),
    "specification": lambda table, *_: table["result"].update(specification="{}"),
    "transcript": lambda table, *_: table.update(transcript="AAAA" + table["transcript"][4:]),
    "members": lambda table, one, _: table["result"]["members"].pop(one),
    "all": lambda table, *_: (table["result"].update(members={}), table.update(signatures={})),
    "signature": lambda table, one, other: table["signatures"].update({
        one: {**table["signatures"][one], "signature": table["signatures"][other]["signature"]}
    }),
}  # fmt: skip


@pytest.mark.parametrize("change", ALTERED)
def test_an_altered_result_is_found_out(tmp_path: Path, signed_result: str, change: str) -> None:
    file, table = tmp_path / "result.json", json.loads(signed_result)
    one, other, *_ = table["signatures"]
    ALTERED[change](table, one, other)
    file.write_text(json.dumps(table))
    with pytest.raises(InputError, match="was altered"):
        check_signed(file)


def test_a_result_that_not_all_have_signed_is_not_handed_on(
    tmp_path: Path, finished: list[Home]
) -> None:
    with pytest.raises(InputError, match="Not all members have signed the result yet"):
        signed_by(make_homes(tmp_path)[0])
    seen = read_snapshot(finished[0])
    state = seen.saved
    assert isinstance(state, SumsState)
    last = max(number for number, _ in state.contributions)
    liar = next(one for _, one in state.contributions if one != seen.context.me)
    others = {at: one for at, one in state.contributions.items() if at != (last, liar)}
    waiting = Rounds(seen.context, replace(state, contributions=others))
    name = seen.context.members.names()[liar]
    with pytest.raises(InputError, match=f"round 2 waits for '{name}'"):
        sign_result(seen.context, waiting)
    status = sums_status(seen.context, waiting)
    assert status.estimate is not None and ended_generation(status) is None
    stated = state.contributions[last, liar]
    proof = Proof(state.generation, stated, replace(stated, public=b"{}"))
    halted = Rounds(seen.context, replace(state, proof=proof))
    with pytest.raises(InputError, match=f"^There is no result: '{name}' has signed two different"):
        sign_result(seen.context, halted)
    assert not sums_status(seen.context, halted).done


def test_a_result_is_still_signed_after_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the version that members ran when they stated it."""
    homes = make_homes(tmp_path)
    run_all(homes)
    before = read_snapshot(homes[0]).saved
    monkeypatch.setattr("pairgossip.peer.sums.programs.__version__", "99.0")
    run_all(homes)
    seen = read_snapshot(homes[0])
    assert seen.saved == before
    signed = signed_by(homes[0])
    assert len(signed.signatures) == 3
    assert signed.result.versions == {"pairgossip": pg.__version__}
