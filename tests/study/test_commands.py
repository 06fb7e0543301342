"""The commands of a study's operator, where no peer runs: what they print, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pairgossip.cli.peer.studies import read_duration
from pairgossip.errors import InputError
from pairgossip.field import Peer
from pairgossip.study.service import status as written
from pairgossip.study.service.requests import Accept, Join, Leave, Refuse, Requests
from pairgossip.study.service.status import Ending, QuestionStatus

from .real import SPEC, Site

QUESTION = QuestionStatus(
    number=1,
    name="ab" * 32,
    asked_by="bob",
    is_own=False,
    text='{"algorithm":{"name":"sums"},"columns":["risk"],"kernel":"auc","label":"died","ranges":{}}',
    title="auc of risk by died",
    leaves=("No row leaves this machine.",),
    phase="asked",
    yeses=("bob",),
    awaited=("ann",),
    needs_operator=True,
)


@pytest.fixture
def ann(tmp_path: Path) -> Site:
    return Site(tmp_path, "ann", 1)


@pytest.fixture
def bob(tmp_path: Path) -> Site:
    return Site(tmp_path, "bob", 2)


def note(site: Site, question: QuestionStatus) -> None:
    written.write_question(site.reading.home, question)


def waiting(site: Site) -> list[object]:
    return list(site.reading.waiting())


def test_a_member_is_made_invited_and_joined(ann: Site, bob: Site) -> None:
    out = ann.run("join", "--yes", str(ann.invitation), str(bob.invitation))
    (join,) = waiting(ann)
    assert isinstance(join, Join) and [card.name for card in join.cards] == ["bob"]
    assert out == f"member bob, {join.cards[0].id}\n"
    assert "has never run" in ann.run("status") and "1 wait until" in ann.run("status")
    assert ann.run("questions") == "Nothing has been asked yet: anybody can, with peer ask.\n"
    assert ann.run("disclosed") == "Nothing has left this machine.\n"


def test_answers_to_questions_wait_as_requests(ann: Site) -> None:
    note(ann, QUESTION)
    assert "it waits for your yes or no" in ann.run("questions")
    shown = ann.run("questions", "1")
    assert "- No row leaves this machine." in shown and "Say peer accept 1, or peer ref" in shown
    ann.run("accept", "1", "--visible")
    ann.run("refuse", "1", "--because", "not now")
    ann.run("leave", "--yes")
    name = QUESTION.name
    assert waiting(ann) == [Accept(name, True), Refuse(name, "not now"), Leave()]


def test_rows_are_added_at_once_where_no_peer_runs(ann: Site, tmp_path: Path) -> None:
    more = Site(tmp_path, "more", 9).source
    code, _, err = ann.attempt("add", "--source", str(more), "--yes")
    assert code == 0 and "Added 200 rows as batch 2" in err
    assert waiting(ann) == []


REFUSED = [
    (("ask", "auc.toml"), "This peer is in no study yet: all members must join all others"),
    (("ask", "none.toml"), "There is no file none.toml: check the path."),
    (("questions", "2"), "There is no question 2 here: the only one is 1."),
    (("questions", "--try"), "--try is about one question: give its number."),
    (("accept", "cleo"), "'cleo' is neither a question's number nor a proposed member"),
    (("accept", "2"), "There is no question 2 here: the only one is 1."),
    (("accept", "cleo", "--visible"), "--visible is about a question: give its number."),
    (("refuse", "1", "--because", " "), "--because takes a sentence of 1 to 2,000 characters."),
    (("withdraw", "1"), "Question 1 was asked by 'bob', who alone can withdraw it"),
    (("result", "1"), "Question 1 has no result: it waits for your yes or no."),
    (("result",), "No question is answered yet: see peer questions."),
    (("evict", "bob", "--yes"), "No member is called 'bob': the members are nobody."),
    (("leave",), "There is no terminal to ask on: give --yes."),
    (("agree",), "is a study's: this command is for the peers of single runs."),
    (("join",), "There is nothing to join: name one or more files with invitations."),
    (("join", "ann.txt"), "This is this peer's own invitation: give it to the others."),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=[" ".join(one) for one, _ in REFUSED])
def test_refusals_are_sentences_and_nothing_is_written(
    ann: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("auc.toml").write_text(SPEC)
    note(ann, QUESTION)
    code, out, err = ann.attempt(*words)
    assert code == 2 and sentence in " ".join(err.split()) and not out, err
    assert waiting(ann) == []


def test_a_question_that_is_over_takes_no_answer(ann: Site) -> None:
    ending = Ending("no", "cleo", "we may not.")
    over = msgspec.structs.replace(QUESTION, phase="ended", ending=ending, needs_operator=False)
    note(ann, over)
    code, _, err = ann.attempt("accept", "1")
    assert code == 2 and "over: it has ended, refused by 'cleo': we may not." in err
    with pytest.raises(InputError, match="has no answer: it has ended, refused by 'cleo': we"):
        Peer(ann.folder).question(1).wait()


def test_commands_of_studies_refuse_the_folders_of_runs(tmp_path: Path) -> None:
    from tests.peer.homes import make_home

    home = make_home(tmp_path, "run", [1.0, 2.0])
    site = object.__new__(Site)
    site.folder = home.folder
    code, _, err = site.attempt("questions")
    assert code == 2 and "is the folder of a single run, which takes no questions" in err


def test_python_asks_only_a_peer_that_runs(ann: Site, tmp_path: Path) -> None:
    (tmp_path / "auc.toml").write_text(SPEC)
    with pytest.raises(InputError, match="does not run: start it with pairgossip peer run"):
        Peer(ann.folder).ask(tmp_path / "auc.toml")
    assert Requests(ann.folder).count() == 0 and Peer(ann.folder).members == []


@pytest.mark.parametrize(("text", "seconds"), [("7d", 604_800), ("12h", 43_200), ("30m", 1_800)])
def test_durations(text: str, seconds: int) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "0d", "7 days", "-1h", "99999d"])
def test_durations_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="write it as 7d, 12h or 30m"):
        read_duration(text)
