"""Reports of a peer: the problems in its status, and its log."""

from __future__ import annotations

import datetime
import io
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.members import Members
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Changes,
    Hello,
    encode,
    generation_name,
)
from pairgossip.peer.service import assembly
from pairgossip.peer.service import reporter as reporter_module
from pairgossip.peer.service.assembly import Assembly, assemble
from pairgossip.peer.service.log import Log, write_logs
from pairgossip.peer.service.reporter import NEVER_AGAIN, ExchangeReporter
from pairgossip.peer.storage.folder import Home
from pairgossip.text import clean_text

from .homes import introduce, introduce_each_other, make_home, make_pair
from .test_service import running
from .zenoh_people import until


def advice(name: str) -> str:
    """Return the advice for a peer that waits: an eviction comes last, and is only referred to."""
    return f"Nothing is lost, and it goes on once '{name}' runs; ask its operator. {NEVER_AGAIN}"


class Reported:
    """A peer that does not run, and what it would report."""

    def __init__(self, parts: Assembly) -> None:
        self.exchange = Exchange(parts.context, parts.state)
        self.reporter = ExchangeReporter(parts, self.exchange, Log("ann"))

    def problems(
        self,
        waiting: Mapping[str, float] | None = None,
        connected: Iterable[str] = (),
        versions: Mapping[str, int] | None = None,
    ) -> tuple[str, ...]:
        self.reporter.report({}, set(connected), versions or {}, waiting or {}, is_last=False)
        assert self.reporter.status is not None
        return self.reporter.status.problems


@contextmanager
def reporting(home: Home) -> Iterator[Reported]:
    with closing(assemble(home)) as parts:
        yield Reported(parts)


def make_three(tmp_path: Path) -> tuple[list[Home], list[str]]:
    """Make three peers that know each other; return also the ids of the last two."""
    homes = [make_home(tmp_path, name, [1.0]) for name in ("ann", "bob", "carl")]
    introduce_each_other(homes)
    return homes, [load_identity(home.folder).id for home in homes[1:]]


def test_a_lonely_peer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.peer.service.reporter._LONELY", 0.1)
    ann, _ = make_pair(tmp_path, [1.0], [10.0])
    with running(ann) as (alone,):
        assert until(lambda: ann.status.exists() and alone.status().problems)
    assert "No neighbor was heard of for" in alone.status().problems[0]


def test_whatever_a_neighbor_calls_its_specification_is_made_harmless(tmp_path: Path) -> None:
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    with reporting(ann) as peer:
        for text in ("", "null", "[1]", '{"kernel": "\x1b[31m' + "x" * 9000 + '"}', "{" * 9000):
            peer.exchange.disagreeing = {load_identity(bob.folder).id: text}
            (problem,) = peer.problems()
            assert problem.isprintable() and len(problem) < 1200


def test_the_eviction_of_nobody_is_a_problem_until_the_neighbor_is_back(tmp_path: Path) -> None:
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    theirs = assemble(bob)
    theirs.close()
    nobody = ("f" * 64,)
    notice = theirs.context.announce(generation_name(1, nobody), Changes(nobody))
    hello = Hello(theirs.spec.hash, "", FIRST_GENERATION, False)
    with reporting(ann) as peer:
        assert peer.exchange.receive(theirs.identity.id, encode(notice)) == []
        (problem,) = peer.problems()
        assert problem.startswith(
            f"Neighbor 'bob' is in a generation without {nobody[0]}, which is not on this peer's "
            "list: if that was a member, join it here as well"
        )
        assert peer.exchange.receive(theirs.identity.id, encode(hello)) == []
        assert peer.problems() == ()
        assert peer.exchange.state.generation == FIRST_GENERATION


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            1,
            "No answer from 'bob' for 12 s (not connected): the only row of this peer waits for "
            "it, and the peer stands still until then. ",
        ),
        (
            3,
            "No answer from 'bob' for 12 s (not connected): one of 3 rows waits for it; exchanges "
            "with the others go on. ",
        ),
    ],
)
def test_a_neighbor_that_does_not_answer_is_a_problem(
    tmp_path: Path, rows: int, sentence: str
) -> None:
    ann, bob = (make_home(tmp_path, name, [1.0] * rows) for name in ("ann", "bob"))
    introduce_each_other([ann, bob, make_home(tmp_path, "carl", [1.0])])
    them = load_identity(bob.folder).id
    with reporting(ann) as peer:
        peer.exchange.ask(them)
        assert peer.problems({them: 12.3}) == (sentence + advice("bob"),)
        assert peer.reporter.status is not None and peer.reporter.status.pending == 1
        assert peer.problems({them: 1.0}) == ()


def test_a_peer_stands_still_only_if_no_answer_may_come_soon(tmp_path: Path) -> None:
    """Both rows are in offers, but one of these offers is recent."""
    homes = [make_home(tmp_path, name, [1.0, 2.0]) for name in ("ann", "bob", "carl", "dora")]
    introduce_each_other(homes)
    bob, carl, dora = (load_identity(home.folder).id for home in homes[1:])
    with reporting(homes[0]) as peer:
        peer.exchange.ask(bob)
        peer.exchange.ask(carl)
        peer.exchange.away.add(dora)
        peer.reporter._started_at -= 10.0
        told = [
            sorted(one.partition("): ")[2] for one in peer.problems({bob: 12.3, carl: seconds}))
            for seconds in (0.1, 12.3)
        ]
    going_on = "exchanges with the others go on"
    stuck = "all 2 rows of this peer wait for answers, and the peer stands still"
    assert told == [
        [
            f"{going_on}. {advice('dora')}",
            f"one of 2 rows waits for it; {going_on}. {advice('bob')}",
        ],
        [
            f"{stuck}. {advice('bob')}",
            f"{stuck}. {advice('carl')}",
            f"no row of this peer is free for the others either. {advice('dora')}",
        ],
    ]


def test_a_neighbor_that_is_away_is_a_problem_although_no_row_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.reporter._UNANSWERED", 0.0)
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    with reporting(ann) as peer:
        peer.exchange.away.add(load_identity(bob.folder).id)
        assert peer.problems() == (
            "'bob' is away, and was not heard of for 0 s (not connected): no other neighbor is "
            f"there. {advice('bob')}",
        )


def test_a_neighbor_that_was_never_heard_of_is_a_problem_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.reporter._LONELY", 0.0)
    homes, (bob, _) = make_three(tmp_path)
    with reporting(homes[0]) as peer:
        peer.reporter.note_frame(bob, time.monotonic() + 10.0)
        (problem,) = peer.problems()
        assert problem.startswith(
            "'carl' is away, and was not heard of for 0 s (not connected): exchanges with"
        )


def test_a_neighbor_of_another_version_hides_nothing_and_is_not_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.reporter._LONELY", 0.0)
    monkeypatch.setattr("pairgossip.peer.service.reporter._UNANSWERED", 0.0)
    homes, (bob, carl) = make_three(tmp_path)
    with reporting(homes[0]) as peer:
        version, lonely = peer.problems(versions={bob: 99})
        assert version.startswith("Neighbor 'bob' speaks version 99")
        assert lonely.startswith("No other neighbor was heard of for 0 seconds: see that they run")
        assert all("speaks version" in one for one in peer.problems(versions={bob: 99, carl: 99}))
        peer.exchange.away.add(bob)
        peer.reporter.note_frame(carl, time.monotonic() + 10.0)
        (only,) = peer.problems(versions={bob: 99})
        assert only == version


def test_every_neighbor_with_a_problem_is_logged_although_names_differ_in_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.reporter._UNANSWERED", 0.0)
    homes = [make_home(tmp_path, name, [1.0]) for name in ("ann", "p-1", "p-2")]
    introduce_each_other(homes)
    first, second = (load_identity(home.folder).id for home in homes[1:])
    written = io.StringIO()
    with reporting(homes[0]) as peer, write_logs(written):
        for seconds, waiting in ((12.0, [first]), (13.0, [first, second]), (14.0, [first, second])):
            peer.problems(dict.fromkeys(waiting, seconds))
    assert [written.getvalue().count(f"No answer from '{name}'") for name in ("p-1", "p-2")] == [
        1,
        1,
    ]


# A wrong clock


def make_early(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """Make peers from now on with a clock that is ahead."""
    ahead = datetime.timedelta(days=days)
    monkeypatch.setattr("pairgossip.peer.identity.certificates._CLOCK_SKEW", -ahead)


def report_of(home: Home, connected: set[str], **waiting: float) -> tuple[str, ...]:
    """Return the problems of a peer that waits for members, by name, for this many seconds."""
    with reporting(home) as peer:
        ids = {name: member for member, name in home.read_members().names().items()}
        waits = {ids[name]: seconds for name, seconds in waiting.items()}
        return peer.problems(waits, {ids[name] for name in connected})


def test_a_certificate_that_is_not_valid_yet_is_blamed_on_a_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = make_home(tmp_path, "ann", [1.0])
    make_early(monkeypatch, 900)
    bob = make_home(tmp_path, "bob", [2.0])
    introduce_each_other([ann, bob])
    early, waits = report_of(ann, set(), bob=12.0)
    assert re.fullmatch(
        r"The certificate of 'bob' is valid from 20\d\d-\d\d-\d\d \d\d:\d\d UTC, and this "
        r"machine's clock says 20\d\d-\d\d-\d\d \d\d:\d\d UTC: set the clock of this machine, or "
        r"of 'bob', whichever is off\. .*",
        early,
    )
    cause = "(not connected, since certificates are not valid by this machine's clock)"
    assert waits.startswith(f"No answer from 'bob' for 12 s {cause}: ")
    (own,) = report_of(bob, set())
    assert own.startswith("This peer's own certificate is valid from 20")
    assert own.endswith(
        "UTC: set the clock of this machine. Nothing is lost, and the peer goes on by itself once "
        "the clock is right."
    )
    for sentence in (early, own):
        assert not any(word in sentence for word in ("expired", "evict", "join", "folder"))


def test_many_certificates_that_are_not_valid_yet_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_early(monkeypatch, 900)
    homes = [make_home(tmp_path, f"p{number}", [1.0]) for number in range(9)]
    for other in homes[1:]:
        introduce(homes[0], other)
    own, *others, rest = report_of(homes[0], set())
    assert own.startswith("This peer's own certificate") and len(others) == 5
    assert rest == "And 3 more certificates are not valid yet by this clock."


def test_a_clock_that_goes_on_is_logged_once_and_then_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_early(monkeypatch, 900)
    ann, _ = make_pair(tmp_path, [1.0], [10.0])
    written = io.StringIO()
    minutes = iter(datetime.datetime(2020, 1, 1, 0, minute) for minute in range(60))
    monkeypatch.setattr(assembly, "_now", lambda: next(minutes))
    with reporting(ann) as peer, write_logs(written):
        for _ in range(5):
            problems = peer.problems()
        assert "clock says 2020-01-01 00:09 UTC" in problems[0]
        # Somebody corrects the clock.
        for place in (assembly, reporter_module):
            monkeypatch.setattr(place, "is_early", lambda certificate: False)
        assert peer.problems() == ()
    assert written.getvalue().count("This peer's own certificate is valid from") == 1
    assert written.getvalue().count("The certificate of 'bob' is valid from") == 1


def test_an_expired_certificate_may_be_a_clock_that_is_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    theirs = load_identity(bob.folder).certificate
    monkeypatch.setattr(assembly, "is_expired", lambda certificate: certificate == theirs)
    (problem,) = report_of(ann, set())
    assert re.fullmatch(
        r"The certificate of 'bob' expired on 20\d\d-\d\d-\d\d, and this machine's clock says "
        r"20\d\d-\d\d-\d\d: set the clock if it is off; if it is right, let 'bob' join again from "
        r"a new folder\.",
        problem,
    )


# Names that do not resolve


def give_name(home: Home, name: str) -> None:
    """Give the only neighbor of a peer an address with this name."""
    (listed,) = home.read_members().listed
    Members((replace(listed, address=f"tls/{name}:7447"),)).save(home.members)


def test_a_name_that_does_not_resolve_is_told_while_its_neighbor_is_not_connected(
    tmp_path: Path,
) -> None:
    ann, bob = make_pair(tmp_path, [1.0], [10.0])
    them = load_identity(bob.folder).id
    give_name(ann, "clinic-b.invalid")
    with closing(assemble(ann)) as parts:
        reporter = ExchangeReporter(parts, Exchange(parts.context, parts.state), Log("ann"))

        def problems(connected: set[str]) -> tuple[str, ...]:
            reporter.report({}, connected, {}, {them: 12.0}, is_last=False)
            assert reporter.status is not None
            return reporter.status.problems

        sentence = (
            "The name clinic-b.invalid in the address of 'bob' does not resolve on this machine: "
            "check the name in members.json, or this machine's name service."
        )
        assert until(lambda: problems(set())[0] == sentence)
        (waits,) = problems(set())[1:]
        cause = "(not connected, since the name in its address does not resolve here)"
        assert waits.startswith(f"No answer from 'bob' for 12 s {cause}: ")
        (waits,) = problems({them})
        assert waits.startswith("No answer from 'bob' for 12 s (connected): ")


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
