"""Errors that peers report: that of the sample, and what privacy adds to it."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.inference.answer import Law, interval
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.estimates.errors import (
    errors_of,
    fewest_exchanges,
    population_error,
    readout_of,
)
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import encode
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.rules import PaperMixing, Rule, WeightedMixing
from pairgossip.peer.protocol.state import Send
from pairgossip.peer.service.assembly import read_snapshot
from tests.peer.contexts import make_context, name_of
from tests.peer.homes import GINI, Pair, make_pair

SIZES = (6, 9, 12, 13)


def sample(kernel: str) -> FloatArray:
    """Draw incomes, or scores with labels of two classes."""
    rng = np.random.default_rng(1)
    if kernel == "gini":
        return rng.exponential(size=sum(SIZES))
    labels = rng.permutation(np.arange(sum(SIZES)) % 3 == 0).astype(float)
    return np.column_stack([rng.normal(size=len(labels)) + labels, labels])


def network(
    data: FloatArray, kernel: str, mixing: type[PaperMixing | WeightedMixing]
) -> list[Exchange]:
    """Make peers with several rows each, all of whom know each other."""
    names, first = [name_of(k) for k in range(len(SIZES))], [0, *itertools.accumulate(SIZES)]
    peers = []
    for k, me in enumerate(names):
        rows = data[first[k] : first[k + 1]]
        own = tuple(tuple(np.atleast_1d(row).tolist()) for row in rows)
        rule: Rule = PaperMixing(as_kernel(kernel))
        if mixing is WeightedMixing:
            rule = WeightedMixing(as_kernel(kernel), weight=SIZES[k] / 3)
        others = [name for name in names if name != me]
        context = make_context(me, others, own, dict(zip(names, SIZES, strict=True)), rule)
        peers.append(Exchange(context, first_state(context), agreed=set(others)))
    return peers


def total_error(peer: Exchange) -> float | None:
    readout = readout_of(peer.context, peer.state)
    return population_error(peer.context, peer.state, readout)


def run(peers: list[Exchange], exchanges: int) -> None:
    """Let pairs of peers exchange; nothing is lost."""
    chance = random.Random(3)
    for _ in range(exchanges):
        i, j = chance.sample(range(len(peers)), 2)
        _, asked, _ = peers[i].ask(name_of(j))
        assert isinstance(asked, Send)
        _, answered = peers[j].receive(name_of(i), encode(asked.message))
        assert isinstance(answered, Send)
        peers[i].receive(name_of(j), encode(answered.message))


@pytest.mark.parametrize("kernel", ["gini", "auc"])
def test_peers_know_their_sampling_error(kernel: str) -> None:
    data = sample(kernel)
    answer = pg.exact(
        data if kernel == "gini" else data[:, 0],
        kernel,
        labels=None if kernel == "gini" else data[:, 1],
        interval=0.95,
    )
    peers = network(data, kernel, WeightedMixing)
    assert total_error(peers[0]) is None
    run(peers, 1_200)
    for peer in peers:
        found = total_error(peer)
        assert found == pytest.approx(answer.error, rel=0.1)


def test_paper_mixing_knows_it_too() -> None:
    data = sample("gini")
    peers = network(data, "gini", PaperMixing)
    run(peers, 1_200)
    found = total_error(peers[0])
    assert found == pytest.approx(pg.exact(data, "gini", interval=0.95).error, rel=0.15)


def test_where_all_rows_add_the_same_there_is_no_error_to_tell() -> None:
    peers = network(np.ones(sum(SIZES)), "gini", WeightedMixing)
    run(peers, 800)
    assert peers[0].state.exchanges >= fewest_exchanges(SIZES)
    assert total_error(peers[0]) is None


def test_a_status_tells_the_interval_on_the_kernels_scale(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 20.0, 9.0], GINI)
    pair = Pair(homes)
    pair.deliver()
    for number in range(200):
        pair.ask(number % 2)
        pair.deliver()
    pair.close()
    seen = read_snapshot(homes[0])
    status = seen.status()
    errors = errors_of(seen.context, seen.state, None, seen.context.rows)
    rows = [1.0, 2.0, 4.0, 8.0, 3.0, 5.0, 20.0, 9.0]
    answer = pg.exact(rows, "gini", interval=0.95)
    assert errors.sampling_error == pytest.approx(answer.error, rel=0.25)
    assert errors.sampling_interval is not None
    if len(status.heard_of) > 1:  # once in 70 runs it holds its own records alone, and says nothing
        assert status.sampling_interval == errors.sampling_interval
    low, high = errors.sampling_interval
    assert low < answer.value < high
    ends = interval(answer.value, answer.error, 0.95, "log", Law(7))
    assert math.isclose(high - low, ends[1] - ends[0], rel_tol=0.25)
    assert errors.gossip_error is None and errors.privacy_error is None
    # Knowledge about rows does not include those of a member that has not run yet.
    assert errors_of(seen.context, seen.state, None, ()).sampling_error is None
