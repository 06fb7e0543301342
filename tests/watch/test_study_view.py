"""The operator's page of a study over HTTP: who is let in, and the effects of decisions."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pairgossip.study.protocol.records import Card
from pairgossip.study.service.requests import (
    Accept,
    AnyRequest,
    Ask,
    Draft,
    Join,
    Reply,
)
from pairgossip.study.service.status import Member
from pairgossip.watch.study import desk
from pairgossip.watch.study.door import Door, forwarding

from .studies import (
    AUC,
    LEAVES,
    WORDS,
    MadeStudy,
    ServedStudy,
    answering,
    ended,
    proposal,
    question,
    serving,
)

READING = ("/api/study", "/api/study/questions/1", "/api/study/questions/1/result",
           "/api/study/questions/1/result.html", "/api/study/questions/1/result.json",
           "/api/study/record")  # fmt: skip
DECIDING = ("/api/study/preview", "/api/study/requests")
YES = {"request": "accept", "question": f"{1:064x}", "leaves": LEAVES}


@pytest.fixture
def made(tmp_path: Path) -> MadeStudy:
    study = MadeStudy(tmp_path)
    study.write(question(1))
    return study


@pytest.fixture
def served(made: MadeStudy) -> Iterator[ServedStudy]:
    with serving(made) as server:
        yield server


def written(study: MadeStudy) -> list[AnyRequest]:
    """Return the requests in the folder, which the peer reads."""
    found = []
    for _, one in study.requests.pending():
        assert not isinstance(one, Exception)
        found.append(one)
    return found


def refusal(answer: httpx.Response, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"])


# Who is let in


def test_nothing_is_answered_without_the_token(served: ServedStudy, made: MadeStudy) -> None:
    cookie = f"token={served.token}"
    for shown in (None, "", "Bearer", "Bearer x", "Basic x", f"Basic {served.token}"):
        for path in READING:
            answer = served.ask(path, Authorization=shown, Cookie=cookie)
            assert "token" in refusal(answer, 401), path
            assert served.token not in answer.text
        for path in DECIDING:
            assert served.ask(path, YES, Authorization=shown).status_code == 401
    assert written(made) == []


def test_the_page_itself_holds_no_secret(served: ServedStudy) -> None:
    answer = served.client.get("/")
    assert answer.status_code == 200 and "main.js" in answer.text
    assert served.token not in answer.text + str(answer.headers)
    assert "set-cookie" not in answer.headers


def test_other_pages_and_hosts_are_refused(served: ServedStudy, made: MadeStudy) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", None):
        assert served.ask("/api/study/requests", YES, Origin=origin).status_code == 403
    assert served.ask("/api/study/requests", YES, Host="evil.example").status_code == 421
    plain = {"Origin": served.origin, "Authorization": f"Bearer {served.token}"}
    for headers in (plain, {**plain, "Content-Type": "text/plain"}):
        sent = served.client.post("/api/study/requests", headers=headers, content=b"{}")
        assert sent.status_code == 400
    assert written(made) == []


def test_a_link_decides_nothing(served: ServedStudy) -> None:
    assert all(served.ask(path).status_code == 405 for path in DECIDING)


def test_browsers_are_led_to_the_token_by_a_file_that_nobody_else_reads() -> None:
    address = Door().address("http://127.0.0.1:1/")
    with forwarding(address) as place:
        assert address not in place
        file = Path(place.removeprefix("file://"))
        assert file.stat().st_mode & 0o077 == 0
        assert address in file.read_text()
    assert not file.exists()


# The effects of decisions


def test_a_yes_becomes_a_request(served: ServedStudy, made: MadeStudy) -> None:
    answer = served.ask("/api/study/requests", YES)
    assert answer.json()["sentence"] == "Written down: the peer does it once it runs."
    assert written(made) == [Accept(f"{1:064x}", words=WORDS)]
    look = served.ask("/api/study").json()
    assert look["pending"] == [{"request": "accept", "question": f"{1:064x}"}]
    assert not look["running"]


def test_a_yes_to_other_words_is_no_yes(served: ServedStudy, made: MadeStudy) -> None:
    for leaves in ([], LEAVES[:-1], [*LEAVES, "And more."]):
        sentence = refusal(served.ask("/api/study/requests", {**YES, "leaves": leaves}))
        assert sentence.startswith("What would leave this machine is described in other words now")
    assert written(made) == []


def test_a_question_is_named_in_full(served: ServedStudy, made: MadeStudy) -> None:
    for name in ("1", f"{1:064x}"[:32], f"{2:064x}", "é" * 64):
        sentence = refusal(served.ask("/api/study/requests", {**YES, "question": name}))
        assert "There is no question" in sentence
    assert written(made) == []


def test_a_no_needs_a_reason(served: ServedStudy, made: MadeStudy) -> None:
    decision = {"request": "refuse", "question": f"{1:064x}"}
    for more in ({}, {"because": ""}, {"because": "x" * 2_001}):
        assert "cannot be read" in refusal(served.ask("/api/study/requests", decision | more))
    assert written(made) == []


def test_a_question_is_shown_before_it_is_asked(served: ServedStudy, made: MadeStudy) -> None:
    shown, done = Reply("Nothing was sent.", sentences=LEAVES), Reply("Asked question 2.", number=2)
    before = time.time()
    with answering(made, shown, done) as requests:
        preview = served.ask("/api/study/preview", {"text": AUC, "is_fresh": True}).json()
        assert preview["leaves"] == list(LEAVES) and preview["title"] == "auc of risk by died"
        sent = {"request": "ask", "text": AUC, "days": 3, "leaves": LEAVES, "is_fresh": True}
        assert served.ask("/api/study/requests", sent).json()["number"] == 2
    draft, asked = requests
    assert isinstance(asked, Ask) and draft == Draft(asked.text, is_fresh=True)
    assert asked.words == WORDS and asked.is_fresh
    assert 3 * 86_400 - 1 <= asked.expires - before <= 3 * 86_400 + 60


def test_a_text_that_nobody_can_be_asked_is_refused(served: ServedStudy, made: MadeStudy) -> None:
    sentence = refusal(served.ask("/api/study/preview", {"text": AUC}))
    assert sentence == "The peer is stopped: start it with pairgossip peer run, then ask."
    made.runs = True
    sentence = refusal(served.ask("/api/study/preview", {"text": 'kernel = "ginny"'}))
    assert "gini" in sentence
    assert refusal(served.ask("/api/study/preview", {"text": "x" * 70_000}), 413)
    assert written(made) == []


def test_a_proposed_member_is_accepted_by_its_card(served: ServedStudy, made: MadeStudy) -> None:
    newcomer = made.newcomer()
    forged = Member(
        Card("f" * 64, "hospital-7", newcomer.card.certificate, None), False, is_accepted=False
    )
    everybody = (*made.members(), newcomer, forged)
    made.write(question(1), members=everybody, proposals=(proposal("hospital-6"),))
    for unknown in ("f" * 64, "0" * 64):
        assert served.ask("/api/study/requests", {"request": "join", "member": unknown}).is_error
    sent = served.ask("/api/study/requests", {"request": "join", "member": newcomer.card.id})
    assert sent.status_code == 200
    assert written(made) == [Join((newcomer.card,))]
    pending = served.ask("/api/study").json()["pending"]
    assert pending == [{"request": "join", "members": [newcomer.card.id]}]


def test_a_running_peer_answers_at_once(served: ServedStudy, made: MadeStudy) -> None:
    replies = [
        Reply("Accepted question 1, for good."),
        Reply("It has ended already.", is_done=False),
        Reply("Tried it.", sentences=("900 rows.",)),
    ]
    with answering(made, *replies):
        accepted = served.ask("/api/study/requests", YES).json()
        assert accepted["sentence"] == "Accepted question 1, for good."
        assert refusal(served.ask("/api/study/requests", YES)) == "It has ended already."
        try_out = {"request": "try", "question": f"{1:064x}"}
        assert served.ask("/api/study/requests", try_out).json()["sentences"] == ["900 rows."]


def test_a_peer_that_does_not_answer_shows_nothing_to_ask(
    served: ServedStudy, made: MadeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.runs = True
    monkeypatch.setattr(desk, "_PATIENCE", 0.0)
    sentence = refusal(served.ask("/api/study/preview", {"text": AUC}))
    assert sentence == "The peer has not said yet what would leave: try again in a moment."


# The contents of the page


def test_no_certificate_is_sent_to_the_page(served: ServedStudy) -> None:
    assert "BEGIN CERTIFICATE" not in served.ask("/api/study").text


def test_old_questions_are_found_by_their_numbers(made: MadeStudy) -> None:
    made.write(question(1), *(ended(k, "no", "hospital-3", "x") for k in range(2, 62)))
    with serving(made) as served:
        listed = [one["number"] for one in served.ask("/api/study").json()["questions"]]
        assert listed == [*range(61, 11, -1), 1]
        old = served.ask("/api/study/questions/2").json()
        assert old["question"]["number"] == 2 and 'kernel = "auc"' in old["toml"]
        for number in ("99", "9" * 5_000, "1.0", "-1", "%D9%A1"):
            assert "There is no question" in refusal(served.ask(f"/api/study/questions/{number}"))
        without = served.ask("/api/study/questions/" + "9" * 5_000, Authorization=None)
        assert without.status_code == 401


def test_a_text_that_cannot_be_read_is_shown_as_it_is(served: ServedStudy, made: MadeStudy) -> None:
    made.write(question(1, text="{later\u202e}"))
    assert served.ask("/api/study/questions/1").json()["toml"] == "{later\\u202e}"
    assert "{later" not in served.ask("/api/study").text


def test_a_peer_that_has_never_run_shows_what_to_do(tmp_path: Path) -> None:
    with serving(MadeStudy(tmp_path)) as served:
        assert "pairgossip peer run" in refusal(served.ask("/api/study"))


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_the_command_says_what_is_missing(library: str) -> None:
    without = f"import sys; sys.modules[{library!r}] = None; "
    run = "from pairgossip.cli import main; sys.exit(main(['peer', 'page']))"
    done = subprocess.run(
        [sys.executable, "-c", without + run], capture_output=True, text=True, check=False
    )
    said = "is not installed: pip install 'pairgossip[watch]'."
    assert done.returncode == 1 and f"The page needs {library}, which {said}" in done.stderr
