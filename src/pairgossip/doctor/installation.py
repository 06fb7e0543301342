"""Checks of the installation: Python, extras, compiled loops, the clock, free space."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pairgossip
from pairgossip.doctor.findings import Finding
from pairgossip.text import format_bytes, format_count, join_names

TRIED = ("3.11", "3.12", "3.13")
"""Pythons with which all tests have run, on Linux, as the classifiers say; others are expected to
work, as are other systems."""
EXTRAS = {
    "lab": "simulate networks, draw figures, train models",
    "watch": "open the page in a browser",
    "tables": "read Parquet and Arrow files",
    "sql": "read queries of DuckDB",
    "cluster": "count and run on Dask",
}
"""The purpose of each extra."""
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+).*extra == ['\"](\w+)['\"]")
_NESTED = re.compile(r"pairgossip\[([\w,]+)\].*extra == ['\"](\w+)['\"]")
_ROOM = 1 << 30
"""Least free space of a disk, in bytes; with less it is worth a look, as files there grow."""
_SECONDS = 5.0
"""Seconds to wait for timedatectl; after them nothing is said about time servers."""


def examine_installation(folder: Path) -> Iterator[Finding]:
    """Check the installation and this machine; ``folder`` is where results would be written."""
    yield _examine_python()
    yield from _examine_extras()
    yield _examine_cache()
    yield _examine_clock()
    yield examine_space("Free space", folder)


def _examine_python() -> Finding:
    place = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    sentence = f"pairgossip {pairgossip.__version__}, {place}."
    if platform.system() == "Linux" and "{}.{}".format(*sys.version_info) in TRIED:
        return Finding("Python", "fine", f"{sentence} All tests have run there.")
    expected = (
        f"It is expected to work; all tests have run with Python {join_names(TRIED)} on Linux."
    )
    return Finding("Python", "fine", f"{sentence} {expected}")


def _examine_extras() -> Iterator[Finding]:
    try:
        version("pairgossip")
    except PackageNotFoundError:
        sentence = "pairgossip runs from a folder and is not installed, so its extras are unknown."
        yield Finding("Extras", "look", sentence, "Install it: pip install pairgossip.")
        return
    for extra, needed in _requirements().items():
        lacking = [name for name, least in needed.items() if not _is_installed(name, least)]
        what = EXTRAS[extra]
        if not lacking:
            yield Finding(f"Extra {extra}", "fine", f"Installed, to {what}.")
            continue
        yield Finding(
            f"Extra {extra}",
            "look",
            f"Not installed: {join_names(lacking)} missing or too old.",
            f"To {what}: pip install 'pairgossip[{extra}]'.",
        )


def _requirements() -> Mapping[str, Mapping[str, str]]:
    """Return the libraries of every extra with their least versions, nested extras included."""
    lines = requires("pairgossip") or []
    libraries: dict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        if found := _REQUIREMENT.match(line):
            libraries[found[3]][found[1]] = found[2]
    nested = [found for line in lines if (found := _NESTED.match(line))]
    for _ in range(len(nested)):  # as deep as extras could name one another
        for found in nested:
            for inner in found[1].split(","):
                libraries[found[2]].update(libraries[inner])
    return {extra: libraries[extra] for extra in EXTRAS}


def _is_installed(name: str, least: str) -> bool:
    try:
        return _as_numbers(version(name)) >= _as_numbers(least)
    except PackageNotFoundError:
        return False


def _as_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _examine_cache() -> Finding:
    """Check whether compiled loops are kept: without them every process compiles for seconds."""
    if not _is_installed("numba", "0"):
        return Finding("Compiled loops", "fine", "Not used: they come with the extra lab.")
    places = _cache_places()
    kept = [file for place in places for file in place.rglob("*.nb[ic]")]
    if kept:
        size = format_bytes(sum(file.stat().st_size for file in kept))
        return Finding(
            "Compiled loops", "fine", f"{format_count(len(kept), 'file')}, {size}, in {places[0]}."
        )
    parent = _first_existing(places[0])
    if parent.is_dir() and os.access(parent, os.W_OK):
        sentence = "None yet: the first run compiles for up to a minute, later ones do not."
        return Finding("Compiled loops", "fine", sentence)
    return Finding(
        "Compiled loops",
        "look",
        f"They cannot be kept in {places[0]}, so every process compiles anew.",
        "Set NUMBA_CACHE_DIR to a folder that you may write to.",
    )


def _cache_places() -> list[Path]:
    """Return the folders in which numba keeps compiled loops; it writes new ones to the first."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen)]
    package = Path(pairgossip.__file__).parent
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    return [package, own] if os.access(package, os.W_OK) else [own, package]


def _first_existing(place: Path) -> Path:
    return next(path for path in (place, *place.absolute().parents) if path.exists())


def _examine_clock() -> Finding:
    """Check whether this machine's time can be right: certificates and deadlines depend on it."""
    now = _now()
    made = datetime.datetime.fromtimestamp(Path(pairgossip.__file__).stat().st_mtime, datetime.UTC)
    shown = f"{now:%Y-%m-%d %H:%M} UTC"
    if now < made - datetime.timedelta(days=1):
        return Finding(
            "Clock",
            "broken",
            f"It shows {shown}, before this copy of pairgossip was installed.",
            "Set the clock of this machine: certificates are checked by it.",
        )
    if _is_set_by_network() is False:
        return Finding(
            "Clock",
            "look",
            f"It shows {shown}; the system says that no time server sets it.",
            "Switch on time synchronization: timedatectl set-ntp true.",
        )
    return Finding("Clock", "fine", f"It shows {shown}.")


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _is_set_by_network() -> bool | None:
    """Return whether a time server sets the clock; None if the system does not say."""
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return {"yes": True, "no": False}.get(said.stdout.strip())


def examine_space(subject: str, folder: Path) -> Finding:
    """Check the free space on the disk of a folder."""
    free = shutil.disk_usage(_first_existing(folder)).free
    sentence = f"{format_bytes(free)} on the disk of {folder.absolute()}."
    if free >= _ROOM:
        return Finding(subject, "fine", sentence)
    return Finding(subject, "look", sentence, "Free some space: a full disk stops a peer.")
