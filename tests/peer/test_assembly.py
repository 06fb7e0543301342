from __future__ import annotations

import datetime
import math
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
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
    with_signature,
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
from tests.peer.contexts import held_records
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


def test_records_of_others_or_of_another_run_do_not_pass(homes: list[Home], ann: Assembly) -> None:
    bob = assemble(homes[1])
    bob.close()
    check, me = bob.context.check, ann.identity
    value = (1.0,)
    assert check.is_sound(
        with_signature(Record(me.id, 0, FIRST_GENERATION, value, b""), ann.spec.hash, me.sign),
        FIRST_GENERATION,
    )
    assert not check.is_sound(
        with_signature(Record(me.id, 0, FIRST_GENERATION, value, b""), "another", me.sign),
        FIRST_GENERATION,
    )
    for_me = with_signature(
        Record(me.id, 0, FIRST_GENERATION, value, b""), ann.spec.hash, bob.identity.sign
    )
    assert not check.is_sound(for_me, FIRST_GENERATION)
    outside = with_signature(
        Record(me.id, 0, FIRST_GENERATION, (101.0,), b""), ann.spec.hash, me.sign
    )
    assert not check.is_sound(outside, FIRST_GENERATION)
    longer = with_signature(
        Record(me.id, 0, FIRST_GENERATION, (1.0, 1.0), b""), ann.spec.hash, me.sign
    )
    assert not check.is_sound(longer, FIRST_GENERATION)
    stranger = with_signature(
        Record("f" * 64, 0, FIRST_GENERATION, value, b""), ann.spec.hash, me.sign
    )
    assert not check.is_member(stranger)
    assert not check.is_sound(stranger, FIRST_GENERATION)


def test_notices_are_signed(homes: list[Home], ann: Assembly) -> None:
    bob = assemble(homes[1])
    bob.close()
    notice = ann.context.announce(LATER, Changes(("c" * 64,)))
    assert notice.announcer == ann.identity.id
    for reader in (ann, bob):
        genuine = reader.context.is_genuine_notice
        assert genuine(notice)
        assert not genuine(replace(notice, generation=FIRST_GENERATION))
        assert not genuine(replace(notice, evicted=()))
        assert not genuine(replace(notice, announcer=bob.identity.id))
        assert not genuine(replace(notice, announcer="f" * 64))
        assert not genuine(Notice(LATER, (), ann.identity.id, b"", ()))


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


def test_an_emptied_state_is_not_begun_again(homes: list[Home]) -> None:
    base = sqlite3.connect(homes[0].state)
    base.execute("DELETE FROM peer")
    base.execute("DELETE FROM nodes")
    base.commit()
    base.close()
    with pytest.raises(InputError, match=r"is older than what state\.witness .*0 saves of 1"):
        assemble(homes[0])


def test_a_state_that_was_never_saved_is_refused(homes: list[Home]) -> None:
    about = read_about(homes[0].state)
    for file in (homes[0].state, witness_of(homes[0].state)):
        file.unlink()
    journal = SqliteJournal(homes[0].state)
    journal.note(about)
    journal.close()
    with pytest.raises(InputError, match="is incomplete: run peer init again"):
        assemble(homes[0])


def test_a_peer_that_lost_its_state_does_not_begin_again(homes: list[Home]) -> None:
    homes[0].state.unlink()
    with pytest.raises(
        InputError, match=r"There is no .*state\.sqlite: put it back if it was moved"
    ):
        assemble(homes[0])
    assert not homes[0].state.exists()


def test_no_list_no_start(tmp_path: Path) -> None:
    home = make_home(tmp_path, "ann", [1.0])
    with pytest.raises(InputError, match="has no neighbors: exchange invitations"):
        assemble(home)
    other = make_home(tmp_path, "bob", [2.0])
    introduce(home, other, is_neighbor=False)
    with pytest.raises(InputError, match="has no neighbors"):
        assemble(home)


def test_a_member_that_is_no_neighbor_counts_in_the_records_only(
    tmp_path: Path, homes: list[Home]
) -> None:
    cid = make_home(tmp_path, "cid", [2.0])
    introduce(homes[0], cid, is_neighbor=False)
    introduce(cid, homes[0])
    ann, third = assemble(homes[0]), assemble(cid)
    assert third.identity.id not in ann.context.neighbors
    assert ann.context.check.is_sound(
        third.context.own_record(0, FIRST_GENERATION), FIRST_GENERATION
    )
    assert isinstance(ann.context.rule, WeightedMixing)
    assert ann.context.rule.weight == pytest.approx(2.0)
    ann.close()
    third.close()


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
    """The clock of a device may be set a while after the start."""
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


# Exchanges of two homes


def check_conserved(pair: Pair) -> None:
    """Nobody's record is lost or doubled, and every update added its weight once."""
    states = [pair.running[who].protocol.state for who in pair.ids]
    expected = {
        (who, row): 1
        for who, assembly in pair.assemblies.items()
        for row in range(len(assembly.context.own))
    }
    assert held_records(states) == expected
    assert not any(state.pending for state in states)


def test_two_homes_exchange_and_lose_nothing(homes: list[Home]) -> None:
    pair = Pair(homes)
    pair.deliver()
    for step in range(40):
        pair.ask(step % 2)
        pair.deliver()
        check_conserved(pair)
    assert [pair.running[who].protocol.state.exchanges for who in pair.ids] == [40, 40]
    held = {node.record.origin for node in pair.running[pair.ids[0]].protocol.state.nodes}
    assert held <= set(pair.ids)
    pair.close()


def test_the_disk_is_never_behind_nor_ahead(homes: list[Home]) -> None:
    pair = Pair(homes)
    pair.deliver()
    chance = random.Random(1)
    for _ in range(30):
        pair.ask(chance.randrange(2))
        pair.deliver()
        for who in pair.ids:
            assert pair.assemblies[who].journal.load() == pair.running[who].protocol.state
    pair.close()


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_lost_when_peers_stop_and_start_anywhere(homes: list[Home], seed: int) -> None:
    pair = Pair(homes)
    pair.deliver()
    chance = random.Random(seed)
    for _ in range(60):
        asking = chance.randrange(2)
        pair.ask(asking)
        match chance.randrange(5):
            case 0:  # the offer is lost
                pair.lose()
            case 1:  # the one that asks stops before the answer
                pair.restart(asking)
            case 2:  # the other stops before the offer
                pair.restart(1 - asking)
            case 3:  # the offer arrives, the answer is lost, and both stop
                sender, to, frame = pair._frames.popleft()
                pair.running[to].received(sender, frame, pair.now)
                pair.lose()
                pair.restart(0)
                pair.restart(1)
        pair.deliver()
        pair.repeat()
        pair.repeat()
        check_conserved(pair)
    assert all(runtime.protocol.state.exchanges >= 40 for runtime in pair.running.values())
    pair.close()


def test_two_homes_come_to_the_exact_value(tmp_path: Path) -> None:
    data = [1.0, 4.0, 6.0, 50.0]
    spec = GINI.replace("[ranges]", 'target = "u"\nmembers = 4\n[ranges]')
    homes = make_pair(tmp_path, data[:2], data[2:], spec)
    for home in homes:  # the disk's own speed does not matter here
        home.peer.write_text(home.peer.read_text().replace("true", "false"))
    pair = Pair(homes)
    pair.deliver()
    for step in range(3000):
        if step == 1000:
            pair.restart(0)
            pair.restart(1)
            pair.deliver()
        pair.ask(step % 2)
        pair.deliver()
    target = Pairs(data, "gini", "u").exact()
    for who in pair.ids:
        assembly, state = pair.assemblies[who], pair.running[who].protocol.state
        for node in state.nodes:
            found = assembly.spec.value(assembly.context.rule.readout(node.mass, node.private))
            assert math.isclose(found, target, rel_tol=0.1)
    pair.close()


def test_an_eviction_is_durable_and_changes_the_weights(tmp_path: Path, homes: list[Home]) -> None:
    cid = make_home(tmp_path, "cid", [2.0])
    introduce(homes[0], cid)
    pair = Pair(homes)
    gone = next(
        who for who in pair.assemblies[pair.ids[0]].context.neighbors if who not in pair.ids
    )
    rule = pair.assemblies[pair.ids[0]].context.rule
    assert isinstance(rule, WeightedMixing)
    assert rule.weight == pytest.approx(1.0)
    pair.running[pair.ids[0]].evict([gone], 0.0)
    pair._frames = type(pair._frames)(f for f in pair._frames if f[1] in pair.running)
    pair.close()
    again = assemble(homes[0])
    again.close()
    assert again.state.evicted == (gone,)
    assert isinstance(again.context.rule, WeightedMixing)
    assert again.context.rule.weight == pytest.approx(2.0)
