"""Questions that correct or repeat an earlier one, from the request to every result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.field import Peer
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.result_page import make_page
from pairgossip.study.service.asking import parse_question
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.requests import Ask, Reply, Requests
from pairgossip.study.site.program import ModelProgram
from pairgossip.study.storage.folder import StudyHome
from tests.cli.running import main

from .real import PATIENCE, SPEC, until
from .test_service import accept_all, are_members, homes, is_answered, running

__all__ = ["homes"]  # a fixture

MODEL = SPEC.replace('kernel = "auc"', 'loss = "auc-logistic"').replace('"risk"', '"risk", "age"')
MODEL = MODEL.replace("[ranges]", "[ranges]\nage = [0, 100]") + "[algorithm]\nrounds = 4\n"


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
    later = [("corrected by", f"question 2 ({second[:12]})")]
    assert study.relations(1) == study.later(1) == later
    signed = study.result(2)
    assert signed.asked is not None
    assert signed.asked.describe_relations() == [("corrects", f"question {first[:12]}")]
    assert f"question {first[:12]}" in make_page(signed).to_markup()
    before = study.result(1)
    assert "corrected by" in make_page(before, later=later).to_markup()
    at = ("--home", str(ann.folder))
    assert f"corrected by question 2 ({second[:12]})" in run("peer", "result", "1", *at)
    assert f"corrects question {first[:12]}" in run("peer", "result", "2", *at)
    assert "corrects question 1" in run("peer", "questions", "2", *at)
    file = str(tmp_path / "result.json")
    run("peer", "result", "2", "--json", file, *at)
    assert f"corrects question {first[:12]}" in run("verify", file)


def test_an_unfinished_question_is_repeated_with_the_same_numbers(
    homes: list[StudyHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, _, cleo = homes
    me, rounds = load_identity(cleo.folder).id, []
    contribute = ModelProgram.contribute

    def fail(program: Any, ask: Any) -> Any:
        if program.keeper.computing.me == me:
            rounds.append(ask)
            if len(rounds) == 2:
                raise InputError("The source is away for a moment.")
        return contribute(program, ask)

    with running(*homes):
        until(are_members(homes), "a list")
        monkeypatch.setattr(ModelProgram, "contribute", fail)
        assert send(ann, MODEL).is_done
        until(lambda: any(one.needs_operator for one in StudyReading(cleo).questions()))
        accept_all(cleo)
        study = StudyReading(ann)
        until(lambda: study.question(1).ending is not None, "the end")
        assert study.question(1).is_disclosed and not study.question(1).is_done
        name = study.find_unfinished(1)
        assert send(ann, MODEL, repeats=name).is_done
        number = max(one.number for one in study.questions())
        until(lambda: any(one.needs_operator for one in StudyReading(cleo).questions()))
        accept_all(cleo)
        until(is_answered(ann, number), "the answer")
        with pytest.raises(InputError, match="cannot be repeated, as it is not unfinished"):
            Peer(ann.folder).ask(write(ann), repeats=number)
    assert study.result(number).result.model is not None
    assert study.relations(number) == [("repeats", "question 1")]
    assert study.later(1)[0][0] == "repeated by"


def write(home: StudyHome) -> Path:
    """Return a file of the model's question."""
    file = home.folder.parent / "model.toml"
    file.write_text(MODEL)
    return file
