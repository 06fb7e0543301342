"""The built-in methods: the one place where an algorithm of this folder becomes a method."""

from __future__ import annotations

from pairgossip.algorithms import (
    averaging,
    gosta_async,
    gosta_sync,
    u1_gossip,
    u2_gossip,
    weighted_gosta,
)
from pairgossip.algorithms.methods import Expectation, Method, Plain, Twin, register

BUILT_IN = (
    Method(
        name="gosta",
        description="swap auxiliary observations and average estimates (Algorithm 1)",
        plain={
            "sync": Plain(gosta_sync.init, gosta_sync.step),
            "async": Plain(gosta_async.init, gosta_async.step),
        },
        estimates="statistic",
        averaged_numbers=1,
        updates="either",
        twins={"sync": Twin.ONE_WALK, "async": Twin.OWN_PICKS},
        expectations={"sync": Expectation.GOSTA},
    ),
    Method(
        name="weighted-gosta",
        description=(
            "swap auxiliary observations, average weighted sums and weights: withstands restarts"
        ),
        plain={"async": Plain(weighted_gosta.init, weighted_gosta.step, weighted_gosta.read)},
        estimates="statistic",
        averaged_numbers=1,
        weighs_by_picks=True,
        twins={"async": Twin.WEIGHTED_PICKS},
    ),
    Method(
        name="u1",
        description="swap only; each node estimates the mean of its own row of pairs",
        plain={"sync": Plain(u1_gossip.init, u1_gossip.step)},
        estimates="row-mean",
        averaged_numbers=0,
        twins={"sync": Twin.ONE_WALK},
        expectations={"sync": Expectation.U1},
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
    ),
    Method(
        name="averaging",
        description="classic gossip averaging of one value per node, no pairs",
        plain={
            "sync": Plain(averaging.init, averaging.step),
            "async": Plain(averaging.init, averaging.step),
        },
        estimates="mean",
        averaged_numbers=1,
        swaps=False,
        twins={"sync": Twin.AVERAGING, "async": Twin.AVERAGING},
        expectations={"sync": Expectation.AVERAGING, "async": Expectation.AVERAGING},
    ),
)

for method in BUILT_IN:
    register(method, built_in=True)
