"""The kinds of question, and the parts of a site's work that depend on the kind.

A kind is chosen once, by the type of the question's specification. A new kind of question is a
class here; the policy, the words for the operator, the dry run and the counting only ask it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.specification.kinds import (
    CountsSpec,
    ModelSpec,
    NoisySpec,
    ReportsSpec,
    RowsSpec,
)
from pairgossip.peer.specification.tables import Stop
from pairgossip.study.protocol.records import MemberList, Question
from pairgossip.study.site.words import Asked, describe_reading, describe_sums, describe_travel
from pairgossip.study.storage.settings import Policy, StudySettings
from pairgossip.text import printable

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.peer.storage.rows import SiteRows
    from pairgossip.study.site.counting import Counted, Counting

_MOST_RATE = 1_000.0
"""Largest rate, in exchanges per second and link; a higher one could keep this machine busy."""
_ROWS = "Rows would leave this site as they are, so its operator decides."


class Offered(NamedTuple):
    """A question with all that the policy knows of it."""

    question: Question
    settings: StudySettings
    members: MemberList | None
    """The list at which it was asked; None if it is not known here."""


class Kind:
    """A kind of question whose numbers are sums."""

    def check(self, counting: Counting, one: Counted, rows: SiteRows) -> None:
        """Raise `InputError` for rows that must not be added."""

    def refuse(self, spec: Spec, offered: Offered) -> None:
        """Raise `InputError` for a question that the policy excludes."""

    def find_doubt(self, policy: Policy) -> str:
        """Return the reason why the operator decides in any case; empty if there is none."""
        return ""

    def fill_in(self, spec: Spec, least_cell: int) -> Spec:
        """Return a specification with the values that members' rules determine."""
        return spec

    def count_numbers(self, spec: Spec) -> int:
        """Return the largest number of numbers that a question asks of a member."""
        raise NotImplementedError

    def describe(self, asked: Asked) -> list[str]:
        """Describe what leaves this site, in words that are the same for any rows."""
        return describe_sums(asked)

    def describe_batch(self, one: Counted) -> str:
        """Say in a dry run what would happen to a batch."""
        return f"be shown as {one.piece.rows:,} rows"


class Table(Kind):
    """A statistic is read from one table of counts."""

    def check(self, counting: Counting, one: Counted, rows: SiteRows) -> None:
        """Raise `InputError` for rows that fill not every class, or that others know already."""
        counting.check_counts(one, rows)

    def refuse(self, spec: Spec, offered: Offered) -> None:
        """Refuse small counts, and a question of which no table could be made."""
        least, policy = spec.algorithm.least_cell or 1, offered.settings.policy
        if least > 1 and offered.members is not None and not offered.question.reads:
            _refuse_short_list(least, offered.members)
        if least < policy.least_cell:
            raise InputError(
                f"algorithm.least_cell is {spec.algorithm.least_cell}, and this site asks for "
                f"{policy.least_cell} or more."
            )

    def fill_in(self, spec: Spec, least_cell: int) -> Spec:
        """Return a specification with the least number of rows that members count."""
        own = spec.algorithm.least_cell
        if own is None:
            return replace(spec, algorithm=replace(spec.algorithm, least_cell=least_cell))
        if own != least_cell:
            raise InputError(
                f"algorithm.least_cell is {own}, and the members of this study count at least "
                f"{least_cell} rows: leave it out."
            )
        return spec

    def count_numbers(self, spec: Spec) -> int:
        """Return the number of counts."""
        from pairgossip.peer.sums.statistics import cells_of

        return cells_of(spec).words


class NoisyTable(Table):
    """A statistic is read from one table of counts to which members add noise."""

    def refuse(self, spec: Spec, offered: Offered) -> None:
        """Accept any counts: noise hides the small ones."""

    def fill_in(self, spec: Spec, least_cell: int) -> Spec:
        """Return the specification: all counts are shown."""
        return spec


class Model(Kind):
    """A model is learned from rounds of sums."""

    def check(self, counting: Counting, one: Counted, rows: SiteRows) -> None:
        """Raise `InputError` for rows whose totals would reveal too much about single ones."""
        counting.check_model(rows)

    def refuse(self, spec: Spec, offered: Offered) -> None:
        """Refuse a loss whose sums could locate a row."""
        from pairgossip.peer.sums.learning import margin_of

        if spec.loss not in offered.settings.policy.allow and not margin_of(spec).is_smooth:
            raise InputError(
                f"Sums of loss '{spec.loss}' could locate a row, and this site does not allow it."
            )

    def count_numbers(self, spec: Spec) -> int:
        """Return the largest number of sums, over all rounds."""
        from pairgossip.peer.sums.learning import most_words

        return most_words(spec) * (spec.algorithm.rounds or 1)


class Traveling(Kind):
    """Rows travel from member to member."""

    def refuse(self, spec: Spec, offered: Offered) -> None:
        """Refuse rows that do not travel from here, or not in a study."""
        question, settings = offered.question, offered.settings
        if settings.relay is not None:
            raise InputError("This site meets the others at a relay, and rows never travel by one.")
        if not settings.policy.exchange:
            raise InputError("Rows do not leave this site: ask with sums.")
        if spec.is_private:
            raise InputError("Reports of rows travel in a network of their own, in no study.")
        if spec.links is not None or spec.members is not None:
            raise InputError("links and members are for a network of its own: leave them out.")
        if spec.stop is None:
            raise InputError("Rows would travel without an end: give [stop].")
        if spec.algorithm.rate > _MOST_RATE:
            raise InputError(
                f"algorithm.rate is {spec.algorithm.rate:g}, and this site makes {_MOST_RATE:g} "
                "exchanges per second and link at most."
            )
        if not question.adds or question.reads or question.repeats is not None:
            raise InputError("A question whose rows travel reads no tables, and repeats none.")

    def find_doubt(self, policy: Policy) -> str:
        """Leave it to the operator, who may have said otherwise of rows by themselves."""
        return "" if policy.exchange == "by-policy" else _ROWS

    def fill_in(self, spec: Spec, least_cell: int) -> Spec:
        """Return a specification with an end."""
        if spec.stop is not None:
            return spec
        if spec.kernel is None:
            raise InputError(
                "Rows would travel without an end: give the exchanges of a member after which a "
                "model is learned, as in [stop] with exchanges = 5000."
            )
        return replace(spec, stop=Stop(enough=True))

    def count_numbers(self, spec: Spec) -> int:
        """Return 0: rows leave, and no numbers that are made of them."""
        return 0

    def describe(self, asked: Asked) -> list[str]:
        """Describe the rows that leave this site."""
        return describe_travel(asked)

    def describe_batch(self, one: Counted) -> str:
        """Say in a dry run what would happen to a batch."""
        return "leave this machine as it is, row by row"


_KINDS: dict[type[Spec], Kind] = {
    CountsSpec: Table(),
    NoisySpec: NoisyTable(),
    ModelSpec: Model(),
    RowsSpec: Traveling(),
    ReportsSpec: Traveling(),
}


def kind_of(spec: Spec) -> Kind:
    """Return the kind of question that a specification asks."""
    return _KINDS[type(spec)]


def describe_question(asked: Asked) -> list[str]:
    """Return sentences about what leaves this site for a question."""
    said = kind_of(asked.spec).describe(asked) if asked.question.adds else describe_reading(asked)
    # The asker chose the names of columns and classes: they must not change the meaning of the
    # rest.
    return [printable(one) for one in said]


def _refuse_short_list(least: int, members: MemberList) -> None:
    needed, count = members.least_members + 1, len(members.members)
    if count < needed:
        raise InputError(
            f"The list has {count} members, and where no count of fewer than {least} rows leaves a "
            f"site a table takes the rows of {needed}: let another member join, or found a study "
            "in which all say peer init --least-cell 1."
        )
