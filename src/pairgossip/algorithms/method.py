"""The facts of a method: its steps on each clock, its needs, the cost of one iteration.

All other parts of the package read the facts of a method here. A method lacks each fact that it
does not state: without a ``Twin`` or an `InPlace` exchange it runs on the plain engine only, and
without an ``Expectation`` there is no theory of it. Built-in methods are in `methods`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple, get_args

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import CLOCKS, ORDERED, ORDERS, RANDOM, SCHEDULES, choice
from pairgossip.errors import InputError, canonical

Estimated = Literal["statistic", "row-mean", "mean"]
Updates = Literal["first", "last", "either"]


class Plain(NamedTuple):
    """An algorithm as its file writes it, on one clock.

    ``init(n, components)`` returns a state, ``step(state, exchanges, h)`` the next one and
    ``read(state)`` the estimates, shape (n, components), by default its ``z``. Where nodes average
    values that are there from the start it is ``init(values)``, values of shape (n, components),
    and ``step(state, exchanges)``. Where they collect observations, ``learned(state)`` is the
    number of nodes that know each of them: the run ends when all know all.
    """

    init: Callable[..., Any]
    step: Callable[..., Any]
    read: Callable[[Any], FloatArray] = operator.attrgetter("z")
    learned: Callable[[Any], IntArray] | None = None


class InPlace(NamedTuple):
    """An algorithm as one function that changes the state of the two nodes that meet.

    ``init(n)`` returns a NamedTuple of arrays: where the first axis of one has n entries, entry k
    belongs to node k, and all others are shared. ``exchange(state, i, j, h)`` changes these arrays
    and returns nothing; ``h(k, l)`` is the kernel of node k's own observation and that of node l, a
    number. ``read(state)`` returns the estimates, shape (n,), NaN for nodes that have none yet; by
    default these are ``z``. Where nodes average values that are there from the start it is
    ``init(values)``, values of shape (n,), and ``exchange(state, i, j)``.

    The engine keeps one state for each component of the kernel, or feature of a sketch, so that
    all of this is about single numbers. With ``vectors`` one state holds all features,
    ``init(values)`` takes shape (n, r), and ``read`` returns it. Other arguments of steps
    (``relaxation``, ``weights``) go to ``init`` by name.

    Faults on one side of an exchange need an ``exchange`` that touches no node but i and j.
    ``clip(state, k, l)`` is the difference z_l - z_k that moves node k most, with ``vectors`` one
    for each value, for attacks that know it; None without protection. ``forge(state, k, value)``
    lets node k send a lie; by default it sets ``state.z[k]``.
    """

    init: Callable[..., Any]
    exchange: Callable[..., None]
    read: Callable[[Any], FloatArray] = operator.attrgetter("z")
    clip: Callable[[Any, int, int], Any] | None = None
    forge: Callable[[Any, int, Any], None] | None = None
    vectors: bool = False


class Twin(Enum):
    """The names by which compiled code recognizes a method, as `Formula` is for kernels."""

    ONE_WALK = "all nodes update; one exchange swaps, and averages if the method does"
    TWO_WALKS = "all nodes update; two exchanges swap one of two observations each"
    OWN_PICKS = "two nodes swap, average and fold their new pair in by their own count of picks"
    WEIGHTED_PICKS = "two nodes swap, average weighted sums and add their weighted new pair"
    TRACKING = "two nodes swap, bring their own means up to date and average along the changes"
    OWN_MEANS = "two nodes swap and bring their own means up to date"
    TRIMMING = "nodes swap, rank themselves and average along the changes of what they count for"
    AVERAGING = "two nodes take the mean of their values"
    COLLECT = "two nodes learn all observations that either knows"


class Expectation(Enum):
    """The names by which theory recognizes a method whose expected estimates are known."""

    GOSTA = "E z(t) of GoSta-sync"
    U1 = "E z(t) of U1-gossip"
    U2 = "E z(t) of U2-gossip"
    AVERAGING = "E z(t) of gossip averaging"


@dataclass(frozen=True, kw_only=True)
class Method:
    """One estimation method.

    Parameters
    ----------
    name, description
        Its name, in lower case with hyphens, and what it does.
    plain
        Its reference algorithm on each clock it has, if it is written as steps.
    in_place
        Its algorithm on each clock it has, if it is written as one exchange. It is compiled, if
        there is no fast twin, and can be run with faults on one side of an exchange.
    estimates
        The limit of a node's estimate: the ``"statistic"``, its own ``"row-mean"``, or the
        ``"mean"`` of separable values.
    averaged_numbers
        The count of numbers per component kernel that a message carries besides the observation:
        1 where two nodes average their estimates, 0 where they average nothing.
    swaps
        Whether the two nodes of every exchange swap the observations they hold. Otherwise no
        observation travels.
    exchanges_per_iteration
        The number of edges that ring in an iteration.
    updates
        Whether all nodes update ``"first"``, before the exchange of an iteration, or ``"last"``;
        with ``"either"`` the synchronous step takes ``order``, one of ``ORDERS``.
    sketches
        Whether nodes average features of their rows, and compute the statistic from the mean.
    relaxes
        Whether the step takes ``relaxation``, the part of the way that two nodes move to each
        other's values: 1/2 is their mean.
    schedules
        Its reference algorithm on schedules that need a different one.
    counts_by_rank
        Whether nodes estimate ranks from pairs, and numbers count by rank: the step takes a
        ``window`` of ranks.
    weighs_by_picks
        Whether it needs the rates at which nodes are picked: the step takes ``weights``, one per
        node.
    sends_weight
        Whether a message then carries one number more, however many components there are.
    smallest_network, because
        The number of nodes it needs, and why fewer do not suffice.
    twins
        The name by which compiled code recognizes it, on each clock on which it has a fast twin.
    expectations
        The name by which theory recognizes it, on each clock where expected estimates are known.
    shows
        The part of the rows that each node sees, by schedule; ``"random"`` stands for those not
        named.
    tolerates
        The faults and lies that it withstands, and those that it does not.
    planned
        The schedules that plans compare, on each clock; plans leave out a method without any.
    color
        Its number in the palette of figures.
    """

    name: str
    description: str
    plain: Mapping[str, Plain] = field(default_factory=dict)
    in_place: Mapping[str, InPlace] = field(default_factory=dict)
    estimates: Estimated
    averaged_numbers: int
    swaps: bool = True
    exchanges_per_iteration: int = 1
    updates: Updates = "last"
    sketches: bool = False
    relaxes: bool = False
    schedules: Mapping[str, Plain] = field(default_factory=dict)
    counts_by_rank: bool = False
    weighs_by_picks: bool = False
    sends_weight: bool = True
    smallest_network: int = 1
    because: str = ""
    twins: Mapping[str, Twin] = field(default_factory=dict)
    expectations: Mapping[str, Expectation] = field(default_factory=dict)
    shows: Mapping[str, str] = field(default_factory=dict)
    tolerates: str = ""
    planned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    color: int = 6

    def __post_init__(self) -> None:
        if self.name != canonical(self.name).removesuffix("-gossip") or not self.name:
            raise InputError(
                f"A method cannot be called '{self.name}': choose lower case letters with hyphens, "
                "not ending in '-gossip'."
            )
        self._check_algorithms()
        self._check_choices()
        self._check_claims()

    def _check_algorithms(self) -> None:
        are_right = all(isinstance(form, Plain) for form in self.plain.values()) and all(
            isinstance(form, InPlace) for form in self.in_place.values()
        )
        if not are_right or not (self.plain or self.in_place):
            raise InputError(
                f"Method '{self.name}' has no algorithm: give its exchange on a clock, such as "
                "in_place={'async': InPlace(init, exchange)}, or its steps, such as "
                "plain={'sync': Plain(init, step)}."
            )
        if self.in_place and self.exchanges_per_iteration != 1:
            raise InputError(
                f"Method '{self.name}' makes {self.exchanges_per_iteration} exchanges in an "
                "iteration, so it is not an exchange of two nodes: write it as steps, plain=."
            )

    def _check_choices(self) -> None:
        choices: list[tuple[str, str, tuple[str, ...]]] = [
            ("estimates", self.estimates, get_args(Estimated)),
            ("updates", self.updates, get_args(Updates)),
            *(("clock", clock, CLOCKS) for clock in (*self.plain, *self.in_place)),
            *(("schedule", schedule, SCHEDULES) for schedule in self.schedules),
            *(("clock of a twin", clock, self.clocks) for clock in self.twins),
            *(("clock of an expectation", clock, self.clocks) for clock in self.expectations),
            *(("clock of a plan", clock, self.clocks) for clock in self.planned),
        ]
        for what, value, allowed in choices:
            if value not in allowed:
                listed = " or ".join(f"'{choice}'" for choice in allowed)
                raise InputError(
                    f"The {what} is '{value}' in method '{self.name}', but must be {listed}."
                )
        if self.averages and self.swaps:
            raise InputError(
                f"Method '{self.name}' averages values that nodes have from the start, for which "
                "no observations travel: give swaps=False."
            )

    def _check_claims(self) -> None:
        """Refuse claims that cannot hold; tests show that a twin gives the same numbers."""
        for twin in self.twins.values():
            agree = (
                (twin is Twin.AVERAGING) == self.averages,
                (twin is Twin.COLLECT) == self.collects,
                (twin is Twin.WEIGHTED_PICKS) == self.weighs_by_picks,
                (twin is Twin.TRIMMING) == self.counts_by_rank,
                twin in (Twin.AVERAGING, Twin.TRACKING) or not self.relaxes,
                self.exchanges_per_iteration == (2 if twin is Twin.TWO_WALKS else 1),
            )
            if not all(agree):
                raise InputError(
                    f"Method '{self.name}' does not do what its twin {twin.name} does: "
                    f"{twin.value}. Leave twins out, and it runs on the plain engine."
                )
        limits = {Expectation.U1: "row-mean", Expectation.AVERAGING: "mean"}
        for expectation in self.expectations.values():
            if limits.get(expectation, "statistic") != self.estimates:
                raise InputError(
                    f"Method '{self.name}' estimates the {self.estimates}, which "
                    f"{expectation.value} does not converge to: leave expectations out."
                )

    @property
    def clocks(self) -> tuple[str, ...]:
        """The clocks it runs on."""
        return tuple(clock for clock in CLOCKS if clock in self.plain or clock in self.in_place)

    def acts_in_pairs(self, clock: str) -> bool:
        """Return whether only the two nodes that meet act in an iteration, on this clock."""
        if clock == "async":
            return True
        forms = (self.plain, self.in_place)
        return all(form.get("sync") == form.get("async") for form in forms)

    @property
    def averages(self) -> bool:
        """Whether nodes average values that are there from the start, without pairs."""
        return self.estimates == "mean" or self.sketches

    @property
    def tracks_rows(self) -> bool:
        """Whether every node meets the others' rows and averages numbers with them."""
        return self.swaps and self.averaged_numbers > 0 and self.exchanges_per_iteration == 1

    @property
    def collects(self) -> bool:
        """Whether nodes pass on all observations they know."""
        return any(form.learned is not None for form in self.plain.values())

    @property
    def takes_whole_sites(self) -> bool:
        """Whether a node stands for all rows of a site, one sketch or one set of them."""
        return self.sketches or self.collects

    def compiles(self, clock: str) -> bool:
        """Return whether its own exchange is compiled on a clock, as it has no fast twin there."""
        return clock in self.in_place and clock not in self.twins

    def algorithm(self, clock: str, schedule: str = RANDOM) -> Plain:
        """Return the reference algorithm."""
        return self.schedules.get(schedule, self.plain[clock])

    @property
    def known_schedules(self) -> tuple[str, ...]:
        """The schedules that it can follow."""
        ordered = {ORDERED} if self.exchanges_per_iteration == 1 else set()
        can_follow = {RANDOM, *ordered, *self.schedules}
        return tuple(schedule for schedule in SCHEDULES if schedule in can_follow)

    def check_schedule(self, schedule: str) -> None:
        """Raise `InputError` unless the method can follow the schedule."""
        if schedule in self.known_schedules:
            return
        why = "does more than average, which is all that this schedule speeds up"
        if schedule == ORDERED:
            why = "makes two exchanges at once, whose walks must not follow the same order"
        raise InputError(
            f"Method '{self.name}' cannot follow schedule '{schedule}': it {why}. Use {{argument}}"
            f"{' or ordered' if ORDERED in self.known_schedules else ''}.",
            "schedule",
            RANDOM,
        )

    def shows_along(self, schedule: str) -> str:
        """Return a text on the part of the rows that each node sees; empty if this is not known."""
        return self.shows.get(schedule, self.shows.get(RANDOM, ""))

    @property
    def set_apart_by_clock(self) -> bool:
        """Whether plans list it once for each clock, and not once for each schedule."""
        return len(self.planned) > 1

    def updates_first(self, order: str) -> bool:
        """Return whether all nodes update before an iteration's exchange."""
        if self.updates == "either":
            return choice("order", order, ORDERS) == "update-first"
        return self.updates == "first"

    def numbers_averaged(self, components: int) -> int:
        """Return the count of numbers that a message carries besides an observation."""
        sends_weight = self.weighs_by_picks and self.sends_weight
        return self.averaged_numbers * components + sends_weight
