"""The built-in methods, and functions that enter and find others."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from pairgossip.algorithms import (
    averaging,
    clipped_averaging,
    clipped_gosta,
    collect,
    gosta_async,
    gosta_sync,
    gotrim,
    tracking,
    u1_gossip,
    u2_gossip,
    weighted_gosta,
)
from pairgossip.algorithms.method import Expectation, InPlace, Method, Plain, Twin
from pairgossip.checks import CLOCKS, CONTINUIZED, ORDERED, RANDOM, TREE, choice
from pairgossip.errors import InputError, canonical, unknown_name

__all__ = [
    "BUILT_IN",
    "GOTRIM",
    "METHODS",
    "Expectation",
    "InPlace",
    "Method",
    "Plain",
    "Twin",
    "find_method",
    "register",
]

_T = TypeVar("_T")


def _on_both_clocks(entry: _T) -> dict[str, _T]:
    """Return an entry for each clock, where a method's steps are the same on both."""
    return dict.fromkeys(CLOCKS, entry)


_AVERAGING = Plain(averaging.init, averaging.step)
_AVERAGING_IN_PLACE = InPlace(averaging.start, averaging.exchange, vectors=True)
_FASTER_AVERAGING = {
    CONTINUIZED: Plain(averaging.start_two_registers, averaging.step_two_registers),
    TREE: Plain(averaging.start_tree, averaging.step_tree, averaging.read_tree),
}

_TO_STRANGERS = {RANDOM: "rows to strangers: in time every row to many nodes"}
_LOST = "lost exchanges and nodes that come and go"
_KEPT = f"{_LOST}; half-lost exchanges and lies stay in the sum for good, and one liar moves all"
_CLIPPED = (
    f"{_LOST}, and a few liars while most partners of every node are honest; not lies just inside "
    "the clip, which may move it more than the plain method"
)

_CLIPPED_SKETCH = Method(
    name="clipped-sketch",
    description="sketch whose nodes bend the moves others ask for: liars have little effect",
    in_place={
        "async": InPlace(
            clipped_averaging.start,
            clipped_averaging.exchange,
            clip=clipped_averaging.clip,
            vectors=True,
        )
    },
    estimates="statistic",
    averaged_numbers=1,
    weighs_by_picks=True,
    swaps=False,
    sketches=True,
    shows={RANDOM: "a row's features to its node's neighbors, then means of several rows"},
    tolerates=f"half-lost, {_CLIPPED}, nor those about bins' ends; usual lies fade slowly",
)

BUILT_IN = (
    Method(
        name="gosta",
        description="swap auxiliary observations and average estimates (Algorithm 1)",
        plain={
            "sync": Plain(gosta_sync.init, gosta_sync.step),
            "async": Plain(gosta_async.init, gosta_async.step),
        },
        in_place={"async": InPlace(gosta_async.start, gosta_async.exchange)},
        estimates="statistic",
        averaged_numbers=1,
        updates="either",
        twins={"sync": Twin.ONE_WALK, "async": Twin.OWN_PICKS},
        expectations={"sync": Expectation.GOSTA},
        shows=_TO_STRANGERS,
        tolerates=f"{_LOST}; half-lost exchanges add up, and one liar moves all: see clipped-gosta",
        planned={"async": (RANDOM,), "sync": (RANDOM,)},
        color=1,
    ),
    Method(
        name="weighted-gosta",
        description=(
            "swap auxiliary observations, average weighted sums and weights: withstands restarts"
        ),
        plain={"async": Plain(weighted_gosta.init, weighted_gosta.step, weighted_gosta.read)},
        in_place={"async": InPlace(weighted_gosta.start, weighted_gosta.exchange)},
        estimates="statistic",
        averaged_numbers=1,
        weighs_by_picks=True,
        twins={"async": Twin.WEIGHTED_PICKS},
        shows=_TO_STRANGERS,
        tolerates=f"{_LOST}, and restarts; half-lost exchanges add up, and one liar moves all",
    ),
    Method(
        name="clipped-gosta",
        description="GoSta whose nodes bend the moves others ask for: liars have little effect",
        in_place={
            "async": InPlace(clipped_gosta.start, clipped_gosta.exchange, clip=clipped_gosta.clip)
        },
        estimates="statistic",
        averaged_numbers=2,  # its estimate and its clip
        weighs_by_picks=True,
        sends_weight=False,
        shows=_TO_STRANGERS,
        tolerates=f"{_CLIPPED}; half-lost exchanges add up, and rows far from others are doubted",
    ),
    Method(
        name="u1",
        description="swap only; each node estimates the mean of its own row of pairs",
        plain={
            "sync": Plain(u1_gossip.init, u1_gossip.step),
            "async": Plain(gosta_async.init, u1_gossip.step_async),
        },
        estimates="row-mean",
        averaged_numbers=0,
        twins={"sync": Twin.ONE_WALK, "async": Twin.OWN_MEANS},
        expectations={"sync": Expectation.U1},
        shows=_TO_STRANGERS,
        tolerates=f"{_LOST}; nodes send rows only, so that nothing is averaged that could be a lie",
    ),
    Method(
        name="u2",
        description="two independent swapping walks, no averaging",
        plain={"sync": Plain(u2_gossip.init, u2_gossip.step)},
        estimates="statistic",
        averaged_numbers=0,
        exchanges_per_iteration=2,
        updates="first",
        smallest_network=3,
        because=(
            "on two nodes both of its walks swap together and never meet the other observation"
        ),
        twins={"sync": Twin.TWO_WALKS},
        expectations={"sync": Expectation.U2},
        shows=_TO_STRANGERS,
        tolerates=f"{_LOST}; nodes send rows only, so that nothing is averaged that could be a lie",
    ),
    Method(
        name="sketch",
        description="average features of the rows, whose mean gives the statistic; no row travels",
        plain=_on_both_clocks(_AVERAGING),
        in_place=_on_both_clocks(_AVERAGING_IN_PLACE),
        estimates="statistic",
        averaged_numbers=1,
        swaps=False,
        sketches=True,
        relaxes=True,
        schedules=_FASTER_AVERAGING,
        twins=_on_both_clocks(Twin.AVERAGING),
        shows={
            RANDOM: "a row's features to its node's first partner, then means of several rows",
            TREE: "sums of subtrees to the parent, a leaf's own features among them",
        },
        tolerates=f"{_KEPT}: see clipped-sketch",
        planned={"async": (TREE, ORDERED, CONTINUIZED, RANDOM)},
        color=0,
    ),
    _CLIPPED_SKETCH,
    Method(
        name="tracking",
        description="swap observations and average along the changes of every node's own mean",
        plain=_on_both_clocks(Plain(tracking.init, tracking.step)),
        in_place=_on_both_clocks(InPlace(tracking.start, tracking.exchange)),
        estimates="statistic",
        averaged_numbers=1,
        relaxes=True,
        twins=_on_both_clocks(Twin.TRACKING),
        shows=_TO_STRANGERS,
        tolerates=f"{_KEPT}: see clipped-gosta",
        planned={"async": (ORDERED, RANDOM)},
        color=4,
    ),
    Method(
        name="collect",
        description="pass on every row until all nodes know all: exact, ends by itself",
        plain=_on_both_clocks(Plain(collect.init, collect.step, collect.read, collect.learned)),
        estimates="statistic",
        averaged_numbers=0,
        swaps=False,
        twins=_on_both_clocks(Twin.COLLECT),
        shows={RANDOM: "all rows to all nodes"},
        tolerates=f"{_LOST}; a liar spoils only its own row, as signed ones cannot be changed",
        planned={"async": (ORDERED, RANDOM)},
        color=2,
    ),
    Method(
        name="averaging",
        description="classic gossip averaging of one value per node, no pairs",
        plain=_on_both_clocks(_AVERAGING),
        in_place=_on_both_clocks(_AVERAGING_IN_PLACE),
        estimates="mean",
        averaged_numbers=1,
        swaps=False,
        relaxes=True,
        schedules=_FASTER_AVERAGING,
        twins=_on_both_clocks(Twin.AVERAGING),
        expectations=_on_both_clocks(Expectation.AVERAGING),
        shows={RANDOM: "a node's value to its first partner, then means of several values"},
        tolerates=f"{_KEPT}: see clipped-averaging",
    ),
    replace(
        _CLIPPED_SKETCH,
        name="clipped-averaging",
        description="averaging whose nodes bend the moves others ask for: liars have little effect",
        estimates="mean",
        sketches=False,
        shows={RANDOM: "a node's value to its neighbors, then means of several values"},
        tolerates=f"half-lost, {_CLIPPED}; usual lies fade slowly",
    ),
)
"""All built-in methods for `estimate`, each made of algorithms of this folder."""
GOTRIM = Method(
    name="gotrim",
    description="swap to learn one's rank, and average along the numbers whose ranks count",
    plain={
        "sync": Plain(gotrim.init, gotrim.step),
        "async": Plain(gotrim.init, gotrim.step_async),
    },
    estimates="statistic",
    averaged_numbers=1,
    counts_by_rank=True,
    twins=_on_both_clocks(Twin.TRIMMING),
    shows=_TO_STRANGERS,
)
"""The method for trimmed means, which take no kernel: not among the methods of `estimate`."""
METHODS = {method.name: method for method in BUILT_IN}
"""All methods by name; `register` enters others."""


def register(method: Method) -> Method:
    """Enter a method, so that `estimate`, the command line and the page find it by its name.

    You can enter your own method again, as a notebook does when a cell runs twice, but cannot
    take the name of a built-in one.
    """
    if method.name in {other.name for other in BUILT_IN}:
        raise InputError(f"The name '{method.name}' is that of a built-in method: choose another.")
    METHODS[method.name] = method
    return method


def find_method(name: str, clock: str = "sync", n: int | None = None) -> Method:
    """Look a method up by name and check that it has this clock and works on ``n`` nodes."""
    method = METHODS.get(canonical(str(name)).removesuffix("-gossip"))
    if method is None:
        raise unknown_name("method", str(name), METHODS)
    clock = choice("clock", clock, CLOCKS)
    if clock not in method.clocks:
        form, other = ("synchronous", "async") if clock == "sync" else ("asynchronous", "sync")
        raise InputError(
            f"Method '{method.name}' has no {form} form: use {{argument}}, or method 'gosta'.",
            "clock",
            other,
        )
    if n is not None and n < method.smallest_network:
        because = f" {method.because};" if method.because else ""
        raise InputError(
            f"Method '{method.name}' needs at least {method.smallest_network} nodes, not {n}:"
            f"{because} use {{argument}}.",
            "method",
            "gosta",
        )
    return method
