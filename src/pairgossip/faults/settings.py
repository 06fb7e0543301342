"""The settings of faults, and their text for command line, page and files.

In "loss=0.01, churn=100/10, crashed=[3, 5@20], liars=7" the parts are as in `Faults`: 7 is a number
of nodes, [3, 5] is a list of nodes, and a time follows "@".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Self

from pairgossip.checks import is_number, whole
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.faults.attacks import ATTACKS

_SHORTEST_STAY = 1e-3
"""The least mean time of presence or absence; shorter ones would make the simulation slow."""


@dataclass(frozen=True)
class Churn:
    """Nodes that come and go, each independently; a node that is away keeps its state.

    Parameters
    ----------
    up, down
        The mean times for which a node stays and is away, at least 0.001, in units of time in
        which the network makes n exchanges; both times are exponential.
    """

    up: float
    down: float

    def __post_init__(self) -> None:
        for name in ("up", "down"):
            value = _check_number(f"{name} of churn", getattr(self, name), _SHORTEST_STAY)
            object.__setattr__(self, name, value)

    @property
    def share_up(self) -> float:
        """The share of the time for which a node is present."""
        return self.up / (self.up + self.down)

    def __str__(self) -> str:
        return f"{_write(self.up)}/{_write(self.down)}"


_BETWEEN_PARTS = re.compile(r",(?![^\[]*\])")
"""Commas that are not between brackets."""
Nodes = int | Sequence[int]
"""The number of nodes, which are then drawn, or the numbers of the nodes."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The faults of a run.

    One unit of time has n exchanges. Where rows are held at sites, nodes are sites, and exchanges
    between the rows of one site need no message: only a crash ends them. Nodes that crash or lie
    and are not named are drawn by the seed, once for all trials: differences between trials do not
    show how much depends on this draw.

    Parameters
    ----------
    loss
        The probability that an exchange does not take place, as its first message is lost.
    half_loss
        The probability that only one of the two nodes, either equally likely, carries out an
        exchange, as the answer to the other is lost. This duplicates and loses observations.
    delay
        The duration of an exchange. Meanwhile both nodes are busy, like peers that must not make
        two exchanges at once, and an exchange that rings for either of them does not take place.
    churn
        A `Churn`: nodes come and go. On the synchronous clock a node that is away continues to
        compute with the observation it holds.
    crashed
        Nodes that stop for good: the number of nodes, or a list of nodes, or a mapping from nodes
        to crash times. Their state is lost with them, so that the others never converge to the
        statistic of all rows.
    liars
        Nodes that send lies instead of their values: the number of nodes, or a list of nodes.
    attack
        The lies: "constant", "sign", "inside-the-clip", "dissensus", or a function
        ``attack(z, liar, partner, clip, network)`` like those of ``pairgossip.faults.attacks``.
        The first two change one part of a ratio, and all features of a sketch alike: they hardly
        move statistics of proportions of features, such as an AUC or ranks by bins.
    lie
        The number that a "constant" attack sends; by default ten times the numbers that nodes
        average.

    Examples
    --------
    >>> print(Faults(loss=0.01, liars=7, churn=Churn(up=100, down=10)))
    loss=0.01, churn=100/10, liars=7
    """

    loss: float = 0.0
    half_loss: float = 0.0
    delay: float = 0.0
    churn: Churn | None = None
    crashed: Nodes | Mapping[int, float] = 0
    liars: Nodes = 0
    attack: str | Callable[..., Any] = "constant"
    lie: float | None = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "loss": _check_number("loss", self.loss, 0.0, below=1.0),
            "half_loss": _check_number("half_loss", self.half_loss, 0.0, below=1.0),
            "delay": _check_number("delay", self.delay, 0.0),
            "lie": None if self.lie is None else _check_number("lie", self.lie),
            "crashed": _check_crash_times(self.crashed),
            "liars": _check_nodes("liars", self.liars),
        }
        if self.churn is not None and not isinstance(self.churn, Churn):
            raise _refuse(
                f"churn must be pg.Churn(up=, down=), as text up/down, not {self.churn!r}"
            )
        if not callable(self.attack):
            checked["attack"] = canonical(str(self.attack))
            if checked["attack"] not in ATTACKS:
                raise unknown_name("attack", str(self.attack), ATTACKS)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read faults from the text that ``str`` writes."""
        given: dict[str, Any] = {}
        names = [field.name for field in fields(cls)]
        for part in filter(None, map(str.strip, _BETWEEN_PARTS.split(text))):
            name, _, value = map(str.strip, part.partition("="))
            key = canonical(name).replace("-", "_")
            if key not in names:
                raise unknown_name("fault", name, names)
            if not value:
                raise _refuse(f"'{name}' has no value: write {name}=…")
            if key in given:
                raise _refuse(f"'{name}' is given twice")
            given[key] = _read(value)
        return cls(**given)

    @classmethod
    def check(cls, value: Any) -> Faults | None:
        """Return faults from a `Faults` or a text; None where there are no faults."""
        try:
            faults = cls.from_text(value) if isinstance(value, str) else value
            if faults is not None and not isinstance(faults, Faults):
                raise _refuse(f"give pg.Faults(...), or a text such as 'loss=0.01', not {value!r}")
            if isinstance(value, str) and str(faults) and not faults:
                raise _refuse("nobody lies: write liars=… too, or leave attack and lie out")
        except InputError as problem:
            problem.subject = "faults"  # for the page to mark
            raise
        return faults or None

    def __bool__(self) -> bool:
        return self.filters or self.spoils

    @property
    def filters(self) -> bool:
        """Whether some exchanges do not take place."""
        return bool(self.loss or self.delay or self.churn is not None or self.crashed)

    @property
    def spoils(self) -> bool:
        """Whether some exchanges that take place go wrong: half lost, or with a liar."""
        return bool(self.half_loss or self.liars)

    @property
    def attack_name(self) -> str:
        """The name of the attack."""
        if isinstance(self.attack, str):
            return self.attack
        return str(getattr(self.attack, "__name__", type(self.attack).__name__))

    def __str__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: values[name] for name in values if values[name] != getattr(Faults, name)}
        if "attack" in changed:
            changed["attack"] = self.attack_name
        return ", ".join(f"{name}={_write(value)}" for name, value in changed.items())


def _refuse(why: str) -> InputError:
    """Build the error for faults that are not possible."""
    return InputError(f"In the faults, {why}.")


def _check_number(
    name: str, value: Any, least: float = -math.inf, *, below: float = math.inf
) -> float:
    """Return a finite number within limits."""
    if is_number(value) and math.isfinite(value) and least <= value < below:
        return float(value)
    limits = "" if least == -math.inf else f" >= {least:g}"
    what = "finite number" if below == math.inf else "probability"
    limits += "" if below == math.inf else f" and < {below:g}"
    raise _refuse(f"{name} must be a {what}{limits}, not {value!r}")


def _check_nodes(name: str, value: Any) -> Nodes:
    """Return a number of nodes, or different nodes in order."""
    if is_number(value):
        return whole(f"The number of nodes in {name}", value, 0)
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise _refuse(f"{name} must be a number of nodes, or a list such as [3, 5], not {value!r}")
    numbers = [whole("The number of a node", node, 0) for node in value]
    if len(set(numbers)) < len(numbers):
        raise _refuse(f"a node is twice among {name}")
    return tuple(sorted(numbers)) or 0


def _check_crash_times(value: Any) -> Nodes | Mapping[int, float]:
    """Return the number of nodes that crash, or the nodes, or their crash times."""
    if not isinstance(value, Mapping):
        return _check_nodes("crashed", value)
    nodes = _check_nodes("crashed", tuple(value))
    if isinstance(nodes, int):
        return nodes
    times = {
        node: _check_number(f"the crash time of node {node}", value[node], 0.0) for node in nodes
    }
    return times if any(times.values()) else nodes


def _write(value: Any) -> str:
    """Write a value as text that `_read` reads as the same value."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Mapping):
        value = [f"{node}@{_write(time)}" if time else node for node, time in value.items()]
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _read(text: str) -> Any:
    """Read a number, up/down, nodes in brackets, each with a time after "@" or none, or a name."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    if "/" in text:
        up, _, down = text.partition("/")
        return Churn(_read(up), _read(down))
    if text.startswith("[") and text.endswith("]"):
        parts = [part.partition("@") for part in text[1:-1].split(",")]
        with suppress(ValueError):
            nodes = [int(node) for node, _, _ in parts]
            times = {int(node): float(time) if at else 0.0 for node, at, time in parts}
            return times if any(times.values()) and len(times) == len(nodes) else nodes
    return text
