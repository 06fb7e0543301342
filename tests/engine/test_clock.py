from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pairgossip.engine.schedule import PoissonClock, root_seed


def test_gaps_are_exponential_within_and_across_blocks() -> None:
    clock = PoissonClock(root_seed(0), rate=5.0)
    times = clock.times(1, 40_000)
    gaps = np.diff(times, prepend=0.0)
    assert (gaps > 0).all()
    assert stats.kstest(gaps, stats.expon(scale=1 / 5.0).cdf).pvalue > 1e-3
    # The last gap of a block and the first of the next are as good as any other.
    borders = gaps[clock.block - 1 :: clock.block]
    assert borders.mean() == pytest.approx(1 / 5.0, rel=1.0)


def test_block_ends_have_the_law_of_a_sum_of_gaps() -> None:
    ends = [PoissonClock(root_seed(s), rate=1.0).time_of(PoissonClock.block) for s in range(400)]
    law = stats.gamma(PoissonClock.block)
    assert stats.kstest(ends, law.cdf).pvalue > 1e-3


def test_an_event_has_one_time_whoever_asks() -> None:
    asked_late = PoissonClock(root_seed(3), rate=2.0)
    late = asked_late.time_of(9000)
    asked_often = PoissonClock(root_seed(3), rate=2.0)
    often = [asked_often.time_of(event) for event in (1, 4096, 4097, 9000)]
    assert often[-1] == late
    assert often == sorted(often)
    np.testing.assert_array_equal(
        asked_often.times(4095, 4098), asked_late.times(1, 5000)[4094:4098]
    )
