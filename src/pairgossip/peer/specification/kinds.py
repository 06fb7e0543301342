"""The kinds of run, each a type of specification, which answers what depends on the kind.

Nothing of sums or of privacy is loaded before a run of that kind is asked, so that a device whose
rows travel holds little in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from msgspec.structs import replace

from pairgossip.arrays import FloatArray
from pairgossip.kernels import Combination, Kernel, as_kernel
from pairgossip.losses import GeneralLoss, Loss
from pairgossip.peer.protocol.program import LEAST_MEMBERS, LEAST_SITES
from pairgossip.peer.specification.agreement import Spec
from pairgossip.peer.specification.checks import (
    check_exchange,
    check_measure,
    check_privacy,
)
from pairgossip.peer.specification.keys import SUMS, refuse_beside_noise
from pairgossip.peer.specification.tables import Privacy, SumsNoise

if TYPE_CHECKING:
    from pairgossip.counts.layouts import OrderQuestion
    from pairgossip.privacy import RandomizedResponse

_Kind = TypeVar("_Kind", bound=Spec)
_DEFAULT_ROUNDS = 100
"""Largest number of sums that a model is learned from, if the file does not say."""
_LEAST_CELL = 3
"""Least number of rows that is counted if the file does not say."""


def kind_of(table: Mapping[str, Any], algorithm: str | None) -> type[Spec]:
    """Return the kind of run that the keys of a specification ask for."""
    if algorithm != SUMS:
        return RowsSpec if table.get("privacy") is None else ReportsSpec
    if table.get("kernel") is None:
        return ModelSpec
    return CountsSpec if table.get("noise") is None else NoisySpec


class RowsSpec(Spec, frozen=True):
    """Rows travel from member to member."""

    def check(self) -> None:
        """Raise `InputError` for values that make no run of this kind."""
        check_measure(self)
        check_exchange(self)

    def complete(self) -> Spec:
        """Fill in defaults that depend on other keys."""
        if self.loss is not None or self.algorithm.mixing is not None:
            return super().complete()
        return replace(super().complete(), algorithm=replace(self.algorithm, mixing="weighted"))

    def leaves(self) -> list[str]:
        """Say in sentences what a run sends from a member's machine, and what others learn."""
        from pairgossip.peer.specification.disclosure import describe_rows

        return describe_rows(self)


class ReportsSpec(RowsSpec, frozen=True, kw_only=True):
    """Reports of rows travel from member to member, each drawn at random once."""

    privacy: Privacy
    is_private: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `InputError` for values that make no run of this kind."""
        super().check()
        check_privacy(self)

    def complete(self) -> Spec:
        """Fill in defaults that depend on other keys."""
        bins, classes, together = self.privacy.bins, self.privacy.classes, self.privacy.together
        if self.classes is not None:
            classes = tuple(map(float, range(len(self.classes))))
        if together is None:
            together = classes is not None
        privacy = replace(
            self.privacy,
            bins=(bins,) * len(self.columns) if isinstance(bins, int) else bins,
            classes=classes,
            together=together or len(self.observed) == 1,
        )
        return replace(super().complete(), privacy=privacy)

    def leaves(self) -> list[str]:
        """Say in sentences what a run sends from a member's machine, and what others learn."""
        from pairgossip.peer.specification.disclosure import describe_reports

        return describe_reports(self)

    @property
    def guarantee(self) -> str:
        """What is promised about every row, in one sentence."""
        return self.mechanism.guarantee()

    @property
    def mechanism(self) -> RandomizedResponse:
        """How every row is reported."""
        from pairgossip.peer.specification.mechanism import mechanism_of

        return mechanism_of(self)

    @property
    def reported_classes(self) -> tuple[float, ...] | None:
        """The values of the label that reports may have."""
        return self.privacy.classes

    @property
    def debiased(self) -> Any:
        """The kernel or the loss as a function of reports."""
        from pairgossip.peer.specification.mechanism import debias_measure

        return debias_measure(self)

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Between which numbers the entries of a record lie: whole numbers, one for each column."""
        return tuple((float(low), float(high)) for low, high in self.mechanism.report_limits)


class _SumsSpec(Spec, frozen=True):
    """Nothing but sums over all members' rows becomes known."""

    is_sums: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `InputError` for values that make no run of this kind."""
        from pairgossip.peer.specification.sums_checks import check_sums

        check_measure(self)
        check_sums(self)

    @property
    def least_members(self) -> int:
        """Among how many members at least anybody contributes; operators may ask for more."""
        return max(LEAST_MEMBERS, self.least_sites)

    def check_rows(self, rows: FloatArray) -> None:
        """Raise `InputError` for rows, as measured, that cannot be contributed."""
        from pairgossip.peer.sums.labels import check_labels

        if self.label is not None:
            check_labels(self, rows[:, -1])
        super().check_rows(rows)


class CountsSpec(_SumsSpec, frozen=True):
    """A statistic is read from counts of rows in cells."""

    def check(self) -> None:
        """Raise `InputError` for values that make no run of this kind."""
        from pairgossip.peer.specification.sums_checks import check_statistic

        super().check()
        check_statistic(self)

    def check_protection(self) -> None:
        """Raise `InputError` for counts that tell about single rows."""
        from pairgossip.peer.specification.sums_checks import check_blocks

        check_blocks(self)

    def describe_protection(self) -> list[str]:
        """Say how counts are kept from telling about single rows."""
        from pairgossip.peer.specification.disclosure import describe_blocks

        return describe_blocks(self)

    def with_defaults(self) -> Spec:
        """Count blocks unless the file says otherwise; version 0.2 counted cells as they are."""
        least = self.algorithm.least_cell
        least = _LEAST_CELL if least is None else least
        return replace(self, algorithm=replace(self.algorithm, least_cell=least))

    def leaves(self) -> list[str]:
        """Say in sentences what a run sends from a member's machine, and what others learn."""
        from pairgossip.peer.specification.disclosure import describe_counts

        return describe_counts(self)

    @property
    def least_sites(self) -> int:
        """Among how many members at least rows are counted in blocks; 0 without blocks."""
        return LEAST_SITES if (self.algorithm.least_cell or 1) > 1 else 0

    def with_blocks(self, least_cell: int) -> CountsSpec:
        """Return the same without noise, with at least so many rows in a block."""
        algorithm = replace(self.algorithm, least_cell=least_cell)
        return self._as_kind(CountsSpec, algorithm=algorithm, noise=None)

    def with_noise(self, noise: SumsNoise) -> NoisySpec:
        """Return the same with noise, which takes fewer cells than a report."""
        algorithm = replace(self.algorithm, least_cell=None)
        plain = {"algorithm": algorithm, "report": None, "thresholds": None}
        return self._as_kind(NoisySpec, noise=noise, **plain)

    def _as_kind(self, kind: type[_Kind], **changes: Any) -> _Kind:
        return kind(**{**{name: getattr(self, name) for name in self.__struct_fields__}, **changes})

    @property
    def question(self) -> OrderQuestion | None:
        """The statistic of order that sums are asked for; None for a kernel."""
        from pairgossip.counts.layouts import find_order_question

        return find_order_question(str(self.kernel))

    @property
    def measure(self) -> Kernel | Combination | Loss | GeneralLoss:
        """The kernel itself, or the model of the columns of a statistic of order."""
        return as_kernel(self.kernel) if self.question is None else self.question.column_model

    @property
    def _name(self) -> str:
        return (self.question or as_kernel(self.kernel)).name


class NoisySpec(CountsSpec, frozen=True, kw_only=True):
    """A statistic is read from counts to which members add noise."""

    noise: SumsNoise
    has_noise: ClassVar[bool] = True

    def check_protection(self) -> None:
        """Raise `InputError` for noise that hides nothing, or goes with nothing else."""
        from pairgossip.peer.specification.sums_checks import check_noise

        refuse_beside_noise(self)
        check_noise(self)

    def describe_protection(self) -> list[str]:
        """Say how noise keeps counts from telling about single rows."""
        from pairgossip.peer.specification.disclosure import describe_noise

        return describe_noise(self)

    def with_defaults(self) -> Spec:
        """Cells are counted as they are, but for the noise."""
        return self


class ModelSpec(_SumsSpec, frozen=True):
    """A model is learned from sums over rows."""

    def check(self) -> None:
        """Raise `InputError` for values that make no run of this kind."""
        from pairgossip.peer.specification.sums_checks import check_loss

        super().check()
        check_loss(self)

    def complete(self) -> Spec:
        """Fill in defaults that depend on other keys."""
        rounds = self.algorithm.rounds or _DEFAULT_ROUNDS
        return replace(super().complete(), algorithm=replace(self.algorithm, rounds=rounds))

    def leaves(self) -> list[str]:
        """Say in sentences what a run sends from a member's machine, and what others learn."""
        from pairgossip.peer.specification.disclosure import describe_model

        return describe_model(self)
