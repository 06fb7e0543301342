from __future__ import annotations

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.sums.programs import choose_bits, decode, encode


def test_sums_are_the_same_bits_however_rows_are_dealt_out() -> None:
    rng = np.random.default_rng(0)
    rows, bounds = rng.uniform(-3, 3, size=(500, 4)), np.full(4, 3.0)
    whole = encode(rows, bounds, 40)
    for members in (2, 7, 500):
        parts = [encode(part, bounds, 40) for part in np.array_split(rows, members)]
        assert (np.sum(parts, axis=0, dtype=np.uint64) == whole).all()
    assert np.allclose(decode(whole, bounds, 40), rows.sum(axis=0), rtol=0, atol=500 * 3 * 2.0**-40)


def test_sums_of_as_many_rows_as_there_may_be_do_not_overflow() -> None:
    for rows in (5, 1 << 22, (1 << 31) - 1):
        bits = choose_bits(rows)
        assert 32 <= bits <= 52
        most = encode(np.array([[float(rows)]]), np.ones(1), bits, rows)
        assert decode(most, np.ones(1), bits)[0] == rows
    with pytest.raises(InputError, match="rows, but sums have room for 2,147,483,647"):
        choose_bits(1 << 31)


def test_no_member_adds_more_than_its_rows_may() -> None:
    assert decode(encode(np.array([[7.0]]), np.ones(1), 32, 3), np.ones(1), 32)[0] == 3.0
