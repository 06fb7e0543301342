"""The plan of a swarm that is a study: its questions, its members, and the rows dealt to them."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pairgossip.errors import InputError
from pairgossip.files import write_text
from pairgossip.peer.reports.catalog import has_statistic
from pairgossip.peer.specification.agreement import Spec
from pairgossip.peer.specification.canonical_text import decode_spec
from pairgossip.peer.specification.keys import SUMS
from pairgossip.peer.storage.rows import read_site_rows
from pairgossip.study.protocol.records import MOST_MEMBERS, Piece, Question
from pairgossip.study.service.asking import fill_in, parse_question
from pairgossip.study.service.reporter import title_of
from pairgossip.study.site.layouts import find_scores, layout_of, read_text
from pairgossip.study.site.offers import Entry
from pairgossip.study.site.policy import judge
from pairgossip.study.storage.folder import StudyHome, create_study
from pairgossip.study.storage.settings import StudySettings, make_settings
from pairgossip.swarm.chaos import Link
from pairgossip.swarm.plan import deal, name_peers
from pairgossip.swarm.study_crew import StudyCrew
from pairgossip.tables import Table

if TYPE_CHECKING:
    from pairgossip.swarm.running import Place, SwarmOptions

_LEAST_CELL = 3
"""Default of the least number of rows in a count."""
_NOBODY = bytes(32)
"""A digest for questions that are only tried."""


class Planned(NamedTuple):
    """A question that the swarm asks."""

    text: str
    """The canonical text of its specification."""
    scores: frozenset[str]
    """The columns that it counts, which no other open question may count."""

    @property
    def spec(self) -> Spec:
        """The specification."""
        return read_text(self.text)

    @property
    def title(self) -> str:
        """A description in words."""
        return title_of(self.text)


@dataclass(frozen=True)
class StudyPlan:
    """All facts about such a swarm, except its place and its length."""

    algorithm: ClassVar[str] = SUMS
    questions: tuple[Planned, ...]
    names: tuple[str, ...]
    """The names of all members; those that join later come last."""
    header: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]
    """The rows of each member, as text."""
    settings: dict[str, Any]
    """The settings of every member, which allow these questions without its operator."""
    joins: int = 0
    leaves: int = 0

    @property
    def founders(self) -> int:
        """The number of founders."""
        return len(self.names) - self.joins

    @property
    def links(self) -> list[Link]:
        """All pairs of members: each talks to every other."""
        return list(itertools.combinations(range(len(self.names)), 2))

    @property
    def measure(self) -> str:
        """All questions, in words."""
        return "; ".join(one.title for one in self.questions)

    @property
    def has_exact(self) -> bool:
        """Whether there is a value to compare an answer with."""
        return any(one.spec.kernel and has_statistic(one.spec) for one in self.questions)

    def describe(self) -> dict[str, Any]:
        """Return its part of the manifest."""
        return {"measure": self.measure, "is_study": True}

    def found(self, place: Place, options: SwarmOptions) -> StudyCrew:
        """Make the folders of the founders, who have accepted each other."""
        span = 0.0 if options.faults is None else options.faults.window
        return StudyCrew(self, place, options.power_safe, span)

    def create_member(
        self, number: int, folder: Path, listen: str, *, power_safe: bool
    ) -> StudyHome:
        """Make the folder of a member, with its key and its rows."""
        name = self.names[number]
        source, text = folder / f"{name}.csv", io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows[number]])
        source.touch(mode=0o600)
        write_text(source, [text.getvalue()])
        given = {**self.settings, "power_safe": power_safe}
        return create_study(folder / name, name, source, listen, **given)


def plan_study(
    texts: Sequence[tuple[str, str]],
    table: Table,
    peers: int,
    seed: int,
    *,
    joins: int = 0,
    leaves: int = 0,
) -> StudyPlan:
    """Deal rows to members, and check that they would answer the questions, one after the other.

    ``texts`` are specifications as TOML, each with its name in messages.
    """
    files = [file for file, _ in texts]
    asked = [_parse(*one) for one in texts]
    given = (decode_spec(text).algorithm.least_cell for text in asked)
    least = next((one for one in given if one is not None), _LEAST_CELL)
    filled = [_at(file, fill_in, text, least) for file, text in zip(files, asked, strict=True)]
    specs = [read_text(text) for text in filled]
    _refuse_few(specs, peers, joins, leaves)
    named = {name for spec in specs for name in spec.observed}
    for file, spec in zip(files, specs, strict=True):
        _at(file, table.refuse_unknown, sorted(spec.observed))
    header = tuple(name for name in table.header if name in named)
    complete = table.without(table.gaps(header))
    for file, spec in zip(files, specs, strict=True):
        _at(file, read_site_rows, table.path, spec, table=complete)
    order = deal(len(complete), peers + joins, seed)
    rows = list(zip(*(complete.text(name) for name in header), strict=True))
    settings = _settings_for(specs, header, least)
    questions = tuple(_try_out(filled, files, settings))
    dealt = tuple(tuple(rows[row] for row in own) for own in order)
    names = name_peers(peers + joins)
    return StudyPlan(questions, names, header, dealt, settings, joins, leaves)


def _parse(file: str, toml: str) -> str:
    return _at(file, parse_question, toml)


def _at(file: str, do: Any, *given: Any, **more: Any) -> Any:
    """Return the result of work on a file, whose name errors get."""
    try:
        return do(*given, **more)
    except InputError as problem:
        raise (problem if problem.place else problem.at(file)) from None


def _refuse_few(specs: Sequence[Spec], peers: int, joins: int, leaves: int) -> None:
    """Refuse a study that would not answer, or would not after some members have left."""
    for what, number in (("join", joins), ("leave", leaves)):
        if number < 0:
            raise InputError(f"{number} peers cannot {what}: give 0 or more.")
    least = max(spec.least_members for spec in specs)
    if peers + joins > MOST_MEMBERS:
        raise InputError(f"A study has at most {MOST_MEMBERS} members, not {peers + joins}.")
    if peers < least:
        raise InputError(
            f"Peers contribute to sums over {least} members or more, not {peers}: use more "
            'peers, or let rows travel with algorithm.name = "exchange".'
        )
    if peers - leaves < least:
        raise InputError(
            f"{leaves} of {peers} peers are to leave, and sums are over {least} members or more "
            "whose rows were there from the beginning: use more peers, or let fewer leave."
        )


def _settings_for(specs: Sequence[Spec], header: Sequence[str], least_cell: int) -> dict[str, Any]:
    """Return settings that allow all of this; the rows are on one machine, so few are enough."""
    ranges = [(name, spec.ranges[name]) for spec in specs for name in spec.columns]
    epsilon = sum(spec.noise.epsilon for spec in specs if spec.noise is not None)
    return {
        "rehearsal": True,
        "declared": tuple(header),
        "ranges": dict(reversed(ranges)),
        "policy": {
            "accept": "by-policy",
            "least_rows": 1,
            "least_cell": least_cell,
            "most_columns": max(len(header), 1),
            "epsilon": epsilon or None,
            "allow": tuple(sorted({spec.loss for spec in specs if spec.loss is not None})),
        },
    }


def _try_out(
    texts: Sequence[str], files: Sequence[str], settings: dict[str, Any]
) -> Iterator[Planned]:
    """Yield the questions, judged as by a member that has answered the earlier ones."""
    allowed = make_settings(name="peer", source="/", **settings)
    before: list[Entry] = []
    for number, (file, text) in enumerate(zip(files, texts, strict=True), 1):
        adds = layout_of(text) not in {one.layout for one in before}
        question = Question(
            member="peer", list=_NOBODY, number=number, text=text, expires=0, adds=adds
        )
        declared = frozenset(settings["declared"])
        entry = _accept(question, number, allowed)
        for other, one in zip(files, before, strict=False):
            if (shared := one.scores & entry.scores) and one.layout != entry.layout:
                raise InputError(
                    f"{file}: column '{min(shared)}' is counted for {other}, too, in other cells, "
                    "classes or groups, or beside others. A study counts it once: leave one out."
                )
        verdict = judge(question, allowed, None, declared, before, me="peer")
        if verdict.answer == "no":
            raise InputError(f"{file}: {verdict.because}")
        before.append(entry)
        yield Planned(text, entry.scores)


def _accept(question: Question, number: int, settings: StudySettings) -> Entry:
    """Return a member's records of a question that it has answered."""
    return Entry(
        question=number.to_bytes(32, "big"),
        asker=question.member,
        text=question.text,
        state="answered",
        pieces=(Piece(1, 1),),
        scores=find_scores(read_text(question.text), settings),
        layout=layout_of(question.text),
        disclosure=_NOBODY,
        commitment=_NOBODY,
        salt=_NOBODY,
    )
