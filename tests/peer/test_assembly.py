from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity import invitations
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Changes,
    Growth,
    Notice,
    Record,
    encode,
    generation_name,
    signed_payload,
)
from pairgossip.peer.protocol.rules import WeightedMixing
from pairgossip.peer.protocol.state import Save
from pairgossip.peer.service import assembly as assembly_module
from pairgossip.peer.service.assembly import Assembly, assemble
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import read_about
from pairgossip.peer.storage.witness import witness_of
from tests.peer.homes import (
    GINI,
    LOSS,
    Pair,
    introduce,
    introduce_each_other,
    make_home,
    make_pair,
)

LATER = generation_name(1, ("c" * 64,))


@pytest.fixture
def homes(tmp_path: Path) -> list[Home]:
    return make_pair(tmp_path, [1.0, 4.0], [6.0, 50.0, 7.5])


@pytest.fixture
def ann(homes: list[Home]) -> Iterator[Assembly]:
    assembly = assemble(homes[0])
    yield assembly
    assembly.close()


# Parts


def test_the_setting_follows_from_the_folder(homes: list[Home], ann: Assembly) -> None:
    bob = assemble(homes[1])
    bob.close()
    context = ann.context
    assert (context.me, context.neighbors) == (ann.identity.id, (bob.identity.id,))
    assert (context.spec, context.text) == (ann.spec.hash, ann.spec.text)
    assert context.own == ((1.0,), (4.0,))
    assert isinstance(context.rule, WeightedMixing)
    assert context.rule.weight == pytest.approx(2.0)
    assert context.frame_limit < 1 << 20
    assert ann.problems == ()
    assert ann.settings.name == "ann"


def test_frames_of_an_exchange_fit_the_limit(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(LOSS)
    (tmp_path / "data.csv").write_text("a,b,class\n1,2,1\n3,4,0\n")
    made = [
        create_home(tmp_path / name, name, tmp_path / "run.toml", tmp_path / "data.csv")
        for name in ("ann", "bob")
    ]
    introduce_each_other(made)
    pair = Pair(made)
    pair.deliver()
    pair.ask(0)
    offer = pair.running[pair.ids[0]].protocol._offer(pair.ids[1])
    assert len(encode(offer)) < pair.assemblies[pair.ids[0]].context.frame_limit
    pair.deliver()
    assert [runtime.protocol.state.exchanges for runtime in pair.running.values()] == [1, 1]
    pair.close()


def test_own_records_pass_everybodys_check(homes: list[Home], ann: Assembly) -> None:
    bob = assemble(homes[1])
    bob.close()
    for maker in (ann, bob):
        for row in range(len(maker.context.own)):
            record = maker.context.own_record(row, LATER)
            for checker in (ann, bob):
                check = checker.context.check
                assert check.is_member(record)
                assert check.is_sound(record, LATER)
                assert not check.is_sound(record, FIRST_GENERATION)
                assert not check.is_sound(replace(record, value=(2.0,)), LATER)
                assert not check.is_member(replace(record, row=3))


def test_signatures_for_one_thing_are_not_good_for_another(ann: Assembly) -> None:
    notice = ann.context.announce(FIRST_GENERATION, Changes())
    record = ann.context.own_record(0, FIRST_GENERATION)
    assert not ann.context.is_genuine_notice(replace(notice, signature=record.signature))
    assert not ann.context.check.is_sound(
        replace(record, signature=notice.signature), FIRST_GENERATION
    )


def test_no_purpose_begins_like_another() -> None:
    said: list[Record | Growth | Notice] = [
        Record("a", 0, FIRST_GENERATION, (), b""),
        Growth("a", 1, 2, b""),
        Notice(FIRST_GENERATION, (), "a", b"", ()),
    ]
    purposes = [invitations._PURPOSE, *(signed_payload(one, "spec") for one in said)]
    assert all(b"\x00" in purpose for purpose in purposes)
    assert len({purpose.partition(b"\x00")[0] for purpose in purposes}) == len(purposes)


# Starting, and starting again


def test_every_start_finds_the_same(homes: list[Home]) -> None:
    first = assemble(homes[0])
    first.close()
    second = assemble(homes[0])
    second.close()
    assert first.state == second.state
    assert first.context.draw_seed == second.context.draw_seed
    other = assemble(homes[1])
    other.close()
    assert other.context.draw_seed != first.context.draw_seed


def test_a_state_that_was_never_saved_is_refused(homes: list[Home]) -> None:
    about = read_about(homes[0].state)
    for file in (homes[0].state, witness_of(homes[0].state)):
        file.unlink()
    journal = SqliteJournal(homes[0].state)
    journal.note(about)
    journal.close()
    with pytest.raises(InputError, match="is incomplete: run peer init again"):
        assemble(homes[0])


def test_no_list_no_start(tmp_path: Path) -> None:
    home = make_home(tmp_path, "ann", [1.0])
    with pytest.raises(InputError, match="has no neighbors: exchange invitations"):
        assemble(home)
    other = make_home(tmp_path, "bob", [2.0])
    introduce(home, other, is_neighbor=False)
    with pytest.raises(InputError, match="has no neighbors"):
        assemble(home)


@pytest.mark.parametrize(
    ("part", "text"),
    [("spec", GINI.replace("100", "200")), ("data", "income\n1.0\n5.0\n"), ("data", "income\n1\n")],
)
def test_parts_that_were_changed_are_refused(homes: list[Home], part: str, text: str) -> None:
    file: Path = getattr(homes[0], part)
    before = file.read_bytes()
    file.write_text(text)
    with pytest.raises(InputError, match=f"{file.name} is not the one that state.sqlite was made"):
        assemble(homes[0])
    file.write_bytes(before)
    assemble(homes[0]).close()


def test_another_peers_key_is_refused(homes: list[Home]) -> None:
    for mine, theirs in ((homes[0].key, homes[1].key), (homes[0].cert, homes[1].cert)):
        mine.write_bytes(theirs.read_bytes())
    homes[0].members.write_text('{"members": []}')
    with pytest.raises(InputError, match="has no neighbors"):
        assemble(homes[0])
    introduce(homes[0], make_home(homes[0].folder.parent, "cid", [1.0]))
    with pytest.raises(InputError, match=r"key\.pem is not the one that state\.sqlite was made"):
        assemble(homes[0])


def test_a_state_of_another_run_is_refused(homes: list[Home]) -> None:
    assembly = assemble(homes[0])
    assert len(assembly.state.nodes) == 2
    fewer = replace(assembly.state, nodes=assembly.state.nodes[:1])
    assembly.journal.save(Save(fewer, sync=True, everything=True))
    assembly.close()
    with pytest.raises(InputError, match="is not of this run"):
        assemble(homes[0])


def test_an_expired_certificate_is_told(homes: list[Home], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly_module, "is_expired", lambda certificate: True)
    with pytest.raises(
        InputError,
        match=r"cert\.pem expired on 20\d\d-.* clock says 20\d\d-.*: set the clock if it is off",
    ):
        assemble(homes[0])


def test_a_certificate_that_is_not_valid_yet_keeps_no_peer_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device's clock may be set some time after the start."""
    ahead = datetime.timedelta(days=2500)
    monkeypatch.setattr("pairgossip.peer.identity.certificates._CLOCK_SKEW", -ahead)
    assembly = assemble(make_pair(tmp_path, [1.0], [2.0])[0])
    assembly.close()
    assert assembly.problems == (), "the reporter asks the clock anew"
    own, theirs = assembly_module.untimely_certificates(assembly.context)
    assert own.sentence.startswith("This peer's own certificate is valid from ")
    assert theirs.sentence.startswith("The certificate of 'bob' is valid from ")
    evicted = {member.id for member in assembly.members.listed}
    assert assembly_module.untimely_certificates(assembly.context, evicted) == [own]


def test_a_total_that_does_not_fit_is_a_problem(tmp_path: Path) -> None:
    spec = GINI.replace("[ranges]", 'target = "u"\nmembers = 9\n[ranges]')
    assembly = assemble(make_pair(tmp_path, [1.0, 4.0], [6.0], spec)[0])
    assembly.close()
    (problem,) = assembly.problems
    assert "have 3 rows in all, but the specification says 9: join the others" in problem
