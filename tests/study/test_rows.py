"""Rows that travel for a question, at members in one process: what is sent, kept and erased."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pairgossip import exact
from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.study.service.asking import fill_in, parse_question, read_question_text
from pairgossip.study.service.membership import find_card
from pairgossip.study.service.operating import Operator
from pairgossip.study.service.reading import StudyReading, explain
from pairgossip.study.service.requests import Accept, Ask, Join, Refuse, Requests, Withdraw
from pairgossip.study.service.status import QuestionStatus
from pairgossip.study.storage.folder import StudyHome, create_study
from tests.peer.zenoh_people import free_address

from .real import PATIENCE, until, write_rows
from .test_service import are_members, running

SPEC = """\
kernel = "energy-distance"
columns = ["risk"]
label = "died"
[ranges]
risk = [0, 1]
died = [0, 1]
[algorithm]
rate = 1000
[stop]
"""
ENOUGH = "exchanges = 600\n"
NEVER = "exchanges = 100000000\n"
RANGES = {"risk": (0, 1), "age": (0, 100), "died": (0, 1)}
NAMES = ("ann", "bob", "cleo")


@pytest.fixture
def homes(tmp_path: Path) -> list[StudyHome]:
    """Make three members who accept one another at once; the last one's operator decides."""
    made = [
        create_study(
            tmp_path / name,
            name,
            write_rows(tmp_path / f"{name}.csv", k, rows=24),
            free_address(),
            rehearsal=True,
            power_safe=False,
            ranges=RANGES,
            policy={
                "accept": "by-policy",
                "exchange": True if name == "cleo" else "by-policy",
                "least_cell": 1,
            },
        )
        for k, name in enumerate(NAMES)
    ]
    cards = [find_card(home, load_identity(home.folder)) for home in made]
    for home, own in zip(made, cards, strict=True):
        Requests(home.folder).write(Join(tuple(one for one in cards if one != own)))
    return made


def ask(home: StudyHome, end: str = ENOUGH, seconds: int = 3600, spec: str = SPEC) -> str:
    text = parse_question(spec + end)
    return Requests(home.folder).write(Ask(text, int(time.time()) + seconds))


def question(home: StudyHome, number: int = 1) -> QuestionStatus:
    return StudyReading(home).question(number)


def accept(home: StudyHome, number: int = 1) -> None:
    until(lambda: _waits(home, number), "it waits")
    Requests(home.folder).write(Accept(question(home, number).name))


def _waits(home: StudyHome, number: int) -> bool:
    return any(one.number == number and one.needs_operator for one in _questions(home))


def _questions(home: StudyHome) -> Iterator[QuestionStatus]:
    return StudyReading(home).questions()


def travels(homes: list[StudyHome], exchanges: int = 30) -> Callable[[], bool]:
    def travel() -> bool:
        found = [[one.own.exchanges for one in _questions(home) if one.own] for home in homes]
        return all(max(one, default=0) > exchanges for one in found)

    return travel


def is_over(homes: list[StudyHome]) -> Callable[[], bool]:
    return lambda: all(any(one.is_over for one in _questions(home)) for home in homes)


def assert_erased(home: StudyHome) -> None:
    """Assert that the folder holds nothing of others' rows."""
    assert not list(home.folder.glob("rows/*/*"))
    own = question(home).own
    assert own is not None and own.is_final


def truth(homes: list[StudyHome]) -> float:
    files = [Path(home.read_settings().source) for home in homes]
    rows = np.vstack([np.loadtxt(file, delimiter=",", skiprows=1) for file in files])
    return float(exact(rows[:, 0], "energy-distance", labels=rows[:, 2]))


def test_each_member_finds_an_estimate_and_erases_the_rows(homes: list[StudyHome]) -> None:
    cleo = homes[2]
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0])
        until(lambda: _waits(cleo, 1), "it waits")  # by-policy for sums is not enough for rows
        leaves = question(cleo).leaves
        assert leaves[0].startswith("Rows of this site will be read by the machines of all other")
        assert "batch 1 (20 rows or a few more), each with 'risk' and 'died'" in leaves[0]
        assert not (cleo.folder / "rows").exists()
        accept(cleo)
        until(is_over(homes), "the end")
    for home in homes:
        found = question(home)
        assert found.phase == "done" and found.is_disclosed and found.value is None
        own = found.own
        assert own is not None and own.estimate is not None and own.met == own.members == 3
        assert own.exchanges >= 600 and own.rows == 72
        assert own.gossip_error is not None
        assert abs(own.estimate[0] - truth(homes)) < 5 * own.gossip_error
        assert_erased(home)
        accepted, shown, answered = StudyReading(home).disclosures()
        assert (accepted.event, shown.event, answered.event) == ("accepted", "shown", "answered")
        assert shown.about["rows"] == 24 and shown.about["columns"] == ["risk", "died"]
        assert len(shown.about["to"]) == 2
        with pytest.raises(InputError, match="each member has an estimate of its own"):
            StudyReading(home).result(1)
    estimates = {question(home).own.estimate for home in homes}  # type: ignore[union-attr]
    assert len(estimates) == 3


def refuse_again(homes: list[StudyHome]) -> bool:
    """Refuse repeatedly, until the peer may act after its start; return the outcome."""
    if is_over(homes)():
        return True
    Requests(homes[1].folder).write(Refuse(question(homes[1]).name, "It is enough."))
    time.sleep(1.0)
    return False


def test_a_member_goes_on_after_a_restart(homes: list[StudyHome]) -> None:
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0], NEVER)
        accept(homes[2])
        until(travels(homes), "rows travel")
    before = [question(home).own for home in homes]
    with running(*homes):
        until(travels(homes, 200), "rows travel again")
        until(partial(refuse_again, homes), "the end")
    for home, kept in zip(homes, before, strict=True):
        own = question(home).own
        assert own is not None and kept is not None and own.exchanges > kept.exchanges
        assert "stopped by 'bob' after rows had traveled: It is enough" in explain(question(home))
        assert_erased(home)


def test_a_state_that_is_lost_is_not_begun_anew(homes: list[StudyHome]) -> None:
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0], NEVER)
        accept(homes[2])
        until(travels(homes), "rows travel")
    shutil.rmtree(homes[1].folder / "rows")
    with running(*homes):
        until(is_over(homes), "the end")
    for home in homes:
        ending = question(home).ending
        assert ending is not None and "as in a restored backup" in ending.because
        assert_erased(home)


def test_its_asker_ends_it_and_a_second_one_waits_for_that(homes: list[StudyHome]) -> None:
    ann, bob, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        ask(ann, NEVER)
        accept(cleo)
        until(travels(homes), "rows travel")
        reply = Requests(bob.folder).wait(ask(bob), PATIENCE)
        assert reply is not None and "they do for one question at a time" in reply.sentence
        Requests(ann.folder).write(Withdraw(question(ann).name, "It is enough."))
        until(is_over(homes), "the end")
        reply = Requests(bob.folder).wait(ask(bob), PATIENCE)
        assert reply is not None and reply.is_done
    assert all(one.number == 1 for one in [question(home) for home in homes])
    assert_erased(ann)


def test_of_two_questions_at_once_one_goes_first(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows travel for one question at a time, even if an asker does not keep to this rule."""
    monkeypatch.setattr(Operator, "_refuse_rival", lambda *_: None)
    ann, bob, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        ask(ann, NEVER)
        until(lambda: _waits(cleo, 1), "it waits")
        ask(cleo, NEVER)
        until(lambda: len(list(_questions(bob))) == 2, "both are heard")
        first, second = sorted(_questions(cleo), key=lambda one: one.name)
        if first.asked_by == "ann":
            Requests(cleo.folder).write(Accept(first.name))
        until(lambda: question(cleo, second.number).is_over, "the other gives way")
        until(travels(homes), "rows travel")
        ending = question(cleo, second.number).ending
        assert question(cleo, first.number).phase == "rows" and ending is not None
        assert f"'{first.asked_by}' has asked at the same moment" in ending.because


def test_it_ends_when_it_expires(homes: list[StudyHome]) -> None:
    with running(*homes):
        until(are_members(homes), "a list")
        ask(homes[0], NEVER, 12)
        accept(homes[2])
        until(travels(homes), "rows travel")
        until(is_over(homes), "the end")
    for home in homes:
        assert question(home).phase == "done"
        assert_erased(home)


def test_rows_do_not_begin_to_travel_where_a_relay_has_come(homes: list[StudyHome]) -> None:
    ann, _, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        ask(ann)
        until(lambda: _waits(cleo, 1), "it waits")
        text = ann.peer.read_text().replace('exchange = "by-policy"\n', "")
        ann.peer.write_text(f'relay = "tls/relay.example:443"\n{text}')
        accept(cleo)
        until(is_over(homes), "the end")
    for home in homes:
        ending = question(home).ending
        assert ending is not None and "rows never travel by one" in ending.because
    assert not (ann.folder / "rows").exists()


def test_a_question_without_an_end_is_given_one(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.replace("[stop]\n", ""))
    assert '"enough":true' in fill_in(read_question_text(spec), 3)
    spec.write_text(
        'loss = "metric-hinge"\ncolumns = ["risk", "age"]\nlabel = "died"\n'
        "[ranges]\nrisk = [0, 1]\nage = [0, 100]\ndied = [0, 1]\n"
    )
    with pytest.raises(InputError, match="without an end: give the exchanges of a member"):
        fill_in(read_question_text(spec), 3)
