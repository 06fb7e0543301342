"""A peer of a study in Python: ask all members, wait for the answer, and read it.

The peer runs as a separate process, `pairgossip peer run`; this module sends it requests as the
commands do, through its folder.

>>> import pairgossip as pg
>>> peer = pg.field.Peer("hospital-1")  # doctest: +SKIP
>>> peer.ask("auc.toml").wait().roc().plot()  # doctest: +SKIP
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InputError
from pairgossip.pages.page import Facts, Heading, Paragraph, Table, show
from pairgossip.peer.specification.canonical_text import decode_spec
from pairgossip.study.protocol.questions import LONGEST_WAIT
from pairgossip.study.service.asking import read_question_text
from pairgossip.study.service.reading import StudyReading, explain
from pairgossip.study.service.requests import (
    WITHDRAWN,
    Accept,
    AnyRequest,
    Ask,
    Refuse,
    Reply,
    Withdraw,
    check_reason,
)

if TYPE_CHECKING:
    from pairgossip.curves.roc import Roc
    from pairgossip.peer.sums.results import Result
    from pairgossip.study.service.status import QuestionStatus
    from pairgossip.study.storage.disclosures import Entry
    from pairgossip.summaries.summary import Summary
    from pairgossip.summaries.summary_reading import SummaryAnswer

__all__ = ["Asked", "Peer"]

_WEEK = 7 * 86_400
"""Default number of seconds for which a question stays open."""
_PATIENCE = 30.0
"""Seconds allowed until the peer has taken up a request."""


class Peer:
    """A study's peer on this machine, by its folder.

    Parameters
    ----------
    folder
        The folder made by `pairgossip peer init --name --source`.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._study = StudyReading(folder)

    def __repr__(self) -> str:
        return f"Peer({str(self._study.home.folder)!r})"

    def _repr_html_(self) -> str:
        members = ", ".join(self.members) or "none yet: exchange invitations"
        facts = [("process", "runs" if self.is_running else "does not run"), ("members", members)]
        facts += [("look at", problem) for problem in self._study.problems()]
        rows = tuple(
            (str(one.number), one.status.asked_by, one.status.title, one.state)
            for one in self.questions()
        )
        questions = Table(
            ("question", "asked by", "what is asked", "state"), rows, text=4 * (True,)
        )
        return show((Heading(self.name), Facts(tuple(facts)), *([questions] if rows else ())))

    @property
    def name(self) -> str:
        """The name by which others call it."""
        return self._study.name

    @property
    def is_running(self) -> bool:
        """Whether its process runs; requests wait until it does."""
        return self._study.is_running

    @property
    def members(self) -> list[str]:
        """The names of all members of the study; empty before there is a list."""
        signed = self._study.signed_list()
        return [] if signed is None else sorted(card.name for card in signed.list.members)

    def questions(self) -> list[Asked]:
        """Return all questions that this peer knows, in the order of their numbers."""
        return [Asked(self._study, one.number) for one in self._study.questions()]

    def question(self, number: int | str) -> Asked:
        """Return a question by its number, or by the beginning of its name."""
        return Asked(self._study, self._study.question(number).number)

    def ask(
        self,
        spec: str | PathLike[str],
        *,
        fresh: bool = False,
        expires: float = _WEEK,
        corrects: int | None = None,
        visible: bool = False,
        rows_travel: bool = False,
    ) -> Asked:
        """Ask all members the question of a specification.

        Parameters
        ----------
        spec
            The TOML file.
        fresh
            Count rows that were added since then, even where earlier tables can answer.
        expires
            The number of seconds for which the question stays open.
        corrects
            The number of a question whose data were corrected since.
        visible
            Accept that others can compute totals of this peer's rows by subtracting tables.
        rows_travel
            Let this peer's rows travel to the machines of all members, if the question needs it.
        """
        text = read_question_text(spec)
        if not rows_travel and not decode_spec(text).is_sums:
            raise InputError(
                "For this question the rows of this peer travel to the machines of all members: "
                "pass rows_travel=True if they may."
            )
        if not 0 < expires <= LONGEST_WAIT:
            raise InputError(
                f"expires is {expires}: give the seconds until the question expires, within a year."
            )
        corrected = None if corrects is None else self._study.question(corrects).name
        until = int(time.time() + expires)
        reply = self._send(Ask(text, until, fresh, corrected, visible))
        assert reply.number is not None
        return Asked(self._study, reply.number)

    def accept(self, number: int | str, *, visible: bool = False) -> None:
        """Say yes to a question, for good."""
        self._send(Accept(self._study.question(number).name, visible))

    def refuse(self, number: int | str, because: str) -> None:
        """Say no to a question, which ends it for all."""
        self._send(Refuse(self._study.question(number).name, check_reason(because)))

    def withdraw(self, number: int | str, because: str = WITHDRAWN) -> None:
        """End a question that this peer has asked."""
        name = self._study.question(number).name
        self._send(Withdraw(name, check_reason(because)))

    def disclosed(self, *, verify: bool = False) -> Sequence[Entry]:
        """Return everything that has ever left this machine; with ``verify``, check the record."""
        if verify:
            self._study.verify_disclosures()
        return self._study.disclosures()

    def _send(self, request: AnyRequest) -> Reply:
        """Let the peer carry out a request."""
        if not self._study.is_running:
            raise InputError(
                f"The peer in {self._study.home.folder} does not run: start it with pairgossip "
                "peer run."
            )
        reply = self._study.requests.wait(self._study.requests.write(request), _PATIENCE)
        if reply is None:
            raise InputError(
                f"The peer in {self._study.home.folder} has not taken this up for "
                f"{_PATIENCE:.0f} seconds: see peer status; the request stays there."
            )
        if not reply.is_done:
            raise InputError(reply.sentence)
        return reply


class Asked:
    """A question to all members of a study."""

    def __init__(self, study: StudyReading, number: int) -> None:
        self._study, self.number = study, number
        """The number by which this peer's folder knows it."""

    def __repr__(self) -> str:
        return f"Asked({self.number}: {self.state})"

    def _repr_html_(self) -> str:
        status = self.status
        facts = [("asked by", status.asked_by), ("state", self.state)]
        if status.yeses:
            facts.append(("yes by", ", ".join(status.yeses)))
        if status.value is not None:
            low, high = (None, None) if status.interval is None else status.interval
            ends = "" if low is None else f" ({low:.4g} to {high:.4g})"
            facts.append(("value", f"{status.value:.4g}{ends}"))
        leaves = map(Paragraph, () if status.is_over else status.leaves)
        return show(
            (Heading(f"Question {self.number}: {status.title}"), Facts(tuple(facts)), *leaves)
        )

    @property
    def status(self) -> QuestionStatus:
        """Its state: the members that said yes, those awaited, and what leaves this machine."""
        return self._study.question(self.number)

    @property
    def state(self) -> str:
        """The same in a few words."""
        return explain(self.status)

    @property
    def leaves(self) -> tuple[str, ...]:
        """Sentences on the numbers or rows that would leave this machine, or have left it."""
        return self.status.leaves

    def wait(self, timeout: float | None = None) -> Asked:
        """Return once all have signed the answer; raise `InputError` if there will be none, or if
        the peer was stopped meanwhile.

        Parameters
        ----------
        timeout
            Seconds after which to give up waiting; the question goes on.
        """
        status = self._study.wait(self.number, timeout)
        if not status.is_over:
            when = (
                "while this peer does not run" if timeout is None else f"after {timeout:g} seconds"
            )
            raise InputError(f"Question {self.number} is not answered {when}: {explain(status)}.")
        if not status.is_done:
            raise InputError(f"Question {self.number} has no answer: {explain(status)}.")
        return self

    @property
    def result(self) -> Result:
        """The figures that all members have signed."""
        return self._study.result(self.number).result

    @property
    def summary(self) -> Summary:
        """The counts from which it was read; other statistics of them need no further question."""
        return self._study.summary(self.number)

    def answer(self, reading: str | None = None, **more: Any) -> SummaryAnswer:
        """Return the statistic, or another one of the same counts, with its interval.

        More arguments are those of `Summary.answer`.
        """
        return self.summary.answer(more.pop("interval", 0.95), reading, **more)

    def roc(self, **more: Any) -> Roc:
        """Return the ROC curve of the counts; more arguments are those of `roc`."""
        from pairgossip.curves.reading import roc

        return roc(self.summary, **more)
