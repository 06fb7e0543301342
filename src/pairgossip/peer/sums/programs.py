"""The base of programs that compute sums: rounds, and then a statement that all members sign.

Sums are of whole numbers modulo 2^64, exact in any order: a number x with |x| <= bound is sent as
round(x / bound 2^bits), a negative one as its complement.
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
"""Least and largest number of bits of a row's number; too many rows for the least are refused."""
_WORD = 63
"""Number of bits of a sum without its sign."""
MOST_TOGETHER = 2 ** (_WORD - _FEWEST_BITS) - 1
"""Largest number of rows of all members together in a model; more are refused."""


class Generation(NamedTuple):
    """The members of a program, and its name."""

    members: Mapping[str, int]
    """The number of rows of each member."""
    number: str = FIRST_GENERATION
    """The name of the generation of a result; in a study, eight zeros and the question's name."""

    @property
    def rows(self) -> int:
        """The number of rows of all members."""
        return sum(self.members.values())


class SumsProgram(ABC):
    """Sums over the rows of all members, round after round, and their result."""

    def __init__(self, spec: Spec, generation: Generation, question: str) -> None:
        self._spec, self._generation, self._asked = spec, generation, question
        self._rounds = 0
        self.result: Result | None = None
        """The result that all members state, once it is known."""
        self.summary: Summary | None = None
        """The sum of all members' counts, once it is known; None with noise, and for a model."""
        self.is_stated = False

    @property
    def members(self) -> tuple[str, ...]:
        """The ids of all members, in the order of the generation."""
        return tuple(self._generation.members)

    @property
    def table(self) -> bytes | None:
        """The stored bytes of the result's table; None if there is none."""
        return None

    @property
    @abstractmethod
    def most_sums(self) -> int:
        """The largest number of sums that become known."""

    @property
    def most_rounds(self) -> int:
        """The largest number of rounds: sums, and the statement with its repeats."""
        return self.most_sums + 3

    @abstractmethod
    def _question(self) -> tuple[bytes, int]:
        """Return all that the next sum depends on besides rows, and its number of words."""

    @abstractmethod
    def contribute(self, ask: Ask) -> Words:
        """Return this member's contribution."""

    @abstractmethod
    def _follow(self, public: bytes) -> None:
        """Adopt another member's form of the question; raise `Disagreement` for another one."""

    @abstractmethod
    def _take(self, total: Words) -> None:
        """Continue with the sum of all contributions."""

    def ask(self) -> Ask | None:
        """Return the question of the next round; None if all is known."""
        if self.is_stated:
            return None
        if self.result is not None:
            return Ask(Kind.STATEMENT, self.result.state())
        public, words = self._question()
        return Ask(Kind.SUM, public, words)

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        """Return the question as another member asks it; a repeated one takes one more round."""
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
        """Continue with the sum of all contributions."""
        if ask.kind is Kind.STATEMENT:
            self.is_stated = True
            return
        self._rounds += 1
        with _refuse_impossible():
            self._take(total)

    def _state(self, **fields: Any) -> Result:
        """Return a result with these fields, and with those that name its subject."""
        spec, generation = self._spec, self._generation
        subject: dict[str, Any] = {
            "question": self._asked,
            "members": dict(sorted(generation.members.items())),
            "rows": generation.rows,
            "generation": generation.number,
            "specification": spec.text,
            "hash": spec.hash,
            "versions": {"pairgossip": __version__},
            "rounds": self._rounds,
        }
        return Result(**(subject | fields))


def choose_bits(rows: int) -> int:
    """Return the number of bits per number that leaves room for the sum over all rows."""
    bits = min(_MOST_BITS, _WORD - rows.bit_length())
    if bits < _FEWEST_BITS:
        raise InputError(
            f"All members together have {rows:,} rows, but sums have room for {MOST_TOGETHER:,}: "
            "split the rows into several runs."
        )
    return bits


def encode(numbers: FloatArray, bounds: FloatArray, bits: int, rows: int = 1) -> Words:
    """Add up lines of numbers, shape (m, r), as whole numbers; each line is a sum over ``rows``."""
    limit = rows * 2.0**bits
    whole = np.clip(np.rint(numbers / bounds * 2.0**bits), -limit, limit).astype(np.int64)
    return whole.sum(axis=0, dtype=np.int64).view(np.uint64)


def decode(total: Words, bounds: FloatArray, bits: int) -> FloatArray:
    """Return an encoded sum as floating-point numbers."""
    return np.asarray(total.view(np.int64) / 2.0**bits * bounds)


@contextlib.contextmanager
def _refuse_impossible() -> Iterator[None]:
    """Raise `Disagreement` if computing with a sum fails, since no rows have such a sum."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ValueError, ArithmeticError) as problem:
        raise Disagreement(str(problem)) from problem
