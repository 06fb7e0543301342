"""Rows with a missing entry are left out at home, the same ones whenever the file is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.kept_releases import tell_releases
from pairgossip.peer.storage.rows import check_contribution, describe_dropped, read_site_rows
from pairgossip.peer.storage.sources import read_batch

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
    """Write rows, in which these lines lack the entry of a column, or have another."""
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


def make(folder: Path, name: str, data: Path, text: str = SPEC) -> Home:
    (folder / f"{name}.toml").write_text(text)
    return create_home(folder / name, name, folder / f"{name}.toml", data)


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


def test_a_peer_commits_to_the_rows_that_are_left(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", GAPS)
    home = make(tmp_path, "ann", data)
    seen = read_snapshot(home)
    (batch,) = seen.saved.batches
    assert batch.rows == ROWS - 3
    identity, spec = load_identity(home.folder), home.read_spec()
    assert len(read_batch(data, spec, identity, batch)) == ROWS - 3
    write(data, {3: "risk", 20: "sex", 30: "age"})  # an entry that was missing is there now
    with pytest.raises(InputError, match="it has 46 rows now, and had 45"):
        read_batch(data, spec, identity, batch)
    write(data, {4: "risk", 10: "died", 20: "sex", 30: "age"})  # another one is missing
    with pytest.raises(InputError, match="its rows hold other values"):
        read_batch(data, spec, identity, batch)


def test_the_operator_is_told_and_others_are_not(tmp_path: Path) -> None:
    home = make(tmp_path, "ann", write(tmp_path / "a.csv", GAPS))
    given = read_site_rows(tmp_path / "a.csv", home.read_spec())
    told = check_contribution(given, home.read_settings())
    assert any("leaves out 3 of its 48 rows" in sentence for sentence in told)
    context = read_snapshot(home).context
    assert [*context.rows.values()] == [40]  # 45, rounded down to tens


def test_few_rows_left_out_of_one_study_are_not_told_by_another(tmp_path: Path) -> None:
    """Totals of classes over all rows, and over all but two, would tell these two."""
    data = write(tmp_path / "a.csv", {3: "risk", 8: "risk"})
    first = make(tmp_path, "first", data)
    tell_releases(first)
    age = SPEC.replace('"risk"', '"age"').replace("risk = [0, 1]", "age = [0, 100]")
    with pytest.raises(InputError, match="totals of the two tables differ by one or a few rows"):
        make(tmp_path, "second", data, age)
    assert not (tmp_path / "second").exists()
