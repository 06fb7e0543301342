"""`pairgossip peer ask`, `questions`, `accept`, `refuse`, `withdraw`: the questions of a study."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import EXIT_FAILED, tell, write_json, write_line, write_rows
from pairgossip.cli.options import Flag, HomeFolder, Json
from pairgossip.cli.peer.studies import (
    confirm_all,
    describe_cost,
    find_card,
    read_duration,
    read_study,
    send_request,
)
from pairgossip.cli.peer.study_status import describe_proposals
from pairgossip.errors import InputError
from pairgossip.text import clean_text, format_count, join_names

if TYPE_CHECKING:
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.service.status import QuestionStatus


def ask_command(
    spec: Path,
    /,
    *,
    home: HomeFolder = None,
    fresh: Flag = False,
    expires: str = "7d",
    corrects: str | None = None,
    visible: Flag = False,
    wait: Flag = False,
    yes: Flag = False,
) -> int:
    """Ask all members of the study a question; its number is printed.

    Where tables that were counted before can answer, they do: nothing is sent but signatures, and
    nobody has to agree. Otherwise every member's operator, or policy, says yes or no; all of them
    learn the answer, and sign it. Where no sum gives the answer, or the file says algorithm.name =
    "exchange", rows travel between members as they are, and each finds an estimate of its own.

    Exit codes: 0 asked (with --wait: answered), 1 it ended without an answer, or with --wait has
    none yet since the peer does not run, or was stopped meanwhile, 2 it was not asked.

    For example:

        pairgossip peer ask auc.toml
        pairgossip peer ask auc.toml --expires 12h --wait

    Parameters
    ----------
    spec
        The TOML file that says what is computed; ranges and classes are the same for all members.
    fresh
        Count rows that were added since, even where tables of before can answer.
    expires
        For how long the question stays open, as in 7d, 12h or 30m.
    corrects
        The number or name of a question whose data were corrected since: results show the relation.
    visible
        Accept that others can compute class totals of this peer's rows by subtracting tables.
    wait
        Wait until all have signed the answer, or the question has ended.
    yes
        Where rows of this peer leave as they are: do not ask.
    """
    from pairgossip.study.service.asking import read_question_text
    from pairgossip.study.service.requests import Ask

    study = read_study(home)
    text = read_question_text(spec)
    corrected = None if corrects is None else study.question(corrects).name
    until = int(time.time()) + read_duration(expires)
    if study.signed_list() is None:
        raise InputError(
            "This peer is in no study yet: all members must join all others, and run (peer status)."
        )
    _confirm_rows(text, yes=yes)
    reply = send_request(study, Ask(text, until, fresh, corrected, visible))
    if reply is None or reply.number is None:
        return EXIT_FAILED if wait else 0
    name = study.question(reply.number).name[:12]
    tell(f"Other members may number it otherwise: all know it as {name}.")
    write_line(str(reply.number))
    return _await(study, reply.number) if wait else 0


def _confirm_rows(text: str, *, yes: bool) -> None:
    """Ask before rows of this peer leave as they are."""
    from pairgossip.peer.specification.canonical_text import decode_spec

    spec = decode_spec(text)
    if spec.is_sums:
        return
    meaning = [
        *spec.leaves(),
        "By asking, this peer says yes: once all have, its rows are read by all members' machines.",
    ]
    confirm_all("Let rows travel?", "Nobody was asked.", yes=yes)(meaning)


def _await(study: StudyReading, number: int) -> int:
    """Wait until a question is over for good, or the peer that asks it does not run any more."""
    from pairgossip.study.service.reading import may_go_on

    try:
        question = study.wait(number)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted, but question {number} goes on: peer questions {number} says how far it "
            f"is, and peer withdraw {number} ends it."
        ) from None
    if may_go_on(question):
        tell(f"The peer was stopped: question {number} goes on once it runs again (peer run).")
        return EXIT_FAILED
    tell(f"Question {number}: {_state(question)}.")
    return 0 if question.is_done else EXIT_FAILED


def questions_command(
    number: str | None = None,
    /,
    *,
    home: HomeFolder = None,
    try_: Flag = False,
    json: Json = False,
) -> None:
    """Show the questions of the study, and members who are proposed; or one question in full.

    For one question: who has asked it, what would leave this machine, in words, who has said yes,
    and for whom it waits.

    For example:

        pairgossip peer questions
        pairgossip peer questions 3
        pairgossip peer questions 3 --try

    Parameters
    ----------
    number
        The question's number in this folder, or the beginning of its name.
    try_
        Read the source, and say what a yes would come to here: rows, missing and out of range,
        blocks, and what the rule costs. Nothing is sent, and nothing noted.
    """
    study = read_study(home)
    if number is None:
        if try_:
            raise InputError("--try is about one question: give its number.")
        _print_all(study, json=json)
        return
    question = study.question(number)
    if json:
        import msgspec

        write_json(msgspec.to_builtins(question))
        return
    _print_one(question, study.relations(question.number))
    if try_:
        for sentence in _try_out(study, question):
            write_line(clean_text(sentence, 2000))


def _print_all(study: StudyReading, *, json: bool) -> None:
    questions = list(study.questions())
    if json:
        import msgspec

        write_json({"questions": [msgspec.to_builtins(one) for one in questions]})
        return
    rows = [
        (
            *(str(one.number), clean_text(one.asked_by, 32)),
            *(clean_text(one.title, 60), _state(one, is_short=True)),
        )
        for one in questions
    ]
    if rows:
        write_rows(("question", "asked by", "about", "state"), rows, numbers=False)
    else:
        write_line("Nothing has been asked yet: anybody can, with peer ask.")
    for line in describe_proposals(study.status()):
        write_line(line)


def _print_one(question: QuestionStatus, relations: Sequence[tuple[str, str]]) -> None:
    from pairgossip.peer.specification.canonical_text import write_toml

    rows = [("asked by", clean_text(question.asked_by)), ("state", _state(question))]
    rows += [("said yes", join_names(question.yeses))] if question.yeses else []
    rows += [("note", question.notice)] if question.notice else []
    rows += list(_more(question, relations))
    rows.append(("name", question.name[:12]))
    write_rows((f"question {question.number}", clean_text(question.title)), rows, numbers=False)
    write_line("What leaves this machine:" if question.adds else "Nothing leaves this machine:")
    for sentence in question.leaves:
        write_line(f"- {clean_text(sentence, 2000)}")
    if question.text:
        write_line("")
        write_line(write_toml(question.text).rstrip())
    if question.needs_operator:
        number = question.number
        write_line("")
        write_line(f'Say peer accept {number}, or peer refuse {number} --because "...".')


def _more(
    question: QuestionStatus, relations: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    if question.reads:
        numbers = join_names(list(map(str, question.reads)))
        yield "reads", f"the tables of question {numbers}"
    yield from relations
    if not question.is_over:
        when = datetime.datetime.fromtimestamp(question.expires, datetime.UTC)
        yield "expires", f"{when:%Y-%m-%d %H:%M} UTC"
    if question.ending is not None and question.is_disclosed:
        what = "rows of this site" if question.travels else "numbers of it"
        yield "disclosed", f"yes: {what} were, or may have been, shown"


def _state(question: QuestionStatus, *, is_short: bool = False) -> str:
    """Say how far a question is; in short without the reason why it has ended."""
    from msgspec.structs import replace

    from pairgossip.study.service.reading import explain

    if is_short and question.ending is not None:
        question = replace(question, ending=replace(question.ending, because=""))
    value = "" if question.value is None else f": {question.value:.6g}"
    return f"{clean_text(explain(question), 500)}{value}{_own(question)}"


def _own(question: QuestionStatus) -> str:
    """Say what this peer itself has found by exchanging rows."""
    own = question.own
    if own is None or own.estimate is None:
        return ""
    if len(own.estimate) > 1:
        return f"; this peer's own model is of {own.exchanges:,} exchanges"
    return f"; this peer's own estimate: {own.estimate[0]:.6g}"


def _try_out(study: StudyReading, question: QuestionStatus) -> tuple[str, ...]:
    from pairgossip.study.service.assembly import carry_out_alone
    from pairgossip.study.service.requests import TryOut

    request = TryOut(question.name)
    if not study.is_running:
        return carry_out_alone(study.home, request).sentences
    reply = send_request(study, request)
    return () if reply is None else reply.sentences


def accept_command(
    what: str, /, *, home: HomeFolder = None, visible: Flag = False, yes: Flag = False
) -> None:
    """Say yes to a question, for good; or accept a member who is to join.

    What leaves this machine by a yes is what `peer questions N` says, and is said again; at a
    terminal this asks then. A member is accepted by its name once somebody has proposed it, or by
    the file of its invitation; it is on the list once all members have accepted it.

    For example:

        pairgossip peer accept 3
        pairgossip peer accept hospital-6.txt

    Parameters
    ----------
    what
        A question's number or name, the name of a proposed member, or a file with an invitation.
    visible
        Accept that others can compute class totals of these rows by subtracting tables.
    yes
        Do not ask.
    """
    from pairgossip.study.service.requests import Accept, Join
    from pairgossip.study.site.words import digest_words

    study, nothing = read_study(home), "Nothing was accepted."
    yes = yes or not sys.stdin.isatty()  # nobody is there to be asked
    if not (what.isdigit() or study.knows(what)):
        if visible:
            raise InputError("--visible is about a question: give its number.")
        card = find_card(study, what)
        confirm_all(f"Accept {card.name}?", nothing, yes=yes)([f"{card.name}, {card.id}"])
        send_request(study, Join((card,)))
        return
    question = _open_question(study, what)
    called = f"Question {question.number}, which all know as {question.name[:12]}:"
    confirm_all("Say yes, for good?", nothing, yes=yes)([called, *question.leaves])
    send_request(study, Accept(question.name, visible, digest_words(question.leaves).hex()))


def refuse_command(number: str, /, *, because: str, home: HomeFolder = None) -> None:
    """Say no to a question, which ends it for all members.

    For example:

        pairgossip peer refuse 3 --because "the ethics board has not decided"

    Parameters
    ----------
    number
        The question's number in this folder, or the beginning of its name.
    because
        The reason, which all members read.
    """
    from pairgossip.study.service.requests import Refuse, check_reason

    study = read_study(home)
    send_request(study, Refuse(_open_question(study, number).name, check_reason(because)))


def withdraw_command(number: str, /, *, because: str = "", home: HomeFolder = None) -> None:
    """End a question that this peer has asked, unless its numbers are about to be shown.

    For example:

        pairgossip peer withdraw 3

    Parameters
    ----------
    number
        The question's number in this folder, or the beginning of its name.
    because
        The reason, which all members read.
    """
    from pairgossip.study.service.requests import WITHDRAWN, Withdraw, check_reason

    study = read_study(home)
    question = _open_question(study, number)
    if not question.is_own:
        raise InputError(
            f"Question {question.number} was asked by '{question.asked_by}', who alone can "
            f"withdraw it: peer refuse {question.number} ends it with a no."
        )
    send_request(study, Withdraw(question.name, check_reason(because or WITHDRAWN)))


def _open_question(study: StudyReading, number: str) -> QuestionStatus:
    """Return a question that is not over, or say that it is."""
    question = study.question(number)
    if question.is_over:
        raise InputError(f"Question {question.number} is over: {_state(question)}.")
    return question


def disclosed_command(*, home: HomeFolder = None, verify: Flag = False, json: Json = False) -> None:
    """Show everything that has left this machine, ever: the record of disclosures.

    For example:

        pairgossip peer disclosed
        pairgossip peer disclosed --verify

    Parameters
    ----------
    verify
        Check that no line of the record was changed or is missing.
    """
    import msgspec

    study = read_study(home)
    if verify:
        count = study.verify_disclosures()
        tell(f"{format_count(count, 'line')} checked: none was changed or removed.")
    entries = study.disclosures()
    if json:
        write_json({"entries": [msgspec.to_builtins(one) for one in entries]})
        return
    if not entries:
        write_line("Nothing has left this machine.")
        return
    numbers = {one.name: str(one.number) for one in study.questions()}
    rows = [
        (
            one.when.removesuffix("+00:00"),
            numbers.get(one.question, one.question[:12]),
            one.event,
            _about(one.about),
        )
        for one in entries
    ]
    write_rows(("when, by UTC", "question", "what", ""), rows, numbers=False)


def _about(about: dict[str, Any]) -> str:
    """Say the facts of an entry that people read; digests are in --json."""
    facts = []
    if "by" in about:
        rows = sum(rows for _, rows in about.get("pieces", ()))
        facts.append(f"by the {about['by']}, {format_count(rows, 'row')}")
    if "columns" in about:
        rows = format_count(about["rows"], "row")
        columns, others = (join_names(list(about[key])) for key in ("columns", "to"))
        facts.append(f"{rows} as they are ({clean_text(columns)}), to {clean_text(others)}")
    elif "round" in about:
        facts.append(f"round {about['round']}")
    if about.get("because"):
        facts.append(clean_text(about["because"], 500))
    return ", ".join(facts)


def leave_command(*, home: HomeFolder = None, visible: Flag = False, yes: Flag = False) -> None:
    """Ask all others to leave this peer out of the next list of members.

    It answers no question of lists without it any more. Tables with its rows stay with those who
    have them, and it cannot come back but as a new member.

    For example:

        pairgossip peer leave --home hospital-1

    Parameters
    ----------
    visible
        Accept that others can compute this peer's class totals, as the difference of tables with
        and without it; unless it does, nothing is counted that tells them.
    yes
        Do not ask.
    """
    from pairgossip.study.service.requests import Leave

    study = read_study(home)
    meaning = [
        "Leaving cannot be undone: once all others have signed a list without this peer, it "
        "answers nothing any more. Tables with its rows stay with those who have them.",
        *(() if visible else describe_cost(study, study.name)),
    ]
    if len(meaning) > 1:
        meaning.append("With --visible all goes on: others can compute this peer's class totals.")
    confirm_all("Leave?", "This peer stays.", yes=yes)(meaning)
    send_request(study, Leave(visible))
