"""Three hosts with addresses of their own: network namespaces on a switch, made as root."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from .cli.running import main
from .swarm.brisk import BRISK

NAMES = ("clinic-a", "clinic-b", "clinic-c")
ADDRESSES = {"clinic-a": "192.168.1.11", "clinic-b": "192.168.1.12", "clinic-c": "192.168.1.13"}
PATIENCE = 90.0
"""Seconds to wait for something that takes 10 on an idle machine."""
_WITH_PROGRAM = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
}
_TYPED = re.compile(r"^(?:# at (clinic-[abc])|(pairgossip .*))$", re.MULTILINE)
_FENCE = re.compile(r"```text\n(# at .*?)```", re.DOTALL)


def typed_lines(page: str) -> list[tuple[str, str]]:
    """Return the lines that a page says to type, each with the machine on which it is typed."""
    found, machine = list[tuple[str, str]](), ""
    for place, line in _TYPED.findall("".join(_FENCE.findall(page))):
        machine = place or machine
        if line:
            found.append((machine, line))
    return found


def why_not() -> str | None:
    """Return why hosts cannot be made here; None if they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces are made as root on Linux"
    if shutil.which("ip") is None:
        return "network namespaces need the program ip (Debian: iproute2)"
    probe = f"pg-{os.getpid()}"
    # The second fails in a folder that was made the root without being mounted.
    steps = (["netns", "add", probe], ["-n", probe, "link", "add", "bridge", "type", "bridge"])
    for step in steps:
        tried = subprocess.run(["ip", *step], capture_output=True, text=True)
        if tried.returncode:
            break
    subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    if tried.returncode:
        return f"no hosts can be made here: {tried.stderr.strip()}"
    return None


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Host:
    """A machine: its address, its folder, and the peer that runs on it."""

    def __init__(self, name: str, folder: Path, unique: str) -> None:
        self.name, self.folder, self.address = name, folder, ADDRESSES[name]
        self._space, self._port = f"{unique}-{name[-1]}", f"p-{name[-1]}"
        self._switch = f"{unique}-s"
        self._peer: subprocess.Popen[bytes] | None = None
        self.home = name
        """The peer's folder in that of the machine."""

    def make(self) -> None:
        """Make the folder and the network; if this fails midway, `remove` cleans up."""
        self.folder.mkdir()
        _ip("netns", "add", self._space)
        _ip(
            *("-n", self._switch, "link", "add", self._port, "type", "veth"),
            *("peer", "name", "eth0", "netns", self._space),
        )
        _ip("-n", self._switch, "link", "set", self._port, "master", "bridge", "up")
        _ip("-n", self._space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", self._space, "link", "set", device, "up")

    @property
    def _environment(self) -> dict[str, str]:
        """Return the environment of the machine's own user, with a register of releases."""
        return {**_WITH_PROGRAM, "PAIRGOSSIP_RELEASES": str(self.folder / "releases")}

    def _command(self, line: str) -> list[str]:
        return ["ip", "netns", "exec", self._space, "sh", "-c", line]

    def type(self, line: str) -> str:
        """Type a line, as a person does, and return what is printed."""
        done = subprocess.run(
            self._command(line),
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{self.name}: {line}: {done.stderr}"
        return done.stdout

    def do(self, line: str) -> str:
        """Do the same in this process, which is much faster: for lines that use no network."""
        command, _, file = line.partition(" > ")
        out, err = io.StringIO(), io.StringIO()
        with (
            chdir(self.folder),
            patch.dict(os.environ, self._environment),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(shlex.split(command)[1:])
        assert code == 0, f"{self.name}: {line}: {err.getvalue()}"
        if file:
            (self.folder / file).write_text(out.getvalue(), encoding="utf-8")
        return out.getvalue()

    def start(self, *, is_typed: bool) -> None:
        """Run the peer until it is stopped: as a person does, or by a faster program."""
        is_study = (self.folder / self.home / "study.sqlite").exists()
        program = ["-P", "-m", "pairgossip.study"] if is_study else BRISK
        brisk = shlex.join([sys.executable, *program, self.home])
        line = "pairgossip peer run" if is_typed else brisk
        with (self.folder / "run.log").open("ab") as log:
            self._peer = subprocess.Popen(
                self._command(f"exec {line}"),
                cwd=self.folder,
                env=self._environment,
                stderr=log,
            )

    def stop(self, *, at_once: bool = False) -> int | None:
        """Stop the peer by a signal or at once; return its exit code, None if it does not run."""
        peer, self._peer = self._peer, None
        if peer is None:
            return None
        peer.kill() if at_once else peer.terminate()
        return peer.wait(PATIENCE)

    def link(self, state: str) -> None:
        """Disconnect the network cable ("down"), or connect it again ("up")."""
        _ip("-n", self._switch, "link", "set", self._port, state)

    def move(self, address: str) -> None:
        """Change the address."""
        _ip("-n", self._space, "addr", "del", f"{self.address}/24", "dev", "eth0")
        _ip("-n", self._space, "addr", "add", f"{address}/24", "dev", "eth0")
        self.address = address

    def remove(self) -> None:
        """Take the machine away for good."""
        self.stop(at_once=True)
        subprocess.run(["ip", "netns", "del", self._space], capture_output=True)

    def status(self) -> Any:
        """Read the peer's last status."""
        return json.loads((self.folder / self.home / "status.json").read_bytes())

    def wait_for(self, is_so: Callable[[Any], bool]) -> Any:
        """Wait until the status fits, and return it."""
        deadline, found = time.monotonic() + PATIENCE, None
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError):
                found = self.status()
            if found is not None and is_so(found):
                return found
            time.sleep(0.1)
        raise AssertionError(f"{self.name} is never as expected: {found}")


@contextmanager
def three_hosts(folder: Path) -> Iterator[dict[str, Host]]:
    """Make three hosts on one switch."""
    unique = f"pg{os.getpid()}"
    switch, hosts = f"{unique}-s", dict[str, Host]()
    _ip("netns", "add", switch)
    try:
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for name in NAMES:
            hosts[name] = Host(name, folder / name, unique)
            hosts[name].make()
        yield hosts
    finally:
        for host in hosts.values():
            host.remove()
        subprocess.run(["ip", "netns", "del", switch], capture_output=True)
