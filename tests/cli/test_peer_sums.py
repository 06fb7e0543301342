"""`peer evict`, `add`, `agree` and `join` on sums: what a difference tells is said first."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.cli.peer import operate
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.invitations import invitation
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Changes, encode, generation_name
from pairgossip.peer.protocol.state import Consent, SaveSums, SumsState
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.storage.folder import Home, requested_agreements
from tests.cli.running import CommandLine
from tests.cli.test_peer import Terminal
from tests.peer.homes import make_home
from tests.peer.test_sums_service import SUMS, make_homes

ALL_OTHERS = "once the operators of all others have run peer agree"
ADDING = f"the added rows are counted as a table of their own, {ALL_OTHERS}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A peer that has contributed to a sum."""
    monkeypatch.chdir(tmp_path)
    first, *_ = make_homes(tmp_path)
    (tmp_path / "more.csv").write_text("\n".join(["income", *(f"{k}.5" for k in range(12))]))
    rows = dict(read_snapshot(first).context.present_rows)
    change_state(first, summed=rows, summed_in=FIRST_GENERATION)
    return first


def other_ids(home: Home) -> list[str]:
    return sorted(home.read_members().names())


def change_state(home: Home, **changes: object) -> None:
    parts = assemble(home)
    assert isinstance(parts.saved, SumsState)
    parts.journal.save(SaveSums(replace(parts.saved, **changes), True, everything=True))
    parts.close()


def begin_without(home: Home, member: str) -> None:
    """Let others have evicted a member."""
    seen, changes = read_snapshot(home), Changes(evicted=(member,))
    generation = generation_name(1, *changes)
    notice = encode(seen.context.announce(generation, changes))
    change_state(home, generation=generation, evicted=(member,), notice=notice)


def test_what_changed_is_agreed_to(
    cli: CommandLine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, agree = other_ids(home)[0], ("peer", "agree", "--home", str(home.folder))
    name = home.read_members().names()[lost]
    assert "there is nothing left to do" in cli.error(*agree, "--yes")
    begin_without(home, lost)
    assert cli.error(*agree) == (
        "Agreeing cannot be undone, and there is no terminal to ask on: give --yes."
    )
    monkeypatch.setattr(sys, "stdin", Terminal("n"))
    answer = cli(*agree)
    assert answer.code == 1 and requested_agreements(home) == ()
    assert f"- since this peer contributed to a sum, '{name}' was evicted;" in answer.err
    assert "- a further sum tells every member the counts of rows that were added" in answer.err
    assert "by the difference those of who was evicted, once" in answer.err
    monkeypatch.setattr(sys, "stdin", Terminal("y"))
    assert cli(*agree).code == 0
    generation = read_snapshot(home).saved.generation
    assert requested_agreements(home) == (generation,)
    change_state(home, consent=Consent(generation=generation))
    assert "there is nothing left to do" in cli.error(*agree, "--yes")


def test_a_running_peer_agrees_at_once_or_says_that_it_is_too_late(
    cli: CommandLine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, agree = other_ids(home)[0], ("peer", "agree", "--yes", "--home", str(home.folder))
    begin_without(home, lost)
    monkeypatch.setattr(Home, "is_running", lambda self: True)
    monkeypatch.setattr(operate, "_PATIENCE", 0.0)
    answer = cli(*agree)
    assert (answer.code, answer.err) == (0, "It will be agreed when the peer comes to it.\n")
    monkeypatch.setattr(operate, "_is_waiting", lambda _: False)
    answer = cli(*agree)
    assert answer.code == 1
    assert "Another generation has begun meanwhile, so that nothing was agreed" in answer.err

    def take_up(request: Path) -> bool:
        change_state(home, consent=Consent(generation=request.name))
        return False

    monkeypatch.setattr(operate, "_is_waiting", take_up)
    answer = cli(*agree)
    assert answer.code == 0 and "Agreed: there is a new result once" in answer.err


def test_there_may_be_nothing_to_agree_to(cli: CommandLine, home: Home) -> None:
    agree = ("peer", "agree", "--yes", "--home", str(home.folder))
    before = dict(read_snapshot(home).context.present_rows)
    before.pop(other_ids(home)[0])
    change_state(home, summed=before)
    assert "let all members begin again from new folders" in cli.error(*agree)
    change_state(home, summed={}, summed_in="")
    assert "This peer may contribute already" in cli.error(*agree)


def test_an_eviction_that_others_began_is_agreed_to(
    cli: CommandLine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = other_ids(home)[0]
    name, where = home.read_members().names()[lost], str(home.folder)
    monkeypatch.setattr(sys, "stdin", Terminal("n"))
    said = cli("peer", "evict", name, "--home", where).err
    assert "- its rows stay in tables that all have signed; of one that not all have" in said
    assert f"every member can tell its counts, by difference, {ALL_OTHERS};" in said
    assert "count no more" in said
    begin_without(home, lost)
    monkeypatch.setattr(sys, "stdin", Terminal("y"))
    answer = cli("peer", "evict", name, "--home", where)
    assert answer.code == 0 and "count no more" not in answer.err
    assert [file.name for file in home.evictions.iterdir()] == [lost]
    change_state(home, consent=Consent(evicted=(lost,)))
    assert "was evicted before" in cli.error("peer", "evict", name, "--home", where, "--yes")


def test_adding_rows_after_a_sum_is_asked_about(
    cli: CommandLine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ("peer", "add", str(home.folder), "--data", "more.csv")
    assert cli.error(*add) == (
        "Adding rows cannot be undone, and there is no terminal to ask on: give --yes."
    )
    monkeypatch.setattr(sys, "stdin", Terminal("n"))
    answer = cli(*add)
    assert (answer.code, ADDING in answer.err, home.next_sources.exists()) == (1, True, False)
    monkeypatch.setattr(sys, "stdin", Terminal("y"))
    assert cli(*add).code == 0
    assert home.next_sources.exists()
    assert "this peer already" in cli.error(*add, "--yes")
    assert "more.csv is a source of this peer already" in cli.error(*add, "--yes", "--visible")
    shutil.copy("more.csv", "again.csv")
    assert cli(*add[:-1], "again.csv", "--yes", "--visible").code == 0


def test_before_any_sum_nothing_is_asked(cli: CommandLine, home: Home) -> None:
    change_state(home, summed={}, summed_in="")
    assert cli("peer", "add", str(home.folder), "--data", "more.csv").code == 0


JOINING = (
    "This peer has contributed to a sum: its result so far is kept, but with 'late' on the list it "
    "contributes to no further sum of this folder, since the difference would show what new "
    "members contribute."
)


def invite(home: Home) -> str:
    return invitation(load_identity(home.folder), home.read_spec(), 1, "tls/127.0.0.1:7460")


def test_joining_after_a_sum_is_asked_about(
    cli: CommandLine, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join = ("peer", "join", invite(make_home(tmp_path, "late", [7.5], SUMS)))
    where, before = ("--home", str(home.folder)), home.members.read_bytes()
    assert cli.error(*join, *where) == (
        f"{JOINING} Nobody was taken up, since there is no terminal to ask on: give --yes, or let "
        "all members begin again from new folders."
    )
    for typed in ("n\n", ""):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        answer = cli(*join, *where)
        assert JOINING in answer.err and "Take them up all the same? [y/N] " in answer.err
        assert "Nobody was taken up: answer y, or give --yes" in answer.err
        assert (answer.code == 0, home.members.read_bytes()) == (False, before)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    answer = cli(*join, *where)
    assert (answer.code, "late" in answer.out) == (0, True)
    assert "late" in home.read_members().names().values()
    home.members.write_bytes(before)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert cli(*join, *where, "--yes").code == 0


def test_joining_is_not_asked_about_without_a_sum_or_a_new_member(
    cli: CommandLine, home: Home, tmp_path: Path
) -> None:
    listed = replace(home.read_members().listed[0], address="tls/127.0.0.1:9999")
    other = Home(tmp_path / listed.name)
    again = invitation(load_identity(other.folder), other.read_spec(), listed.rows, listed.address)
    assert cli("peer", "join", again, "--home", str(home.folder)).code == 0
    assert home.read_members().listed[0] == listed
    change_state(home, summed={}, summed_in="")
    late = invite(make_home(tmp_path, "late", [7.5], SUMS))
    assert cli("peer", "join", late, "--home", str(home.folder)).code == 0


def test_few_rows_are_not_added_after_a_sum(
    cli: CommandLine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ("peer", "add", str(home.folder), "--data", "more.csv", "--yes")
    monkeypatch.setenv("PAIRGOSSIP_LEAST_ROWS", "20")
    assert "show everybody where they lie: add 20 or more at once" in cli.error(*add)
    assert not home.next_sources.exists()
    change_state(home, summed={}, summed_in="")
    (home.folder.parent / "few.csv").write_text("income\n1.5\n")
    few = cli.error(*add[:4], "few.csv", "--yes")
    assert few == (
        "1 row would be added, but others are told sizes in steps of 10: add 10 rows or more at "
        "once."
    )
    assert cli(*add).code == 0


def test_a_generation_that_waits_is_agreed_to(cli: CommandLine, home: Home) -> None:
    """The peer stays where it has contributed, and the notice lies beside it."""
    lost = other_ids(home)[0]
    changes = Changes(evicted=(lost,))
    waits = read_snapshot(home).context.announce(generation_name(1, *changes), changes)
    change_state(home, next_notice=encode(waits))
    answer = cli("peer", "agree", "--yes", "--home", str(home.folder))
    assert answer.code == 0 and requested_agreements(home) == (waits.generation,)
    assert read_snapshot(home).saved.generation == FIRST_GENERATION
