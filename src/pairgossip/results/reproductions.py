"""The places of a reproduction's files, for code that reads one."""

from __future__ import annotations

from pathlib import Path

SETTINGS, RESULTS, REPORT = "settings.json", "results", "report.html"
UNFINISHED = ".unfinished.npz"
"""The end of the names of files whose trials are not all finished."""


def is_reproduction(folder: Path) -> bool:
    """Return whether a folder was made by a reproduction."""
    return (folder / RESULTS).is_dir() and (folder / SETTINGS).is_file()


def saved_runs(folder: Path) -> list[Path]:
    """Return the files of finished runs and fits below a folder."""
    paths = sorted(folder.rglob("*.npz"))
    return [path for path in paths if path.is_file() and not path.name.endswith(UNFINISHED)]


def group_of(path: Path, folder: Path) -> str:
    """Return the folder of a file below another: of a reproduction, the experiment's name."""
    between = path.parent.relative_to(folder).as_posix()
    return "" if between == "." else between.removeprefix(f"{RESULTS}/")
