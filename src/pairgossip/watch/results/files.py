"""The saved results that can be looked at, found once at the start; nothing else is opened."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pairgossip.errors import InputError
from pairgossip.results.loading import load
from pairgossip.results.storage import read_header
from pairgossip.text import clean_text

MOST_FILES = 1_000
LONGEST_NAME = 120


@dataclass(frozen=True)
class ResultFile:
    """One file under a short key, which stays the same as long as its path does."""

    key: str
    name: str
    """As shown: without control characters."""
    group: str
    """The folder it was found in, below the one asked for."""
    path: Path

    def load(self) -> Any:
        """Read the run or the fit; a damaged file gives one sentence."""
        try:
            return load(self.path)
        except MemoryError:
            raise InputError(f"{self.path.name} needs more memory than there is.") from None

    def header(self) -> dict[str, Any]:
        """Read what the file says about itself, without its arrays."""
        try:
            return read_header(self.path)
        except InputError:
            raise
        except Exception:  # a damaged archive fails in as many ways as there are bytes
            raise InputError(
                f"{self.path.name} is not a run saved by pairgossip, or is damaged."
            ) from None


@dataclass(frozen=True)
class Found:
    """All files there are."""

    files: dict[str, ResultFile]
    reports: dict[str, Path]
    """Reports of reproductions, by key."""
    reproductions: list[Path]
    """Folders that `pairgossip reproduce` made."""


def find_results(
    files: Iterable[str | PathLike[str]] = (), folders: Iterable[str | PathLike[str]] = ()
) -> Found:
    """Make the table of all files, once."""
    found = Found({}, {}, [])
    for path in map(Path, files):
        if not path.is_file():
            raise InputError(f"There is no file {path}: check the path.")
        _add(found, path, path.name)
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}: check the path.")
        _add_folder(found, folder)
    return found


def _add_folder(found: Found, folder: Path) -> None:
    # The experiments take a second to import.
    from pairgossip.experiments.framework.report import REPORT
    from pairgossip.experiments.framework.store import group_of, is_reproduction, saved_runs

    paths, report = saved_runs(folder), folder / REPORT
    if is_reproduction(folder):
        found.reproductions.append(folder)  # which may have computed its results without runs
        if report.is_file():
            found.reports[_key(report)] = report
    elif not paths:
        raise InputError(
            f"{folder} holds no saved run: give a folder that 'pairgossip reproduce' made, or "
            "one of .npz files."
        )
    for path in paths:
        _add(found, path, path.stem, group_of(path, folder))


def _add(found: Found, path: Path, name: str, group: str = "") -> None:
    key = _key(path)
    if len(found.files) >= MOST_FILES and key not in found.files:
        raise InputError(f"There are more than {MOST_FILES:,} saved runs: give fewer at once.")
    file = ResultFile(key, clean_text(name, LONGEST_NAME), clean_text(group, LONGEST_NAME), path)
    found.files.setdefault(key, file)


def _key(path: Path) -> str:
    return hashlib.blake2b(str(path.absolute()).encode(errors="replace"), digest_size=6).hexdigest()
