"""The folder of a member of a study: one process, one peer, one folder for its owner alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import create_identity, missing_file, write_new
from pairgossip.peer.identity.relays import Relay
from pairgossip.peer.storage.folder import DEFAULT_LISTEN, Home, check_private
from pairgossip.peer.storage.home import refuse_existing, scaffold
from pairgossip.peer.storage.old_folder import OldFolder
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.settings import (
    StudySettings,
    format_settings,
    make_settings,
    read_settings,
)
from pairgossip.study.storage.snapshots import (
    Batch,
    Batches,
    absolute_source,
    find_registers,
    find_source,
    freeze,
    refuse_few,
)


class StudyHome:
    """The folder of a member of a study, and the paths in it."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.peer = self.folder / "peer.toml"
        self.key = self.folder / "key.pem"
        self.cert = self.folder / "cert.pem"
        self.relay = self.folder / "relay.pem"
        self.database = self.folder / "study.sqlite"
        self.secrets = self.folder / "secrets"
        """Not backed up: it would reveal the past."""
        self.results = self.folder / "results"
        self.tables = self.folder / "tables"
        self.disclosures = self.folder / "disclosures.jsonl"
        self.status = self.folder / "status.json"
        self.lock_file = self.folder / "peer.lock"

    def read_settings(self) -> StudySettings:
        """Read the operator's settings; raise `InputError` if they are wrong."""
        return read_settings(self.peer)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder: only one process may run its peer, until it ends in whatever way."""
        with Home(self.folder).lock():
            yield

    @contextlib.contextmanager
    def open_journal(self) -> Iterator[StudyJournal]:
        """Open the records of the folder; while its peer runs, only to read them."""
        with contextlib.closing(StudyJournal(self.database, self.secrets)) as journal:
            yield journal

    def read_batches(self) -> list[Batch]:
        """Return the batches of rows that were frozen here."""
        with self.open_journal() as journal:
            return [*Batches(journal)]

    def find_sources(self) -> list[Path]:
        """Return the present paths of all rows that were frozen here."""
        settings = self.read_settings()
        return [Path(find_source(batch, settings)) for batch in self.read_batches()]

    def is_running(self) -> bool:
        """Return whether some process holds the folder."""
        return Home(self.folder).is_running()


def is_study(folder: str | PathLike[str]) -> bool:
    """Return whether a folder is that of a study's member, and not of a single network's peer."""
    return StudyHome(folder).database.exists()


def open_study(folder: str | PathLike[str]) -> StudyHome:
    """Open a folder of a member of a study; raise `InputError` if it is not one."""
    home = StudyHome(folder)
    if not home.folder.is_dir():
        raise InputError(f"There is no folder {home.folder}: run peer init, or check the path.")
    if not is_study(home.folder):
        raise InputError(
            f"{home.folder} is not the folder of a member of a study: run peer init to make one."
        )
    check_private(home.folder)
    for file in (home.peer, home.key, home.cert):
        if not file.is_file():
            raise missing_file(file)
    return home


def create_study(
    folder: str | PathLike[str],
    name: str,
    source: str | PathLike[str],
    listen: str = DEFAULT_LISTEN,
    *,
    years: int = 10,
    relay: Relay | None = None,
    old: OldFolder | None = None,
    confirm: Callable[[list[str]], None] = lambda _: None,
    **settings: Any,
) -> StudyHome:
    """Make the folder of a new member: key, certificate, and a frozen snapshot of its rows.

    More settings are those of `StudySettings`; ``policy`` is a mapping of those of `Policy`. With a
    relay, others meet this site there. An ``old`` peer's key and certificate may be taken, and then
    its releases of rows count too. ``confirm`` is called before anything is kept, with sentences
    for the operator; it raises `InputError` to refuse.
    """
    target = Path(os.path.abspath(folder))
    refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    place = absolute_source(Path(source))
    if relay is not None:
        settings["relay"] = relay.address
    if old is not None:
        settings["register"] = old.find_register(Path(place), settings.get("register"))
    chosen = make_settings(name=name, source=place, listen=listen, **settings)
    with scaffold(target) as draft:
        home = StudyHome(draft)
        write_new(home.peer, format_settings(chosen).encode(), 0o600)
        if relay is not None:
            write_new(home.relay, relay.certificate.encode(), 0o644)
        identity = create_identity(draft, name, years, old=None if old is None else old.folder)
        batch, _, sentences = freeze(1, Path(place), chosen.declared, identity)
        refuse_few(batch, chosen.policy.least_rows)
        registers = find_registers(Path(place), chosen)
        confirm([*sentences, *([] if old is None else old.describe_told(registers))])
        if old is not None:
            old.note_told(registers)
        with home.open_journal() as journal:
            Batches(journal).add(batch)
            journal.flush()
    return StudyHome(folder)
