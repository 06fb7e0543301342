"""The folder of a member of a study: one process, one peer, one folder for its owner alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from pairgossip.peer.storage.folder import DEFAULT_LISTEN, Home
from pairgossip.study.site.settings import StudySettings, read_settings


class StudyHome:
    """The folder of a member of a study, and where everything is in it."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.peer = self.folder / "peer.toml"
        self.key = self.folder / "key.pem"
        self.cert = self.folder / "cert.pem"
        self.database = self.folder / "study.sqlite"
        self.secrets = self.folder / "secrets"
        """Not backed up: what opens the past."""
        self.results = self.folder / "results"
        self.tables = self.folder / "tables"
        self.disclosures = self.folder / "disclosures.jsonl"
        self.requests = self.folder / "requests"
        self.replies = self.folder / "replies"
        self.status = self.folder / "status.json"
        self.lock_file = self.folder / "peer.lock"

    def read_settings(self) -> StudySettings:
        """Read the operator's settings, or say what is wrong with them."""
        return read_settings(self.peer)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder: only one process may run its peer, until it ends in whatever way."""
        with Home(self.folder).lock():
            yield

    def is_running(self) -> bool:
        """Return whether some process holds the folder."""
        return Home(self.folder).is_running()


def is_study(folder: str | PathLike[str]) -> bool:
    """Return whether a folder is that of a member of a study, and not of a single run."""
    return StudyHome(folder).database.exists()


def open_study(folder: str | PathLike[str]) -> StudyHome:
    """Open a folder of a member of a study; raise `InputError` if it is not one."""
    raise NotImplementedError


def create_study(
    folder: str | PathLike[str],
    name: str,
    source: str | PathLike[str],
    listen: str = DEFAULT_LISTEN,
    *,
    confirm: Callable[[list[str]], None] = lambda _: None,
    **settings: Any,
) -> StudyHome:
    """Make the folder of a new member: key, certificate, and a frozen snapshot of its rows.

    More settings are those of `StudySettings`; ``policy`` is a mapping of those of `Policy`.
    ``confirm`` is called before anything is made, with sentences for the operator; it raises
    `InputError` if that may not be.
    """
    raise NotImplementedError
