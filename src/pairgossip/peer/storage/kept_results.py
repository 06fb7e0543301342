"""Results that all members have signed, kept in a peer's folder for good: a file per generation.

A generation's contributions go when the next one begins, and a list of members that has changed
halts the rounds. So the result is written here as soon as all signatures are there, before the
peer says that it is done. Nothing that begins afterward touches it.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.signed_result import (
    FIRST_VERSION,
    SignedResult,
    check_signatures,
    read_signed,
)
from pairgossip.peer.storage.folder import Home

_ENDING = ".json"
_EARLIEST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
"""Orders results of which nobody knows when they were kept before all others."""


@dataclass(frozen=True)
class KeptResult:
    """A file of a signed result whose signatures are those of all members."""

    path: Path
    signed: SignedResult

    @property
    def ordinal(self) -> int:
        """The generation as people count it: the first is 1."""
        return self.signed.result.ordinal

    def is_of(self, spec: str) -> bool:
        """Return whether it is a result of the specification with this hash, by this version."""
        return self.signed.result.hash == spec and self.signed.version > FIRST_VERSION


def keep_result(home: Home, signed: SignedResult) -> Path:
    """Write a signed result, on the disk before this returns; one that is sound stays as it is.

    Another study's result under the same name stays too, and this one is written beside it.
    """
    path = path_of(home, signed.result.generation)
    with contextlib.suppress(InputError):
        if read_kept(path).signed.transcript == signed.transcript:
            return path
        path = path_of(home, f"{signed.result.generation}-{signed.result.hash[:8]}")
        if read_kept(path).signed.transcript == signed.transcript:
            return path
    write_result(path, signed)
    return path


def write_result(path: Path, signed: SignedResult) -> None:
    """Write a signed result, on the disk before this returns; its folder may be missing."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        sync(path.parent.parent)
    except OSError as problem:
        raise files.unwritable(path.parent, problem) from None
    files.replace(path, msgspec.json.format(msgspec.json.encode(signed)) + b"\n")


def path_of(home: Home, generation: int | str) -> Path:
    """Return where the result of a generation is kept, by the generation's name."""
    return home.results / f"{generation}{_ENDING}"


def read_kept(path: Path) -> KeptResult:
    """Read a kept result and check all its signatures; raise `InputError` if one is wrong."""
    try:
        signed = read_signed(path)
        check_signatures(signed, str(path)).require_all()
    except InputError as problem:
        raise InputError(
            f"{problem} Every member keeps the same result: put another's copy in its place."
        ) from None
    return KeptResult(path, signed)


def list_kept(home: Home) -> tuple[list[KeptResult], list[str]]:
    """Return the kept results, the last generation last, and a sentence for each damaged file.

    Where generations have the same number, the result that was kept last is last.
    """
    results, problems = [], []
    for path in _list_paths(home):
        try:
            results.append(read_kept(path))
        except InputError as problem:
            problems.append(str(problem))
    results.sort(key=lambda one: (one.ordinal, one.signed.kept or _EARLIEST, one.path.name))
    return results, problems


def _list_paths(home: Home) -> list[Path]:
    try:
        names = sorted(os.listdir(home.results))
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise InputError(f"Cannot read {home.results}: {problem.strerror}.") from None
    # A draft that a crash has left begins with a dot.
    return [home.results / name for name in names if name.endswith(_ENDING) and name[0] != "."]
