"""A peer whose folder is on a small disk that is really full, and later has space again."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.service.service import EXIT_FAILED, run_peer
from pairgossip.peer.storage.folder import Home

from .homes import exchanges, introduce_each_other, make_home
from .test_service import FAST, Running, Switchboard, running
from .zenoh_people import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's tmpfs")
_SIZE = "size=1m"
ROWS = ([1.0, 4.0], [2.0, 7.0], [3.0])


def has_exchanged(*peers: Running) -> bool:
    """Return whether all of these have exchanged more by now than when they started."""
    return all(exchanges(one.home) > one.began for one in peers)


class Disk:
    """A file system of 1 MB in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, spare: int = 0) -> None:
        """Leave room for this many bytes only."""
        with open(self._filler, "ab", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
            file.truncate(file.tell() - spare)

    def free(self) -> None:
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", _SIZE, "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user cannot mount a small file system")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def homes(tmp_path: Path, disk: Disk) -> list[Home]:
    """Make three members, the first of them on the small disk."""
    made = [
        make_home(folder, f"clinic-{number}", rows, FAST, f"tls/127.0.0.1:{7450 + number}")
        for number, (folder, rows) in enumerate(
            zip((disk.folder, tmp_path, tmp_path), ROWS, strict=True)
        )
    ]
    introduce_each_other(made)
    for file in made[0].folder.glob("state.sqlite-*"):  # left by readers of it
        file.unlink()
    return made


@pytest.mark.parametrize("spare", [0, 4096, 12288])
def test_a_peer_does_not_start_on_a_full_disk_and_says_why(
    disk: Disk, homes: list[Home], spare: int
) -> None:
    """There is no space for its lock, nor for sqlite's files beside the database."""
    disk.fill(spare)
    with pytest.raises(
        InputError, match=r"^The disk is full: .* could not be written; what .* is "
    ):
        run_peer(homes[0])
    disk.free()
    with running(*homes) as peers:
        assert until(lambda: has_exchanged(*peers))


def test_a_peer_whose_disk_fills_up_says_so_and_goes_on_later(
    disk: Disk, homes: list[Home]
) -> None:
    board = Switchboard()
    with running(*homes[:2], board=board) as (full, other):
        assert until(lambda: has_exchanged(full, other))
        disk.fill()
        with running(homes[2], board=board) as (third,):
            assert full.wait() == EXIT_FAILED
            reporter = full.service._reporter
            assert reporter.status is not None
            assert reporter.status.problems[-1].startswith("The disk is full: ")
            disk.free()
            with running(homes[0], board=board) as (again,):
                assert until(lambda: has_exchanged(again, third))
                assert again.status().problems == ()


def test_a_status_that_has_no_room_is_told_while_the_peer_goes_on(
    disk: Disk, homes: list[Home]
) -> None:
    with running(homes[0]) as (alone,):
        assert until(homes[0].status.exists)
        reporter = alone.service._reporter
        disk.fill()
        sentence = (
            f"The disk is full: {homes[0].status} could not be written; what was there before is "
            "intact, so free some space. What it says is out of date."
        )
        assert until(lambda: reporter.status is not None and sentence in reporter.status.problems)
        disk.free()
        assert until(
            lambda: reporter.status is not None and sentence not in reporter.status.problems
        )
    assert alone.code == 0
