"""Which saved results can be looked at: found once, at the start; nothing else is ever opened."""

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
UNFINISHED = ".unfinished.npz"
LONGEST_NAME = 120
REPORT, RESULTS = "report.html", "results"


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
    reproductions: tuple[Path, ...] = ()
    """Folders that `pairgossip reproduce` made."""


def find_results(
    files: Iterable[str | PathLike[str]] = (), folders: Iterable[str | PathLike[str]] = ()
) -> Found:
    """Make the table of all files, once."""
    found: dict[str, ResultFile] = {}
    reports: dict[str, Path] = {}
    reproductions = []
    for file in files:
        path = Path(file)
        if not path.is_file():
            raise InputError(f"There is no file {path}: check the path.")
        _add(found, ResultFile(_key(path), clean_text(path.name, LONGEST_NAME), "", path))
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}: check the path.")
        inside = [path for path in sorted(folder.rglob("*.npz")) if path.is_file()]
        if (folder / RESULTS).is_dir() and (folder / "settings.json").is_file():
            reproductions.append(folder)  # which may have computed its results without runs
            if (folder / REPORT).is_file():
                reports[_key(folder / REPORT)] = folder / REPORT
        elif not inside:
            raise InputError(
                f"{folder} holds no saved run: give a folder that 'pairgossip reproduce' made, or "
                "one of .npz files."
            )
        for path in inside:
            if not path.name.endswith(UNFINISHED):
                _add(found, _in_folder(path, folder))
    return Found(found, reports, tuple(reproductions))


def _in_folder(path: Path, folder: Path) -> ResultFile:
    between = path.parent.relative_to(folder).as_posix()
    group = "" if between == "." else between.removeprefix(f"{RESULTS}/")
    return ResultFile(
        _key(path), clean_text(path.stem, LONGEST_NAME), clean_text(group, LONGEST_NAME), path
    )


def _add(found: dict[str, ResultFile], file: ResultFile) -> None:
    if len(found) >= MOST_FILES and file.key not in found:
        raise InputError(f"There are more than {MOST_FILES:,} saved runs: give fewer at once.")
    found.setdefault(file.key, file)


def _key(path: Path) -> str:
    return hashlib.blake2b(str(path.absolute()).encode(errors="replace"), digest_size=6).hexdigest()
