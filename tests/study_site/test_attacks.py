"""Attacks on a single site: yeses that reveal where rows lie, and cards that stop it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import Assent, Card, MemberList, Question, digest_of
from pairgossip.study.site.policy import judge
from pairgossip.study.storage.settings import make_settings
from tests.study_site.consortium import AUC, Consortium, canonical, draw_rows

BY_POLICY = {
    "policy": {"accept": "by-policy"},
    "ranges": {"risk": (0, 1), "died": (0, 1), "age": (0, 120)},
}
COMPARED = AUC.replace("[ranges]", "heterogeneity = true\n[ranges]")


def by_ward(ward: int) -> str:
    return AUC.replace("[ranges]", f'by = "ward"\ngroups = ["w{ward}", "w9"]\n[ranges]')


def least_of(rows: int) -> str:
    return f"{AUC}[algorithm]\nleast_cell = {rows}\n"


def model_of(rounds: int) -> str:
    return (
        AUC.replace('kernel = "auc"', 'loss = "auc-logistic"') + f"[algorithm]\nrounds = {rounds}\n"
    )


def try_question(consortium: Consortium, text: str) -> str:
    """Ask, let sites say yes if they do, and withdraw; return the first site's answer."""
    question = consortium.question(text, asker=3)
    name, first = digest_of(question), consortium.ids[0]
    verdict = consortium.sites[first].judge(name, question)
    if verdict.answer == "yes":
        consortium.accept(question)
        for site in consortium.sites.values():
            site.give_up(name, "withdrawn", is_disclosed=False)
            site.journal.flush()
    return verdict.answer


@pytest.mark.parametrize("make", [by_ward, least_of, model_of])
def test_asking_and_withdrawing_tries_no_values(tmp_path: Path, make: object) -> None:
    """Which sites add rows reveals who has the values; the second list is for the operator."""
    rows = [draw_rows(seed, 140) for seed in range(4)]
    for at, one in enumerate(rows):
        one["ward"] = np.where(np.arange(140) % 2 == 0, f"w{at}", "w9")
    consortium = Consortium(tmp_path, rows, BY_POLICY)
    assert callable(make)
    assert [try_question(consortium, make(at)) for at in (3, 3, 5)] == ["yes", "yes", "ask"]
    consortium.open()  # nor after a restart
    assert try_question(consortium, make(6)) == "ask"
    consortium.close()


@pytest.mark.parametrize(("text", "card"), [(AUC, b"\x01"), (AUC, b"\xff" * 256), (COMPARED, b"")])
def test_a_card_that_says_otherwise_stops_nobody(tmp_path: Path, text: str, card: bytes) -> None:
    consortium = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question = consortium.question(text)
    yeses = consortium.accept(question)
    liar = consortium.ids[3]
    yeses[liar] = msgspec.structs.replace(yeses[liar], card=card)
    programs = consortium.programs(question, yeses)
    consortium.contribute(question, programs)
    results = [program.result for program in programs.values()]
    assert results[0] is not None
    assert all(one == results[0] for one in results)
    consortium.close()


@pytest.mark.parametrize("wrong", [["died"], {"a": 1}])
def test_a_text_that_names_a_column_by_no_name_is_answered_no(wrong: object) -> None:
    table = json.loads(canonical(AUC)) | {"label": wrong, "classes": ["0", "1"]}
    question = Question(member="a", list=bytes(32), number=1, text=json.dumps(table), expires=0)
    settings = make_settings(name="a", source="/rows.csv")
    verdict = judge(question, settings, None, frozenset({"risk"}), (), me="me")
    assert verdict == ("no", "The specification holds a value that no file has.")


def test_a_newcomer_reads_no_table_of_before(tmp_path: Path) -> None:
    """Readings need no yes, so they must not reveal anything that the reader does not know."""
    consortium = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question, _ = consortium.answer(AUC)
    newcomer = Card("f" * 64, "newcomer", "", None)
    members = sorted((*consortium.list.members, newcomer), key=lambda one: one.id)
    later = MemberList(consortium.list.digest, tuple(members))
    consortium.save(Assent(member=newcomer.id, list=later))
    reading = Question(
        member=newcomer.id,
        list=later.digest,
        number=1,
        text=canonical(AUC),
        expires=0,
        reads=(digest_of(question),),
        adds=False,
    )
    for site in consortium.sites.values():
        with pytest.raises(InputError, match="was not there when a table"):
            site.make_program(digest_of(reading), reading, {})
    consortium.close()
