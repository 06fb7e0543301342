from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from pairgossip.peer.sums import noise
from pairgossip.peer.sums.noise import NoiseLaw
from pairgossip.peer.sums.statistics import noise_law
from tests.sums.specs import kernel_spec

DRAWS = 100_000
RNG = np.random.default_rng(5)
LABELS = (RNG.random(3000) < 0.4).astype(float)
SCORES = 1 / (1 + np.exp(-RNG.normal(size=3000) - LABELS))
SCORED = np.column_stack([SCORES, LABELS])


@pytest.mark.parametrize(("epsilon", "members"), [(1.0, 3), (5.0, 2)])
def test_the_sum_of_all_parts_is_discrete_laplace(epsilon: float, members: int) -> None:
    law = NoiseLaw(epsilon, 1, members, members)
    total = np.sum([law.draw(DRAWS) for _ in range(members)], axis=0)
    q = np.exp(-epsilon / 2)
    reach = int(np.log(20 / DRAWS * (1 + q) / (1 - q)) / np.log(q))
    inner = np.arange(-reach, reach + 1)
    share = np.append((1 - q) / (1 + q) * q ** np.abs(inner), 2 * q ** (reach + 1) / (1 + q))
    seen = np.append([(total == k).sum() for k in inner], (np.abs(total) > reach).sum())
    assert share.sum() == pytest.approx(1)
    chi_square, freedom = ((seen - DRAWS * share) ** 2 / (DRAWS * share)).sum(), len(share) - 1
    assert chi_square < freedom + 8 * np.sqrt(2 * freedom) + 20  # by chance once in 10^7 runs
    assert total.var() == pytest.approx(law.variance, rel=0.1)


def test_a_draw_that_is_too_close_to_call_is_decided_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Floats decide the same as decimal numbers, for which all bits are drawn again here."""
    law, drawn = NoiseLaw(0.5, 1, 3, 3), np.arange(1, 1000, dtype=np.uint64) * np.uint64(2**54 + 7)
    monkeypatch.setattr(noise, "_random_words", lambda count: drawn[:count].copy())
    quick = law._draw_polya(len(drawn))
    monkeypatch.setattr(noise, "_TABLE_ERROR", 2.0)
    assert (law._draw_polya(len(drawn)) == quick).all()
    assert len(set(quick.tolist())) > 5


def test_bits_are_drawn_until_they_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number may begin with the same bits as the probability of 0."""
    law = NoiseLaw(2.0, 1, 2, 2)
    with localcontext(prec=60):
        edge = (1 - (-Decimal(1)).exp()).sqrt() * 2**64
    more = iter([0, 2**64 - 1])
    monkeypatch.setattr(noise, "_random_words", lambda count: np.array([next(more)], np.uint64))
    assert [law._invert(int(edge)), law._invert(int(edge))] == [0, 1]
    assert (law._find(int(edge) - 1, 64), law._find(int(edge) + 1, 64)) == (0, 1)


def test_many_counts_with_little_epsilon_are_drawn_at_once() -> None:
    """Nothing is drawn and rejected, so the time does not grow with the number of members."""
    law = NoiseLaw(1e-3, 1, 63, 63)
    drawn = 63 * law.draw(20_000).var()  # its root has an error of about 5 %, as tails are heavy
    assert drawn**0.5 == pytest.approx(law.variance**0.5, rel=0.35)


def test_a_row_in_several_tables_is_hidden_in_all_of_them() -> None:
    noisy = "[privacy]\nepsilon = 1"
    one = noise_law(kernel_spec("auc", ["a"], "l", tables=noisy), 3)
    two = noise_law(kernel_spec("auc-difference", ["a", "b"], "l", tables=noisy), 3)
    assert (one.cells, two.cells) == (1, 2)
    honest = kernel_spec("auc", ["a"], "l", tables=noisy + "\nhonest = 2")
    assert noise_law(honest, 5).honest == 2
    assert noise_law(honest, 2).honest == 1, "whoever looks knows its own part"


def test_a_member_that_knows_its_own_noise_learns_no_more_than_epsilon() -> None:
    law = noise_law(kernel_spec("auc", ["a"], "l", tables="[privacy]\nepsilon = 1"), 3)
    q, k = np.exp(-0.5), np.arange(1, 400)
    part = 2 / law.honest  # of the two others
    falls = np.cumsum(np.log((k - 1 + part) / k * q))
    polya = np.exp(np.append(0.0, falls))
    left = np.convolve(polya, polya[::-1])[250:-250]
    assert 2 * np.abs(np.diff(np.log(left))).max() < 1 + 1e-6
