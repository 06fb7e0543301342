"""What a peer reports: the problems in its status, and its log."""

from __future__ import annotations

import io
import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.service.exchange_reporter import ExchangeReporter
from pairgossip.peer.service.log import Log, write_logs
from pairgossip.text import clean_text

from .homes import exchanges, introduce_each_other, make_home, make_pair
from .test_service import FAST, Switchboard, running
from .zenoh_people import until


def test_a_lonely_peer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("reporter", "exchange_reporter"):
        monkeypatch.setattr(f"pairgossip.peer.service.{place}.LONELY", 0.1)
    ann, _ = make_pair(tmp_path, [1.0], [10.0])
    with running(ann) as (alone,):
        assert until(lambda: ann.status.exists() and alone.status().problems)
    assert "No neighbor was heard of for" in alone.status().problems[0]


def test_whatever_a_neighbor_calls_its_specification_is_made_harmless(tmp_path: Path) -> None:
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    parts = assemble(ann)
    try:
        exchange = Exchange(parts.context, parts.state)
        them = load_identity(bob.folder).id
        reporter = ExchangeReporter(parts, exchange, Log("ann"))
        for text in ("", "null", "[1]", '{"kernel": "\x1b[31m' + "x" * 9000 + '"}', "{" * 9000):
            exchange.disagreeing = {them: text}
            reporter.report({}, set(), {}, {}, is_last=False)
            assert reporter.status is not None
            (problem,) = reporter.status.problems
            assert problem.isprintable() and len(problem) < 1200
    finally:
        parts.close()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            1,
            "No answer from 'bob' for 12 s: the only row of this peer waits for it, and the peer "
            "stands still until then. ",
        ),
        (
            3,
            "No answer from 'bob' for 12 s: one of 3 rows waits for it; exchanges with the others "
            "go on. ",
        ),
    ],
)
def test_a_neighbor_that_does_not_answer_is_a_problem(
    tmp_path: Path, rows: int, sentence: str
) -> None:
    ann, bob = (make_home(tmp_path, name, [1.0] * rows) for name in ("ann", "bob"))
    introduce_each_other([ann, bob, make_home(tmp_path, "carl", [1.0])])
    them = load_identity(bob.folder).id
    with closing(assemble(ann)) as parts:
        exchange = Exchange(parts.context, parts.state)
        exchange.ask(them)
        reporter = ExchangeReporter(parts, exchange, Log("ann"))
        reporter.report({}, set(), {}, {them: 12.3}, is_last=False)
        assert reporter.status is not None
        assert reporter.status.problems == (
            sentence + "If it is gone for good, run: pairgossip peer evict bob.",
        )
        assert reporter.status.pending == 1
        reporter.report({}, set(), {}, {them: 1.0}, is_last=False)
        assert not reporter.status.problems


def test_a_peer_stands_still_only_if_no_answer_may_come_soon(tmp_path: Path) -> None:
    """Both rows are in offers, but one of these was made just now."""
    homes = [make_home(tmp_path, name, [1.0, 2.0]) for name in ("ann", "bob", "carl", "dora")]
    introduce_each_other(homes)
    bob, carl, dora = (load_identity(home.folder).id for home in homes[1:])
    with closing(assemble(homes[0])) as parts:
        exchange = Exchange(parts.context, parts.state)
        exchange.ask(bob)
        exchange.ask(carl)
        exchange.away.add(dora)
        reporter = ExchangeReporter(parts, exchange, Log("ann"))
        reporter._started_at -= 10.0
        told = []
        for seconds in (0.1, 12.3):
            reporter.report({}, set(), {}, {bob: 12.3, carl: seconds}, is_last=False)
            assert reporter.status is not None
            told.append(sorted(one.partition(" s: ")[2] for one in reporter.status.problems))
    advice = "If it is gone for good, run: pairgossip peer evict"
    going_on = "exchanges with the others go on"
    stuck = "all 2 rows of this peer wait for answers, and the peer stands still"
    assert told == [
        [f"{going_on}. {advice} dora.", f"one of 2 rows waits for it; {going_on}. {advice} bob."],
        [
            f"{stuck}. {advice} bob.",
            f"{stuck}. {advice} carl.",
            f"no row of this peer is free for the others either. {advice} dora.",
        ],
    ]


def test_a_neighbor_that_is_away_is_a_problem_although_no_row_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.exchange_reporter.UNANSWERED", 0.0)
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    them = load_identity(bob.folder).id
    with closing(assemble(ann)) as parts:
        exchange = Exchange(parts.context, parts.state)
        exchange.away.add(them)
        reporter = ExchangeReporter(parts, exchange, Log("ann"))
        reporter.report({}, set(), {}, {}, is_last=False)
        assert reporter.status is not None
        assert reporter.status.problems == (
            "'bob' is away, and was not heard of for 0 s: no other neighbor is there. If it is "
            "gone for good, run: pairgossip peer evict bob.",
        )


def test_a_neighbor_that_was_never_heard_of_is_a_problem_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("reporter", "exchange_reporter"):
        monkeypatch.setattr(f"pairgossip.peer.service.{place}.LONELY", 0.0)
    ann, bob, carl = (make_home(tmp_path, name, [1.0]) for name in ("ann", "bob", "carl"))
    introduce_each_other([ann, bob, carl])
    with closing(assemble(ann)) as parts:
        reporter = ExchangeReporter(parts, Exchange(parts.context, parts.state), Log("ann"))
        reporter.note_frame(load_identity(bob.folder).id, time.monotonic() + 10.0)
        reporter.report({}, set(), {}, {}, is_last=False)
        assert reporter.status is not None
        (problem,) = reporter.status.problems
        assert problem.startswith("'carl' is away, and was not heard of for 0 s: exchanges with")


def test_a_neighbor_of_another_version_hides_nothing_and_is_not_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("reporter", "exchange_reporter"):
        monkeypatch.setattr(f"pairgossip.peer.service.{place}.LONELY", 0.0)
    monkeypatch.setattr("pairgossip.peer.service.exchange_reporter.UNANSWERED", 0.0)
    homes = [make_home(tmp_path, name, [1.0]) for name in ("ann", "bob", "carl")]
    introduce_each_other(homes)
    bob, carl = (load_identity(home.folder).id for home in homes[1:])
    with closing(assemble(homes[0])) as parts:
        exchange = Exchange(parts.context, parts.state)
        reporter = ExchangeReporter(parts, exchange, Log("ann"))

        def problems(versions: dict[str, int]) -> list[str]:
            reporter.report({}, set(), versions, {}, is_last=False)
            assert reporter.status is not None
            return list(reporter.status.problems)

        version, lonely = problems({bob: 99})
        assert version.startswith("Neighbor 'bob' speaks version 99")
        assert lonely.startswith("No other neighbor was heard of for 0 seconds: see that they run")
        assert all("speaks version" in one for one in problems({bob: 99, carl: 99}))
        exchange.away.add(bob)
        reporter.note_frame(carl, time.monotonic() + 10.0)
        (only,) = problems({bob: 99})
        assert only == version


def test_every_neighbor_with_a_problem_is_logged_although_names_differ_in_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.exchange_reporter.UNANSWERED", 0.0)
    homes = [make_home(tmp_path, name, [1.0]) for name in ("ann", "p-1", "p-2")]
    introduce_each_other(homes)
    first, second = (load_identity(home.folder).id for home in homes[1:])
    written = io.StringIO()
    with closing(assemble(homes[0])) as parts, write_logs(written):
        exchange = Exchange(parts.context, parts.state)
        reporter = ExchangeReporter(parts, exchange, Log("ann"))
        for seconds, waiting in ((12.0, [first]), (13.0, [first, second]), (14.0, [first, second])):
            reporter.report({}, set(), {}, dict.fromkeys(waiting, seconds), is_last=False)
    assert [written.getvalue().count(f"No answer from '{name}'") for name in ("p-1", "p-2")] == [
        1,
        1,
    ]


def test_a_neighbor_that_stops_is_a_problem_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.exchange_reporter.UNANSWERED", 0.1)
    homes = make_pair(tmp_path, [1.0, 2.0], [10.0], FAST)
    board = Switchboard()
    with running(homes[0], board=board) as (ann,):
        with running(homes[1], board=board):
            assert until(lambda: exchanges(homes[0]) > 5)
        assert until(lambda: bool(ann.status().problems))
        (problem,) = ann.status().problems
        assert "'bob'" in problem and "no other neighbor is there" in problem
        assert until(lambda: ann.status().neighbors["bob"].away)
        with running(homes[1], board=board):
            assert until(lambda: not ann.status().neighbors["bob"].away)
            assert until(lambda: not ann.status().problems)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_events_are_json_lines() -> None:
    stream = io.StringIO()
    with write_logs(stream):
        Log("ann").info("started", rows=3, share=0.5, neighbor="bob")
        Log("ann").error("The disk is full.")
    Log("ann").error("Nobody listens any more.")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "info",
        "peer": "ann",
        "event": "started",
        "rows": 3,
        "share": 0.5,
        "neighbor": "bob",
    }
    assert (second["level"], second["event"]) == ("error", "The disk is full.")


def test_people_at_a_terminal_read_text() -> None:
    stream = Terminal()
    with write_logs(stream):
        Log("ann").warning("refused what was received", too_long=3)
    line = stream.getvalue()
    assert line.endswith("  Warning: refused what was received  too_long=3\n")


@pytest.mark.parametrize("terminal", [io.StringIO, Terminal])
def test_text_from_elsewhere_cannot_forge_lines(terminal: type[io.StringIO]) -> None:
    stream = terminal()
    with write_logs(stream):
        Log("ann").warning("odd\nevent", text='x\n{"level": "error"}\x1b[2J\u2028' + "y" * 5000)
    written = stream.getvalue()
    assert written.count("\n") == 1 and "\x1b" not in written and "\u2028" not in written
    assert len(written) < 700


@pytest.mark.parametrize(
    ("text", "longest", "cleaned"),
    [
        ("plain text", 40, "plain text"),
        ("a\tb\nc\x00", 40, "a\\tb\\nc\\x00"),
        ("\u202eevil", 40, "\\u202eevil"),
        ("x" * 11, 10, "xxxxxxx..."),
        ("x" * 10, 10, "xxxxxxxxxx"),
        ("\n" * 10, 10, "\\n\\n\\n\\..."),
    ],
)
def test_clean(text: str, longest: int, cleaned: str) -> None:
    assert clean_text(text, longest) == cleaned
