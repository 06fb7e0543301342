"""Which second releases of the same people pass a register of releases, though they tell of some.

    python -m benchmarks.registers

Each line is a file that a site releases from after its first release (a score by label). A register
by ids knows people by a column that the operator names, one by values by what the released
columns hold. What passes is printed, not judged: it keeps an honest operator from a mistake, and
this is where it does not. Settings were fixed before the first run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.questions import own_register
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.storage.releases import Snapshot, prepare_release, registers_of, tell_release

SIZES = (140, 1_000, 10_000)
DRAWS = 3
NEW = 10

Columns = Mapping[str, FloatArray]


def _draw(random: np.random.Generator, rows: int) -> dict[str, FloatArray]:
    died = random.random(rows) < 0.3
    return {
        "risk": random.random(rows),
        "three": random.random(rows).round(3),
        "age": random.integers(30, 95, rows).astype(float),
        "smokes": (random.random(rows) < 0.2).astype(float),
        "crp": random.lognormal(3.0, 1.0, rows),
        "died": died.astype(float),
        "died later": (died | (np.arange(rows) < 2)).astype(float),
    }


class Second(NamedTuple):
    """A release after the first one, and what the two together tell."""

    name: str
    column: str
    tells: str
    again: str | None = None
    """The column of the second release; the same as in the first unless given."""
    label: str = "died"
    choose: Callable[[int], slice] = lambda rows: slice(0, rows)
    """Which rows the second file holds, of those of the first and ten new ones."""


def _without_one(rows: int) -> slice:
    return slice(1, rows)


def _with_new(rows: int) -> slice:
    return slice(0, rows + NEW)


SECOND = (
    Second("another column, all rows", "risk", "nothing", "crp"),
    Second("another column, a row less", "risk", "its label", "crp", choose=_without_one),
    Second("another column, another label", "risk", "who differs, if few", "crp", "died later"),
    Second("next file, a row less", "risk", "its cell and label", choose=_without_one),
    Second("next file, ten rows more", "risk", "cells of the ten", choose=_with_new),
    Second("three decimals, a row less", "three", "its cell and label", choose=_without_one),
    Second("three decimals, ten more", "three", "cells of the ten", choose=_with_new),
    Second("years of age, a row less", "age", "its age and label", choose=_without_one),
    Second("0 or 1, a row less", "smokes", "its value and label", choose=_without_one),
)


def let_pass(second: Second, rows: int, seed: int, *, has_ids: bool) -> bool:
    """Ask a register about both releases; say whether it lets the second pass."""
    drawn = _draw(np.random.default_rng([seed, rows]), rows + NEW)
    with tempfile.TemporaryDirectory() as name, own_register(Path(name)):
        (Path(name) / "user").mkdir()
        files = (
            ("first.csv", second.column, "died", slice(0, rows)),
            ("next.csv", second.again or second.column, second.label, second.choose(rows)),
        )
        for file, column, label, chosen in files:
            source = Path(name) / file
            source.touch()
            people = np.arange(rows + NEW)[chosen]
            snapshot = Snapshot(
                source=source,
                columns={column: drawn[column][chosen]},
                classes={label: drawn[label][chosen]},
                ids=_name(people) if has_ids else None,
            )
            places = registers_of(source)
            try:
                key = prepare_release(places, snapshot, file, table=source)
                tell_release(places, key, "bit")
            except InputError:
                assert file == "next.csv"
                return False
    return True


def _name(people: IntArray) -> Sequence[str]:
    return [f"person {one}" for one in people]


def print_passed(sizes: Sequence[int] = SIZES, draws: int = DRAWS) -> None:
    """Print, of every second release, how many of several draws pass."""
    print(f"\nA second release in another file that passes a register, of {draws} draws")
    heads = "".join(f"{f'{rows:,} rows':>18}" for rows in sizes)
    print(f"{'':31}{heads}   what both tell together")
    print(f"{'':31}" + f"{'by ids':>9}{'values':>9}" * len(sizes))
    for second in SECOND:
        shown = f"{second.name:31}"
        for rows in sizes:
            for has_ids in (True, False):
                passed = sum(let_pass(second, rows, seed, has_ids=has_ids) for seed in range(draws))
                shown += f"{passed:9}"
        print(f"{shown}   {second.tells}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    print_passed(draws=parser.parse_args().draws)


if __name__ == "__main__":
    main()
