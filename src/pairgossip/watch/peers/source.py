"""Which peers to look at: a whole swarm by its folder, or single peers by folder or metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.identity.certificates import LARGEST_CERTIFICATE, id_of_certificate, is_name
from pairgossip.peer.service.logs import clean
from pairgossip.peer.storage.folder import Home, open_home
from pairgossip.watch.peers.reading import (
    LONGEST_NAME,
    FolderReader,
    MetricsReader,
    Reader,
    Told,
    metrics_place,
)

MANIFEST, FORMAT = "swarm.json", "pairgossip-swarm"
MOST_PEERS = 1_000
LARGEST_MANIFEST = 1 << 26


class _Peer(msgspec.Struct, frozen=True):
    name: str
    id: str
    home: str
    pid: int | None = None
    state: str = ""


class _Manifest(msgspec.Struct, frozen=True):
    format: str
    version: int
    peers: list[_Peer]
    links: list[tuple[str, str]]
    running: bool = False
    measure: str | None = None
    exact: float | None = None
    family: str | None = None
    positions: list[tuple[float, float]] | None = None


@dataclass
class Swarm:
    """Peers to look at, and how they are connected."""

    title: str
    readers: Sequence[Reader]
    links: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of peers, by their place among the readers."""
    measure: str = ""
    exact: float | None = None
    family: str | None = None
    positions: list[tuple[float, float]] | None = None
    refresh: Callable[[], bool | None] = lambda: None
    """Called before every look; returns whether the swarm runs, None if nobody knows."""


def swarm_in(folder: str | PathLike[str]) -> Swarm:
    """Find the peers of a swarm by the file it keeps about itself."""
    place = Path(folder)
    manifest = _manifest(place)
    readers = [
        FolderReader(peer.name, peer.id, Home(place / peer.home), Told(peer.pid, peer.state))
        for peer in manifest.peers
    ]
    by_name = {peer.name: number for number, peer in enumerate(manifest.peers)}

    def refresh() -> bool | None:
        try:
            now = _manifest(place)
        except InputError:  # the folder may be on its way out; what was told last still stands
            return None
        told = {peer.home: Told(peer.pid, peer.state) for peer in now.peers}
        for reader in readers:
            reader.told = told.get(reader.home.folder.name, Told())
        return now.running

    return Swarm(
        title=f"swarm in {clean(place.name or place, 80)}",
        readers=readers,
        links=[(by_name[a], by_name[b]) for a, b in manifest.links],
        measure=clean(manifest.measure or "", LONGEST_NAME),
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
        raise InputError(f"{len(places):,} peers are too many to look at: give at most 1,000.")
    readers: list[Reader] = []
    neighbors: list[set[str]] = []
    for place in places:
        found = None if Path(place).is_dir() else metrics_place(place)
        if found is not None:
            readers.append(MetricsReader(*found))
            neighbors.append(set())
            continue
        home = open_home(place)
        # By the certificate: whoever only looks has no business with the key.
        certificate = read_bytes(home.cert, LARGEST_CERTIFICATE).decode("ascii", "replace")
        peer = id_of_certificate(certificate)
        if peer in [reader.id for reader in readers]:
            raise InputError(f"{place} is named twice: name every peer once.")
        readers.append(FolderReader(home.read_settings().name, peer, home))
        neighbors.append({member.id for member in home.read_members().neighbors()})
    links = [
        (i, j)
        for i, one in enumerate(readers)
        for j, other in enumerate(readers[:i])
        if other.id in neighbors[i] or one.id in neighbors[j]
    ]
    title = "1 peer" if len(readers) == 1 else f"{len(readers)} peers"
    return Swarm(title, readers, [(j, i) for i, j in links])


def _manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: check the path.")
    if not path.exists():
        raise InputError(
            f"{folder} holds no {MANIFEST}: give the folder of a swarm, which "
            "'pairgossip swarm run --home' makes, or name peers with --peers."
        )
    damaged = InputError(f"{path} is not what a swarm tells of itself: check the path.")
    try:
        # Python's own reader, for it refuses what is too deep with an error of its own.
        manifest = msgspec.convert(json.loads(read_bytes(path, LARGEST_MANIFEST)), _Manifest)
    except (msgspec.ValidationError, ValueError, RecursionError):
        raise damaged from None
    names = [peer.name for peer in manifest.peers]
    places = manifest.positions
    is_sound = (
        (manifest.format, manifest.version) == (FORMAT, 1)
        and 0 < len(names) <= MOST_PEERS
        and len(set(names)) == len(names)
        # A home is a folder right here, never a path that leads elsewhere.
        and all(is_name(peer.home) for peer in manifest.peers)
        and all(a in names and b in names for a, b in manifest.links)
        and (manifest.exact is None or math.isfinite(manifest.exact))
        and (places is None or len(places) == len(names))
        and all(map(math.isfinite, (number for place in places or () for number in place)))
    )
    if not is_sound:
        raise damaged
    return manifest
