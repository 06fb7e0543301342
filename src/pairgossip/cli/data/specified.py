"""Run specifications in place of options, for a simulation of their peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pairgossip.checks import REFUSE, UNIFORM_EDGES
from pairgossip.cli.console import tell
from pairgossip.cli.data.observations import Observations
from pairgossip.cli.data.row_options import RowOptions
from pairgossip.cli.data.site_tables import name_sites, read_each, repeat_sites
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from pairgossip.peer.specification.spec import Spec
    from pairgossip.privacy import RandomizedResponse

    Options = TypeVar("Options", bound=DataclassInstance)


class Specified(NamedTuple):
    """A run specification and its file."""

    path: Path
    spec: Spec

    @classmethod
    def read(cls, path: Path, law: str, *, learns: bool) -> Specified:
        """Read a specification of a loss or a kernel; refuse another law than that of peers."""
        from pairgossip.peer.specification.spec import read_spec

        spec = read_spec(path)
        if canonical(law) != UNIFORM_EDGES:
            raise InputError(
                f"{path} is for peers, which use all links equally often: leave --law out, or run "
                "without --spec."
            )
        if spec.links is not None:
            raise InputError(
                f"{path} has links by the names of members, and a simulation has nodes without: "
                "leave links out of it here, and give the law to pg.estimate."
            )
        if (spec.loss is not None) != learns:
            kind = "a kernel, which is estimated, not learned: use pairgossip estimate."
            other = "a loss, which is learned, not estimated: use pairgossip train."
            raise InputError(f"{path} has {kind if learns else other}")
        return cls(path, spec)

    @property
    def privacy(self) -> RandomizedResponse | None:
        """The mechanism that randomizes rows; None if they are used as they are."""
        return self.spec.mechanism

    def fill_in(self, options: Options, **said: Any) -> Options:
        """Fill options in from the specification; refuse those that contradict it."""
        for name, value in said.items():
            typed = getattr(options, name)
            if typed is not None and not _is_same(name, typed, value):
                agreed = f"no --{name}" if value is None else f"--{name} {_format_option(value)}"
                raise InputError(
                    f"{self.path} asks for {agreed}, not for {_format_option(typed)}: leave "
                    f"--{name} out, or change the specification."
                )
        return replace(options, **said)

    def observations(self, files: Sequence[Path], options: RowOptions) -> Observations:
        """Read the rows of all members, checked as each member checks its own.

        They are in one file, or each member's in a file of its own.
        """
        import numpy as np

        from pairgossip.peer.storage.rows import read_site_rows

        spec = self.spec
        if canonical(options.missing) != REFUSE:
            raise InputError(
                f"{self.path} is for peers, which take complete rows only: leave --missing out, "
                "or run without --spec."
            )
        for name in options.factors:
            raise InputError(
                f"{self.path} is for peers, for which all pairs count alike: leave {{argument}} "
                "out, or run without --spec.",
                name,
            )
        self.fill_in(options, classes=None if spec.classes is None else ",".join(spec.classes))
        sites = name_sites(files)
        parts = read_each(files, lambda file: read_site_rows(file, spec).matrix)
        rows = np.concatenate(parts)
        if spec.members is not None and len(rows) != spec.members:
            whose = f"{files[0]} has" if len(files) == 1 else f"the {len(files)} files have"
            raise InputError(
                f"{self.path} says members = {spec.members}, but {whose} {len(rows)} rows: "
                "give the rows of all members, or change the specification."
            )
        if len(files) > 1:
            tell(self._describe())
        features = len(spec.columns)
        return Observations(
            spec.columns,
            rows[:, :features],
            None if spec.label is None else rows[:, features],
            spec.label,
            groups=repeat_sites(sites, parts),
            classes=spec.classes,
        )

    def _describe(self) -> str:
        """List what is taken from the specification, if its members are simulated as sites."""
        spec = self.spec
        parts = [
            f"{'loss' if spec.kernel is None else 'kernel'} {spec.kernel or spec.loss}",
            f"columns {', '.join(spec.observed)}",
            *([] if spec.classes is None else [f"classes {' < '.join(spec.classes)}"]),
            "their ranges",
            *([f"epsilon {self.privacy.epsilon:g}"] if self.privacy else []),
            "and how peers average" if spec.kernel else "and how peers learn",
        ]
        return (
            f"Taken from {self.path}: {', '.join(parts)}. Each file is a member; who talks to whom "
            "and for how long are options, and links are used more often the more rows they join."
        )


@dataclass(frozen=True)
class StepOfPeers:
    """A specification's step size, as a function of the simulator's time.

    Peers count time in exchanges per link, the simulator in exchanges of the whole network, which
    are more by a factor of the number of edges. So the step is (step / sqrt(edges)) / sqrt(t). It
    is constant until each link has had one exchange on average, because peers count times below 1
    as 1.
    """

    step: float
    edges: int

    def __call__(self, t: Any) -> Any:
        """Return the step size at a time, or at every time of an array."""
        from pairgossip.losses import inverse_sqrt

        return inverse_sqrt(self.step)(t / self.edges) / self.edges


def _is_same(name: str, typed: Any, said: Any) -> bool:
    if name == "classes" and typed is not None and said is not None:
        return [part.strip() for part in typed.split(",")] == said.split(",")
    if name == "column":
        return said in (typed, [part.strip() for names in typed for part in names.split(",")])
    if isinstance(typed, str) and name != "label":
        typed = canonical(typed)
    return bool(typed == said)


def _format_option(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
