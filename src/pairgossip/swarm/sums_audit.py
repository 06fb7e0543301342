"""Whether peers that computed sums have done so, by the disks of all once they have stopped.

Sums that peers have added up under masks are added up again from the rows themselves, without any;
and the values of one peer's rows are looked for in the files of the others.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.held import Held
from pairgossip.peer.protocol.messages import Contribution, signed_payload
from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.service.assembly import PeerSnapshot, read_snapshot
from pairgossip.peer.signed_result import check_signatures, sign_result
from pairgossip.peer.storage.accounting import accounting_of
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.kept_ledgers import noise_ledger
from pairgossip.peer.storage.sources import hold_anew
from pairgossip.peer.sums.programs import SumsProgram
from pairgossip.peer.sums.results import Result, follow_result
from pairgossip.peer.sums.simulation import run_programs
from pairgossip.swarm.audit import compare_generations
from pairgossip.text import join_first

_MOST_NAMED = 5
"""Members that a sentence names; it counts the rest."""
_FEWEST_DIGITS, _FEWEST_WHOLE_DIGITS = 6, 10
"""Files hold shorter values by chance; ids and times hold whole numbers."""
_LOW_BITS = np.uint64(0xFFFF_FFFF)
_NUMBER = re.compile(rb"\d[\d.]{4,30}(?:[eE][-+]?\d{1,3})?")
_WIDTH = 8
"""Bytes of a number in double precision."""
_Values = Mapping[str, FloatArray]


@dataclass(frozen=True)
class SumsAudit:
    """The results of peers that computed sums, and whether they are right."""

    result: Result | None
    """The result that all peers have stated; None if one has stated none, or another."""
    rounds: int
    """Rounds to which all peers hold all contributions."""
    sums: int
    """How many of these were sums, each compared with the plain sum of all rows."""
    signatures: int
    """How many contributions had their signatures checked."""
    searched: int
    """Values of rows that were looked for in the files of other peers."""
    violations: tuple[str, ...]
    """A sentence each."""

    @property
    def is_sound(self) -> bool:
        """Whether what peers have is that of all rows, and unless interrupted all have all."""
        return not self.violations


@dataclass(frozen=True)
class _View:
    """One peer's folder, and how far its rounds are by what is in it."""

    seen: PeerSnapshot
    state: SumsState
    rounds: Rounds

    @property
    def name(self) -> str:
        return self.seen.identity.name


_Views = Mapping[str, _View]


def audit_sums(
    homes: Sequence[Home], logs: Sequence[Path] = (), *, is_interrupted: bool = False
) -> SumsAudit:
    """Read all peers' disks, and their logs if there are any; none of them may be running.

    Peers that were interrupted may still wait for each other, and have no result.
    """
    views = {one.seen.identity.id: one for one in map(_view, homes)}
    gone = {member for one in views.values() for member in one.state.evicted}
    views = {who: one for who, one in views.items() if who not in gone}
    parts_by_round, plain_result, problems = _run_plainly(views)
    unfinished = _unfinished(views, is_interrupted=is_interrupted)
    contributions = _collect_contributions(views)
    problems += [
        *compare_generations(one.state for one in views.values()),
        *unfinished,
        *_different(views, contributions),
        *_forged(views, contributions),
    ]
    complete = _complete_rounds(views)
    sums = _masked_sums(views, complete)
    for (number, total), parts in zip(sums.items(), parts_by_round, strict=False):
        if not np.array_equal(total, np.sum(parts, axis=0, dtype=np.uint64)):
            problems.append(f"The sum of round {number} is not that of the rows of all peers.")
        problems += _unmasked(views, number, parts)
    stated = {who: _stated(one) for who, one in views.items()}
    problems += _other_results(views, stated, plain_result)
    ranges = next(iter(views.values())).seen.spec.ranges.values()
    search = RowSearch(
        {one.name: _hold(one).rows for one in views.values()},
        public=[end for ends in ranges for end in ends],
    )
    for one in views.values():
        folder = one.seen.home.folder
        files = [*folder.rglob("*"), *(path for path in logs if path.stem == folder.name)]
        problems += search.find(one.name, filter(Path.is_file, files))
    results = {None if one is None else one.state() for one in stated.values()}
    return SumsAudit(
        result=next(iter(stated.values())) if len(results) == 1 else None,
        rounds=len(complete),
        sums=len(sums),
        signatures=sum(map(len, contributions.values())),
        searched=search.count,
        violations=tuple(problems),
    )


def _view(home: Home) -> _View:
    seen = read_snapshot(home)
    return _View(seen, seen.sums, Rounds(seen.context, seen.sums))


_Contributions = list[list[Words]]
"""The contributions of peers to one sum after the other, without any mask."""


def _run_plainly(views: _Views) -> tuple[_Contributions, Result | None, list[str]]:
    """Return all contributions and the result as the rows of all peers tell them."""
    parts_by_round: _Contributions = []
    with tempfile.TemporaryDirectory(prefix="pairgossip-audit-") as folder:
        programs = [_program(one, Path(folder)) for one in views.values()]
        try:
            return parts_by_round, run_programs(programs, parts_by_round), []
        except Disagreement as problem:
            return parts_by_round, None, [f"The rows of the peers do not tell a result: {problem}."]


def _program(one: _View, folder: Path) -> SumsProgram:
    """Return what a peer computes; its noise comes from a copy of its ledger, as it was drawn."""
    seen, context = one.seen, one.seen.context
    copied = folder / f"{one.name}.ledger"
    accounting = accounting_of(seen.spec, seen.home.data)
    noise = accounting.keep_noise(lambda: Path(shutil.copy(noise_ledger(seen.home), copied)))
    context = replace(context, noise=noise or context.noise)
    context = context.with_own(_hold(one))
    return context.make_program(one.state.generation, one.state.released)


def _hold(one: _View) -> Held:
    """Return a peer's rows, and their counts, as its sources tell them."""
    return hold_anew(one.seen.home, one.seen.spec, one.seen.identity)


def _unfinished(views: _Views, *, is_interrupted: bool) -> Iterator[str]:
    """Say which peers have no result, and why; of those that were interrupted, which cannot."""
    for one in views.values():
        rounds = one.rounds
        if rounds.halt is None and (rounds.ask is None or is_interrupted):
            continue
        names = [_name(views, who) for who in rounds.awaited]
        if names:
            waits = join_first(names[:_MOST_NAMED], len(names))
            why = f"round {rounds.round} waits for {waits}"
        else:
            why = "; ".join(one.seen.status().problems).rstrip(".") or "see its log"
        yield f"{one.name} has no result: {why}."


_Places = dict[tuple[int, str], dict[bytes, Contribution]]


def _collect_contributions(views: _Views) -> _Places:
    """Return the different contributions that peers hold of each member to each round."""
    contributions: _Places = {}
    for one in views.values():
        for place, contribution in one.state.contributions.items():
            signed = signed_payload(contribution, one.seen.context.spec)
            contributions.setdefault(place, {})[signed + contribution.signature] = contribution
    return contributions


def _different(views: _Views, contributions: _Places) -> list[str]:
    return [
        f"Peers hold different contributions of {_name(views, member)} to round {number}."
        for (number, member), held in sorted(contributions.items())
        if len(held) > 1
    ]


def _forged(views: _Views, contributions: _Places) -> list[str]:
    """Find contributions that were not signed by those whose they are said to be."""
    context = next(iter(views.values())).seen.context
    return [
        f"A contribution of {_name(views, one.member)} to round {one.round} is not signed by it."
        for held in contributions.values()
        for one in held.values()
        if not context.verify(one.member, signed_payload(one, context.spec), one.signature)
    ]


def _name(views: _Views, member: str) -> str:
    return views[member].name if member in views else member


def _complete_rounds(views: _Views) -> list[int]:
    """Return the rounds to which every peer holds a contribution of every member."""
    places = set.intersection(*(set(one.state.contributions) for one in views.values()))
    numbers = sorted({number for number, _ in places})
    return [number for number in numbers if all((number, member) in places for member in views)]


def _masked_sums(views: _Views, complete: Sequence[int]) -> dict[int, Words]:
    """Add up contributions as peers do, for every round whose sum became known."""
    sums, state = {}, next(iter(views.values())).state
    for number in complete:
        contributions = [state.contributions[number, member] for member in sorted(views)]
        if contributions[0].words and len({one.public for one in contributions}) == 1:
            words = len(contributions[0].words) // 8
            sums[number] = masks.add_up((one.words for one in contributions), words)
    return sums


def _unmasked(views: _Views, number: int, parts: Sequence[Words]) -> Iterator[str]:
    """Find contributions that show a number as it is, which a mask does not by chance."""
    for (who, one), plain in zip(views.items(), parts, strict=True):
        shown = np.frombuffer(one.state.contributions[number, who].words, "<u8")
        if len(shown) == len(plain) and (shown == plain).any():
            yield f"The contribution of {one.name} to round {number} is not masked."


def _stated(one: _View) -> Result | None:
    """Return what a peer has stated, if all members have signed it, as anyone would check it."""
    if one.rounds.ask is not None or one.rounds.halt is not None:
        return None
    try:
        checked = check_signatures(sign_result(one.seen.context, one.rounds), one.name)
    except InputError:
        return None
    return None if checked.missing else checked.result


def _other_results(
    views: _Views, stated: Mapping[str, Result | None], plain_result: Result | None
) -> Iterator[str]:
    """Find results that not all have signed, or that the rows do not tell."""
    for who, result in stated.items():
        one = views[who]
        if one.rounds.ask is not None or one.rounds.halt is not None:
            continue  # which is said already
        if result is None:
            yield f"Not all members have signed the result of {one.name}."
        elif plain_result is not None and not _agrees(result, plain_result):
            yield f"The result of {one.name} is not that of the rows of all peers."


def _agrees(result: Result, plain: Result) -> bool:
    """Return whether a result is this one but for rounding, as members see each other's."""
    if result.state() == plain.state():
        return True
    try:
        follow_result(plain, result.state())
    except Disagreement:
        return False
    return True


class RowSearch:
    """Searches for rows by those of their values that are in no other peer's rows.

    Values are looked for as text, and as the eight bytes of a double in either order. Short ones,
    such as a label or a count, are left out, and so are those that are public.
    """

    def __init__(self, rows: Mapping[str, FloatArray], public: Collection[float] = ()) -> None:
        long = {name: _long_values(own) for name, own in rows.items()}
        values, counts = np.unique(np.concatenate(list(long.values())), return_counts=True)
        public_values = np.concatenate(
            [values[counts > 1], np.array(list(public), dtype=np.float64)]
        )
        self._values: _Values = {
            name: np.setdiff1d(own, public_values) for name, own in long.items()
        }

    @property
    def count(self) -> int:
        """How many values are looked for."""
        return sum(map(len, self._values.values()))

    def find(self, who: str, files: Iterable[Path]) -> list[str]:
        """Return a sentence for every other peer of whose rows these files of a peer hold any."""
        others = {name: values for name, values in self._values.items() if name != who}
        sought = np.sort(np.concatenate([np.empty(0), *others.values()]))
        matches = np.array(
            [one for path in files for one in _find_numbers(path.read_bytes(), sought)]
        )
        return [
            f"The files of {who} hold a value of a row of {name}."
            for name, values in others.items()
            if np.isin(matches, values).any()
        ]


def _long_values(rows: FloatArray) -> FloatArray:
    """Return the different values of rows that no file holds by chance."""
    values = np.unique(rows)
    long = []
    for value in values[(values.view(np.uint64) & _LOW_BITS) > 0].tolist():
        digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
        if len(digits) >= (_FEWEST_WHOLE_DIGITS if value.is_integer() else _FEWEST_DIGITS):
            long.append(value)
    return np.array(long, dtype=np.float64)


def _find_numbers(content: bytes, values: FloatArray) -> Iterator[float]:
    """Yield the numbers in a file that are among these values, whatever their sign."""
    if not len(values):
        return
    numbers = np.array(list(_numbers(content)))
    yield from _common(numbers, values)
    yield from _common(-numbers, values)
    for start in range(min(_WIDTH, len(content))):
        count = (len(content) - start) // _WIDTH
        for order in ("<f8", ">f8"):
            yield from _common(np.frombuffer(content, order, count, start), values)


def _numbers(content: bytes) -> Iterator[float]:
    for text in _NUMBER.findall(content):
        try:
            yield float(text)
        except ValueError:  # such as an address
            continue


def _common(numbers: FloatArray, values: FloatArray) -> list[float]:
    near = numbers[(values[0] <= numbers) & (numbers <= values[-1])]
    places = np.searchsorted(values, near)
    return np.unique(near[values[places] == near]).tolist()
