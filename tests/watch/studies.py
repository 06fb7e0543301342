"""A member's folder as its peer would have written it, and the operator's page of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import Identity, create_identity
from pairgossip.peer.service.status import NeighborStatus
from pairgossip.peer.signed_result import SignedResult
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.protocol.records import Card
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.requests import AnyRequest, Reply
from pairgossip.study.service.status import (
    Ending,
    Member,
    Proposal,
    QuestionStatus,
    StudyStatus,
    write_question,
    write_status,
)
from pairgossip.study.site.words import digest_words
from pairgossip.study.storage.disclosures import Entry
from pairgossip.study.storage.folder import StudyHome
from pairgossip.watch.server.server import ServerAddress, Service
from pairgossip.watch.study.desk import Desk
from pairgossip.watch.study.door import Door
from pairgossip.watch.study.view import PAGE, StudyView

from .serving import PLAIN

SCRIPT = "<script>document.title='hacked'</script>"
IMAGE = "<img src=x onerror=\"document.title='hacked'\">"
AUC = """
kernel = "auc"
columns = ["risk"]
label = "died"
classes = ["no", "yes"]
algorithm.name = "sums"

[ranges]
risk = [0.0, 1.0]
"""
NOW = 1_795_000_000.0
LEAVES = tuple(parse_spec(AUC).leaves())
WORDS = digest_words(LEAVES).hex()


class MadeStudy(StudyReading):
    """A folder with made-up contents; its results and record are not from a real study."""

    def __init__(self, folder: Path, *, is_running: bool = False) -> None:
        super().__init__(StudyHome(folder))
        self.runs = is_running
        self.answers: dict[int, tuple[SignedResult, bytes]] = {}
        """Signed results with their tables, by the numbers of their questions."""
        self.entries: list[Entry] = []
        self.identities = [_identity(folder / "keys", name) for name in ("hospital-1", *OTHERS)]

    @property
    def is_running(self) -> bool:
        return self.runs

    def result(self, which: int | str) -> SignedResult:
        return self.answers[int(which)][0]

    def table(self, which: int | str) -> bytes:
        return self.answers[int(which)][1]

    def disclosures(self) -> Sequence[Entry]:
        return self.entries

    def add_entries(self, *entries: Entry) -> None:
        """Add lines to the record."""
        self.entries += entries
        self.home.disclosures.touch()

    def verify_disclosures(self) -> int:
        return len(self.entries)

    def write(self, *questions: QuestionStatus, **changes: Any) -> None:
        """Write the status and questions as the peer does."""
        waiting = tuple(one.number for one in questions if one.needs_operator)
        cards = [_card(one) for one in self.identities]
        members = tuple(Member(card, True, True) for card in cards[:5])
        status = StudyStatus(
            name="hospital-1",
            id=cards[0].id,
            study="5a" * 32,
            list="6b" * 32,
            members=members,
            waiting=waiting,
            neighbors={one.name: _neighbor(one.name != "hospital-4") for one in cards[1:5]},
            updated=NOW,
        )
        write_status(self.home, msgspec.structs.replace(status, **changes))
        for question in questions:
            write_question(self.home, question)

    def newcomer(self, *, is_accepted: bool = False) -> Member:
        """Return a new member."""
        return Member(_card(self.identities[5]), False, is_accepted)

    def members(self) -> tuple[Member, ...]:
        """Return the members of the list."""
        return tuple(Member(_card(one), True, True) for one in self.identities[:5])


OTHERS = ("hospital-2", "hospital-3", "hospital-4", "hospital-5", "hospital-6")


def _identity(folder: Path, name: str) -> Identity:
    place = folder / name
    place.mkdir(parents=True)
    return create_identity(place, name)


def _card(identity: Identity) -> Card:
    return Card(identity.id, identity.name, identity.certificate, None)


def _neighbor(is_up: bool) -> NeighborStatus:
    return NeighborStatus(True, is_up, 0.4 if is_up else 7300.0, None)


def question(number: int, **changes: Any) -> QuestionStatus:
    """Return a question that waits for this operator, unless changed."""
    usual = QuestionStatus(
        number=number,
        name=f"{number:064x}",
        asked_by="hospital-2",
        is_own=False,
        text=parse_spec(AUC).text,
        title="auc of risk by died",
        leaves=LEAVES,
        phase="asked",
        yeses=("hospital-2",),
        awaited=("hospital-1", "hospital-3", "hospital-4", "hospital-5"),
        needs_operator=True,
        expires=NOW + 5 * 86_400,
        seen=NOW,
        changed=NOW,
    )
    return msgspec.structs.replace(usual, **changes)


def running(number: int, phase: str, *awaited: str, **changes: Any) -> QuestionStatus:
    """Return a question that continues without this operator."""
    usual = {"phase": phase, "awaited": awaited, "needs_operator": False, **changes}
    return question(number, **usual)


def ended(number: int, kind: str, who: str, because: str, **changes: Any) -> QuestionStatus:
    """Return a question without a result."""
    ending = Ending(kind, who, because)
    return running(number, "ended", ending=ending, **changes)


def entry(number: int, event: str) -> Entry:
    """Return a line of the record."""
    when = f"2026-11-{10 + number}T08:0{number}:00Z"
    line = {"before": "00", "when": when, "event": event, "question": f"{number:064x}"}
    return msgspec.convert({**line, "number": number}, Entry)


def proposal(*joins: str, awaited: tuple[str, ...] = ("hospital-1",)) -> Proposal:
    """Return a list that not all members have signed."""
    return Proposal(joins=joins, leaves=(), signed=("hospital-2",), awaited=awaited)


@contextmanager
def answering(study: MadeStudy, *replies: Reply) -> Iterator[list[AnyRequest]]:
    """Run a peer that gives this answer; yield the requests that it received."""
    asked: list[AnyRequest] = []
    study.runs = True

    def answer() -> None:
        for reply in replies:
            while not (waiting := list(study.requests.pending())):
                time.sleep(0.01)
            key, request = waiting[0]
            assert not isinstance(request, InputError)
            asked.append(request)
            study.requests.answer(key, reply)

    peer = threading.Thread(target=answer, daemon=True)
    peer.start()
    yield asked
    peer.join(60)
    assert len(asked) == len(replies)


class ServedStudy:
    """The operator's page on a real server."""

    def __init__(self, reading: StudyReading) -> None:
        self.door = Door()
        view = StudyView(Desk(reading), self.door)
        self._service = Service(ServerAddress(), [view], PAGE)
        started = threading.Event()
        self._thread = threading.Thread(target=self._service.run, args=(started.set,))
        self._thread.start()
        assert started.wait(30)
        self.origin = self._service.address.rstrip("/")
        self.address = self.door.address(self._service.address)
        self.token = self.address.partition("#token=")[2]
        self.client = httpx.Client(base_url=self.origin, timeout=60, trust_env=False, verify=PLAIN)

    def ask(self, path: str, json: Any = None, **headers: str | None) -> httpx.Response:
        """Ask as the page does; a header that is None is left out."""
        usual = {"Origin": self.origin, "Authorization": f"Bearer {self.token}"}
        given = {name: it for name, it in {**usual, **headers}.items() if it is not None}
        method = "GET" if json is None else "POST"
        return self.client.request(method, path, headers=given, json=json)

    def stop(self) -> None:
        self.client.close()
        self._service.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()


@contextmanager
def serving(reading: StudyReading) -> Iterator[ServedStudy]:
    """Serve the page of a folder as long as the block runs."""
    served = ServedStudy(reading)
    try:
        yield served
    finally:
        served.stop()
