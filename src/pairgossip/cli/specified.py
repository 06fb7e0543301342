"""Commands driven by a run specification: the file that peers agree on, run in the simulator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from pairgossip.cli.observations import Observations
    from pairgossip.peer.spec import Spec
    from pairgossip.privacy import RandomizedResponse

    Options = TypeVar("Options", bound=DataclassInstance)

METHODS = {"weighted": "weighted-gosta", "paper": "gosta"}
"""By what a specification calls mixing."""
LAW = "uniform-edges"
"""All links of a network of peers ring alike."""


class Specified(NamedTuple):
    """A run specification and the file it was read from."""

    path: Path
    spec: Spec

    @classmethod
    def read(cls, path: Path, law: str) -> Specified:
        """Read a specification; refuse to run it by a law under which links do not ring alike."""
        from pairgossip.peer.spec import read_spec

        spec = read_spec(path)
        if canonical(law) != LAW:
            raise InputError(
                f"{path} is for peers, whose links all ring alike: leave --law out, or run "
                "without --spec."
            )
        return cls(path, spec)

    @property
    def privacy(self) -> RandomizedResponse | None:
        """The mechanism by which rows are reported, None if they are used as they are."""
        from pairgossip.peer.reports import mechanism_of

        return None if self.spec.privacy is None else mechanism_of(self.spec)

    def settled(self, options: Options, **said: Any) -> Options:
        """Fill options in with what the specification says; refuse those that say otherwise."""
        for name, value in said.items():
            given = getattr(options, name)
            if given is not None and not _is_same(name, given, value):
                wanted = f"no --{name}" if value is None else f"--{name} {_spelled(value)}"
                raise InputError(
                    f"{self.path} asks for {wanted}, not for {_spelled(given)}: leave --{name} "
                    "out, or change the specification."
                )
        return replace(options, **said)

    def observations(self, file: Path) -> Observations:
        """Read the rows of all members from one file, checked as each member checks its own."""
        import numpy as np

        from pairgossip.cli.observations import Observations
        from pairgossip.peer.rows import read_rows

        spec = self.spec
        rows = np.array(read_rows(file, spec))
        if spec.members is not None and len(rows) != spec.members:
            raise InputError(
                f"{self.path} says members = {spec.members}, but {file} has {len(rows)} rows: "
                "give the rows of all members, or change the specification."
            )
        features = len(spec.columns)
        labels = None if spec.label is None else rows[:, features]
        return Observations(spec.columns, rows[:, :features], labels, spec.label)


@dataclass(frozen=True)
class StepOfPeers:
    """A specification's step size, as a function of the simulator's time.

    Peers count time in rings per link, the simulator in exchanges of the whole network, of which
    there are as many more as there are edges. So this is (step / sqrt(edges)) / sqrt(t); only
    while the links have not rung once on average it is constant, as peers' times below 1 count
    as 1.
    """

    step: float
    edges: int

    def __call__(self, t: Any) -> Any:
        """Return the step size at a time, or at every time of an array."""
        from pairgossip.losses import inverse_sqrt

        return inverse_sqrt(self.step)(t / self.edges) / self.edges


def _is_same(name: str, given: Any, said: Any) -> bool:
    if name == "column":
        return said in (given, [part.strip() for names in given for part in names.split(",")])
    if isinstance(given, str) and name != "label":
        given = canonical(given)
    return bool(given == said)


def _spelled(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
