"""The base of programs that compute sums: rounds, and then a statement that all members sign.

Sums are of whole numbers modulo 2^64, exact in any order: a number x with |x| <= bound travels as
round(x / bound 2^bits), below 0 as its complement.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip import __version__
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import FIRST_GENERATION
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, Words
from pairgossip.peer.sums.results import Result, follow_result

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.summaries.summary import Summary

_FEWEST_BITS, _MOST_BITS = 32, 52
"""Binary digits of a row's number; where rows leave room for fewer, they are refused."""
_WORD = 63
"""Binary digits of a sum besides its sign."""
MOST_TOGETHER = 2 ** (_WORD - _FEWEST_BITS) - 1
"""Rows of all members of a model."""


class Generation(NamedTuple):
    """Whose rows a program is about."""

    members: Mapping[str, int]
    """How many rows each member has."""
    number: str = FIRST_GENERATION
    """The name that the result has; in a study that of the question, behind eight zeros."""

    @property
    def rows(self) -> int:
        """How many rows all members have."""
        return sum(self.members.values())


class SumsProgram(ABC):
    """Sums over the rows of all members, round after round, and the result they tell."""

    def __init__(self, spec: Spec, generation: Generation, question: str) -> None:
        self._spec, self._generation, self._asked = spec, generation, question
        self._rounds = 0
        self.result: Result | None = None
        """Once it is known; all members state it."""
        self.summary: Summary | None = None
        """The sum of all members' counts, once it is known; None with noise, and for a model."""
        self.is_stated = False

    @property
    def members(self) -> tuple[str, ...]:
        """The ids of all members, as they were given."""
        return tuple(self._generation.members)

    @property
    def table(self) -> bytes | None:
        """The table that the result is read from, as it is kept; None if there is none."""
        return None

    @property
    @abstractmethod
    def most_sums(self) -> int:
        """How many sums become known at most."""

    @property
    def most_rounds(self) -> int:
        """How many rounds there are at most: sums, and the statement, once repeated."""
        return self.most_sums + 3

    @abstractmethod
    def _question(self) -> tuple[bytes, int]:
        """Return what the next sum depends on, and how many words it has."""

    @abstractmethod
    def contribute(self, ask: Ask) -> Words:
        """Return this member's numbers."""

    @abstractmethod
    def _follow(self, public: bytes) -> None:
        """Take another member's question for this one's; raise `Disagreement` if it is another."""

    @abstractmethod
    def _take(self, total: Words) -> None:
        """Go on with the sum of all members' words."""

    def ask(self) -> Ask | None:
        """Return what the next round asks for; None if all is known."""
        if self.is_stated:
            return None
        if self.result is not None:
            return Ask(Kind.STATEMENT, self.result.state())
        public, words = self._question()
        return Ask(Kind.SUM, public, words)

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        """Return the same question as another member asks it, in a round more if it is repeated."""
        if self.result is not None:
            ranges = (self._spec.ranges[name] for name in self._spec.columns)
            widths = [high - low for low, high in ranges]
            self.result = follow_result(self.result, public, widths)
        else:
            self._rounds += is_repeated
            with _refuse_impossible():
                self._follow(public)
        ask = self.ask()
        assert ask is not None
        return ask

    def take(self, ask: Ask, total: Words) -> None:
        """Go on with the sum of all members' numbers."""
        if ask.kind is Kind.STATEMENT:
            self.is_stated = True
            return
        self._rounds += 1
        with _refuse_impossible():
            self._take(total)

    def _state(self, **fields: Any) -> Result:
        """Return the result with all that it is about."""
        spec, generation = self._spec, self._generation
        known: dict[str, Any] = {
            "question": self._asked,
            "members": dict(sorted(generation.members.items())),
            "rows": generation.rows,
            "generation": generation.number,
            "specification": spec.text,
            "hash": spec.hash,
            "versions": {"pairgossip": __version__},
            "rounds": self._rounds,
        }
        return Result(**(known | fields))


def choose_bits(rows: int) -> int:
    """Return how finely numbers are cut, so that the sum over all members' rows has its place."""
    bits = min(_MOST_BITS, _WORD - rows.bit_length())
    if bits < _FEWEST_BITS:
        raise InputError(
            f"All members together have {rows:,} rows, but sums have room for {MOST_TOGETHER:,}: "
            "split the rows into several runs."
        )
    return bits


def encode(numbers: FloatArray, bounds: FloatArray, bits: int, rows: int = 1) -> Words:
    """Add up lines of numbers, shape (m, r), as whole numbers; each is of this many rows."""
    limit = rows * 2.0**bits
    whole = np.clip(np.rint(numbers / bounds * 2.0**bits), -limit, limit).astype(np.int64)
    return whole.sum(axis=0, dtype=np.int64).view(np.uint64)


def decode(total: Words, bounds: FloatArray, bits: int) -> FloatArray:
    """Return the sum of the numbers."""
    return np.asarray(total.view(np.int64) / 2.0**bits * bounds)


@contextlib.contextmanager
def _refuse_impossible() -> Iterator[None]:
    """Raise `Disagreement` where numbers cannot be reckoned with, since no rows have them."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ValueError, ArithmeticError) as problem:
        raise Disagreement(str(problem)) from problem
