"""The faults that a run is asked for, and their text: for command line, page and files.

In "loss=0.01, churn=100/10, crashed=[3, 5@20], liars=7" the parts are as in `Faults`: 7 is how
many nodes, [3, 5] is which ones, and a time follows "@".
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

_SHORTEST = 1e-3
"""The least mean time of staying or being away: nodes that change sooner would be slow to follow.
"""


@dataclass(frozen=True)
class Churn:
    """Nodes that come and go, each by itself; a node that is away keeps its state.

    Parameters
    ----------
    up, down
        How long a node stays and how long it is away on average, in units of time in which the
        network makes n exchanges, at least 0.001; both times are exponential.
    """

    up: float
    down: float

    def __post_init__(self) -> None:
        for name in ("up", "down"):
            value = _number(f"{name} of churn", getattr(self, name), _SHORTEST)
            object.__setattr__(self, name, value)

    @property
    def share_up(self) -> float:
        """The part of the time that a node is there."""
        return self.up / (self.up + self.down)

    def __str__(self) -> str:
        return f"{_write(self.up)}/{_write(self.down)}"


_BETWEEN_PARTS = re.compile(r",(?![^\[]*\])")
"""Commas that are not between brackets."""
Nodes = int | Sequence[int]
"""How many nodes, which are then drawn, or which ones."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What goes wrong in a run.

    Time runs so that n exchanges ring per unit. Where rows are held at sites, nodes are sites, and
    exchanges between the rows of one site need no message: only a crash ends them. Who crashes or
    lies, unless given, is drawn by the seed, once for all trials: differences between trials do
    not show how much depends on who it is.

    Parameters
    ----------
    loss
        The probability that an exchange does not take place, since its first message is lost.
    half_loss
        The probability that an exchange is carried out by one of the two nodes alone, either
        equally likely: the answer to the other was lost. Observations get doubled and lost so.
    delay
        How long an exchange takes. Meanwhile both nodes are busy, as peers are that must not do
        two exchanges at once, and one that rings for either of them does not take place.
    churn
        A `Churn`: nodes come and go. On the synchronous clock a node that is away goes on
        computing with the observation it holds.
    crashed
        Nodes that take part no more: how many, or their numbers, or by number the time at which
        each crashes. What they hold is lost with them, so that the others do not come to agree on
        the statistic of all rows, however long they run.
    liars
        Nodes that send something else than their values: how many, or their numbers.
    attack
        What liars send instead: "constant", "sign", "inside-the-clip", "dissensus", or a function
        ``attack(z, liar, partner, clip, network)``, as those of ``pairgossip.faults.attacks`` are.
        The first two hit one part of a ratio, and all features of a sketch alike: what is read from
        proportions of features, such as an AUC or ranks by bins, they hardly move.
    lie
        The number that a "constant" attack sends; unless given ten times what nodes average.

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
            "loss": _number("loss", self.loss, 0.0, below=1.0),
            "half_loss": _number("half_loss", self.half_loss, 0.0, below=1.0),
            "delay": _number("delay", self.delay, 0.0),
            "lie": None if self.lie is None else _number("lie", self.lie),
            "crashed": _crash_times(self.crashed),
            "liars": _nodes("liars", self.liars),
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
        """Read faults as ``str`` writes them."""
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
        """Return faults that are given as such or as text; None where there are none."""
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
        """Whether exchanges do not take place."""
        return bool(self.loss or self.delay or self.churn is not None or self.crashed)

    @property
    def spoils(self) -> bool:
        """Whether exchanges that take place go wrong: half lost, or with a liar."""
        return bool(self.half_loss or self.liars)

    @property
    def attack_name(self) -> str:
        """What the attack is called."""
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
    """Build the error for faults that cannot be."""
    return InputError(f"Of the faults, {why}.")


def _number(name: str, value: Any, least: float = -math.inf, *, below: float = math.inf) -> float:
    """Return a finite number within limits."""
    if is_number(value) and math.isfinite(value) and least <= value < below:
        return float(value)
    limits = "" if least == -math.inf else f" >= {least:g}"
    what = "finite number" if below == math.inf else "probability"
    limits += "" if below == math.inf else f" and < {below:g}"
    raise _refuse(f"{name} must be a {what}{limits}, not {value!r}")


def _nodes(name: str, value: Any) -> Nodes:
    """Return how many nodes, or their different numbers in order."""
    if is_number(value):
        return whole(f"The number of nodes in {name}", value, 0)
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise _refuse(f"{name} must be how many nodes, or which, such as [3, 5], not {value!r}")
    numbers = [whole("The number of a node", node, 0) for node in value]
    if len(set(numbers)) < len(numbers):
        raise _refuse(f"a node is twice among {name}")
    return tuple(sorted(numbers)) or 0


def _crash_times(value: Any) -> Nodes | Mapping[int, float]:
    """Return how many nodes crash, or which ones, or when each does."""
    if not isinstance(value, Mapping):
        return _nodes("crashed", value)
    nodes = _nodes("crashed", tuple(value))
    if isinstance(nodes, int):
        return nodes
    times = {node: _number(f"the crash time of node {node}", value[node], 0.0) for node in nodes}
    return times if any(times.values()) else nodes


def _write(value: Any) -> str:
    """Write a value so that it reads as the same."""
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
