"""Which second releases of the same people pass a register of releases, though they reveal some.

    python -m benchmarks.registers

Each line is a file that a site releases from after its first release (a score by label). Registers
recognize people by ids, if the operator names a column of them, else by whole lines of the file and
by values: here of a file with several other columns (lines), and of one with only the score and the
label (values). Passes are printed, not judged: a register protects an honest operator from
mistakes, and these are the mistakes that it does not notice.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.questions import own_register
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.entries import Entries
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.releases import (
    prepare_release,
    tell_release,
)
from pairgossip.peer.bookkeeping.snapshots import Snapshot

SIZES = (140, 1_000, 10_000)
DRAWS = 3
NEW = 10
WAYS = ("ids", "lines", "values")

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
        "died later": (died | (np.cumsum(~died) <= 2)).astype(float),  # two more
    }


class Second(NamedTuple):
    """A release after the first one, and what the two together reveal."""

    name: str
    column: str
    revealed: str
    again: str | None = None
    """The column of the second release; that of the first unless given."""
    label: str = "died"
    choose: Callable[[int], slice] = lambda rows: slice(0, rows)
    """The rows of the second file, among those of the first and ten new ones."""


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


def let_pass(second: Second, rows: int, seed: int, way: str) -> bool:
    """Ask a register that recognizes people this way; return whether the second release passes."""
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
            read = list(drawn) if way == "lines" else [column, label]
            snapshot = Snapshot(
                source=source,
                columns={column: drawn[column][chosen]},
                classes={label: drawn[label][chosen]},
                ids=_name(rows + NEW)[chosen] if way == "ids" else None,
                lines=[] if way == "ids" else [Entries(drawn[one][chosen]) for one in read],
            )
            places = registers_of(source)
            try:
                key = prepare_release(places, snapshot, file, table=source)
                tell_release(places, key, "bit")
            except InputError:
                assert file == "next.csv"
                return False
    return True


def _name(people: int) -> list[str]:
    return [f"person {one}" for one in range(people)]


def print_passed(sizes: Sequence[int] = SIZES, draws: int = DRAWS) -> None:
    """Print for every second release how many of several draws pass."""
    print(f"\nSecond releases in another file that pass a register; rows drawn {draws} times")
    heads = "".join(f"{f'{rows:,} rows':>24}" for rows in sizes)
    print(f"{'':31}{heads}   what both reveal together")
    print(f"{'':31}" + "".join(f"{way:>8}" for way in WAYS) * len(sizes))
    for second in SECOND:
        shown = f"{second.name:31}"
        for rows in sizes:
            for way in WAYS:
                passed = sum(let_pass(second, rows, seed, way) for seed in range(draws))
                shown += f"{passed:8}"
        print(f"{shown}   {second.revealed}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    print_passed(draws=parser.parse_args().draws)


if __name__ == "__main__":
    main()
