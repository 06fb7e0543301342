"""The audit of sums finds what was planted, and nothing else."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.messages import generation_name
from pairgossip.peer.protocol.state import SaveSums, SumsState
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.swarm.processes import PeerProcess, Remains
from pairgossip.swarm.sums_audit import RowSearch, audit_sums
from tests.peer.test_sums_service import PLANTED, make_homes, run_all

ROWS = ([float(PLANTED), 8.5, 41.0], [12.0, 93.512345], [5.0, 66.0625, 20.0])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three peers that have computed a sum and stopped."""
    folder = tmp_path_factory.mktemp("made")
    run_all(make_homes(folder, ROWS))
    return folder


@pytest.fixture
def homes(made: Path, tmp_path: Path) -> list[Home]:
    """A copy of them to spoil."""
    copy = Path(shutil.copytree(made, tmp_path / "copy"))
    homes = [Home(copy / f"clinic-{k}") for k in range(3)]
    for home in homes:
        home.peer.write_text(home.peer.read_text().replace(str(made), str(copy)))
    return homes


def change(home: Home, how: Callable[[SumsState], SumsState]) -> None:
    """Write another state over a peer's."""
    journal = SqliteJournal(home.state, create=False)
    state = journal.load()
    assert isinstance(state, SumsState)
    journal.save(SaveSums(how(state), sync=True, everything=True))
    journal.close()


def with_other(state: SumsState, number: int, **changes: object) -> SumsState:
    """Change the contribution of the member with the lowest id to a round."""
    place = min(place for place in state.contributions if place[0] == number)
    other = replace(state.contributions[place], **changes)
    return replace(state, contributions={**state.contributions, place: other})


def test_honest_peers_pass(homes: list[Home]) -> None:
    found = audit_sums(homes)
    assert found.violations == () and found.is_sound
    assert (found.rounds, found.sums, found.signatures) == (3, 1, 9)
    assert found.searched == 2, "the values that are long enough"
    assert found.result is not None and found.result.rows == 8


def test_a_changed_contribution_is_found(homes: list[Home]) -> None:
    def alter(state: SumsState) -> SumsState:
        given = state.contributions[min(place for place in state.contributions if place[0] == 1)]
        words = np.frombuffer(given.words, "<u8").copy()
        words[0] += np.uint64(1)
        return with_other(state, 1, words=words.tobytes())

    for home in homes:
        change(home, alter)
    violations = audit_sums(homes).violations
    assert any("to round 1 is not signed by it." in one for one in violations)
    assert "The sum of round 1 is not that of the rows of all peers." in violations


def test_peers_without_masks_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their sums and results are right, so that nothing else tells."""
    monkeypatch.setattr(masks, "mask", lambda *given: np.zeros(given[-1], dtype=np.uint64))
    homes = make_homes(tmp_path, ROWS)
    run_all(homes)
    assert audit_sums(homes).violations == tuple(
        f"The contribution of clinic-{k} to round 1 is not masked." for k in range(3)
    )


def test_different_contributions_are_found(homes: list[Home]) -> None:
    change(homes[1], lambda state: with_other(state, 0, signature=bytes(64)))
    first, second = sorted(audit_sums(homes).violations)
    assert first.startswith("A contribution of clinic-") and first.endswith("not signed by it.")
    assert second.startswith("Peers hold different contributions of clinic-")


def test_a_statement_that_was_not_signed_is_found(homes: list[Home]) -> None:
    change(homes[2], lambda state: with_other(state, 2, signature=bytes(64)))
    found = audit_sums(homes)
    assert "Not all members have signed the result of clinic-2." in found.violations
    assert found.result is None


def without_last(state: SumsState) -> SumsState:
    place = max(state.contributions)
    return replace(
        state,
        contributions={key: one for key, one in state.contributions.items() if key != place},
    )


def test_a_peer_without_a_result_is_found(homes: list[Home]) -> None:
    change(homes[0], without_last)
    found = audit_sums(homes)
    (violation,) = found.violations
    assert violation.startswith("clinic-0 has no result: round 2 waits for clinic-")
    assert found.result is None and found.rounds == 2


def test_interrupted_peers_may_wait_but_not_differ(homes: list[Home]) -> None:
    change(homes[0], without_last)
    found = audit_sums(homes, is_interrupted=True)
    assert found.is_sound and found.result is None
    change(homes[1], lambda state: with_other(state, 0, signature=bytes(64)))
    assert len(audit_sums(homes, is_interrupted=True).violations) == 2


def test_a_killed_peer_lacks_sums_or_does_not(homes: list[Home]) -> None:
    peer = PeerProcess("clinic-0", "", homes[0], homes[0].folder / "log")
    assert peer.remains() == Remains(has_worked=True, lacks_sums=False)
    change(homes[0], without_last)
    assert peer.remains() == Remains(has_worked=True, lacks_sums=True)
    change(homes[0], lambda state: replace(state, contributions={}))
    assert peer.remains().lacks_sums


def test_generations_must_agree(homes: list[Home]) -> None:
    change(homes[0], lambda state: replace(state, generation=generation_name(5, ("x",))))
    sentence = "Not all peers are in the same generation: run them on until all have heard of it."
    assert sentence in audit_sums(homes).violations


def test_other_rows_are_found(homes: list[Home]) -> None:
    """The sum is compared with the rows that the sources hold."""
    source = Path(str(homes[1].read_settings().source))
    source.write_text(source.read_text().replace("12.0", "13.5"))
    assert audit_sums(homes).violations == (
        "The sum of round 1 is not that of the rows of all peers.",
        *(f"The result of clinic-{k} is not that of the rows of all peers." for k in range(3)),
    )


@pytest.mark.parametrize(
    "content",
    [
        f'{{"note": {PLANTED}}}'.encode(),
        b"abc" + struct.pack("<d", float(PLANTED)),
        b"abcde" + struct.pack(">d", float(PLANTED)) + b"f",
    ],
    ids=["text", "little end first", "big end first"],
)
def test_a_row_in_another_folder_is_found(homes: list[Home], content: bytes) -> None:
    (homes[2].folder / "note").write_bytes(content)
    assert audit_sums(homes).violations == (
        "The files of clinic-2 hold a value of a row of clinic-0.",
    )


def test_a_row_in_a_log_is_found(homes: list[Home], tmp_path: Path) -> None:
    log = tmp_path / "clinic-1.log"
    log.write_text(f"rows: -1, {PLANTED}\n")
    assert audit_sums(homes, [log]).violations == (
        "The files of clinic-1 hold a value of a row of clinic-0.",
    )


def test_values_that_prove_nothing_are_left_out(tmp_path: Path) -> None:
    ann = np.array([1.0, 0.25, 123456.0, 0.123456789, 0.987654321, -7.7654321])[:, None]
    search = RowSearch({"ann": ann, "bob": np.array([[0.123456789], [2.0]])}, public=[0.987654321])
    assert search.count == 1, "shared, public, short and whole ones are not looked for"
    file = tmp_path / "file"
    file.write_text("0.123456789, 0.987654321, 123456.0, 0.25")
    assert search.find("bob", [file]) == []
    file.write_text("from -7.7654321 to 3")
    assert search.find("bob", [file]) == ["The files of bob hold a value of a row of ann."]
    assert search.find("ann", [file]) == []
