"""Questions that correct an earlier one, from the request to every result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pairgossip.peer.result_page import make_page
from pairgossip.study.service.asking import parse_question
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.requests import Ask, Reply, Requests
from pairgossip.study.storage.folder import StudyHome
from tests.cli.running import main

from .real import PATIENCE, SPEC, until
from .test_service import accept_all, are_members, homes, is_answered, running

__all__ = ["homes"]  # a fixture


def send(home: StudyHome, toml: str, **more: Any) -> Reply:
    """Ask a question of a running peer."""
    requests = Requests(home.folder)
    text = parse_question(toml)
    reply = requests.wait(requests.write(Ask(text, int(time.time()) + 3600, **more)), PATIENCE)
    assert reply is not None
    return reply


def test_both_results_show_a_correction(
    homes: list[StudyHome], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> str:
        capsys.readouterr()
        assert main(list(words)) == 0
        return " ".join(capsys.readouterr().out.split())

    ann, _, cleo = homes
    with running(*homes):
        until(are_members(homes), "a list")
        assert send(ann, SPEC).is_done
        until(lambda: any(one.needs_operator for one in StudyReading(cleo).questions()))
        accept_all(cleo)
        until(is_answered(ann), "the answer")
        study = StudyReading(ann)
        first = study.question(1).name
        assert not study.relations(1)
        assert send(ann, SPEC, corrects=first).is_done
        until(is_answered(ann, 2), "the answer from the table")
    second = study.question(2).name
    assert study.relations(2) == [("corrects", "question 1")]
    later = [("corrected by", f"question 2 ({second[:12]}) of ann")]
    assert study.relations(1) == study.later(1) == later
    signed = study.result(2)
    assert signed.asked is not None
    assert signed.asked.describe_relations() == [("corrects", f"question {first[:12]}")]
    assert f"question {first[:12]}" in make_page(signed).to_markup()
    before = study.result(1)
    assert "corrected by" in make_page(before, later=later).to_markup()
    at = ("--home", str(ann.folder))
    assert f"corrected by question 2 ({second[:12]}) of ann" in run("peer", "result", "1", *at)
    assert f"corrects question {first[:12]}" in run("peer", "result", "2", *at)
    assert "corrects question 1" in run("peer", "questions", "2", *at)
    file = str(tmp_path / "result.json")
    run("peer", "result", "2", "--json", file, *at)
    assert f"corrects question {first[:12]}" in run("verify", file)
