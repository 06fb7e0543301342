"""Rows of five sites, the questions about them, and what the sites' registers let pass."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.places import REGISTER_VARIABLE, registers_of
from pairgossip.peer.bookkeeping.releases import (
    prepare_release,
    tell_release,
)
from pairgossip.peer.bookkeeping.snapshots import Snapshot

EVEN = np.linspace(0.0, 1.0, 257)
NEW = 10
"""The number of additional rows in a later file of a site."""

Groups = Mapping[str, IntArray]
"""Rows of a site, by the name of their set."""


@dataclass(frozen=True)
class Site:
    """The rows of a site: its first file, then new rows, then a batch as long as the first file."""

    score: FloatArray
    columns: Mapping[str, IntArray]
    first: int
    erased: int

    @classmethod
    def draw(cls, random: np.random.Generator, law: str, rows: int) -> Site:
        """Draw rows; three in ten have died."""
        n = rows + NEW + rows
        died = random.random(n) < 0.3
        columns = {
            "died": died,
            "back": np.where(died, random.random(n) < 0.4, random.random(n) < 0.2),
            "sex": random.random(n) < 0.5,
            "age": random.integers(0, 3, n),
        }
        whole = {name: column.astype(np.intp) for name, column in columns.items()}
        return cls(draw_scores(random, law, died), whole, rows, int(random.integers(rows)))

    def group(self) -> Groups:
        """Return the rows of every set that questions or relations are about."""
        every = np.arange(len(self.score))
        base, new = every < self.first, (every >= self.first) & (every < self.first + NEW)
        groups = {"all": base}
        for value in (0, 1):
            groups[f"back {value}"] = base & (self.columns["back"] == value)
            of = self.columns["died"] == value
            own = groups[f"{value}"] = base & of
            for name, count in (("sex", 2), ("age", 3)):
                for one in range(count):
                    groups[f"{value} {name} {one}"] = own & (self.columns[name] == one)
            groups[f"{value} young"] = own & (self.columns["age"] < 2)
            groups[f"{value} new"] = new & of
            groups[f"{value} later"] = (base | new) & of
            groups[f"{value} erased"] = own & (every == self.erased)
            groups[f"{value} kept"] = own & (every != self.erased)
            groups[f"{value} batch"] = (every >= self.first + NEW) & of
        return {name: np.flatnonzero(of) for name, of in groups.items()}


def draw_scores(random: np.random.Generator, law: str, died: BoolArray) -> FloatArray:
    """Draw scores between 0 and 1, which are higher where a row has died."""
    n = len(died)
    if law == "even":
        even = random.random(n)
        return np.where(died, even**0.6, even)
    normal = random.normal(size=n)
    if law == "logistic":
        return np.asarray(1.0 / (1.0 + np.exp(1.0 - 1.2 * normal - 1.1 * died)))
    return np.minimum(np.exp(0.8 * normal + 0.3 * died) / 60.0, 0.999999)


RELATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("all", ("0", "1")),
    ("all", ("back 0", "back 1")),
    *(
        (name.format(value), tuple(part.format(value) for part in parts))
        for value in (0, 1)
        for name, parts in (
            ("{}", ("{} sex 0", "{} sex 1")),
            ("{}", ("{} age 0", "{} age 1", "{} age 2")),
            ("{}", ("{} young", "{} age 2")),
            ("{} young", ("{} age 0", "{} age 1")),
            ("{}", ("{} kept", "{} erased")),
            ("{} later", ("{}", "{} new")),
            ("{}", ("{} staying", "{} leaving")),
        )
    ),
)
"""Sets of rows, each with disjoint parts that it consists of."""


def _same(values: FloatArray) -> FloatArray:
    return values


@dataclass(frozen=True)
class Question:
    """A question about some rows, and the file from which a site would answer it."""

    name: str
    edges: FloatArray
    """Edges of cells, in the units of the first question."""
    groups: tuple[str, ...] = ("0", "1")
    classes: tuple[str, ...] = ("died",)
    column: str = "risk"
    file: str = "rows.csv"
    write: Callable[[FloatArray], FloatArray] = _same
    is_other_least: bool = False
    is_list_shorter: bool = False
    """Whether the last site is not a member of the study."""


def _split(*parts: str) -> tuple[str, ...]:
    return tuple(f"{value} {part}" for value in (0, 1) for part in parts)


FIRST = Question("AUC in 256 cells", EVEN)
RECOMPUTED, BATCH = "square roots, other cells", "new rows alone"
MORE = (
    Question("the same again", EVEN),
    Question("512 cells", np.linspace(0.0, 1.0, 513)),
    Question("256 cells, range to 1.07", np.linspace(0.0, 1.07, 257)),
    Question("256 cells, range from -0.03", np.linspace(-0.03, 1.0, 257)),
    Question("64 cells, a wider range", np.linspace(-0.2, 1.3, 65)),
    Question("by sex", EVEN, _split("sex 0", "sex 1"), ("died", "sex")),
    Question("by age", EVEN, _split("age 0", "age 1", "age 2"), ("died", "age")),
    Question("another label", EVEN, ("back 0", "back 1"), ("back",)),
    Question("no label", EVEN, ("all",), ()),
    Question("another k", np.linspace(0.0, 1.03, 257), is_other_least=True),
    Question("women only", np.linspace(0.0, 1.09, 257), _split("sex 1")),
    Question("without the oldest", EVEN, _split("young")),
    Question("ten rows more", EVEN, _split("later"), file="later.csv"),
    Question("a row less", EVEN, _split("kept"), file="erased.csv"),
    Question(
        "all values by an ulp, other cells",
        np.linspace(-0.01, 1.0, 257),
        file="ulp.csv",
        write=lambda values: np.nextafter(values, 1.0),
    ),
    Question(
        "a copy, renamed, other cells",
        np.linspace(-0.05, 1.05, 257),
        column="score",
        file="elsewhere/copy.csv",
    ),
    Question(
        "in percent, other cells",
        np.linspace(0.0, 1.01, 257),
        column="percent",
        file="percent.csv",
        write=lambda values: 100.0 * values,
    ),
    Question("another study, a site less", EVEN, file="rows.csv", is_list_shorter=True),
    Question(
        RECOMPUTED,
        np.linspace(0.0, 1.0, 257) ** 2,
        column="root",
        file="roots.csv",
        write=np.sqrt,
    ),
    Question(BATCH, EVEN, _split("batch"), file="batch.csv"),
)
"""The questions that are asked after the first one."""


@contextmanager
def own_register(folder: Path) -> Iterator[None]:
    """Let a site act as a separate user with its own register."""
    before = os.environ.get(REGISTER_VARIABLE)
    os.environ[REGISTER_VARIABLE] = str(folder / "user" / "releases")
    try:
        yield
    finally:
        if before is None:
            del os.environ[REGISTER_VARIABLE]
        else:
            os.environ[REGISTER_VARIABLE] = before


def ask_register(site: Site, *, is_careful: bool) -> list[Question]:
    """Ask a site's register about all questions in order; return those that it lets pass.

    A careful operator names a column of ids, and declares which columns are functions of others.
    """
    groups, passed = site.group(), []
    with tempfile.TemporaryDirectory() as name, own_register(Path(name)):
        (Path(name) / "elsewhere").mkdir()
        (Path(name) / "user").mkdir()
        for question in (FIRST, *MORE):
            source = Path(name) / question.file
            source.touch()
            rows = np.sort(np.concatenate([groups[one] for one in question.groups]))
            snapshot = Snapshot(
                source=source,
                columns={question.column: question.write(site.score[rows])},
                classes={one: site.columns[one][rows].astype(float) for one in question.classes},
                ids=[f"row {row}" for row in rows] if is_careful else None,
                same=(("risk", question.column),) if is_careful else (),
            )
            places = registers_of(source)
            try:
                key = prepare_release(places, snapshot, question.name, table=Path(name) / "tables")
                tell_release(places, key, "bit")
            except InputError:
                continue
            passed.append(question)
    return passed
