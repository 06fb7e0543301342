"""Signed results of a study's questions, checked with the file alone."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pairgossip.cli import main
from pairgossip.errors import InputError
from pairgossip.peer.signed_result import SignedResult, check_signatures, read_signed
from pairgossip.peer.signed_study import AskedIn, statement_payload
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    MemberList,
    Question,
    Statement,
    digest_of,
    encode,
    payload_of,
)
from pairgossip.study.storage.signed import path_of, read_answer
from tests.study_site.consortium import AUC, Consortium, draw_rows

REPORT = AUC.replace('kernel = "auc"', 'report = "validation"')


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Consortium, Question]]:
    folder = tmp_path_factory.mktemp("signed")
    consortium = Consortium(folder, [draw_rows(seed, 140) for seed in range(4)])
    question, _ = consortium.answer(REPORT)
    yield consortium, question
    consortium.close()


def test_the_forms_in_a_file_are_those_of_the_records() -> None:
    statement = Statement(
        member="m", signature=b"s", question=bytes(32), attempt=1, transcript=b"t" * 32, public=b"p"
    )
    spelled = statement_payload("m", bytes(32), 1, b"t" * 32, b"p")
    assert spelled == payload_of(statement)
    question = Question(
        member="m",
        signature=b"s",
        list=NO_DIGEST,
        number=3,
        text="t",
        expires=9,
        reads=(NO_DIGEST,),
    )
    asked = AskedIn(base64.b64encode(encode(question)).decode(), "")
    assert asked.name == digest_of(question) and asked.asker == "m"


def test_a_file_is_the_same_at_all_members_but_for_its_date(
    made: tuple[Consortium, Question],
) -> None:
    consortium, question = made
    files = [read_answer(home, digest_of(question)) for home in consortium.homes]
    assert len({msgspec.json.encode(msgspec.structs.replace(one, kept=None)) for one in files}) == 1


def test_verify_checks_a_file_with_its_report(
    made: tuple[Consortium, Question], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    consortium, question = made
    signed = consortium.read_with_table(digest_of(question))
    assert signed.report is not None
    file = tmp_path / "result.json"
    file.write_bytes(msgspec.json.encode(signed))
    assert main(["verify", str(file), "--html", str(tmp_path / "result.html")]) == 0
    out = capsys.readouterr().out
    assert "All 4 members have signed this." in out and "follow from the counts" in out
    page = (tmp_path / "result.html").read_text()
    name = digest_of(question).hex()[:12]
    assert "site-3" in page and f"<code>{name}</code>, asked by site-0" in page
    assert "pairgossip peer questions" in page and "generation" not in page


def replace_asked(signed: SignedResult, **parts: Any) -> SignedResult:
    assert signed.asked is not None
    return msgspec.structs.replace(signed, asked=msgspec.structs.replace(signed.asked, **parts))


def fields_of(signed: SignedResult) -> list[Any]:
    assert signed.asked is not None
    return list(msgspec.msgpack.decode(base64.b64decode(signed.asked.question)))


def with_fields(signed: SignedResult, fields: list[Any]) -> SignedResult:
    return replace_asked(signed, question=base64.b64encode(msgspec.msgpack.encode(fields)).decode())


def other_question(signed: SignedResult) -> SignedResult:
    fields = fields_of(signed)
    fields[2] += 1  # its number
    return with_fields(signed, fields)


def strange_correction(earlier: object) -> Callable[[SignedResult], SignedResult]:
    def change(signed: SignedResult) -> SignedResult:
        fields = fields_of(signed)
        fields[-3] = earlier
        return with_fields(signed, fields)

    return change


def fewer_members(signed: SignedResult) -> SignedResult:
    assert signed.asked is not None
    members = msgspec.msgpack.decode(base64.b64decode(signed.asked.members), type=MemberList)
    fewer = MemberList(members.parent, members.members[1:])
    return replace_asked(signed, members=base64.b64encode(msgspec.msgpack.encode(fewer)).decode())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_question, "another question"),
        (fewer_members, "another list of members"),
        (lambda one: replace_asked(one, question="AAAA"), "cannot be read"),
        (lambda one: replace_asked(one, members="!"), "cannot be read"),
        (lambda one: with_fields(one, fields_of(one)[:4] + fields_of(one)[-2:]), "cannot be read"),
        (strange_correction("text"), "cannot be read"),
        (strange_correction(10**13), "cannot be read"),
        (strange_correction(b"short"), "cannot be read"),
        (strange_correction(bytes(32)), "another question"),
        (lambda one: msgspec.structs.replace(one, asked=None), "of a study and of a run"),
        (lambda one: msgspec.structs.replace(one, version=2), "of a study and of a run"),
        (lambda one: msgspec.structs.replace(one, round=1), "is not of this result"),
        (lambda one: msgspec.structs.replace(one, transcript="AAAA"), "is not of this result"),
        (
            lambda one: msgspec.structs.replace(
                one, result=msgspec.structs.replace(one.result, value=0.9)
            ),
            "is not of this result",
        ),
        (
            lambda one: msgspec.structs.replace(
                one, result=msgspec.structs.replace(one.result, members={"a": 1})
            ),
            "not those of the list",
        ),
    ],
)
def test_an_altered_file_is_refused(
    made: tuple[Consortium, Question], change: Callable[[SignedResult], SignedResult], said: str
) -> None:
    consortium, question = made
    signed = read_signed(path_of(consortium.homes[0], digest_of(question)))
    check_signatures(signed, "here").require_all()
    with pytest.raises(InputError, match=said):
        check_signatures(change(signed), "here")


def test_a_file_that_not_all_have_signed_says_so(made: tuple[Consortium, Question]) -> None:
    consortium, question = made
    signed = read_signed(path_of(consortium.homes[0], digest_of(question)))
    fewer = dict(list(signed.signatures.items())[1:])
    checked = check_signatures(msgspec.structs.replace(signed, signatures=fewer), "here")
    with pytest.raises(InputError, match="1 of 4 members have not signed"):
        checked.require_all()


def test_there_is_no_answer_before_all_have_signed(made: tuple[Consortium, Question]) -> None:
    consortium, _ = made
    question = consortium.question(AUC)
    with pytest.raises(InputError, match="no result that all members have signed yet"):
        read_answer(consortium.homes[0], digest_of(question))
