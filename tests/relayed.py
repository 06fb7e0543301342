"""Three sites that reach a relay but not each other: network namespaces without forwarding."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .hosts import NAMES, PATIENCE, Host, _ip

RELAY = "10.35.0.1"
_LISTENING = "0A"


class Site(Host):
    """A site with its own cable to the relay."""

    def make(self) -> None:
        """Make the folder and the network; if this fails midway, `remove` cleans up."""
        number = NAMES.index(self.name) + 1
        self.address, gateway = f"10.35.{number}.2", f"10.35.{number}.1"
        self.folder.mkdir()
        _ip("netns", "add", self._space)
        _ip(
            *("-n", self._switch, "link", "add", self._port, "type", "veth"),
            *("peer", "name", "eth0", "netns", self._space),
        )
        _ip("-n", self._switch, "addr", "add", f"{gateway}/24", "dev", self._port)
        _ip("-n", self._switch, "link", "set", self._port, "up")
        _ip("-n", self._space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", self._space, "link", "set", device, "up")
        _ip("-n", self._space, "route", "add", "default", "via", gateway)

    def reaches(self, address: str) -> bool:
        """Return whether a packet gets there and back."""
        probe = (
            "import socket, sys\n"
            "try: socket.create_connection((sys.argv[1], 9), 1)\n"
            "except ConnectionRefusedError: sys.exit(0)\n"
            "except OSError: sys.exit(1)"
        )
        command = ["ip", "netns", "exec", self._space, "python3", "-c", probe, address]
        return subprocess.run(command, timeout=PATIENCE).returncode == 0

    def listens(self) -> bool:
        """Return whether any program of this site waits for connections."""
        return any(
            line.split()[3] == _LISTENING
            for table in ("tcp", "tcp6")
            for line in self.type(f"cat /proc/net/{table}").splitlines()[1:]
        )


class RelayHost(Host):
    """The machine in the middle, and the router that runs on it."""

    def __init__(self, folder: Path, unique: str) -> None:
        super().__init__(NAMES[0], folder, unique)
        self.name, self.address, self._space = "relay", RELAY, self._switch

    def make(self) -> None:
        """Make the folder and the network; if this fails midway, `remove` cleans up."""
        self.folder.mkdir()
        _ip("netns", "add", self._space)
        _ip("-n", self._space, "link", "set", "lo", "up")
        _ip("-n", self._space, "addr", "add", f"{RELAY}/32", "dev", "lo")

    def run(self, line: str) -> None:
        """Run the relay until it is stopped."""
        with (self.folder / "relay.log").open("ab") as log:
            self._peer = subprocess.Popen(
                self._command(f"exec {line}"), cwd=self.folder, env=self._environment, stderr=log
            )


@contextmanager
def three_sites(folder: Path) -> Iterator[tuple[RelayHost, dict[str, Site]]]:
    """Make a relay and three sites around it."""
    unique = f"pgr{os.getpid()}"
    relay, sites = RelayHost(folder / "relay-host", unique), dict[str, Site]()
    try:
        relay.make()
        for name in NAMES:
            sites[name] = Site(name, folder / name, unique)
            sites[name].make()
        yield relay, sites
    finally:
        for host in (*sites.values(), relay):
            host.remove()
