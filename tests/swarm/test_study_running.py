"""Real processes that answer the questions of a study, undisturbed and disturbed."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pairgossip.cli.swarm.study_report import verdict
from pairgossip.study.service.requests import Reply
from pairgossip.study.service.status import QuestionStatus
from pairgossip.swarm import study_crew
from pairgossip.swarm.chaos import Faults
from pairgossip.swarm.running import Report, SwarmOptions, run_swarm
from pairgossip.swarm.study_audit import StudyAudit
from pairgossip.swarm.study_crew import MemberPeer, Posed
from pairgossip.swarm.study_plan import StudyPlan
from tests.watch.members_to_watch import answered
from tests.watch.studies import ended, running

from .brisk import use_brisk_peers
from .plans import AUC, GINI, MODEL, study_plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")
NONE = Faults(kills=0, freezes=0, partitions=0, window=0.0)
"""Zero faults; with any `Faults`, peers begin together, so the first reading is in time."""


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    use_brisk_peers(monkeypatch)


def run(plan: StudyPlan, folder: Path, **options: object) -> tuple[Report[StudyAudit], StudyAudit]:
    how = SwarmOptions(seconds=200.0, power_safe=False, **options)  # type: ignore[arg-type]
    report = run_swarm(plan, folder, how, lambda *_: None)
    assert report.is_sound, (report.books.violations, report.failures)
    assert isinstance(report.books, StudyAudit)
    return report, report.books


def test_faults_joins_and_leaves_change_no_bit(tmp_path: Path) -> None:
    """The audit compares results with those of undisturbed programs, bit for bit."""
    faults = Faults(kills=3, freezes=1, partitions=1, window=0.0)
    plan = study_plan(tmp_path, AUC, MODEL, GINI, peers=5, joins=1, leaves=1)
    report, audit = run(plan, tmp_path / "swarm", faults=faults)
    assert report.faults == {"kills": 3, "freezes": 1, "partitions": 1}
    found = {one.title: one for one in audit.answers}
    assert set(found) == {one.title for one in plan.questions} and len(audit.answers) == 3
    adding = [found[one.title].adding for one in plan.questions]
    assert adding[0] in (5, 6) and adding[2] in (4, 5), "those who were members by then"
    model = found[plan.questions[1].title].result
    assert model.model is not None and model.model[0] > 0
    assert audit.searched > 100 and audit.disclosures > 20
    told = json.loads((tmp_path / "swarm" / "swarm.json").read_text())
    assert told["is_study"] and told["result"]["sound"] and len(told["peers"]) == 6
    lists = {tuple(peer.list) for peer in members(tmp_path / "swarm", 5)[:4]}
    assert [len(one) for one in lists] == [5], "five and one that joined, but for one that left"


def members(folder: Path, count: int) -> list[MemberPeer]:
    names = [f"peer-{number:02d}" for number in range(1, count + 1)]
    return [MemberPeer(name, "", folder / name, folder / f"{name}.log") for name in names]


def test_a_run_ends_where_nobody_can_answer_any_more(tmp_path: Path) -> None:
    folder, killed = tmp_path / "swarm", list[int]()

    def kill(*_: object) -> None:
        if not killed:
            told = json.loads((folder / "swarm.json").read_text())
            killed.append(told["peers"][1]["pid"])
            os.kill(killed[0], signal.SIGKILL)

    options = SwarmOptions(seconds=600.0, faults=NONE, power_safe=False)
    report = run_swarm(study_plan(tmp_path, AUC), folder, options, kill)
    assert report.seconds < 300, "the others wait for it in vain"
    assert report.failures[0].startswith("peer-02 ended by itself (code -9)")
    (violation,) = report.books.violations
    assert violation.startswith("Question 1 (auc of risk by died) has no answer: ")
    assert not report.is_sound
    assert "NOT as it must be: Question 1" in verdict(report)


def test_an_interrupted_run_is_sound_without_an_answer(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    options = SwarmOptions(seconds=100.0, faults=NONE, power_safe=False)
    report = run_swarm(study_plan(tmp_path, AUC), tmp_path / "swarm", options, stop)
    assert report.is_interrupted and report.is_well(None), report.books.violations
    assert isinstance(report.books, StudyAudit)
    early = replace(report, books=replace(report.books, answers=()))  # peers may be faster
    assert verdict(early).startswith("interrupted before anything was answered; what there is")
    assert not early.is_well(within=0.5), "no value is within anything"


def test_an_answer_may_come_after_an_end_with_words_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens if a member leaves: for a moment, its statement is awaited in vain."""
    states = [
        running(1, "words"),
        ended(1, "unfinished", "peer-04", "is gone", is_disclosed=True),
        answered(1, 0.5),
    ]
    now: list[QuestionStatus] = []
    monkeypatch.setattr(study_crew, "read_question", lambda *_: now[-1])
    monkeypatch.setattr(study_crew, "_is_answered", lambda *_: now[-1].is_done)
    planned = study_plan(tmp_path, AUC).questions[0]
    (asker,) = members(tmp_path, 1)

    def pose() -> Posed:
        posed = Posed(planned, asker, 0.0)
        posed.ask(1.0)
        assert posed._errand is not None
        posed._errand.reply = Reply("Asked question 1.", number=1)
        return posed

    patient, late = pose(), pose()
    for at, state in enumerate(states):
        now.append(state)
        patient.follow(10.0 * at, ())
    assert (patient.seconds, patient.failure, patient.tries) == (19.0, "", 1)
    now[:] = [states[1]]
    late.follow(10.0, ())
    assert late.is_open
    late.follow(50.0, ())
    assert late.is_over and "is gone" in late.explain()
    now[:] = [ended(1, "left", "peer-04", "is gone")]
    again = pose()
    again.follow(10.0, ())
    assert not again.is_over and not again.is_open, "it is asked again"
