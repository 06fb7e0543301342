"""Entries of columns: the same words and names for any program that has written them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from hypothesis import given
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping import entries
from pairgossip.peer.bookkeeping.entries import Entries, name_digits, name_rows, normalize
from pairgossip.peer.bookkeeping.registers import hold_registers
from pairgossip.peer.bookkeeping.sealed import seal_of
from pairgossip.peer.bookkeeping.snapshots import Snapshot
from tests.peer.snapshots import note

KEY = bytes(range(32))


@given(
    st.lists(
        st.one_of(
            st.floats(width=64).filter(lambda one: one == 0 or 1e-280 < abs(one) < 1e280),
            st.sampled_from([0.5, -0.5, 5.0, 0.0, 1e6, 999999.5, 123456.4, 0.1 + 0.2, 0.3]),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_numbers_have_one_word_for_what_six_digits_show(values: list[float]) -> None:
    """Different texts of numbers have different words; at a tie either rounding is allowed."""
    words = Entries(np.array(values)).words(KEY).tolist()
    assert Entries.of([repr(one) for one in values]).words(KEY).tolist() == words
    shown = [float(f"{one:.6g}") for one in values]
    near = [float(f"{one * (1 + 1e-12):.6g}") for one in values]
    for first, a, c in zip(words, shown, near, strict=True):
        for second, b, d in zip(words, shown, near, strict=True):
            if {a, c} & {b, d} == set():
                assert first != second
            elif a == b == c == d:
                assert first == second


def test_text_is_told_from_numbers_and_gaps() -> None:
    texts = ["5", "5.0", " 5 ", "five", "five ", "", "nan", "inf", "-5", "0", "-0", "5e0", "1_0"]
    words = Entries.of(texts).words(KEY)
    same = [[texts[at] for at in np.flatnonzero(words == one)] for one in words]
    assert same[0] == ["5", "5.0", " 5 ", "5e0"] and same[3] == ["five", "five "]
    assert same[5] == ["", "nan"] and same[9] == ["0", "-0"]
    assert all(len(same[at]) == 1 for at in (7, 8, 12))
    other = Entries.of(texts).words(KEY[::-1])
    assert other[3] != words[3], "text is known by the key alone"


def test_columns_are_coded_alike_from_numbers_and_text() -> None:
    values = np.array([0.0, 1.0, np.nan, 1.0, 0.1 + 0.2, 0.3])
    texts = ["0", "1.0", "", "1", "0.30000000000000004", ".3"]
    for column in (Entries(values), Entries.of(texts)):
        found, of_rows = column.code()
        assert [found[place] for place in of_rows] == [b"0", b"1", b"", b"1", b"0.3", b"0.3"]
        np.testing.assert_array_equal(np.isnan(column.numbers), np.isnan(values))
    book, codes = ["a", None, "b", "unused"], np.array([0, 1, 2, 0])
    assert Entries(None, codes, book).code()[0] == sorted([b"a", b"", b"b"])


def test_few_numbers_are_worked_on_once_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(6)
    columns = [
        rng.integers(0, 3, 3000) * 0.5,
        np.where(rng.random(3000) < 0.1, np.nan, rng.integers(-2, 2, 3000) / 3),
        np.where(rng.random(3000) < 0.5, -0.0, np.inf),
        np.append(np.zeros(2999), 7.5),  # which the sample misses
        rng.random(3000),
    ]

    def work(column: FloatArray) -> tuple[list[bytes], list[list[float]]]:
        one = Entries(column)
        entries, of_rows = one.code()
        names = name_rows(KEY, [one])
        numbers: list[Any] = [one.words(KEY), names, one.count_digits(), of_rows]
        np.testing.assert_array_equal(one.numbers, column)
        return entries, [found.tolist() for found in numbers]

    few = [work(column) for column in columns]
    with monkeypatch.context() as patched:
        patched.setattr(entries, "_find_few", lambda _: None)
        assert [work(column) for column in columns] == few
    assert [len(Entries(column)._different[0]) for column in columns] == [3, 5, 2, 2, 3000]


def test_a_row_is_known_in_whatever_order_its_columns_are() -> None:
    first, second = Entries.of(["1", "2", "2", "x"]), Entries.of(["2", "1", "2", "y"])
    names = name_rows(KEY, [first, second])
    assert names.tolist() == name_rows(KEY, [second, first]).tolist()
    assert names[0] == names[1] and len(set(names.tolist())) == 3
    assert name_rows(KEY, [first])[0] not in names
    assert not set(name_rows(KEY[::-1], [first, second]).tolist()) & set(names.tolist())


def test_names_are_those_of_aes_one_block_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """They also equal those of another mode, whose first block from zeros is the same."""
    import hashlib

    digits = np.array([0, 7, 123456, 999999])
    key = hashlib.blake2b(b"names of rows", key=KEY, digest_size=32).digest()
    expected = []
    for one in digits.tolist():
        cipher = Cipher(AES(key), CBC(bytes(16))).encryptor()
        block = cipher.update(one.to_bytes(8, "little") + (2).to_bytes(8, "little"))
        expected.append(int.from_bytes(block[:8], "little"))
    assert name_digits(KEY, digits).tolist() == expected
    monkeypatch.setattr(entries, "_BLOCKS", 3)
    assert name_digits(KEY, digits).tolist() == expected


def test_a_name_says_nothing_of_another_kind() -> None:
    """A thief of a register cannot find which names of values make up the name of a line."""
    digits = np.arange(100_000, 100_200)
    one = Entries(digits / 1000.0)
    kinds = [name_digits(KEY, digits), name_rows(KEY, [one]), one.words(KEY)]
    assert len(set(np.concatenate(kinds).tolist())) == 600


def test_a_register_that_named_rows_otherwise_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    note(Snapshot(data, {"risk": np.random.default_rng(1).random(40)}))
    (register,) = tmp_path.glob("*.releases")
    body = register.read_bytes()[:-66].replace(b"version\x02", b"version\x01")
    register.write_bytes(body + b"\n" + seal_of(body) + b"\n")
    with pytest.raises(InputError, match="named rows otherwise"), hold_registers([register]):
        pass


def test_numbers_are_written_as_other_programs_do() -> None:
    assert normalize(" 0.50 ") == normalize("5e-1") == b"0.5"
    assert normalize("12345678") == b"1.23457e+07" and normalize(" x ") == b"x"
