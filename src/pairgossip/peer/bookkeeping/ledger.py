"""The privacy ledger: one report per observation and mechanism, forever, and its cost in epsilon.

A report that was drawn twice would reveal more than its epsilon allows. So reports are drawn once,
are on the disk before anything uses them, and are read from here when the same rows come back:
after a crash, for a new folder, from a restored backup. The name of an observation is a keyed hash
of its values and of the number of equal ones before it, so rows may be reordered and added. An
edited row is another observation.

The file is read as a whole or not at all, replaced at once, and locked by one process at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.sealed import SealedFiles, sync_file
from pairgossip.tables import STANDARD_INPUT

_FORMAT = "pairgossip-ledger"
_VERSION = 2
_LARGEST_LEDGER = 1 << 30
"""Largest size in bytes, for twenty mechanisms and all rows of a peer; more is refused."""
_KEEP = "keep to the mechanism used before, which costs nothing more, or "


class _Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All reports of one mechanism."""

    columns: tuple[str, ...]
    mechanism: str
    """A text of everything that determines the meaning and the probability of a report."""
    epsilon: str
    """The epsilon of a report, as a decimal number, so that sums are exact."""
    reports: dict[str, tuple[int, ...]]
    """The reports, by the name of the observation."""
    noise: tuple[int, ...] = ()
    """The noise of a sum over all these observations; earlier versions wrote it for sums."""


class _Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a ledger."""

    secret: str
    """The key for the names of observations, in hexadecimal."""
    cap: str
    """The largest total epsilon of an observation, as a decimal number."""
    drawn: tuple[_Drawn, ...] = ()
    format: str = _FORMAT
    version: int = _VERSION


_BOOKS = SealedFiles(
    kind=_Book,
    what="the ledger",
    elsewhere="give --ledger with",
    format=_FORMAT,
    version=_VERSION,
    largest=_LARGEST_LEDGER,
    foreign="{} is not a privacy ledger, or what is left of one, and is left as it is: put the "
    "latest copy of the ledger in its place, as with another one the rows would be reported anew.",
    damaged="The ledger {} is damaged or was edited, and nothing is drawn again: put back the copy "
    "that was written last.",
)


@contextlib.contextmanager
def _hold(path: Path) -> Iterator[None]:
    """Lock a ledger, so that no two processes draw reports at once."""
    if not path.parent.is_dir():
        raise InputError(
            f"There is no folder {path.parent} for the ledger: make it, or give another --ledger."
        )
    with _BOOKS.hold(path):
        yield


def _load(path: Path) -> _Book | None:
    """Return the contents of a ledger; None if there is none. Another file is refused."""
    book = _BOOKS.load(path)
    if book is not None:
        _check_numbers(path, book)
    return book


Row = tuple[float, ...]
Report = tuple[int, ...]
_Draw = Callable[[Sequence[Row]], Sequence[Report]]
"""A function that draws a new report for each row."""


@dataclass(frozen=True)
class Declared:
    """A mechanism, as declared for a ledger."""

    columns: tuple[str, ...]
    mechanism: str
    """A text that is equal if and only if reports have the same meaning and probabilities."""
    epsilon: float | Decimal
    sizes: tuple[int, ...]
    """The number of values that each field of a report may have."""
    draw: _Draw

    def is_of(self, drawn: _Drawn) -> bool:
        """Return whether this mechanism drew the reports."""
        return (drawn.columns, drawn.mechanism) == (self.columns, self.mechanism)


@dataclass(frozen=True)
class Account:
    """The budget that the observations of a ledger have spent."""

    observations: int
    spent: Decimal
    """The largest epsilon that one of them may have spent."""
    cap: Decimal


def ledger_beside(data: Path, ledger: Path | None = None) -> Path:
    """Return the path of a data file's ledger; links are resolved, so that it is one path.

    If there is a ledger in the folder of the data, any other path is refused.
    """
    file = data.resolve()
    beside = file.with_name(f"{file.name}.ledger").resolve()
    if ledger is None:
        if data == STANDARD_INPUT:
            raise InputError(
                "Data from standard input has no place for its ledger beside it: give --ledger, "
                "the same each time for the same rows."
            )
        return beside
    if beside.exists() and ledger.resolve() != beside:
        raise InputError(
            f"{beside} is the ledger of {data}, and another one would report its rows again: leave "
            f"--ledger out, or move that ledger there."
        )
    return ledger.resolve()


def refuse_without(path: Path, kept: Iterable[Path]) -> None:
    """Refuse to begin a ledger in the place of one that is missing."""
    if path in kept and not path.exists():
        raise InputError(
            f"There is no ledger {path} any more, and its rows would be reported again: put it "
            f"back."
        )


def refuse_renamed(path: Path, rows: Sequence[Row], columns: tuple[str, ...]) -> None:
    """Refuse to begin a ledger for rows that seem to have one under another name.

    A ledger in the same folder has most of them in this case: the data file was renamed or copied,
    perhaps with more rows, or an earlier command had --ledger and this one does not.
    """
    if path.exists():
        return
    for other in sorted(path.parent.glob("*.ledger")):
        try:
            book = _load(other)
        except InputError:
            continue  # another ledger's damage is no reason to refuse these rows
        if book is None:
            continue
        reported = _spent_by(book.drawn, columns)
        count = sum(name in reported for name in _names(book.secret, columns, rows))
        if 2 * count > len(rows):
            raise InputError(
                f"Give --ledger {other}, which knows {count} of these {len(rows)} rows: another "
                f"ledger would report them again. Or rename it with its data; only if these are "
                f"rows of other people, give --ledger {path}"
            )


def reports_of(
    path: Path, rows: Sequence[Row], declared: Declared, budget: float | None = None
) -> list[Report]:
    """Return the report of every row: earlier reports, and new ones for the other rows.

    The budget is the largest total epsilon of an observation from now on. None keeps that of the
    ledger, which begins as the epsilon of the first mechanism.
    """
    with _hold(path):
        before = _load(path)
        book = _begin(before, declared, budget)
        names = _names(book.secret, declared.columns, rows)
        reports = _read_reports(path, book, declared)
        missing = [place for place, name in enumerate(names) if name not in reports]
        _check_budget(path, book, declared, [names[place] for place in missing])
        if missing:
            drawn = declared.draw([rows[place] for place in missing])
            reports |= {names[place]: report for place, report in zip(missing, drawn, strict=True)}
            book = _with(book, declared, reports)
        if book != before:
            _BOOKS.store(path, book)
        else:
            sync_file(path)
    return [reports[name] for name in names]


def _begin(before: _Book | None, declared: Declared, budget: float | None) -> _Book:
    """Return the contents of a ledger, or of a new one, with the budget as its cap."""
    book = before or _Book(secrets.token_hex(32), _decimal(declared.epsilon))
    return book if budget is None else msgspec.structs.replace(book, cap=_decimal(budget))


def account_of(path: Path) -> Account:
    """Return the budget that has been spent."""
    book = _load(path)
    if book is None:
        raise _missing(path)
    most = max((len(_spent_by(book.drawn, one.columns)) for one in book.drawn), default=0)
    return Account(most, _most_spent(book.drawn), Decimal(book.cap))


def _missing(path: Path) -> InputError:
    return InputError(
        f"There is no ledger {path}: put it back, and report no rows without it meanwhile."
    )


def _decimal(epsilon: float | Decimal) -> str:
    """Return a number as decimal text, so that sums are exact."""
    return str(epsilon) if isinstance(epsilon, Decimal) else repr(float(epsilon))


def _names(secret: str, columns: tuple[str, ...], rows: Sequence[Row]) -> list[str]:
    """Return the name of every observation; it reveals no values without the secret."""
    key, seen = bytes.fromhex(secret), Counter[Row]()
    about = msgspec.json.encode(columns)
    names = []
    for row in rows:
        content = struct.pack(f"<q{len(row)}d", seen[row], *row)
        names.append(hashlib.blake2b(about + content, key=key, digest_size=16).hexdigest())
        seen[row] += 1
    return names


def _read_reports(path: Path, book: _Book, declared: Declared) -> dict[str, Report]:
    """Return the reports that this mechanism drew."""
    mine = [one for one in book.drawn if declared.is_of(one)]
    reports = {name: report for one in mine for name, report in one.reports.items()}
    if not all(_fits(report, declared.sizes) for report in reports.values()):
        raise InputError(
            f"The ledger {path} holds a report that its mechanism cannot give: put back the copy "
            f"that was written last."
        )
    return reports


def _fits(report: Report, sizes: tuple[int, ...]) -> bool:
    return len(report) == len(sizes) and all(
        0 <= entry < size for entry, size in zip(report, sizes, strict=True)
    )


def _with(book: _Book, declared: Declared, reports: dict[str, Report]) -> _Book:
    others = [one for one in book.drawn if not declared.is_of(one)]
    mine = _Drawn(declared.columns, declared.mechanism, _decimal(declared.epsilon), reports)
    return msgspec.structs.replace(book, drawn=(*others, mine))


def _check_budget(path: Path, book: _Book, declared: Declared, names: Iterable[str]) -> None:
    """Refuse reports that would take an observation above the cap."""
    cap, spent = Decimal(book.cap), _most_spent(book.drawn)
    if not cap.is_finite() or cap <= 0:
        raise InputError(f"--budget is {book.cap}: give a finite number > 0.")
    if spent > cap:
        raise InputError(
            f"--budget is {cap.normalize():f}, but {spent.normalize():f} is spent already: see "
            f"{path}, and give at least that."
        )
    mine = _spent_by(book.drawn, declared.columns)
    new = max((mine.get(name, Decimal(0)) for name in names), default=None)
    if new is None:
        return
    before = new + _most_spent(one for one in book.drawn if one.columns != declared.columns)
    after = before + Decimal(_decimal(declared.epsilon))
    allow = f"allow it with --budget {after.normalize():f}"
    if after > cap and not before:
        raise InputError(
            f"--budget is {cap.normalize():f}, below the epsilon of {after.normalize():f} that "
            f"reporting these rows costs: {allow}."
        )
    if after > cap:
        raise InputError(
            f"These rows have spent {before.normalize():f} of a privacy budget of "
            f"{cap.normalize():f}, and reporting them in another way would make it "
            f"{after.normalize():f}: {_KEEP}{allow}."
        )


def _spent_by(drawn: Iterable[_Drawn], columns: tuple[str, ...]) -> Mapping[str, Decimal]:
    """Return the total epsilon that each observation of these columns has spent."""
    spent: dict[str, Decimal] = {}
    for one in drawn:
        if one.columns == columns:
            for name in one.reports:
                spent[name] = spent.get(name, Decimal(0)) + Decimal(one.epsilon)
    return spent


def _most_spent(drawn: Iterable[_Drawn]) -> Decimal:
    """Return a bound on the epsilon that one person's observations have spent.

    A ledger does not know which observations of different columns are the same person's. So the
    bound adds up the largest amounts of all sets of columns.
    """
    every = tuple(drawn)
    each = [_spent_by(every, columns).values() for columns in {one.columns for one in every}]
    return sum((max(spent, default=Decimal(0)) for spent in each), start=Decimal(0))


def _check_numbers(path: Path, book: _Book) -> None:
    try:
        for number in (book.cap, *(one.epsilon for one in book.drawn)):
            Decimal(number)
        bytes.fromhex(book.secret)
    except (InvalidOperation, ValueError):
        raise InputError(
            f"The ledger {path} holds text where a number must be: put back the copy that was "
            f"written last."
        ) from None
