"""The commands of a study's operator, where no peer runs: what they print, and what they refuse."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairgossip.cli.peer import questions as questions_module
from pairgossip.cli.peer.studies import read_duration
from pairgossip.cli.peer.study_status import describe_proposals
from pairgossip.errors import InputError
from pairgossip.field import Peer
from pairgossip.peer.identity.identity import load_identity
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    Assent,
    Card,
    MemberList,
    encode,
    payload_of,
)
from pairgossip.study.service import reading as reading_module
from pairgossip.study.service import status as written
from pairgossip.study.service.membership import find_card, keep_list
from pairgossip.study.service.requests import (
    Accept,
    Evict,
    Join,
    Leave,
    Refuse,
    Reply,
    Requests,
    Withdraw,
)
from pairgossip.study.service.status import Ending, Proposal, QuestionStatus, StudyStatus
from pairgossip.study.site.words import digest_words
from tests.cli.test_peer import Terminal

from .real import PATIENCE, SPEC, Site, write_rows

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


def test_a_study_of_few_members_is_told_what_it_cannot_ask(
    ann: Site, bob: Site, tmp_path: Path
) -> None:
    err = " ".join(ann.attempt("join", "--yes", str(bob.invitation))[2].split())
    assert "These are 2 members, and where no count of fewer than 3 rows leaves a site" in err
    more = [str(Site(tmp_path, name, seed).invitation) for seed, name in enumerate("cde", 3)]
    assert "These are" not in bob.attempt("join", "--yes", str(ann.invitation), *more)[2]
    assert "These are" not in ann.attempt("join", "--yes", *more[:2])[2]  # besides the first


def test_a_second_member_of_one_name_is_refused_at_once_where_no_peer_runs(
    ann: Site, bob: Site, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Site(tmp_path / "other", "bob", 3)
    ann.run("join", "--yes", str(bob.invitation))
    code, out, err = ann.attempt("join", "--yes", str(other.invitation))
    said = " ".join(err.split())
    assert code == 2 and not out and "Two members are called 'bob' (their ids begin" in said
    assert ann.attempt("join", "--yes", str(bob.invitation), str(other.invitation))[0] == 2
    assert len(waiting(ann)) == 1
    Requests(ann.folder).write(Evict(load_identity(bob.folder).id))
    ann.run("join", "--yes", str(other.invitation))


def test_rows_to_add_are_named_by_their_file_alone(ann: Site, tmp_path: Path) -> None:
    more = Site(tmp_path, "more", 9).source
    assert "Added 200 rows as batch 2" in ann.attempt("add", str(more), "--yes")[2]
    assert "Name the file with the rows: peer add more.csv." in ann.attempt("add", "--yes")[2]


def test_the_files_of_a_source_that_is_a_folder_are_named(tmp_path: Path) -> None:
    """All below it are read, and one may be there by mistake."""
    source = tmp_path / "rows"
    places = ["2024.parquet", "old/backup.parquet", *(f"part-{k}.parquet" for k in range(9))]
    for at, place in enumerate([*places, "_drafts/x.parquet"]):
        file = source / place
        file.parent.mkdir(parents=True, exist_ok=True)
        columns = {"risk": np.linspace(0, 1, 20) / (at + 2), "died": np.arange(20.0) % 2}
        parquet.write_table(pa.table(columns), file)
    ann = Site(tmp_path, "ann", 1)
    named = f"{source} is read whole, 11 Parquet files: '2024.parquet', 'old/backup.parquet', '"
    for command in (("init", "--name", "a", "--home", str(tmp_path / "a")), ("add",)):
        err = " ".join(ann.attempt(*command, "--source", str(source), "--yes")[2].split())
        assert named in err and "and 1 more." in err
    (tmp_path / "empty").mkdir()
    err = ann.attempt("add", "--source", str(tmp_path / "empty"), "--yes")[2]
    assert "is read whole" not in err and "without Parquet files" in " ".join(err.split())


def test_a_unit_may_write_to_the_registers_of_all_rows(
    ann: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(tmp_path / "mine" / "releases"))
    (tmp_path / "later").mkdir()
    more = write_rows(tmp_path / "later" / "more.csv", 9)
    ann.run("add", str(more), "--yes")
    here = [ann.folder, tmp_path, more.parent]
    assert find_written(ann) == here  # in a rehearsal the user's register is left alone
    text = (ann.folder / "peer.toml").read_text()
    (ann.folder / "peer.toml").write_text(text.replace("rehearsal = true", ""))
    assert find_written(ann) == [*here[:2], tmp_path / "mine", here[2]]
    assert (tmp_path / "mine").is_dir()


def find_written(site: Site) -> list[Path]:
    """Return the folders to which systemd lets a peer write."""
    (line,) = [one for one in site.run("unit").splitlines() if one.startswith("ReadWritePaths=")]
    return list(map(Path, line.partition("=")[2].split()))


def list_of(*sites: Site) -> tuple[list[Card], MemberList]:
    cards = [find_card(one.reading.home, load_identity(one.folder)) for one in sites]
    return cards, MemberList(NO_DIGEST, tuple(sorted(cards, key=lambda card: card.id)))


def sign_list(*sites: Site) -> None:
    """Let all have signed a list, as if they had run."""
    _, members = list_of(*sites)
    kept = []
    for one in sites:
        me = load_identity(one.folder)
        assent = Assent(member=me.id, list=members)
        signed = msgspec.structs.replace(assent, signature=me.sign(payload_of(assent)))
        kept.append(encode(signed))
    for one in sites:
        keep_list(one.reading.home, members, kept)


def test_a_newcomer_gives_the_invitations_of_all_members(
    ann: Site, bob: Site, tmp_path: Path
) -> None:
    cleo, dora = Site(tmp_path, "cleo", 3), Site(tmp_path, "dora", 4)
    sign_list(ann, bob, cleo)
    for one in (ann, bob, cleo):
        one.invitation.write_text(one.run("invite"))
    code, _, err = dora.attempt("join", "--yes", str(ann.invitation))
    assert code == 2 and "The invitations of bob and cleo are missing" in " ".join(err.split())
    assert waiting(dora) == []
    dora.run("join", "--yes", *(str(one.invitation) for one in (ann, bob, cleo)))
    assert len(waiting(dora)) == 1


def test_nobody_joins_a_list_that_not_all_have_signed(ann: Site, bob: Site, tmp_path: Path) -> None:
    sign_list(ann, bob)
    keep_list(ann.reading.home, list_of(ann, bob)[1], ())
    ann.invitation.write_text(ann.run("invite"))
    cleo = Site(tmp_path, "cleo", 3)
    code, _, err = cleo.attempt("join", "--yes", str(ann.invitation), str(bob.invitation))
    assert code == 2 and not waiting(cleo)
    assert "The invitation of 'ann' has a list that ann and bob did not sign" in " ".join(
        err.split()
    )


def test_settings_that_cannot_be_read_are_a_problem_of_the_status(ann: Site) -> None:
    ann.set("[polic")
    shown = " ".join(ann.run("status").split())
    assert shown.startswith("Problem: ") and "peer.toml" in shown and "peer ann" in shown
    assert "Until that is mended, settings stay as they were." in shown


def test_a_member_that_has_left_is_told_so(ann: Site, bob: Site) -> None:
    (me, other), members = list_of(ann, bob)
    listed = (written.Member(me, False, True), written.Member(other, True, True))
    status = StudyStatus(name="ann", id=me.id, list=members.digest.hex(), members=listed)
    written.write_status(ann.reading.home, status)
    assert "1, and this peer is none of them any more" in ann.run("status")


def test_who_has_asked_to_be_left_out_is_shown(ann: Site, bob: Site) -> None:
    (me, other), members = list_of(ann, bob)
    listed = (written.Member(me, True, True), written.Member(other, True, True))
    status = StudyStatus(name="ann", id=me.id, list=members.digest.hex(), members=listed)
    for leavers, said in (
        (("ann",), "this peer has asked to be left out: it is a member until all others"),
        (("bob",), "'bob' has asked to be left out of the next list"),
    ):
        written.write_status(ann.reading.home, msgspec.structs.replace(status, leavers=leavers))
        assert said in " ".join(ann.run("status").split())


def test_what_it_costs_that_a_member_goes_is_said_before(ann: Site, bob: Site) -> None:
    sign_list(ann, bob)
    shown = {"phase": "done", "yeses": ("ann", "bob"), "is_disclosed": True}
    note(ann, msgspec.structs.replace(QUESTION, **shown))
    said = "of 'bob' (question 1), and are counted in no further column without them"
    assert said in " ".join(ann.attempt("evict", "bob")[2].split())
    said = "of 'ann' (question 1), and are counted in no further column without them"
    err = " ".join(ann.attempt("leave")[2].split())
    assert said in err and "With --visible all goes on" in err
    assert "no further column" not in ann.attempt("leave", "--visible")[2]
    assert waiting(ann) == []


def test_a_newcomer_that_does_not_sign_is_evicted_by_its_name(ann: Site, bob: Site) -> None:
    (me, other), _ = list_of(ann, bob)
    sign_list(ann, bob)
    third = msgspec.structs.replace(other, id="0" * 64, name="cleo")
    members = (written.Member(me, True, True), written.Member(third, False, True))
    status = StudyStatus(name="ann", id=me.id, list="00", members=members)
    written.write_status(ann.reading.home, status)
    ann.run("evict", "cleo", "--yes")
    assert waiting(ann) == [Evict(third.id)]
    written.write_status(ann.reading.home, msgspec.structs.replace(status, list=""))
    ann.run("evict", "bob", "--yes")
    assert waiting(ann)[1:] == [Evict(other.id)]
    assert "the members are ann, bob and cleo." in " ".join(ann.attempt("evict", "dora")[2].split())


def test_a_list_of_newcomers_is_agreed_to_in_one_line(ann: Site, bob: Site) -> None:
    (me, other), _ = list_of(ann, bob)
    third = msgspec.structs.replace(other, id="0" * 64, name="cleo")
    cards = tuple(written.Member(one, one == me, one == me) for one in (me, other, third))
    proposal = Proposal(("bob", "cleo"), (), ("bob",), ("ann",))
    said = StudyStatus(name="ann", id=me.id, members=cards, proposals=(proposal,))
    assert list(describe_proposals(said)) == [
        "Proposed: a list with bob and cleo; it waits for 'ann'. To agree, run peer accept for "
        "each of bob, cleo."
    ]


def test_lists_of_questions_stay_short(ann: Site) -> None:
    because = "Rows of fewer than 3 members would be added: wait for more."
    ending = Ending("cannot", "bob", because)
    note(ann, msgspec.structs.replace(QUESTION, phase="ended", ending=ending, needs_operator=False))
    shown = " ".join(ann.run("questions").split())
    assert "given up by 'bob'" in shown and because not in shown
    assert "fewer than 3 members would be added" in " ".join(ann.run("questions", "1").split())


def test_a_yes_that_adds_no_row_is_shown_with_its_question(ann: Site) -> None:
    note(ann, msgspec.structs.replace(QUESTION, notice="It adds no row of this site."))
    assert "It adds no row of this site." in ann.run("questions", "1")
    note(ann, QUESTION)
    assert "note" not in ann.run("questions", "1")


def test_answers_to_questions_wait_as_requests(ann: Site) -> None:
    note(ann, QUESTION)
    assert "it waits for your yes or no" in " ".join(ann.run("questions").split())
    shown = ann.run("questions", "1")
    assert "- No row leaves this machine." in shown and "Say peer accept 1, or peer ref" in shown
    ann.run("accept", "1", "--visible")
    ann.run("refuse", "1", "--because", "not now")
    ann.run("leave", "--yes")
    name, words = QUESTION.name, digest_words(QUESTION.leaves).hex()
    assert waiting(ann) == [Accept(name, True, words), Refuse(name, "not now"), Leave()]


def test_a_question_may_be_called_as_all_others_know_it(ann: Site) -> None:
    """Numbers are each folder's own; a name of digits alone is one, too."""
    note(ann, QUESTION)
    note(ann, msgspec.structs.replace(QUESTION, number=2, name="12" * 32))
    _, _, err = ann.attempt("accept", "abababababab")
    assert "Question 1, which all know as abababababab: No row leaves" in " ".join(err.split())
    ann.run("accept", "121212121212", "--yes")
    ann.run("refuse", "ABABAB", "--because", "no")
    assert [getattr(one, "question", "") for one in waiting(ann)] == [
        "ab" * 32,
        "12" * 32,
        "ab" * 32,
    ]
    assert "name abababababab" in " ".join(ann.run("questions", "ababab").split())


def test_a_peer_without_members_looks_at_its_port_at_once(ann: Site, bob: Site) -> None:
    text = (ann.folder / "peer.toml").read_text()
    place = ann.reading.home.read_settings().listen
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        other = f"tls/127.0.0.1:{taken.getsockname()[1]}"
        (ann.folder / "peer.toml").write_text(text.replace(place, other))
        ann.start()
        assert ann.process is not None and ann.process.wait(PATIENCE) == 2
    assert f"{other[4:]} is in use by another program: stop it, or" in ann.log.read_text()


def test_nobody_is_told_that_a_stopped_peer_has_answered(
    ann: Site, bob: Site, tmp_path: Path
) -> None:
    sign_list(ann, bob)
    (tmp_path / "auc.toml").write_text(SPEC)
    asked = "ask", str(tmp_path / "auc.toml")
    assert [ann.attempt(*asked)[0], ann.attempt(*asked, "--wait")[0]] == [0, 1]
    assert len(waiting(ann)) == 2


def test_what_goes_on_after_ctrl_c_is_named(
    ann: Site, bob: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    sign_list(ann, bob)
    note(ann, QUESTION)
    (tmp_path / "auc.toml").write_text(SPEC)
    asked = "ask", str(tmp_path / "auc.toml"), "--wait"
    monkeypatch.setattr(reading_module.StudyReading, "is_running", True)
    monkeypatch.setattr(Requests, "wait", stop)
    code, out, err = ann.attempt(*asked)
    assert (code, out) == (130, "") and "the peer still does what was asked for" in err
    reply = Reply("Asked question 1.", number=1)
    monkeypatch.setattr(questions_module, "send_request", lambda study, request: reply)
    monkeypatch.setattr(reading_module.StudyReading, "wait", stop)
    code, out, err = ann.attempt(*asked)
    assert (code, out) == (130, "1\n")
    assert "but question 1 goes on" in err and "peer withdraw 1 ends it" in " ".join(err.split())


def test_nobody_waits_for_a_peer_that_was_stopped_meanwhile(
    ann: Site, bob: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_list(ann, bob)
    note(ann, QUESTION)
    (tmp_path / "auc.toml").write_text(SPEC)
    reply = Reply("Asked question 1.", number=1)
    monkeypatch.setattr(questions_module, "send_request", lambda study, request: reply)
    monkeypatch.setattr(reading_module, "_RESTART", 0.5)
    code, out, err = ann.attempt("ask", str(tmp_path / "auc.toml"), "--wait")
    assert (code, out) == (1, "1\n")
    assert "question 1 goes on once it runs again" in " ".join(err.split())
    with pytest.raises(InputError, match="not answered while this peer does not run"):
        Peer(ann.folder).question(1).wait()


@pytest.mark.parametrize("typed", ["y\n", "n\n", ""])
def test_a_yes_is_asked_for_at_a_terminal(
    ann: Site, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    note(ann, QUESTION)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    code, _, err = ann.attempt("accept", "1")
    assert err.index("No row leaves this machine") < err.index("Say yes, for good? [y/N]")
    assert (len(waiting(ann)) == 1) == (code == 0) == (typed == "y\n")
    assert ann.attempt("accept", "1", "--yes")[0] == 0


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
    (("refuse", "1", "--because", " "), "Give the reason as a sentence of up to 2,000 characters."),
    (("withdraw", "1"), "Question 1 was asked by 'bob', who alone can withdraw it"),
    (("result", "1"), "Question 1 has no result: it waits for your yes or no."),
    (("result",), "No question is answered yet: see peer questions."),
    (("evict", "bob", "--yes"), "No member is called 'bob': the members are nobody."),
    (("leave",), "There is no terminal to ask on: give --yes."),
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


def test_a_question_that_has_lately_ended_with_numbers_shown_is_still_waited_for(
    ann: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others have signed meanwhile may be on its way: the peer then says that it is done."""
    ending = Ending("unfinished", "cleo", "it has left")
    ended = msgspec.structs.replace(
        QUESTION, phase="ended", ending=ending, is_disclosed=True, changed=time.time()
    )
    note(ann, ended)
    done = msgspec.structs.replace(ended, phase="done", ending=None, value=0.8)
    later = threading.Timer(0.3, note, (ann, done))
    later.start()
    assert ann.reading.wait(1, 20).is_done
    later.join()
    note(ann, msgspec.structs.replace(ended, changed=time.time() - 60))
    assert ann.reading.wait(1).ending == ending  # at once


def test_a_question_withdrawn_without_a_reason_says_so_once(ann: Site) -> None:
    note(ann, msgspec.structs.replace(QUESTION, is_own=True))
    ann.run("withdraw", "1")
    (withdraw,) = waiting(ann)
    assert isinstance(withdraw, Withdraw)
    ending = Ending("withdrawn", "ann", withdraw.because)
    note(ann, msgspec.structs.replace(QUESTION, phase="ended", ending=ending, is_own=True))
    err = ann.attempt("withdraw", "1")[2]
    assert "Question 1 is over: it has ended, withdrawn by 'ann': no reason was given." in err


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
    assert code == 2 and "is the folder of a single network, which takes no questions" in err


def test_python_asks_only_a_peer_that_runs(ann: Site, tmp_path: Path) -> None:
    (tmp_path / "auc.toml").write_text(SPEC)
    with pytest.raises(InputError, match="does not run: start it with pairgossip peer run"):
        Peer(ann.folder).ask(tmp_path / "auc.toml")
    assert Requests(ann.folder).count() == 0 and Peer(ann.folder).members == []


def test_python_lets_rows_travel_only_if_it_is_told(ann: Site, tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text('algorithm.name = "exchange"\n' + SPEC)
    with pytest.raises(InputError, match=r"rows of this peer travel to .*: pass rows_travel=True"):
        Peer(ann.folder).ask(tmp_path / "rows.toml")
    with pytest.raises(InputError, match="does not run: start it"):
        Peer(ann.folder).ask(tmp_path / "rows.toml", rows_travel=True)


@pytest.mark.parametrize("expires", [0.0, -1.0, float("nan"), float("inf"), 1e12])
def test_python_asks_for_a_time_within_a_year(ann: Site, tmp_path: Path, expires: float) -> None:
    (tmp_path / "auc.toml").write_text(SPEC)
    with pytest.raises(InputError, match="give the seconds until the question expires, within a y"):
        Peer(ann.folder).ask(tmp_path / "auc.toml", expires=expires)


@pytest.mark.parametrize("because", ["", " \n", "x" * 3_000])
def test_a_reason_is_a_sentence(ann: Site, because: str) -> None:
    note(ann, msgspec.structs.replace(QUESTION, is_own=True))
    peer = Peer(ann.folder)
    for refuse in (peer.refuse, peer.withdraw):
        with pytest.raises(InputError, match="Give the reason as a sentence of up to"):
            refuse(1, because)
    assert "Give the reason" in ann.attempt("refuse", "1", "--because", because)[2]


def test_nobody_is_told_that_an_estimate_is_signed(ann: Site) -> None:
    """Where rows travel each member has an estimate of its own."""
    note(ann, msgspec.structs.replace(QUESTION, phase="done", travels=True, needs_operator=False))
    assert Peer(ann.folder).question(1).state == "rows have traveled"
    assert "rows have traveled" in ann.run("questions", "1")


@pytest.mark.parametrize(("text", "seconds"), [("7d", 604_800), ("12h", 43_200), ("30m", 1_800)])
def test_durations(text: str, seconds: int) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "0d", "7 days", "-1h", "99999d"])
def test_durations_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="write it as 7d, 12h or 30m"):
        read_duration(text)


def test_a_peer_and_its_questions_show_themselves_in_notebooks(ann: Site) -> None:
    title = "auc of risk by <i>died"
    note(ann, msgspec.structs.replace(QUESTION, title=title))
    peer = Peer(ann.folder)
    whole, one = peer._repr_html_(), peer.question(1)._repr_html_()
    assert all("auc of risk by &lt;i&gt;died" in html for html in (whole, one))
    assert "it waits for your yes or no" in whole and "does not run" in whole
    assert "No row leaves this machine." in one and "value" not in one.split("</style>")[1]
    note(ann, msgspec.structs.replace(QUESTION, phase="done", value=0.81234, interval=(0.75, 0.87)))
    shown = peer.question(1)._repr_html_()
    assert "0.8123 (0.75 to 0.87)" in shown and "No row leaves" not in shown
