"""The kinds of run, each a type of specification with everything that depends on the kind.

Code for sums and privacy is imported only when such a run needs it, so that a device whose rows
travel needs little memory.
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
from pairgossip.peer.specification.keys import SUMS, refuse_with_noise
from pairgossip.peer.specification.tables import Privacy, SumsNoise

if TYPE_CHECKING:
    from pairgossip.counts.layouts import OrderQuestion
    from pairgossip.privacy import RandomizedResponse

_Kind = TypeVar("_Kind", bound=Spec)
_DEFAULT_ROUNDS = 100
"""Default of the largest number of sums that a model is learned from."""
_LEAST_CELL = 3
"""Default of the least number of rows to count in a block."""


def kind_of(table: Mapping[str, Any], algorithm: str | None) -> type[Spec]:
    """Return the kind of run of a specification, by its keys and algorithm."""
    if algorithm != SUMS:
        return RowsSpec if table.get("privacy") is None else ReportsSpec
    if table.get("kernel") is None:
        return ModelSpec
    return CountsSpec if table.get("noise") is None else NoisySpec


class RowsSpec(Spec, frozen=True):
    """Rows travel from member to member."""

    def check(self) -> None:
        """Raise `InputError` for values that a run of this kind cannot have."""
        check_measure(self)
        check_exchange(self)

    def complete(self) -> Spec:
        """Fill in defaults that depend on other keys."""
        if self.loss is not None or self.algorithm.mixing is not None:
            return super().complete()
        return replace(super().complete(), algorithm=replace(self.algorithm, mixing="weighted"))

    def leaves(self) -> list[str]:
        """Return sentences on what leaves a member's machine, and on what others learn."""
        from pairgossip.peer.specification.disclosure import describe_rows

        return describe_rows(self)


class ReportsSpec(RowsSpec, frozen=True, kw_only=True):
    """Reports of rows travel from member to member; each is drawn at random, once."""

    privacy: Privacy
    is_private: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `InputError` for values that a run of this kind cannot have."""
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
        """Return sentences on what leaves a member's machine, and on what others learn."""
        from pairgossip.peer.specification.disclosure import describe_reports

        return describe_reports(self)

    @property
    def guarantee(self) -> str:
        """The promise about every row, in one sentence."""
        return self.mechanism.guarantee()

    @property
    def mechanism(self) -> RandomizedResponse:
        """The randomized response for every row."""
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
        """The least and the largest value of each entry of a record, which are whole numbers."""
        return tuple((float(low), float(high)) for low, high in self.mechanism.report_limits)


class _SumsSpec(Spec, frozen=True):
    """Only sums over all members' rows become known."""

    is_sums: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `InputError` for values that a run of this kind cannot have."""
        from pairgossip.peer.specification.sums_checks import check_sums

        check_measure(self)
        check_sums(self)

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns whose values enter sums."""
        return self.columns

    @property
    def least_members(self) -> int:
        """The least number of members of a run; an operator may require more."""
        return max(LEAST_MEMBERS, self.least_sites)

    def check_rows(self, rows: FloatArray) -> None:
        """Raise `InputError` for rows that cannot be contributed; their columns are `measured`."""
        from pairgossip.peer.sums.labels import check_labels

        if self.label is not None:
            check_labels(self, rows[:, -1])
        super().check_rows(rows)


class CountsSpec(_SumsSpec, frozen=True):
    """A statistic is read from counts of rows in cells."""

    is_counted: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `InputError` for values that a run of this kind cannot have."""
        from pairgossip.peer.specification.sums_checks import check_statistic

        super().check()
        check_statistic(self)

    def check_protection(self) -> None:
        """Raise `InputError` for counts that reveal single rows."""
        from pairgossip.peer.specification.sums_checks import check_blocks

        check_blocks(self)

    def describe_protection(self) -> list[str]:
        """Describe the rule that keeps counts from revealing single rows."""
        from pairgossip.peer.specification.disclosure import describe_blocks

        return describe_blocks(self)

    def with_defaults(self) -> Spec:
        """Count rows in blocks by default; version 0.2 counted cells as they are."""
        least = self.algorithm.least_cell
        least = _LEAST_CELL if least is None else least
        return replace(self, algorithm=replace(self.algorithm, least_cell=least))

    def leaves(self) -> list[str]:
        """Return sentences on what leaves a member's machine, and on what others learn."""
        from pairgossip.peer.specification.disclosure import describe_counts

        return describe_counts(self)

    @property
    def least_sites(self) -> int:
        """The least number of members that count rows in blocks; 0 without blocks."""
        return LEAST_SITES if (self.algorithm.least_cell or 1) > 1 else 0

    def with_blocks(self, least_cell: int) -> CountsSpec:
        """Return the same run without noise, in blocks of this least number of rows."""
        algorithm = replace(self.algorithm, least_cell=least_cell)
        return self._as_kind(CountsSpec, algorithm=algorithm, noise=None)

    def with_noise(self, noise: SumsNoise) -> NoisySpec:
        """Return the same run with noise, and without a report, which needs exact counts."""
        algorithm = replace(self.algorithm, least_cell=None)
        plain = {"algorithm": algorithm, "report": None, "thresholds": None}
        return self._as_kind(NoisySpec, noise=noise, **plain)

    def _as_kind(self, kind: type[_Kind], **changes: Any) -> _Kind:
        return kind(**{**{name: getattr(self, name) for name in self.__struct_fields__}, **changes})

    @property
    def question(self) -> OrderQuestion | None:
        """The order statistic to read from sums; None for a kernel."""
        from pairgossip.counts.layouts import find_order_question

        return find_order_question(str(self.kernel))

    @property
    def measure(self) -> Kernel | Combination | Loss | GeneralLoss:
        """The kernel itself, or a kernel with the columns of the order statistic."""
        return as_kernel(self.kernel) if self.question is None else self.question.column_model

    @property
    def _name(self) -> str:
        return (self.question or as_kernel(self.kernel)).name


class NoisySpec(CountsSpec, frozen=True, kw_only=True):
    """A statistic is read from counts to which members add noise."""

    noise: SumsNoise
    has_noise: ClassVar[bool] = True

    @property
    def epsilon(self) -> float:
        """The epsilon that noise on counts spends."""
        return self.noise.epsilon

    def check_protection(self) -> None:
        """Raise `InputError` for an invalid epsilon, and for keys or cells that noise excludes."""
        from pairgossip.peer.specification.sums_checks import check_noise

        refuse_with_noise(self)
        check_noise(self)

    def describe_protection(self) -> list[str]:
        """Describe the noise that keeps counts from revealing single rows."""
        from pairgossip.peer.specification.disclosure import describe_noise

        return describe_noise(self)

    def with_defaults(self) -> Spec:
        """Keep cells instead of blocks, as noise hides the rows in them."""
        return self


class ModelSpec(_SumsSpec, frozen=True):
    """A model is learned from sums over rows."""

    def check(self) -> None:
        """Raise `InputError` for values that a run of this kind cannot have."""
        from pairgossip.peer.specification.sums_checks import check_loss

        super().check()
        check_loss(self)

    def complete(self) -> Spec:
        """Fill in defaults that depend on other keys."""
        rounds = self.algorithm.rounds or _DEFAULT_ROUNDS
        return replace(super().complete(), algorithm=replace(self.algorithm, rounds=rounds))

    def leaves(self) -> list[str]:
        """Return sentences on what leaves a member's machine, and on what others learn."""
        from pairgossip.peer.specification.disclosure import describe_model

        return describe_model(self)
