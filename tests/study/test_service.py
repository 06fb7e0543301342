"""Members of a study in one process, without a network between them: the loop, and requests."""

from __future__ import annotations

import datetime
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from pairgossip.errors import InputError
from pairgossip.field import Peer
from pairgossip.peer.identity.identity import create_identity, load_identity
from pairgossip.peer.identity.members import Member
from pairgossip.peer.identity.relays import Relay
from pairgossip.peer.links.addresses import NameLookup
from pairgossip.peer.links.zenoh_link import OnFrame
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import VERSION
from pairgossip.peer.service.metrics import MetricsPages
from pairgossip.peer.service.stopping import EXIT_FAILED
from pairgossip.study.protocol.records import NO_DIGEST, Batch, Card, decode
from pairgossip.study.protocol.site import Reserved
from pairgossip.study.protocol.study import Study
from pairgossip.study.rows import traveling
from pairgossip.study.rows.traveling import TravelingRows
from pairgossip.study.service import links as links_module
from pairgossip.study.service import reporter, service
from pairgossip.study.service.asking import fill_in, read_question_text
from pairgossip.study.service.assembly import StudyParts
from pairgossip.study.service.invitations import as_member
from pairgossip.study.service.links import Certificates, Links
from pairgossip.study.service.membership import find_card, invite_card
from pairgossip.study.service.operating import Operator
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.reporter import StudyReporter
from pairgossip.study.service.requests import (
    Accept,
    Add,
    Ask,
    Evict,
    Join,
    Leave,
    Refuse,
    Reply,
    Requests,
    Withdraw,
)
from pairgossip.study.service.service import StudyService
from pairgossip.study.service.status import write_question
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.site.words import digest_words
from pairgossip.study.storage.folder import StudyHome, create_study
from pairgossip.study.storage.journal import StudyJournal
from tests.peer.zenoh_people import free_address

from .real import PATIENCE, SPEC, until, write_rows

RANGES = {"risk": (0, 1), "age": (0, 100), "died": (0, 1)}


class Wires:
    """Brings frames from member to member."""

    def __init__(self) -> None:
        self.receivers: dict[str, OnFrame] = {}

    def connect(self, parts: StudyParts, on_frame: OnFrame) -> Wire:
        self.receivers[parts.identity.id] = on_frame
        return Wire(self, parts.identity.id)


class Wire:
    def __init__(self, wires: Wires, me: str) -> None:
        self._wires, self._me = wires, me
        self._neighbors: set[str] = set()
        self.reopened = 0

    def send(self, to: str, frame: bytes) -> None:
        if to in self._neighbors and to in self._wires.receivers:
            self._wires.receivers[to](self._me, frame)

    def counts(self) -> Counter[Event]:
        return Counter({Event.FRAME_NOT_SIGNED: 2})

    def connected(self) -> set[str]:
        return self._neighbors & self._wires.receivers.keys()

    def other_versions(self) -> Mapping[str, int]:
        return {}

    def reopen(self, neighbors: Sequence[Member]) -> None:
        self._neighbors = {one.id for one in neighbors}
        self.reopened += 1

    def close(self) -> None:
        self._wires.receivers.pop(self._me, None)


class Running:
    """One member in a thread of its own, which opens its folder too."""

    service: StudyService

    def __init__(self, home: StudyHome, wires: Wires) -> None:
        self._home, self._wires = home, wires
        self.code: int | None = None
        self.raised: BaseException | None = None
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._is_open.wait(PATIENCE)

    def _run(self) -> None:
        parts = StudyParts(self._home)
        try:
            with StudyService(parts, self._wires.connect) as self.service:
                self._is_open.set()
                self.code = self.service.run()
        except BaseException as raised:
            self.raised = raised
        finally:
            self._is_open.set()
            parts.close()

    def stop(self) -> None:
        self.service.stop()
        self._thread.join(PATIENCE)


@pytest.fixture
def homes(tmp_path: Path) -> list[StudyHome]:
    """Three members, who accept one another as soon as they run."""
    made = [
        create_study(
            tmp_path / name,
            name,
            write_rows(tmp_path / f"{name}.csv", k),
            free_address(),
            rehearsal=True,
            ranges=RANGES,
            policy={"accept": "ask" if name == "cleo" else "by-policy", "least_cell": 1},
        )
        for k, name in enumerate(("ann", "bob", "cleo"))
    ]
    cards = [find_card(home, load_identity(home.folder)) for home in made]
    for home, own in zip(made, cards, strict=True):
        Requests(home.folder).write(Join(tuple(one for one in cards if one != own)))
    (tmp_path / "auc.toml").write_text(SPEC)
    return made


@contextmanager
def running(*homes: StudyHome) -> Iterator[list[Running]]:
    wires = Wires()
    started = [Running(home, wires) for home in homes]
    try:
        yield started
    finally:
        for one in started:
            one.service.stop()
        for one in started:
            one.stop()


def are_members(homes: Sequence[StudyHome]) -> Callable[[], bool]:
    def are() -> bool:
        return all(StudyReading(home).signed_list() is not None for home in homes)

    return are


def ask(home: StudyHome) -> str:
    text = read_question_text(home.folder.parent / "auc.toml")
    return Requests(home.folder).write(Ask(text, int(time.time()) + 3600))


def accept_all(home: StudyHome) -> None:
    """Let the operator accept what waits."""
    for one in StudyReading(home).questions():
        if one.needs_operator:
            Requests(home.folder).write(Accept(one.name))


def is_answered(home: StudyHome, number: int = 1) -> Callable[[], bool]:
    return lambda: any(
        one.number == number and one.is_done for one in StudyReading(home).questions()
    )


def test_a_question_is_answered_once_the_operator_has_said_yes(homes: list[StudyHome]) -> None:
    ann, _, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        reply = Requests(ann.folder).wait(ask(ann), PATIENCE)
        assert reply is not None and reply.number == 1 and reply.is_done
        until(lambda: any(one.needs_operator for one in StudyReading(cleo).questions()))
        (question,) = StudyReading(cleo).questions()
        assert question.asked_by == "ann" and question.title == "auc of risk by died"
        assert "No row leaves this machine" in question.leaves[0]
        until(lambda: StudyReading(ann).question(1).awaited == ("cleo",), "cleo is awaited")
        status = StudyReading(cleo).status()
        assert status is not None and [one.card.name for one in status.members] == [
            "ann", "bob", "cleo",
        ]  # fmt: skip
        accept_all(cleo)
        until(is_answered(ann), "the answer")
        until(is_answered(cleo), "the answer")
    result = StudyReading(ann).result(1)
    assert result.result.rows == 600 and len(result.signatures) == 3
    assert Peer(cleo.folder).question(1).roc().auc == pytest.approx(result.result.value, abs=0.05)
    assert [one.event for one in StudyReading(cleo).disclosures()] == [
        "accepted", "shown", "answered",
    ]  # fmt: skip


def test_a_column_is_counted_for_one_open_question_at_a_time(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second question is refused by its asker; of two at once one goes first."""
    ann, bob, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        assert (reply := Requests(ann.folder).wait(ask(ann), PATIENCE)) and reply.is_done
        until(lambda: list(StudyReading(bob).questions()), "the question is heard")
        reply = Requests(bob.folder).wait(ask(bob), PATIENCE)
        assert reply is not None and reply.sentence == (
            "Question 1 counts column 'risk', too, and is open: say yes to it, or wait until it "
            "has ended."
        )
        # As if both had asked before they heard of the other's question.
        monkeypatch.setattr(Operator, "_refuse_rival", lambda self, draft: None)
        assert (reply := Requests(bob.folder).wait(ask(bob), PATIENCE)) and reply.is_done
        until(lambda: len(list(StudyReading(cleo).questions())) == 2, "both are heard")
        first, second = sorted(StudyReading(cleo).questions(), key=lambda one: one.name)
        requests = Requests(cleo.folder)
        reply = requests.wait(requests.write(Accept(first.name)), PATIENCE)
        assert reply is not None and reply.is_done
        until(is_answered(cleo, first.number), "the first is answered by all")
    assert StudyReading(cleo).result(first.number).result.rows == 600
    if second.asked_by == "ann":  # else it has waited from its beginning, and goes on
        ending = StudyReading(cleo).question(second.number).ending
        assert ending is not None
        assert "'bob' has asked at the same moment for the same columns" in ending.because


def test_an_asker_may_let_totals_of_its_rows_be_computed(homes: list[StudyHome]) -> None:
    ann, _, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        text = read_question_text(ann.folder.parent / "auc.toml")
        requests = Requests(ann.folder)
        key = requests.write(Ask(text, int(time.time()) + 3600, is_visible=True))
        assert (reply := requests.wait(key, PATIENCE)) and reply.is_done
        until(lambda: list(StudyReading(cleo).questions()), "the question is heard")
        accept_all(cleo)
        until(is_answered(ann), "the answer")
    for home, is_visible in ((ann, True), (cleo, False)):
        me = load_identity(home.folder).id
        journal = StudyJournal(home.database, home.secrets)
        records = [decode(one.content) for one in journal.load().records]
        told = [
            one.totals_visible for one in records if isinstance(one, Batch) and one.member == me
        ]
        assert told[0] is False and told[-1] is is_visible
        journal.close()


@pytest.mark.parametrize("accept", ["ask", "by-policy"])
def test_an_operator_alone_is_told_that_its_yes_adds_no_row(
    tmp_path: Path, homes: list[StudyHome], accept: str
) -> None:
    """All members see that rows are missing, but not why; the answer would lack them in silence."""
    source = tmp_path / "dora.csv"
    source.write_text("risk,age,died\n" + "".join(f"{k},50,{k % 2}\n" for k in range(100)))
    settings: dict[str, Any] = {"ranges": RANGES, "policy": {"accept": accept, "least_cell": 1}}
    place = free_address()
    dora = create_study(tmp_path / "dora", "dora", source, place, rehearsal=True, **settings)
    homes.append(dora)
    cards = [find_card(home, load_identity(home.folder)) for home in homes]
    for home, own in zip(homes, cards, strict=True):
        Requests(home.folder).write(Join(tuple(one for one in cards if one != own)))
    requests, said = Requests(dora.folder), ""
    with running(*homes):
        until(lambda: (now := StudyReading(dora).signed_list()) and len(now.list.members) == 4)
        ask(homes[0])
        if accept == "ask":
            until(lambda: any(one.needs_operator for one in StudyReading(dora).questions()))
            name = StudyReading(dora).question(1).name
            reply = requests.wait(requests.write(Accept(name)), PATIENCE)
            assert reply is not None and reply.is_done
            said = reply.sentence
        until(lambda: any(one.notice for one in StudyReading(dora).questions()), "a notice")
        notice = StudyReading(dora).question(1).notice
        until(lambda: any(one.needs_operator for one in StudyReading(homes[2]).questions()))
        accept_all(homes[2])
        until(lambda: all(is_answered(home)() for home in homes), "the answer")
        notices = [StudyReading(home).question(1).notice for home in homes]
    assert notices[:3] == ["", "", ""]
    assert notices[3].startswith("It added no row of this site: its rows were counted")
    assert notice.startswith("It adds no row of this site: peer questions 1 --try says why")
    assert said == ("" if accept == "by-policy" else f"Accepted question 1, for good. {notice}")
    assert StudyReading(homes[0]).result(1).result.rows == 600
    shared = [one for home in homes[:3] for one in home.folder.rglob("*.*") if one.is_file()]
    words = b"adds no row", b"added no row"
    assert shared and not any(one in file.read_bytes() for file in shared for one in words)


def test_a_yes_that_has_to_wait_lets_nobody_subtract(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(*_: object) -> None:
        raise Reserved("Another question counts these columns.")

    cleo = homes[2]
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: any(one.needs_operator for one in StudyReading(cleo).questions()))
        monkeypatch.setattr(MemberSite, "offer", wait)
        requests, accept = Requests(cleo.folder), Accept(StudyReading(cleo).question(1).name, True)
        reply = requests.wait(requests.write(accept), PATIENCE)
        assert reply is not None and not reply.is_done
    journal = StudyJournal(cleo.database, cleo.secrets)
    assert not journal.notes("visible")
    journal.close()


def test_what_is_accepted_is_what_was_read_of_what_leaves(
    homes: list[StudyHome], tmp_path: Path
) -> None:
    """Rows that are added while a question waits are named before they can leave."""
    ann, _, cleo = homes
    requests = Requests(cleo.folder)
    with running(*homes):
        until(are_members(homes), "a list")
        ask(ann)
        until(lambda: any(one.needs_operator for one in StudyReading(cleo).questions()))
        question = StudyReading(cleo).question(1)
        (rows,) = [one for one in question.leaves if "The rows are those of" in one]
        assert "batch 1 (200 rows)" in rows
        more = write_rows(tmp_path / "more.csv", 9)
        assert (reply := requests.wait(requests.write(Add(str(more))), PATIENCE)) and reply.is_done
        read = digest_words(question.leaves).hex()
        reply = requests.wait(requests.write(Accept(question.name, words=read)), PATIENCE)
        assert (
            reply is not None and not reply.is_done and "not what you were shown" in reply.sentence
        )
        until(lambda: "batches 1" in " ".join(StudyReading(cleo).question(1).leaves), "new words")
        read = digest_words(StudyReading(cleo).question(1).leaves).hex()
        reply = requests.wait(requests.write(Accept(question.name, words=read)), PATIENCE)
        assert reply is not None and reply.is_done
        until(is_answered(ann), "the answer")


def test_what_is_asked_for_while_no_peer_runs_is_done_when_they_do(homes: list[StudyHome]) -> None:
    with running(*homes):
        until(are_members(homes), "a list")
    ask(homes[0])
    assert not list(StudyReading(homes[0]).questions())
    with running(*homes):
        until(lambda: list(StudyReading(homes[2]).questions()), "the question is heard")
        accept_all(homes[2])
        until(is_answered(homes[0]), "the answer")


@pytest.mark.parametrize(("at", "kind"), [(2, Refuse), (0, Withdraw)])
def test_an_end_that_is_asked_for_while_no_peer_runs_waits_until_another_is_heard(
    homes: list[StudyHome], at: int, kind: type[Refuse | Withdraw]
) -> None:
    home, requests = homes[at], Requests(homes[at].folder)
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: any(one.needs_operator for one in StudyReading(homes[2]).questions()))
    key = requests.write(kind(StudyReading(home).question(1).name, "not now"))
    with running(home):
        seen = StudyReading(home).status()
        assert seen is not None
        until(lambda: (now := StudyReading(home).status()) and now.updated > seen.updated + 2)
        assert requests.count() == 1  # nobody else runs
    with running(*homes):
        reply = requests.wait(key, PATIENCE)
        assert reply is not None and reply.is_done and reply.number == 1
        until(lambda: StudyReading(homes[1]).question(1).ending is not None, "it has ended")


def test_what_can_never_be_done_is_refused_though_nobody_was_heard(
    homes: list[StudyHome],
) -> None:
    requests = Requests(homes[0].folder)
    key = requests.write(Refuse("ab" * 32, "not now"))
    with running(homes[0]):
        reply = requests.wait(key, PATIENCE)
    assert reply is not None and reply.sentence.startswith("There is no such question")


def test_a_refusal_that_no_command_waits_for_is_a_problem(homes: list[StudyHome]) -> None:
    requests = Requests(homes[0].folder)
    for seconds in (0, 100):  # a command may still wait for the answer to the first
        key = requests.write(Accept("ab" * 32))
        earlier = f"{int(key[:20]) - seconds * 10**9:020d}{key[20:]}"
        (requests.requests / f"{key}.json").rename(requests.requests / f"{earlier}.json")
    with running(homes[0]):
        until(lambda: len(list(requests.replies.glob("*.json"))) == 3, "both are answered")
        until(lambda: (now := StudyReading(homes[0]).status()) and now.problems, "it is a problem")
    (problem,) = StudyReading(homes[0]).problems()
    assert problem == (
        "In the last day a request was refused that had waited for this peer: There is no such "
        "question that is open: see the list of questions."
    )


def test_a_peer_killed_before_its_answer_asks_once(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is still there after the restart, and so is the question that it has become."""
    ann, answers = homes[0], Requests.answer

    def die(self: Requests, key: str, reply: object) -> None:
        raise MemoryError

    with running(*homes) as (first, *_):
        until(are_members(homes), "a list")
        monkeypatch.setattr(Requests, "answer", die)
        key = ask(ann)
        until(lambda: first.raised is not None, "it is killed")
        monkeypatch.setattr(Requests, "answer", answers)
    assert isinstance(first.raised, MemoryError) and Requests(ann.folder).count() == 1
    with running(*homes):
        reply = Requests(ann.folder).wait(key, PATIENCE)
        assert reply is not None and reply.number == 1
        # It may have been heard before the kill, and is asked about once another was heard.
        until(lambda: any(one.needs_operator for one in StudyReading(homes[2]).questions()))
        accept_all(homes[2])
        until(is_answered(homes[2]), "the answer")
    assert [len(list(StudyReading(home).questions())) for home in homes] == [1, 1, 1]
    assert len(StudyJournal(ann.database, ann.secrets).numbers) == 1


def test_what_ended_before_a_kill_is_told_after_it(homes: list[StudyHome]) -> None:
    """A peer may be killed after it has archived a question, and before it has said so."""
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: list(StudyReading(homes[2]).questions()), "the question is heard")
        accept_all(homes[2])
        until(is_answered(homes[0]), "the answer")
    known = StudyReading(homes[0]).question(1)
    before = msgspec.structs.replace(known, phase="words", awaited=("bob",), value=None)
    write_question(homes[0], before)
    with running(homes[0]):
        until(is_answered(homes[0]), "it is told")
        assert msgspec.structs.replace(known, changed=0.0) == msgspec.structs.replace(
            StudyReading(homes[0]).question(1), changed=0.0
        )


def test_rows_are_added_once_though_the_peer_is_killed_before_its_answer(
    homes: list[StudyHome], tmp_path: Path
) -> None:
    """Else the same people would be in two batches, and counted twice."""
    source = str(write_rows(tmp_path / "more.csv", 17))
    for _ in range(2):
        parts = StudyParts(homes[0])
        operator = Operator(parts.study, parts.site, parts.journal)
        reply = operator.carry_out("a-request", Add(source), parts.keep)
        assert reply.is_done and [one.rows for one in parts.site.batches] == [200, 200]
        parts.close()


def test_what_was_accepted_of_added_rows_holds_though_the_peer_is_killed(
    homes: list[StudyHome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise MemoryError

    request = Add(str(write_rows(tmp_path / "more.csv", 17)), totals_visible=True)
    for is_killed in (True, False):
        parts = StudyParts(homes[0])
        operator = Operator(parts.study, parts.site, parts.journal)
        operator.announce(parts.keep)  # as at every start
        if is_killed:
            monkeypatch.setattr(Operator, "_announce", die)
            with pytest.raises(MemoryError):
                operator.carry_out("a-request", request, parts.keep)
            monkeypatch.undo()
        else:
            operator.carry_out("a-request", request, parts.keep)
        records = list(map(decode, parts.journal.records_of(NO_DIGEST)))
        announced = [one for one in records if isinstance(one, Batch) and one.number == 2]
        assert any(one.totals_visible for one in announced) == (not is_killed)
        assert len(parts.site.batches) == 2
        parts.close()


def test_rows_that_travel_stop_for_a_full_disk_like_the_peer(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InputError("The disk is full.")

    parts, closed = StudyParts(homes[0]), list[bool]()
    rows = TravelingRows(parts, lambda to, frame: None, lambda sentence: None)
    rows._running[b"q"] = SimpleNamespace(  # type: ignore[assignment]
        journey=SimpleNamespace(name=b"q", estimate=None, has_enough=False),
        look=lambda: None,
        should_stop=lambda: False,
        close=lambda: closed.append(True),
    )
    monkeypatch.setattr(traveling, "keep_estimate", fail)
    rows.close()
    assert closed == [True]
    parts.close()


def test_an_estimate_is_written_once_however_long_others_travel(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the final one, which differs from that in memory, and a start has none."""
    parts, written = StudyParts(homes[0]), list[bytes]()
    journey = SimpleNamespace(name=b"q", estimate=None)
    progress = SimpleNamespace(name=b"q", phase="rows")
    parts.site.journeys[b"q"] = journey  # type: ignore[assignment]
    mine = StudyReporter(homes[0], parts.study, parts.site, parts.journal, parts.card)
    monkeypatch.setattr(Study, "questions", (progress,))
    monkeypatch.setattr(StudyReporter, "_write", lambda self, one: written.append(one.name))
    for estimate in (None, object(), object()):
        journey.estimate = estimate
        for _ in range(3):
            mine.follow()
    assert written == [b"q"] * 3
    parts.close()


def test_a_full_disk_is_something_to_be_repaired(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 would say that it was wrong from the start, and services do not go on then."""

    def fail(*_: object) -> None:
        raise InputError("The disk is full.")

    with running(homes[0]) as (first,):
        until(lambda: StudyReading(homes[0]).status() is not None, "it runs")
        monkeypatch.setattr("pairgossip.study.service.status.write_status", fail)
        until(lambda: first.code is not None or first.raised, "it ends")
        assert (first.code, first.raised) == (EXIT_FAILED, None)
        monkeypatch.undo()


def test_nothing_is_told_after_a_save_has_failed(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: StudyJournal, save: object) -> None:
        raise InputError("The disk is full.")

    with running(*homes) as (first, *_):
        until(are_members(homes), "a list")
        monkeypatch.setattr(StudyJournal, "save", fail)
        key = ask(homes[0])
        until(lambda: first.code is not None, "it ends")
        assert first.code == EXIT_FAILED
        status = StudyReading(homes[0]).status()
        assert status is not None and status.problems == ("The disk is full.",)
        assert Requests(homes[0].folder).wait(key, 0.0) is None  # it waits for the next start
        monkeypatch.undo()


def test_refused_requests_are_answered_with_the_reason(homes: list[StudyHome]) -> None:
    requests = Requests(homes[0].folder)
    with running(*homes[:1]):
        reply = requests.wait(ask(homes[0]), PATIENCE)
        assert reply is not None and not reply.is_done
        assert reply.sentence == "No list of members is signed by all yet: nobody can be asked."
        reply = requests.wait(requests.write(Accept("ab" * 32)), PATIENCE)
        assert reply is not None and not reply.is_done


@pytest.mark.parametrize("name", ["bob", "BOB", "ANN"])
def test_a_second_member_of_one_name_is_refused_also_by_a_later_request(
    tmp_path: Path, homes: list[StudyHome], name: str
) -> None:
    """Neither `peer status` nor an operator could tell the two apart."""
    cards = []
    for called in (name, "dora"):
        (tmp_path / f"new {called}").mkdir()
        one = create_identity(tmp_path / f"new {called}", called)
        cards.append(Card(one.id, one.name, one.certificate, free_address()))
    other, dora = cards
    bob = find_card(homes[1], load_identity(homes[1].folder))
    requests = Requests(homes[0].folder)

    def request(asked: Join | Evict) -> Reply:
        reply = requests.wait(requests.write(asked), PATIENCE)
        assert reply is not None
        return reply

    with running(*homes[:1]):
        refused = request(Join((other,)))
        assert not refused.is_done
        assert "must make its folder anew, with another --name" in refused.sentence
        assert request(Join((bob, dora))).is_done  # the same member again, and another one
        assert request(Evict(bob.id)).is_done
        assert request(Join((other,))).is_done == (name != "ANN")  # bob is gone, ann is not


def test_members_may_be_joined_one_after_the_other(tmp_path: Path, homes: list[StudyHome]) -> None:
    source = write_rows(tmp_path / "dora.csv", 3)
    dora = create_study(tmp_path / "dora", "dora", source, free_address(), rehearsal=True)
    cards = [find_card(home, load_identity(home.folder)) for home in homes[:2]]
    requests = Requests(dora.folder)
    replies = []
    with running(dora):
        for card in cards:
            replies.append(requests.wait(requests.write(Join((card,))), PATIENCE))
        until(lambda: (status := StudyReading(dora).status()) and status.proposals, "a list")
    assert [one and (one.is_done, one.sentence) for one in replies] == [
        (True, "Accepted ann: a list takes 3 members, so join 1 more member."),
        (True, "Accepted bob: they may be members of this study."),
    ]


def test_long_texts_are_kept_only_of_ones_own_questions_and_of_those_that_came_to_something(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter, "_LONGEST_KEPT", 10)
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: list(StudyReading(homes[2]).questions()), "the question is heard")
        requests = Requests(homes[2].folder)
        requests.write(Refuse(StudyReading(homes[2]).question(1).name, "not now"))
        until(lambda: all(StudyReading(one).question(1).is_over for one in homes), "it has ended")
    assert [bool(StudyReading(one).question(1).text) for one in homes] == [True, False, False]
    assert "its long text is not kept" in StudyReading(homes[1]).question(1).leaves[0]


def test_sessions_are_opened_anew_for_new_members_alone(homes: list[StudyHome]) -> None:
    with running(*homes) as all_running:
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: list(StudyReading(homes[2]).questions()), "the question is heard")
        assert [one.service._network.reopened for one in all_running] == [1, 1, 1]  # type: ignore[attr-defined]


def test_at_rest_others_are_contacted_ever_more_rarely_and_news_is_told_at_once(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_LONGEST_CONTACT", 3.0)
    with running(*homes) as all_running:
        until(are_members(homes), "a list")
        until(lambda: all(one.service._wait == 3.0 for one in all_running), "they are at rest")
        ask(homes[0])
        until(lambda: all_running[0].service._wait < 3.0, "there is news")
        until(lambda: list(StudyReading(homes[2]).questions()), "the question is heard")


def test_metrics_say_what_the_status_says(homes: list[StudyHome]) -> None:
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: any(one.needs_operator for one in StudyReading(homes[2]).questions()))
        reading = StudyReading(homes[2])
        until(lambda: (status := reading.status()) and status.awaited == {"asked": 1})
        pages = MetricsPages(reading.status)
        text = pages.get("/metrics")[2].decode()
        assert pages.get("/healthz")[0] == pages.get("/readyz")[0] == 200
        name = reading.question(1).name
        reading.requests.wait(reading.requests.write(Refuse(name, "no")), PATIENCE)
        until(lambda: (status := reading.status()) and status.over)
        later = pages.get("/metrics")[2].decode()
    assert 'pairgossip_questions_over_total{how="no"} 1.0' in later
    assert "pairgossip_questions_waiting 0.0" in later and "{phase=" not in later
    for line in (
        "pairgossip_members 3.0",
        "pairgossip_questions_waiting 1.0",
        'pairgossip_questions{phase="asked"} 1.0',
        'pairgossip_questions_awaited{phase="asked"} 1.0',
        "pairgossip_questions_disclosed 0.0",
        "pairgossip_proposals_waiting 0.0",
        "pairgossip_lies 0.0",
        "pairgossip_rows 200.0",
        'pairgossip_neighbor_connected{neighbor="ann"} 1.0',
        'pairgossip_refused_total{event="frames refused: not signed by their sender"} 2.0',
    ):
        assert line in text


def test_problems_name_who_cannot_be_reached_and_why(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = (load_identity(one.folder) for one in homes[:2])
    ways = [("tls/ann.example:7447", ann), ("tls/bob.example:7447", bob)]
    members = [as_member(Card(one.id, one.name, one.certificate, at)) for at, one in ways]

    def refuse(name: str) -> object:
        raise OSError(name)

    links = [Links(relay, NameLookup(refuse)) for relay in (None, "tls/relay.example:443")]
    until(lambda: all(list(one.problems(members, {ann.id}, {})) for one in links))
    versions = {ann.id: VERSION + 1, bob.id: VERSION - 1}
    found = [said for one in links for said in one.problems(members, {ann.id}, versions)]
    beginnings = (
        "Member 'ann' speaks version",
        "Member 'bob' speaks version",
        "The name bob.example in the address of 'bob' does not resolve",
    )
    assert all(one.startswith(begins) for one, begins in zip(found, beginnings, strict=False))
    assert "update pairgossip at this peer" in found[0] and "at 'bob'" in found[1]
    assert found[-1].startswith("The name relay.example of the relay does not resolve")
    assert len(found) == 6
    monkeypatch.setattr(links_module, "_LONGEST_ALONE", 0.0)
    assert next(links[0].problems(members, set(), {})).startswith("No other member has been con")


def test_who_has_left_is_told_so(tmp_path: Path, homes: list[StudyHome]) -> None:
    source = write_rows(tmp_path / "dora.csv", 3)
    homes.append(create_study(tmp_path / "dora", "dora", source, free_address(), rehearsal=True))
    cards = [find_card(home, load_identity(home.folder)) for home in homes]
    for home, own in zip(homes, cards, strict=True):
        Requests(home.folder).write(Join(tuple(one for one in cards if one != own)))
    dora = StudyReading(homes[3])
    with running(*homes):
        until(lambda: (signed := dora.signed_list()) and len(signed.list.members) == 4, "a list")
    with running(homes[3]):  # so that others leave it out after all three
        keys = [dora.requests.write(Leave(visible)) for visible in (False, True, False)]
        first, more, again = (dora.requests.wait(key, 60) for key in keys)
        assert first is not None and more is not None and again is not None
        assert first.sentence.startswith("Asked all others")
        assert "now says that its totals may become known" in more.sentence
        assert "what it said then of its totals stays" in again.sentence
    with running(*homes):
        until(lambda: any("left this peer out" in one for one in dora.problems()), "it is told")
        status = dora.status()
        assert status is not None
        assert [one.card.name for one in status.members if one.is_listed] == ["ann", "bob", "cleo"]


def change_rule(home: StudyHome, least_cell: int) -> None:
    """Let an operator ask for other cells, by hand."""
    text = home.peer.read_text()
    home.peer.write_text(text.replace("\nleast_cell = 1\n", f"\nleast_cell = {least_cell}\n"))
    assert home.read_settings().policy.least_cell == least_cell


def test_a_member_is_listed_as_others_are_invited_though_its_policy_changes(
    homes: list[StudyHome],
) -> None:
    bob = homes[1]
    invited = invite_card(bob, load_identity(bob.folder))
    change_rule(bob, 4)
    with running(*homes):
        until(are_members(homes), "a list")
    signed = StudyReading(bob).signed_list()
    assert signed is not None and invited in signed.list.members


def test_problems_name_who_was_invited_by_an_earlier_invitation(homes: list[StudyHome]) -> None:
    bob = homes[1]
    change_rule(bob, 4)
    card = invite_card(bob, load_identity(bob.folder))

    def say(home: StudyHome, sentence: str) -> bool:
        status = StudyReading(home).status()
        return status is not None and any(sentence in one for one in status.problems)

    with running(*homes):
        until(lambda: say(bob, "earlier invitation of this peer"), "the problem")
        for home in (homes[0], homes[2]):
            until(lambda home=home: say(home, "'bob' has another address or policy"))  # type: ignore[misc]
            Requests(home.folder).write(Join((card,)))
        until(are_members(homes), "a list")
        until(lambda: not any(say(home, "policy") for home in homes), "no problem")


def test_settings_that_cannot_be_read_are_logged_once(
    homes: list[StudyHome], caplog: pytest.LogCaptureFixture
) -> None:
    ann = homes[0]
    whole = ann.peer.read_text()

    def reported() -> list[str]:
        status = StudyReading(ann).status()
        return [] if status is None else list(status.problems)

    with running(ann):
        until(lambda: StudyReading(ann).status() is not None, "a status")
        ann.peer.write_text(whole + "[polic")
        until(reported, "a problem")
        (problem,) = reported()
        assert problem.endswith("Until that is mended, settings stay as they were.")
        assert StudyReading(ann).problems() == [problem]
        ann.peer.write_text(whole)
        assert StudyReading(ann).problems() == []  # at once
        until(lambda: not reported(), "no problem")
    assert [one.getMessage() for one in caplog.records].count(problem) == 1


def test_members_rules_decide_on_the_least_cell(tmp_path: Path) -> None:
    spec = tmp_path / "auc.toml"
    spec.write_text(SPEC)
    text = read_question_text(spec)
    assert "least_cell" not in text and '"least_cell":5' in fill_in(text, 5)
    spec.write_text(f"{SPEC}[algorithm]\nleast_cell = 4\n")
    with pytest.raises(InputError, match=r"algorithm\.least_cell is 4, and the members of this"):
        fill_in(read_question_text(spec), 5)


def test_one_sentence_says_that_a_clock_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both times are in it, and it stays the same, since it is logged whenever it changes."""

    def make(name: str) -> Card:
        (tmp_path / name).mkdir()
        one = create_identity(tmp_path / name, name)
        return Card(one.id, one.name, one.certificate, free_address())

    place = free_address()
    home = create_study(tmp_path / "a", "a", write_rows(tmp_path / "a.csv", 1), place)
    ann, bob = make("ann"), as_member(make("bob"))
    ahead = datetime.timedelta(days=-900)
    monkeypatch.setattr("pairgossip.peer.identity.certificates._CLOCK_SKEW", ahead)
    cleo, dora = as_member(make("cleo")), as_member(make("dora"))
    time_ = r"20\d\d-\d\d-\d\d \d\d:\d\d UTC"
    both = Certificates(home, ann)
    (said,) = both.problems([bob, cleo, dora])
    assert re.match(
        rf"The certificates of 'cleo' and 'dora' are valid from {time_} at the latest, and this "
        rf"machine's clock says {time_}: set the clock of this machine, or theirs",
        said,
    )
    (one,) = Certificates(home, ann).problems([bob, cleo])
    assert one.startswith("The certificate of 'cleo' is valid from 20")
    (own,) = Certificates(home, make("eve")).problems([bob, cleo, dora])
    assert own.startswith("This peer's own certificate is valid from 20")
    monkeypatch.setattr(links_module, "describe_early", lambda *_: "another")
    assert list(both.problems([bob, cleo, dora])) == [said]
    assert list(both.problems([bob, dora])) == ["another"]


def test_the_certificate_of_a_relay_is_named_when_it_expires(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody is reached then, and the link would wait in silence."""
    relay = create_identity(tmp_path, "relay", years=0)
    source, place = write_rows(tmp_path / "ann.csv", 1), free_address()
    found = Relay(place, relay.certificate)
    home = create_study(tmp_path / "ann", "ann", source, place, relay=found, rehearsal=True)
    ann = Running(home, Wires())
    sentence = r"The certificate of the relay expired on \d{4}-\d\d-\d\d, and nobody is reached"
    until(lambda: StudyReading(home).problems(), "a problem")
    ann.stop()
    (problem,) = StudyReading(home).problems()
    assert re.match(sentence, problem) and f"put its certificate into {home.relay}" in problem
    assert [one.getMessage() for one in caplog.records].count(problem) == 1
