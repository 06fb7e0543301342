"""The digest of rows: the same for the same rows, and it cannot be guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip.rows.columns import Coded
from pairgossip.summaries.row_digest import DIGEST_BYTES, RowDigest

SECRET, OTHER = bytes(range(32)), bytes(range(1, 33))
RNG = np.random.default_rng(4)
RISK, DIED = RNG.random(50), RNG.integers(0, 2, 50)
WARD = np.array(["cork", "007", "kerry"])[RNG.integers(0, 3, 50)]


def digest_of(*columns: Any, secret: bytes = SECRET) -> bytes:
    digest = RowDigest(secret)
    digest.add(columns)
    return digest.finish()


def test_neither_order_nor_batches_nor_types_matter() -> None:
    whole = digest_of(RISK, DIED, WARD)
    assert len(whole) == DIGEST_BYTES
    order = RNG.permutation(50)
    assert digest_of(RISK[order], DIED[order], WARD[order]) == whole
    parts = RowDigest(SECRET)
    for at in (slice(0, 7), slice(7, 7), slice(7, 50)):
        parts.add([RISK[at], DIED[at].astype(object), WARD[at].astype(object)])
    assert parts.finish() == whole
    assert digest_of(RISK, DIED.astype(str), WARD) == whole
    assert digest_of(RISK, DIED > 0, WARD) == whole
    assert digest_of(np.array([0.0])) == digest_of(np.array([-0.0]))


def test_entries_of_a_dictionary_count_as_their_values() -> None:
    whole = digest_of(RISK, DIED, WARD)
    for book in (["kerry", "unused", "007", "cork"], ["007", "cork", "kerry"]):
        codes = np.array([book.index(name) for name in WARD], dtype=np.int8)
        assert digest_of(RISK, Coded(DIED, [0, 1]), Coded(codes, book)) == whole
        assert digest_of(RISK, Coded(DIED, [False, "1.0"]), Coded(codes, book)) == whole
        assert digest_of(RISK, Coded(1 - DIED, [0, 1]), Coded(codes, book)) != whole
    assert digest_of(Coded(DIED, [1, 0.1 + 0.2])) == digest_of(np.array([1, 0.1 + 0.2])[DIED])


def test_parts_that_are_digested_apart_add_up() -> None:
    parts = RowDigest(SECRET)
    for at in (slice(0, 20), slice(20, 20), slice(20, 50)):
        (part := parts.restart()).add([RISK[at], DIED[at], WARD[at]])
        parts.merge(part)
    assert parts.finish() == digest_of(RISK, DIED, WARD)


def _change(column: Any, row: int, value: Any) -> Any:
    changed = column.copy()
    changed[row] = value
    return changed


@pytest.mark.parametrize(
    "columns",
    [
        (RISK[1:], DIED[1:], WARD[1:]),
        (_change(RISK, 3, np.nextafter(RISK[3], 1)), DIED, WARD),
        (RISK, 1 - DIED, WARD),
        (RISK, DIED, _change(WARD, 0, "sligo")),
        (RISK, DIED[::-1], WARD),
        (np.append(RISK, RISK[:1]), np.append(DIED, DIED[:1]), np.append(WARD, WARD[:1])),
        (DIED, RISK, WARD),
        (RISK, DIED),
    ],
)
def test_other_rows_have_another(columns: Any) -> None:
    assert digest_of(*columns) != digest_of(RISK, DIED, WARD)


def test_rows_that_cancel_are_not_overlooked() -> None:
    # Sums of the words of two equal rows, or their exclusive or, could vanish.
    one, twice = np.array([0.5, 0.25]), np.array([0.5, 0.25, 0.25, 0.25])
    assert digest_of(one) != digest_of(twice)
    assert digest_of(np.zeros(1)) != digest_of(np.zeros(3)) != digest_of(np.zeros(0))


def test_nobody_else_can_compute_it() -> None:
    assert digest_of(RISK, secret=OTHER) != digest_of(RISK)
    assert not any(byte in digest_of(RISK) * 2 for byte in (SECRET, digest_of(RISK, secret=b"")))


def test_digests_do_not_meet() -> None:
    digests = {digest_of(np.arange(k, k + 3.0)) for k in range(500)}
    assert len(digests) == 500
