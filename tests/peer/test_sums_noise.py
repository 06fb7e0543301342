"""Noise in the sums of real peers: drawn once, kept in the ledger, and paid for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.ledger import account_of
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.signed_result import sign_result
from pairgossip.peer.specification.kinds import NoisySpec
from pairgossip.peer.storage import kept_noise
from pairgossip.peer.storage.folder import Home, find_member, request_eviction
from pairgossip.peer.storage.growth import request_growth
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.kept_ledgers import noise_ledger
from pairgossip.peer.storage.kept_noise import KeptNoise
from pairgossip.peer.storage.kept_results import list_kept
from tests.cli.running import CommandLine
from tests.peer.homes import make_home
from tests.peer.test_service import Switchboard, running
from tests.peer.test_sums_service import (
    SUMS,
    agree_to_next,
    is_complete,
    is_in_second_generation,
    run_all,
)
from tests.peer.test_sums_service import make_homes as make_homes_with
from tests.peer.zenoh_people import until

NOISY = f"{SUMS.replace('least_cell = 1', 'bins = 8')}\n[privacy]\nepsilon = 4\n"
ROWS = [np.linspace(1 + k, 90, 60).round(3).tolist() for k in range(4)]
MEMBERS = {"a": 2, "b": 3}


def make_homes(tmp_path: Path, count: int = 3, spec: str = NOISY) -> list[Home]:
    return make_homes_with(tmp_path, ROWS[:count], spec)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Home]:
    """Members whose run has ended, for tests that leave it as it is."""
    homes = make_homes(tmp_path_factory.mktemp("finished"))
    run_all(homes)
    return homes


def contributions(home: Home) -> dict[tuple[int, str], object]:
    state = read_snapshot(home).saved
    assert isinstance(state, SumsState)
    return dict(state.contributions)


def test_the_value_is_as_near_as_it_says_and_names_its_noise(finished: list[Home]) -> None:
    seen = read_snapshot(finished[0])
    assert isinstance(seen.saved, SumsState)
    result = sign_result(seen.context, Rounds(seen.context, seen.saved)).result
    assert result.noise is not None and result.noise.error is not None
    assert (result.noise.epsilon, result.noise.honest) == (4.0, 2)
    truth = pg.exact(np.concatenate([np.array(rows) for rows in ROWS[:3]]), "gini")
    assert result.value is not None
    assert abs(result.value - truth) < 6 * result.noise.error + 0.03 * truth  # bins are coarse
    for account in (account_of(noise_ledger(home)) for home in finished):
        assert (account.observations, int(account.spent), int(account.cap)) == (60, 4, 4)


def test_status_tells_the_noise_and_what_is_spent(
    finished: list[Home], capsys: pytest.CaptureFixture[str]
) -> None:
    told = CommandLine(capsys)("peer", "status", "--home", finished[0].folder).out
    shown = " ".join(told.split())
    assert "(noise in the counts; falls with rows and a larger epsilon)" in shown
    assert "together tell of a row what epsilon 4 allows" in shown
    assert "epsilon 4 of 4 spent by every row" in shown


def test_a_peer_from_a_backup_adds_the_same_noise(tmp_path: Path) -> None:
    homes = make_homes(tmp_path)
    shutil.copytree(homes[1].folder, tmp_path / "backup")
    run_all(homes)
    before = contributions(homes[1])
    shutil.rmtree(homes[1].folder)
    shutil.copytree(tmp_path / "backup", homes[1].folder)
    run_all(homes)
    assert contributions(homes[1]) == before
    assert account_of(noise_ledger(homes[1])).spent == 4


def test_noise_that_is_drawn_twice_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = make_homes(tmp_path, spec=NOISY.replace("epsilon = 4", "epsilon = 0.01"))
    shutil.copytree(homes[1].folder, tmp_path / "backup")
    run_all(homes)
    shutil.rmtree(homes[1].folder)
    shutil.copytree(tmp_path / "backup", homes[1].folder)
    monkeypatch.setattr(kept_noise, "noise_of", lambda path, rows, declared, draw, budget: draw())
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: peers[1].code is not None)
    assert peers[1].code == 3


def test_a_crash_between_draw_and_contribution_draws_no_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = make_homes(tmp_path)

    def die(words: object) -> bytes:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(masks, "pack", die)
        with running(*homes, board=Switchboard()) as peers:
            assert until(lambda: any(one.code is not None for one in peers))
    assert any(one.code == 1 for one in peers)
    drawn = [noise_ledger(home).read_bytes() for home in homes]
    assert any(b'"noise":[' in one for one in drawn)
    run_all(homes)
    for home, before in zip(homes, drawn, strict=True):
        assert account_of(noise_ledger(home)).spent == 4
        assert noise_ledger(home).read_bytes() == before or b'"noise":[' not in before


def kept(home: Home) -> KeptNoise:
    spec = home.read_spec()
    assert isinstance(spec, NoisySpec)
    return KeptNoise(spec, noise_ledger(home), budget=100.0)


def test_one_draw_for_one_list_and_one_question(tmp_path: Path) -> None:
    home = make_home(tmp_path, "ann", ROWS[0], NOISY)
    own, asked = np.array(ROWS[0])[:, None], (b"question", 500)
    first = kept(home)(own, MEMBERS, *asked)
    # As after a crash between the draw and the contribution.
    assert (kept(home)(own, MEMBERS, *asked) == first).all()
    assert account_of(noise_ledger(home)).spent == 4
    for changed in (
        kept(home)(own, {**MEMBERS, "c": 1}, *asked),
        kept(home)(own, {"a": 2, "b": 4}, *asked),
        kept(home)(own, MEMBERS, b"another", 500),
        kept(home)(own[1:], MEMBERS, *asked),
    ):
        assert (changed != first).any()
    assert account_of(noise_ledger(home)).spent == 20
    assert (kept(home)(own, MEMBERS, *asked) == first).all()


def test_a_ledger_that_is_gone_is_noticed(tmp_path: Path, finished: list[Home]) -> None:
    ledger = noise_ledger(finished[0])
    kept = ledger.rename(tmp_path / "kept")
    try:
        with pytest.raises(InputError, match=r"There is no ledger .* any more, and its rows would"):
            assemble(finished[0])
    finally:
        kept.rename(ledger)


def test_the_same_rows_cannot_pay_for_another_run(tmp_path: Path, finished: list[Home]) -> None:
    folder = finished[0].folder.parent
    spec, data = folder / "clinic-0.toml", folder / "clinic-0.csv"
    with pytest.raises(InputError) as told:
        create_home(tmp_path / "again", "again", spec, data)
    assert str(told.value) == (
        "These rows have spent 4 of a privacy budget of 4, and another run would make it 8: allow "
        "it with --budget 8."
    )


def test_rows_that_are_counted_cost_nothing_again(tmp_path: Path) -> None:
    homes = make_homes(tmp_path, 4)
    run_all(homes)
    request_eviction(homes[0], find_member(homes[0].read_members(), "", "clinic-3"))
    with running(*homes[:3], board=Switchboard()) as peers:
        assert until(lambda: all(one.status().problems for one in peers[1:]))
        assert "If that may be known, run: pairgossip peer agree." in peers[1].status().problems[0]
        for home in homes[1:3]:
            agree_to_next(home)
        assert until(lambda: all(map(is_in_second_generation, peers)))
    assert account_of(noise_ledger(homes[1])).spent == 4


def test_noise_is_added_to_a_batch_alone_and_known_of_both(tmp_path: Path) -> None:
    homes = make_homes(tmp_path)
    run_all(homes)
    more = tmp_path / "more.csv"
    more.write_text("\n".join(["income", *(str(2.5 + 7 * k) for k in range(12))]))
    request_growth(homes[1], more)
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: all(one.status().problems for one in peers[::2]))
        for one in peers[::2]:
            agree_to_next(one.home)
        assert until(lambda: all(map(is_in_second_generation, peers)))
    first, second = (one.signed.result for one in list_kept(homes[0])[0])
    assert (first.rows, second.rows, second.batches) == (180, 192, 2)
    assert first.noise is not None and second.noise is not None
    assert second.noise.variance == pytest.approx(2 * first.noise.variance)
    assert account_of(noise_ledger(homes[1])).spent == 4


def test_added_rows_pay_from_the_same_ledger(tmp_path: Path) -> None:
    homes = make_homes(tmp_path)
    run_all(homes)
    more = tmp_path / "more.csv"
    more.write_text("\n".join(["income", *(str(2.5 + 7 * k) for k in range(12))]))
    request_growth(homes[1], more)
    assert noise_ledger(homes[1]) == tmp_path / "clinic-1.csv.ledger"
    with pytest.raises(InputError, match="leave --ledger out"):
        request_growth(homes[1], more, ledger=tmp_path / "other.ledger")
    shutil.copy(noise_ledger(homes[0]), tmp_path / "more.csv.ledger")
    with pytest.raises(InputError, match=r"knows what rows of .* have spent"):
        request_growth(homes[1], more)


def test_everybody_waits_for_a_member_that_cannot_pay(tmp_path: Path) -> None:
    homes = make_homes(tmp_path)
    home = homes[2]
    kept(home)(np.array(ROWS[2])[:, None], MEMBERS, b"elsewhere", 3)
    home.peer.write_text(home.peer.read_text() + "budget = 4\n")
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: bool(peers[2].home.status.exists() and peers[2].status().problems))
        assert not any(map(is_complete, peers))
