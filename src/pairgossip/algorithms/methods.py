"""The catalog of methods: what each is called, what it needs, what one iteration costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pairgossip.errors import InputError, canonical, unknown_name

Clock = Literal["sync", "async"]
CLOCKS: tuple[Clock, ...] = ("sync", "async")
ORDERS = ("update-first", "exchange-first")


@dataclass(frozen=True)
class Method:
    """One estimation method.

    ``estimates`` says what a node's estimate converges to: the ``"statistic"``, its own
    ``"row-mean"``, or the ``"mean"`` of separable values.
    """

    name: str
    description: str
    clocks: tuple[Clock, ...]
    estimates: Literal["statistic", "row-mean", "mean"]
    exchanges_per_iteration: int = 1
    smallest_network: int = 1
    weighs_by_picks: bool = False
    """Whether it needs to know how often each node is picked."""

    def updates_first(self, order: str) -> bool:
        """Whether all nodes update before an iteration's exchange."""
        return self.name == "u2" or (self.name == "gosta" and find_order(order) == "update-first")

    @property
    def swaps(self) -> bool:
        """Whether observations travel."""
        return self.estimates != "mean"

    def numbers_averaged(self, components: int) -> int:
        """Return how many numbers a message carries besides an observation."""
        if self.name in ("u1", "u2"):
            return 0
        return components + self.weighs_by_picks

    @property
    def messages_per_iteration(self) -> int:
        """Each exchange sends one message in either direction."""
        return 2 * self.exchanges_per_iteration


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "gosta",
            "swap auxiliary observations and average estimates (Algorithm 1)",
            ("sync", "async"),
            "statistic",
        ),
        Method(
            "weighted-gosta",
            "swap auxiliary observations, average weighted sums and weights: withstands restarts",
            ("async",),
            "statistic",
            weighs_by_picks=True,
        ),
        Method(
            "u1",
            "swap only; each node estimates the mean of its own row of pairs",
            ("sync",),
            "row-mean",
        ),
        Method(
            "u2",
            "two independent swapping walks, no averaging",
            ("sync",),
            "statistic",
            exchanges_per_iteration=2,
            smallest_network=3,
        ),
        Method(
            "averaging",
            "classic gossip averaging of one value per node, no pairs",
            ("sync", "async"),
            "mean",
        ),
    )
}


def find_method(name: str, clock: str = "sync", n: int | None = None) -> Method:
    """Look a method up by name and check that it has this clock and works on ``n`` nodes."""
    method = METHODS.get(canonical(str(name)).removesuffix("-gossip"))
    if method is None:
        raise unknown_name("method", str(name), METHODS)
    if clock not in CLOCKS:
        raise unknown_name("clock", str(clock), CLOCKS)
    if clock not in method.clocks and clock == "sync":
        raise InputError(
            f"Method '{method.name}' has no synchronous form: "
            "use clock='async', or method='gosta' with clock='sync'."
        )
    if clock not in method.clocks:
        raise InputError(
            f"Method '{method.name}' has no asynchronous form: "
            "use clock='sync', or method='gosta' with clock='async'."
        )
    if n is not None and n < method.smallest_network:
        raise InputError(
            f"Method '{method.name}' needs at least {method.smallest_network} nodes, not {n}: "
            "on two nodes both of its walks swap together and never meet the other observation; "
            "use method='gosta'."
        )
    return method


def find_order(order: str) -> str:
    """Return the canonical spelling of an order of update and exchange."""
    spelled = canonical(str(order))
    if spelled not in ORDERS:
        raise unknown_name("order", str(order), ORDERS)
    return spelled
