"""Names of rows: against digits as text, counts by hand, and matches by chance alone."""

from __future__ import annotations

import hashlib
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.peer.bookkeeping import row_names
from pairgossip.peer.bookkeeping.entries import Entries, split_digits
from pairgossip.peer.bookkeeping.row_names import name_column, name_lines, rank_correlation

KEY = bytes(range(32))
NAMES = ["9aed59992e305935", "d709ac7d02910417", "e57a388ca941b77a"]


@given(st.floats(1e-200, 1e200), st.integers(-8, 8))
def test_digits_are_those_of_the_text(value: float, power: int) -> None:
    written = int(f"{value:.5e}".partition("e")[0].replace(".", ""))
    (digits, scaled) = split_digits(np.array([value, -value * 10.0**power]))[0]
    for one in (digits, scaled):  # at a tie the text and a product may round to either side
        assert min(abs(one - written), abs(abs(one - written) - 900_000)) <= 1
        assert 100_000 <= one < 1_000_000


def test_digits_go_up_to_the_next_power() -> None:
    values = np.array([0.99999999, 1.0, 0.09999999999, -10.0, 0.0, 1e-305])
    assert split_digits(values)[0].tolist() == [100_000] * 4 + [0, 0]


def test_digits_are_those_of_the_powers_themselves() -> None:
    """A table holds the powers: at a tie even the last bit of a power matters."""
    rng = np.random.default_rng(3)
    shown = rng.integers(1_000_000, 10_000_000, 50_000) / 10.0  # many of them are ties
    values = np.concatenate([shown * 10.0 ** rng.integers(-290, 280, 50_000), rng.random(50_000)])
    power = np.floor(np.log10(values))
    digits = np.rint(values / 10.0**power * 100_000)
    is_next = digits == 1_000_000
    found, powers = split_digits(values)
    assert (found == np.where(is_next, 100_000, digits)).all()
    assert (powers == power + is_next).all()


def _correlation_by_pairs(one: FloatArray, other: FloatArray) -> float:
    """Return Spearman's correlation; a rank counts smaller values and half of the equal ones."""
    ranks = [
        np.array([sum(x < v for x in column) + sum(x == v for x in column) / 2 for v in column])
        for column in (one, other)
    ]
    return float(np.corrcoef(np.stack(ranks))[0, 1])


def test_rank_correlations_are_those_of_counted_ranks() -> None:
    rng = np.random.default_rng(2)
    columns = [rng.random(30), rng.integers(0, 4, 30).astype(float), rng.lognormal(0, 1, 30)]
    for one in columns:
        for other in columns:
            pairs = [
                np.sign(one[i] - one[j]) * np.sign(other[i] - other[j])
                for i in range(30)
                for j in range(30)
            ]
            gamma = sum(pairs) / np.count_nonzero(pairs)
            by_pairs = _correlation_by_pairs(one, other)
            is_coarse = one is columns[1] and other is columns[1]
            expected = by_pairs if is_coarse else max(by_pairs, gamma, key=abs)
            assert rank_correlation(one, other) == pytest.approx(expected)
    assert math.isnan(rank_correlation(columns[0], np.ones(30)))
    assert rank_correlation(columns[0], np.floor(3 * columns[0])) == pytest.approx(1.0)


@pytest.mark.parametrize("decimals", [2, 3, 4, 9])
def test_the_chance_of_equal_values(decimals: int) -> None:
    """For uniform values with few decimals it is 1 / the number of values, or slightly more."""
    values = np.random.default_rng(1).random(1000).round(decimals)
    every = Entries(values).count_digits()
    chance = row_names._chance_of_equal(every, every[every > 0])
    assert 0.8 * 10.0 ** -min(decimals, 6) <= chance <= 8 * 10.0 ** -min(decimals, 6)


def test_names_need_the_key_and_are_the_same_for_ever() -> None:
    values = np.array([0.5, 1.25, 3.0])
    mine, other = (
        {
            f"{name:016x}"
            for name in np.frombuffer(name_column(key, Entries(values)).kept.names, "<u8")
        }
        for key in (KEY, KEY[::-1])
    )
    assert mine == set(NAMES)
    assert not mine & other


def test_registers_of_before_find_rows_again() -> None:
    """The stored form of columns and lines is recorded here, since registers keep it for years."""
    rows = np.arange(40_000)
    columns = [
        (rows * 7919 % 40_009) / 4e4,
        (rows % 3) * 0.5,
        np.where(rows % 5 == 0, np.nan, np.round(rows * 0.37, 1)),
        np.where(rows % 2 == 0, -0.0, 1e300),
    ]
    text = Entries.of([("ill", "well", "2.50", "x ")[row % 4] for row in rows.tolist()])
    entries = [*map(Entries, columns), text]
    kept = [name_column(KEY, one).kept for one in entries]
    lines = [name_lines(KEY, some).kept for some in (entries, entries[1:2], entries[:1])]
    # Some registers have no name of all lines together.
    kept += [msgspec.structs.replace(one, whole="") for one in lines]
    known = hashlib.sha256()
    for one in kept:
        known.update(f"{one.rows} {one.chance!r} {one.whole}".encode() + one.names)
    assert [one.rows for one in kept] == [39_999, 0, 32_000, 0, 0, 40_000, 0, 40_000]
    assert known.hexdigest() == "9cb6fd40cd441e9fa72d7853d8d529df1875857a2a09c65f9cafe1e43a3b5326"
    assert [one.whole for one in lines] == [
        "e89521b22f2064c10399526f9ec7f198",
        "",
        "635fc378e8c67343041e23cd2932afd0",
    ]
