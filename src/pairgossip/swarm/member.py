"""``python -m pairgossip.swarm.member FOLDER``: a study's peer that reaches others by detours.

A card has one address of a member for all others. If links are to be cut, each link has its own
port, and a file beside the folder has the address at which this peer reaches each other one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.peer.__main__ import run_program, tell_errors

if TYPE_CHECKING:
    from pairgossip.peer.identity.members import Member
    from pairgossip.peer.links.zenoh_link import OnFrame, ZenohLink
    from pairgossip.study.service.assembly import StudyParts

_LARGEST = 1 << 20
"""Largest size of the file, in bytes; a longer one is refused."""


def detours_of(folder: Path) -> Path:
    """Return the file beside a peer's folder with its addresses of others."""
    return folder.with_name(f"{folder.name}.detours.json")


class _Detoured:
    """A link that reaches others by detours, and is otherwise as usual."""

    def __init__(self, link: ZenohLink, detours: Mapping[str, str]) -> None:
        self._link, self._detours = link, detours

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    def reopen(self, neighbors: Sequence[Member]) -> None:
        """Begin a new session with these neighbors."""
        from msgspec.structs import replace

        self._link.reopen(
            [replace(one, address=self._detours.get(one.address or "")) for one in neighbors]
        )


def main(folder: str) -> int:
    """Run the peer in a folder and return the exit code."""
    import msgspec

    from pairgossip.files import read_bytes
    from pairgossip.study.service.service import connect, run_study
    from pairgossip.study.storage.folder import open_study

    file = detours_of(Path(folder))
    detours: dict[str, str] = msgspec.json.decode(read_bytes(file, _LARGEST))

    def connect_by(parts: StudyParts, on_frame: OnFrame) -> Any:
        return _Detoured(connect(parts, on_frame), detours)

    return tell_errors(lambda: run_study(open_study(folder), connect_by))


if __name__ == "__main__":
    sys.exit(run_program("pairgossip.swarm.member", sys.argv[1:], main))
