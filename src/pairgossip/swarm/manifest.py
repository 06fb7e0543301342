"""swarm.json: the parts of a swarm, for all programs that read it while it runs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_text
from pairgossip.peer.identity.certificates import is_name

_FILE = "swarm.json"
_FORMAT, _VERSION = "pairgossip-swarm", 1
MOST_PEERS = 1_000
"""Largest number of peers of a swarm that can be watched; more are refused."""
_LARGEST_MANIFEST = 1 << 26
"""Largest size of the file, in bytes; a longer one is refused."""


class ManifestPeer(msgspec.Struct, frozen=True):
    """One peer of a swarm."""

    name: str
    id: str
    home: str
    """The name of its folder, beside the manifest."""
    rows: int = 0
    address: str = ""
    pid: int | None = None
    state: str = ""


class Result(msgspec.Struct, frozen=True):
    """The end of a swarm."""

    sound: bool
    violations: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of swarm.json."""

    format: str = _FORMAT
    version: int = _VERSION
    running: bool = False
    pid: int | None = None
    """The process that runs the swarm."""
    started: float = 0.0
    is_study: bool = False
    """Whether the peers are a study's members."""
    measure: str | None = None
    """The kernel, or the loss, by name; for a study all questions, in words."""
    target: str | None = None
    exact: float | None = None
    spec: str = ""
    """The hash of the specification."""
    family: str | None = None
    """The family of the network."""
    peers: tuple[ManifestPeer, ...]
    links: tuple[tuple[str, str], ...]
    """The names of the peers at the two ends."""
    positions: tuple[tuple[float, float], ...] | None = None
    result: Result | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the parts fit together, and no path leads outside the swarm's folder."""
        names, places = {peer.name for peer in self.peers}, self.positions
        return (
            (self.format, self.version) == (_FORMAT, _VERSION)
            and 0 < len(self.peers) <= MOST_PEERS
            and len(names) == len(self.peers)
            and all(is_name(peer.home) for peer in self.peers)
            and all(a in names and b in names for a, b in self.links)
            and (self.exact is None or math.isfinite(self.exact))
            and (places is None or len(places) == len(names))
            and all(math.isfinite(number) for place in places or () for number in place)
        )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of the swarm in a folder."""
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    write_text(folder / _FILE, [content.decode(), "\n"])


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the swarm in a folder; raise `InputError` for a damaged one."""
    path = folder / _FILE
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: check the path.")
    if not path.exists():
        raise InputError(
            f"{folder} holds no {_FILE}: give the folder of a swarm, which "
            "'pairgossip swarm run --home' makes, or name peers with --peers."
        )
    damaged = InputError(f"{path} is not the manifest of a swarm: check the path.")
    try:
        # Python's own parser: it refuses deep nesting with an error of its own.
        manifest = msgspec.convert(json.loads(read_bytes(path, _LARGEST_MANIFEST)), Manifest)
    except (msgspec.ValidationError, ValueError, RecursionError):
        raise damaged from None
    if not manifest.is_sound:
        raise damaged
    return manifest
