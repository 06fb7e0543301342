"""The report of a study's peer: files for all readers, and numbers for metrics.

The status describes the membership. Each question has a separate file, so the amount of writing
does not grow with the questions of years.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec

from pairgossip import files
from pairgossip.peer.service.shown import ShownNeighbor, says
from pairgossip.peer.service.status import NeighborStatus
from pairgossip.study.protocol.records import Card
from pairgossip.study.rows.journey import OwnEstimate
from pairgossip.study.storage.folder import StudyHome

_LARGEST = 8 << 20
"""Largest size of a file, in bytes; a longer one is refused."""


class Member(msgspec.Struct, frozen=True):
    """A member of the list, or a future one."""

    card: Card
    is_listed: bool
    """Whether it is on the current list."""
    is_accepted: bool
    """Whether this peer's operator has accepted it by hand."""


class Proposal(msgspec.Struct, frozen=True):
    """A list that some have signed, and not all."""

    joins: tuple[str, ...]
    """Names of the members that it adds to the current list."""
    leaves: tuple[str, ...]
    """Names of the members that it lacks."""
    signed: tuple[str, ...]
    """Names of the members that have signed it."""
    awaited: tuple[str, ...]


class StudyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a study's peer besides its questions; wall-clock times are for display."""

    name: str
    id: str
    study: str | None = None
    """The digest of the first list; None before it exists."""
    list: str | None = None
    """The digest of the current list."""
    members: tuple[Member, ...] = ()
    """All members by name, this peer included."""
    proposals: tuple[Proposal, ...] = ()
    leavers: tuple[str, ...] = ()
    """Names of members of the current list that have asked to be left out of the next."""
    phases: dict[str, int] = {}
    """The number of questions in each phase, of those that have not ended."""
    awaited: dict[str, int] = {}
    """The number of members that such questions wait for, by phase."""
    since: dict[str, float] = {}
    """The time at which the oldest question of each phase came to it."""
    waiting: tuple[int, ...] = ()
    """Numbers of the questions that wait for this operator."""
    waiting_since: float | None = None
    """The time at which the first of them was seen here; None if there is none."""
    over: dict[str, int] = {}
    """The number of ended questions, by their end; "done" are those with a result."""
    disclosed: int = 0
    """The number of questions whose numbers of this site were, or may have been, shown."""
    lies: int = 0
    """The number of members known to have contradicted themselves in a question."""
    disk_free: int | None = None
    """Number of free bytes on the disk of the folder."""
    requests: int = 0
    """The number of the operator's requests that are not carried out yet."""
    batches: tuple[int, ...] = ()
    """The number of rows of each batch of the snapshot."""
    neighbors: dict[str, NeighborStatus] = {}
    counts: dict[str, int] = {}
    """The number of events since the peer started, by name."""
    refused: dict[str, int] = {}
    """The number of those in which something received was refused."""
    problems: tuple[str, ...] = ()
    pid: int | None = None
    started: float | None = None
    updated: float = 0.0
    stopped: bool = False
    """Whether the peer has ended on request."""

    @property
    def is_ready(self) -> bool:
        """Whether some neighbor runs the same study."""
        return any(one.agreed for one in self.neighbors.values())

    def show(self) -> ShownStudy:
        """Return the numbers for metrics."""
        listed = sum(one.is_listed for one in self.members)
        return ShownStudy(
            events=self.counts,
            refused=self.refused,
            members=listed,
            proposals=len(self.proposals),
            proposals_waiting=sum(self.name in one.awaited for one in self.proposals),
            questions=self.phases,
            questions_awaited=self.awaited,
            questions_seconds={one: self._age(at) for one, at in self.since.items()},
            questions_waiting=len(self.waiting),
            questions_waiting_seconds=self._age(self.waiting_since),
            questions_over=self.over,
            questions_disclosed=self.disclosed,
            lies=self.lies,
            disk_free_bytes=self.disk_free,
            requests=self.requests,
            rows=sum(self.batches),
            problems=len(self.problems),
            status_timestamp_seconds=self.updated or None,
            neighbor={
                name: ShownNeighbor(one.agreed, one.connected, one.away, one.heard)
                for name, one in sorted(self.neighbors.items())
            },
        )

    def _age(self, since: float | None) -> float:
        """Return the age of a state, in seconds, when this was written."""
        return 0.0 if since is None else max(0.0, self.updated - since)


class ShownStudy(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A study's peer in numbers; None where a number is not known."""

    events: Annotated[
        dict[str, int], says("What has happened since the peer started.", "event", counts=True)
    ]
    refused: Annotated[
        dict[str, int], says("Events in which something was refused.", "event", counts=True)
    ] = {}
    members: Annotated[int, says("Members of the current list.")]
    proposals: Annotated[int, says("Lists that not all have signed.")] = 0
    proposals_waiting: Annotated[int, says("Lists that this member has not signed.")] = 0
    questions: Annotated[dict[str, int], says("Questions that have not ended.", "phase")] = {}
    questions_awaited: Annotated[
        dict[str, int], says("Members that the questions of a phase wait for.", "phase")
    ] = {}
    questions_seconds: Annotated[
        dict[str, float], says("The longest that a question has been in its phase.", "phase")
    ] = {}
    questions_waiting: Annotated[int, says("Questions that wait for this operator.")] = 0
    questions_waiting_seconds: Annotated[float, says("Since the first of them was seen.")] = 0.0
    questions_over: Annotated[
        dict[str, int], says("Questions that have come to their end.", "how", counts=True)
    ] = {}
    questions_disclosed: Annotated[int, says("Questions of which numbers were shown here.")] = 0
    lies: Annotated[int, says("Members that have contradicted themselves.")] = 0
    disk_free_bytes: Annotated[int | None, says("What is free where the folder is.")] = None
    requests: Annotated[int, says("Requests of the operator that wait.")] = 0
    rows: Annotated[int, says("Rows of this site's snapshot.")] = 0
    problems: Annotated[int, says("Things to look at: see peer status.")] = 0
    status_timestamp_seconds: Annotated[float | None, says("When the status was written.")] = None
    neighbor: dict[str, ShownNeighbor] = {}


class Ending(msgspec.Struct, frozen=True):
    """The reason why a question has no result."""

    kind: str
    who: str
    """The name of the member that has ended it, or is the reason."""
    because: str


UNREAD = "Until that is mended, settings stay as they were."
"""The end of a problem of settings that cannot be read."""


class QuestionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A question as this peer's operator sees it; members are named by their names."""

    number: int
    """Its number in this folder."""
    name: str
    """The digest of the question, its name everywhere."""
    asked_by: str
    is_own: bool
    """Whether this peer has asked it."""
    text: str
    """The canonical text of the specification."""
    title: str
    """A description in words."""
    leaves: tuple[str, ...]
    """Sentences on the numbers or rows that would leave this machine, or have left it."""
    phase: str
    yeses: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    """The members whose word is missing in the present phase."""
    round: int = 0
    ending: Ending | None = None
    is_disclosed: bool = False
    """Whether words of it were, or may have been, shown."""
    lie: str | None = None
    """The name of a member that has contradicted itself."""
    needs_operator: bool = False
    """Whether it waits for this peer's operator."""
    notice: str = ""
    """A sentence for this operator alone, if its yes adds no row."""
    expires: float = 0.0
    seen: float = 0.0
    """The time at which this peer first saw it."""
    changed: float = 0.0
    """The time of the last change of its phase."""
    reads: tuple[int, ...] = ()
    """Numbers of the questions whose tables are added."""
    adds: bool = True
    corrects: int | None = None
    """The number of a question whose data were corrected since."""
    travels: bool = False
    """Whether rows leave as they are, and each member has its own estimate."""
    own: OwnEstimate | None = None
    """This peer's estimate from exchanging rows, so far or final."""
    value: float | None = None
    interval: tuple[float, float] | None = None
    rows: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether all have signed its result."""
        return self.phase == "done"

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.phase in ("done", "ended")


def write_status(home: StudyHome, status: StudyStatus) -> None:
    """Replace the status at once; a failure leaves the previous one, and raises `InputError`."""
    files.replace(home.status, msgspec.json.encode(status), durable=False)


def read_status(home: StudyHome) -> StudyStatus | None:
    """Return the status last written, None if there is none."""
    if not home.status.exists():
        return None
    return files.read_struct(home.status, _LARGEST, StudyStatus, "a peer's status: remove it")


def write_question(home: StudyHome, question: QuestionStatus) -> None:
    """Write the state of a question."""
    folder = home.folder / "questions"
    folder.mkdir(mode=0o700, exist_ok=True)
    files.replace(_path(home, question.number), msgspec.json.encode(question), durable=False)


def read_question(home: StudyHome, number: int) -> QuestionStatus | None:
    """Return the last written state of a question; None if there is none."""
    path = _path(home, number)
    if not path.exists():
        return None
    return files.read_struct(path, _LARGEST, QuestionStatus, "a question's status: remove it")


def list_numbers(home: StudyHome) -> list[int]:
    """Return the numbers of all questions."""
    try:
        names = os.listdir(home.folder / "questions")
    except OSError:
        return []
    return sorted(int(name[:-5]) for name in names if name[:-5].isdigit())


def _path(home: StudyHome, number: int) -> Path:
    return home.folder / "questions" / f"{number}.json"
