"""`pairgossip peer unit`: the file by which systemd runs a peer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from pairgossip.cli.console import output
from pairgossip.cli.options import HomeFolder
from pairgossip.cli.peer.folders import find_home, find_study_folder
from pairgossip.errors import InputError

_TEMPLATE = "pairgossip-peer.service"
_HOMES = (Path("/home"), Path("/root"), Path("/run/user"))
"""Folders that ProtectHome= hides."""


def unit_command(*, home: HomeFolder = None) -> None:
    """Print the file by which systemd runs the peer, with the paths and the owner of its folder.

    Put it into /etc/systemd/system, and run `systemctl daemon-reload`.

    For example:

        pairgossip peer unit --home clinic-a > pairgossip-peer.service
    """
    study = find_study_folder(home)
    written, sources = [find_home(home).folder.resolve()] if study is None else [], list[Path]()
    if study is not None:
        written, sources = _places_of(study)
    folder = written[0]
    template = (files("pairgossip.peer") / _TEMPLATE).read_text(encoding="utf-8")
    output().file.write(fill_in(template, _program(), written, *_owner(folder), sources))


def _places_of(study: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders that a study's member writes to, its own first, and what it reads.

    It notes releases in registers, one of them beside each source. Their folders are made here:
    systemd starts no peer that may write to a folder which does not exist.
    """
    from pairgossip.peer.bookkeeping.places import make_folders
    from pairgossip.study.storage.folder import open_study
    from pairgossip.study.storage.snapshots import find_registers

    home = open_study(study)
    settings, sources = home.read_settings(), home.find_sources()
    registers = [one for source in sources for one in find_registers(source, settings)]
    make_folders(registers)
    return list(dict.fromkeys([study.resolve(), *(one.parent for one in registers)])), sources


def fill_in(
    template: str,
    program: Path,
    written: list[Path],
    user: str,
    group: str,
    sources: Sequence[Path] = (),
) -> str:
    """Return the unit of a peer, given its folder and then others that it writes to.

    It only reads its ``sources``.
    """
    folder = written[0]
    used = (*written, *sources)
    is_at_home = any(one.is_relative_to(home) for one in used for home in _HOMES)
    values = {
        "Description": f"pairgossip peer {_quoted(folder.name)}",
        "User": user,
        "Group": group,
        "StateDirectory": None,
        "StateDirectoryMode": None,
        "WorkingDirectory": str(folder).replace("%", "%%"),
        "ExecStart": f"{_quoted(program)} peer run --home {_quoted(folder)}",
        "ProtectSystem": f"strict\nReadWritePaths={' '.join(map(_quoted, written))}",
        "ProtectHome": "false" if is_at_home else "true",
    }
    lines = []
    for line in template.splitlines():
        key = line.partition("=")[0]
        if values.get(key, "") is not None:
            lines.append(f"{key}={values[key]}" if key in values else line)
    return "\n".join(lines) + "\n"


def _owner(folder: Path) -> tuple[str, str]:
    """Return the user and group that own a folder: numbers where they have no names."""
    try:
        return folder.owner(), folder.group()
    except KeyError:
        owner = folder.stat()
        return str(owner.st_uid), str(owner.st_gid)


def _program() -> Path:
    beside = Path(sys.executable).with_name("pairgossip")
    program = beside if beside.exists() else Path(shutil.which("pairgossip") or "")
    if not program.is_file():
        raise InputError("The program pairgossip is not installed here: install it first.")
    return program.absolute()


def _quoted(path: Path | str) -> str:
    """Write a word as systemd reads it."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"' if any(c.isspace() or c in "\"'\\;" for c in text) else text
