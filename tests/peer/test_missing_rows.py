"""Rows with a missing entry are left out locally, the same ones whenever the file is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.rows import describe_dropped, read_site_rows

SPEC = """
kernel = "auc"
columns = ["risk"]
label = "died"
by = "sex"
groups = ["f", "m"]
missing = "drop"
[ranges]
risk = [0, 1]
died = [0, 1]
"""
ROWS = 48


def write(file: Path, gaps: dict[int, str], filled: str = "") -> Path:
    """Write rows; in these lines the entry of a column is missing or replaced."""
    rng, lines = np.random.default_rng(2), ["age,risk,died,sex"]
    for k in range(ROWS):
        entries = {
            "age": str(20 + k),
            "risk": f"{rng.random():.3f}",
            "died": str(k % 2),
            "sex": "fm"[k // 2 % 2],
        }
        if k in gaps:
            entries[gaps[k]] = filled
        lines.append(",".join(entries.values()))
    file.write_text("\n".join([*lines, ""]))
    return file


GAPS = {3: "risk", 10: "died", 20: "sex", 30: "age"}


def test_rows_without_an_agreed_entry_are_left_out(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", GAPS)
    spec = parse_spec(SPEC)
    given = read_site_rows(data, spec)
    assert (len(given), given.dropped, len(given.table)) == (ROWS - 3, 3, ROWS - 3)
    lines = data.read_text().split()[1:]
    kept = [one.split(",") for one in lines if "" not in one.split(",")[1:]]
    assert given.matrix[:, 0].tolist() == [float(one[1]) for one in kept]
    assert given.matrix[:, 2].tolist() == [float("fm".index(one[3])) for one in kept]
    assert given.table.text("sex") == [one[3] for one in kept]
    (sentence,) = describe_dropped(given)
    assert sentence.startswith("This site leaves out 3 of its 48 rows, since an agreed")
    with pytest.raises(InputError, match="3 missing entries"):
        read_site_rows(data, parse_spec(SPEC.replace('missing = "drop"\n', "")))
    assert describe_dropped(read_site_rows(write(tmp_path / "b.csv", {}), spec)) == []


def test_a_file_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", dict.fromkeys(range(ROWS), "risk"))
    with pytest.raises(InputError, match=r"In every row of .*a\.csv an agreed column has no entry"):
        read_site_rows(data, parse_spec(SPEC))


def test_text_is_no_missing_entry(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", {5: "risk"}, "high")
    with pytest.raises(InputError, match="is not a number"):
        read_site_rows(data, parse_spec(SPEC))
