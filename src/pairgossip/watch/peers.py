"""The peers to watch, from a swarm's folder or one by one, and the history of their estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.identity.certificates import LARGEST_CERTIFICATE, id_of_certificate
from pairgossip.peer.reading import (
    LONGEST_NAME,
    READERS_AT_ONCE,
    FolderReader,
    PeerReader,
    SwarmReader,
    SwarmReading,
)
from pairgossip.peer.storage.folder import Home, open_home
from pairgossip.study.service.membership import read_list
from pairgossip.study.service.outside import MemberReader
from pairgossip.study.storage.folder import StudyHome, is_study, open_study
from pairgossip.swarm.manifest import MOST_PEERS, read_manifest
from pairgossip.text import clean_text, format_count
from pairgossip.watch.metrics import MetricsReader, parse_metrics_address

_MOST_NUMBERS = 60_000
"""Largest number of estimates kept for all peers; beyond it, every other moment is dropped."""
_MOST_MOMENTS = 1_200
"""Largest number of readings kept for curves; beyond it, every other one is dropped."""


@dataclass
class Swarm:
    """Peers to watch, and their links."""

    title: str
    readers: Sequence[PeerReader]
    links: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of peers, by their index among the readers."""
    measure: str = ""
    exact: float | None = None
    family: str | None = None
    positions: Sequence[tuple[float, float]] | None = None
    refresh: Callable[[], bool | None] = lambda: None
    """Called before every reading; returns whether the swarm runs, None if that is not known."""


def swarm_in(folder: str | PathLike[str]) -> Swarm:
    """Find the peers of a swarm by its manifest."""
    place = Path(folder)
    manifest = read_manifest(place)
    readers: list[FolderReader | MemberReader] = [
        MemberReader(peer.name, peer.id, StudyHome(place / peer.home), peer.pid)
        if manifest.is_study
        else FolderReader(peer.name, peer.id, Home(place / peer.home), peer.pid)
        for peer in manifest.peers
    ]
    by_name = {peer.name: number for number, peer in enumerate(manifest.peers)}

    def refresh() -> bool | None:
        try:
            now = read_manifest(place)
        except InputError:  # the folder may be being removed; the last manifest still holds
            return None
        pids = {peer.home: peer.pid for peer in now.peers}
        for reader in readers:
            reader.pid = pids.get(reader.home.folder.name)
        return now.running

    return Swarm(
        title=f"swarm in {clean_text(place.name or place, 80)}",
        readers=readers,
        links=[(by_name[a], by_name[b]) for a, b in manifest.links],
        # The questions of a study have titles of their own.
        measure="" if manifest.is_study else clean_text(manifest.measure or "", LONGEST_NAME),
        exact=manifest.exact,
        family=manifest.family,
        positions=manifest.positions,
        refresh=refresh,
    )


def peers_at(places: Sequence[str]) -> Swarm:
    """Find single peers: each place is a peer's folder, or HOST:PORT of its metrics."""
    if not places:
        raise InputError("No peer is named: give their folders, or HOST:PORT of their metrics.")
    if len(places) > MOST_PEERS:
        raise InputError(
            f"{len(places):,} peers are too many to watch: give at most {MOST_PEERS:,}."
        )
    readers: list[PeerReader] = []
    neighbors: list[set[str]] = []
    named: set[str] = set()
    for place in places:
        reader, around = _find_peer(place)
        if (key := reader.id or reader.name) in named:
            raise InputError(f"{place} is named twice: name every peer once.")
        named.add(key)
        readers.append(reader)
        neighbors.append(around)
    links = [
        (i, j)
        for i, one in enumerate(readers)
        for j, other in enumerate(readers[:i])
        if other.id in neighbors[i] or one.id in neighbors[j]
    ]
    return Swarm(format_count(len(readers), "peer"), readers, [(j, i) for i, j in links])


def _find_peer(place: str) -> tuple[PeerReader, set[str]]:
    """Return the reader of the peer at a place, and the ids of its neighbors."""
    address = None if Path(place).is_dir() else parse_metrics_address(place)
    if address is not None:
        return MetricsReader(*address), set()
    # From the certificate: an observer has no business with the key.
    if is_study(place):
        study = open_study(place)
        name, signed = study.read_settings().name, read_list(study)
        around = set() if signed is None else set(signed.list.ids)
        return MemberReader(name, _id_in(study.cert), study), around
    home = open_home(place)
    around = {member.id for member in home.read_members().neighbors()}
    return FolderReader(home.read_settings().name, _id_in(home.cert), home), around


def _id_in(certificate: Path) -> str:
    content = read_bytes(certificate, LARGEST_CERTIFICATE)
    return id_of_certificate(content.decode("ascii", "replace"))


class SwarmHistory:
    """Reads a swarm and keeps its estimates. For one thread; `curves` may be called by others."""

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self._reader = SwarmReader(swarm.readers, READERS_AT_ONCE)
        self._kept: list[tuple[float, FloatArray]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the peers, without control characters."""
        return self._reader.names

    def read(self) -> SwarmReading:
        """Read all peers; one that does not answer delays the others only briefly."""
        is_running = self.swarm.refresh()
        reading = replace(self._reader.read(), is_running=is_running)
        kept = [*self._kept, (reading.seconds, estimates_in(reading))]
        most = min(_MOST_MOMENTS, max(_MOST_NUMBERS // len(self.names), 60))
        if len(kept) > most:  # older moments get farther apart, the newest stays
            kept = kept[-1::-2][::-1]
        self._kept = kept
        return reading

    def curves(self) -> tuple[list[float], list[list[float]]]:
        """Return the moments, and the estimates of every peer at each of them."""
        kept = list(self._kept)
        if not kept:
            return [], [[] for _ in self.names]
        curves = np.stack([estimates for _, estimates in kept], axis=1)
        return [seconds for seconds, _ in kept], curves.tolist()

    def close(self) -> None:
        """Stop reading peers."""
        self._reader.close()


def estimates_in(reading: SwarmReading) -> FloatArray:
    """Return the estimates of all peers, NaN where there is none."""
    return np.array(reading.estimates(), dtype=np.float64)
