"""The faults that a run is asked for, and their text: for command line, page and files.

In "loss=0.01, churn=100/10, crashed=[3, 5@20], liars=7" the parts are as in `Faults`: 7 is how
many nodes, [3, 5] is which ones, and a time follows "@".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from pairgossip.checks import is_number, whole
from pairgossip.errors import InputError, canonical, unknown_name

ATTACKS = {
    "constant": "always the same number",
    "sign": "the own value with the other sign",
    "inside-the-clip": "as far from the partner's value as moves it most",
    "dissensus": "away from where the partner's honest neighbors pull it",
}
"""What liars send; `faults.attacks` has the functions."""


@dataclass(frozen=True)
class Churn:
    """Nodes that come and go, each by itself; a node that is away keeps its state.

    Parameters
    ----------
    up, down
        How long a node stays and how long it is away on average, in units of time in which the
        network makes n exchanges; both times are exponential.
    """

    up: float
    down: float

    def __post_init__(self) -> None:
        for name in ("up", "down"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value < math.inf:
                raise InputError(
                    f"Churn takes mean times up and down, numbers > 0, and {name} is {value!r}.",
                    subject="faults",
                )
            object.__setattr__(self, name, float(value))

    @property
    def share_up(self) -> float:
        """The part of the time that a node is there."""
        return self.up / (self.up + self.down)

    def __str__(self) -> str:
        return f"{_number(self.up)}/{_number(self.down)}"


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
        put = object.__setattr__
        for name in ("loss", "half_loss"):
            put(self, name, _probability(name, getattr(self, name)))
        put(self, "delay", _real("delay", self.delay, 0.0))
        if self.lie is not None:
            put(self, "lie", _real("lie", self.lie, -math.inf))
        if self.churn is not None and not isinstance(self.churn, Churn):
            raise _refuse(f"churn must be a pg.Churn(up=, down=), not {self.churn!r}")
        put(self, "crashed", _crash_times(self.crashed))
        put(self, "liars", _nodes("liars", self.liars))
        if not callable(self.attack):
            put(self, "attack", _check_attack(self.attack))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read faults as ``str`` writes them."""
        given: dict[str, Any] = {}
        names = [field.name for field in fields(cls)]
        for part in filter(None, map(str.strip, _BETWEEN_PARTS.split(text))):
            name, equals, value = part.partition("=")
            key = canonical(name).replace("-", "_")
            if key not in names:
                raise unknown_name("fault", name.strip(), names)
            if not equals or not value.strip():
                raise _refuse(f"'{name.strip()}' has no value: write {name.strip()}=…")
            if key in given:
                raise _refuse(f"'{name.strip()}' is given twice")
            given[key] = _READERS[key](key, value.strip())
        return cls(**given)

    @classmethod
    def check(cls, value: Any) -> Faults | None:
        """Return faults that are given as such or as text; None where there are none."""
        if isinstance(value, str):
            try:
                value = cls.from_text(value)
            except InputError as problem:
                problem.subject = "faults"  # for the page to mark
                raise
            if not value and str(value):
                raise _refuse("nobody lies: write liars=… too, or leave attack and lie out")
        if value is not None and not isinstance(value, Faults):
            raise _refuse(f"give pg.Faults(...) or its text, such as 'loss=0.01', not {value!r}")
        return value if value else None

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
        return self.attack if isinstance(self.attack, str) else _function_name(self.attack)

    def __str__(self) -> str:
        parts = {
            "loss": self.loss and _number(self.loss),
            "half_loss": self.half_loss and _number(self.half_loss),
            "delay": self.delay and _number(self.delay),
            "churn": self.churn and str(self.churn),
            "crashed": self.crashed and _nodes_text(self.crashed),
            "liars": self.liars and _nodes_text(self.liars),
            "attack": self.attack_name != "constant" and self.attack_name,
            "lie": self.lie is not None and _number(self.lie),
        }
        return ", ".join(f"{name}={text}" for name, text in parts.items() if text)


def _refuse(why: str) -> InputError:
    """Build the error for faults that cannot be."""
    return InputError(f"Wrong faults: {why}.", subject="faults")


def _probability(name: str, value: Any) -> float:
    if not is_number(value) or not 0 <= value < 1:
        raise _refuse(f"{name} must be a probability, at least 0 and less than 1, not {value!r}")
    return float(value)


def _real(name: str, value: Any, least: float) -> float:
    if not is_number(value) or not math.isfinite(value) or value < least:
        limit = "" if least == -math.inf else f" >= {least:g}"
        raise _refuse(f"{name} must be a finite number{limit}, not {value!r}")
    return float(value)


def _check_attack(value: Any) -> str:
    name = canonical(value) if isinstance(value, str) else ""
    if name not in ATTACKS:
        raise unknown_name("attack", str(value), ATTACKS)
    return name


def _nodes(name: str, value: Any) -> Nodes:
    """Return how many nodes, or their different numbers in order."""
    if is_number(value):
        return whole(f"The number of nodes in {name}", value, 0)
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise _refuse(f"{name} must be how many nodes, or their numbers, not {value!r}")
    numbers = [whole("The number of a node", node, 0) for node in value]
    if len(set(numbers)) < len(numbers):
        raise _refuse(f"a node is twice among {name}")
    return tuple(sorted(numbers)) or 0


def _crash_times(value: Any) -> Nodes | Mapping[int, float]:
    """Return how many nodes crash, or which ones, or when each does."""
    if not isinstance(value, Mapping):
        return _nodes("crashed", value)
    nodes = _nodes("crashed", value.keys())
    if isinstance(nodes, int):
        return nodes
    times = {
        node: _real(f"the time at which node {node} crashes", value[node], 0.0) for node in nodes
    }
    return times if any(times.values()) else nodes


def _number(value: float) -> str:
    """Write a number so that it reads as the same number."""
    return (
        str(int(value))
        if value.is_integer() and abs(value) < 1e15
        else repr(value).replace("e+", "e")
    )


def _nodes_text(nodes: Nodes | Mapping[int, float]) -> str:
    if isinstance(nodes, int):
        return str(nodes)
    times = nodes if isinstance(nodes, Mapping) else dict.fromkeys(nodes, 0.0)
    listed = (f"{node}@{_number(time)}" if time else str(node) for node, time in times.items())
    return f"[{', '.join(listed)}]"


def _function_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _read_number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _refuse(f"{name} must be a number, not '{text}'") from None


def _read_churn(name: str, text: str) -> Churn:
    up, slash, down = text.partition("/")
    if not slash:
        raise _refuse(f"churn is written up/down, such as 100/10, not '{text}'")
    return Churn(_read_number(name, up), _read_number(name, down))


def _read_nodes(name: str, text: str) -> Any:
    """Read "7" (how many) or "[3, 5]" (which ones), of crashes also "[3@10, 5@20]"."""
    is_list = text.startswith("[") and text.endswith("]")
    nodes = text[1:-1].split(",") if is_list else [text]
    parts = [node.partition("@") for node in nodes]
    try:
        numbers = [int(node) for node, _, _ in parts]
        times = [float(time) if at else 0.0 for _, at, time in parts]
    except ValueError:
        numbers, times = [], []
    if not numbers or (any(at for _, at, _ in parts) and not (is_list and name == "crashed")):
        example = "[3@10, 5@20]" if name == "crashed" else "[3, 5]"
        raise _refuse(
            f"{name} must be how many nodes, such as 7, or which, such as {example}, not '{text}'"
        )
    if not is_list:
        return numbers[0]
    if len(set(numbers)) < len(numbers):
        raise _refuse(f"a node is twice among {name}")
    return dict(zip(numbers, times, strict=True)) if any(times) else tuple(numbers)


def _read_name(name: str, text: str) -> str:
    return text


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "loss": _read_number,
    "half_loss": _read_number,
    "delay": _read_number,
    "churn": _read_churn,
    "crashed": _read_nodes,
    "liars": _read_nodes,
    "attack": _read_name,
    "lie": _read_number,
}
