"""Members of a study as in the field: processes, folders, TLS on 127.0.0.1, commands."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.field import Peer
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.status import StudyStatus
from tests.cli.running import main
from tests.peer.zenoh_people import free_address

PATIENCE = 100.0
"""Seconds to wait for something, even on a busy machine."""
SPEC = """\
kernel = "auc"
columns = ["risk"]
label = "died"
[ranges]
risk = [0, 1]
died = [0, 1]
"""
AGE = SPEC.replace("risk", "age").replace("age = [0, 1]", "age = [0, 100]")


def write_rows(path: Path, seed: int, rows: int = 200) -> Path:
    """Write rows of three columns; one has lower scores for class 0."""
    random = np.random.default_rng(seed)
    died = np.arange(rows) % 2
    risk = np.clip(random.normal(0.4 + 0.2 * died, 0.15), 0, 1).round(4)
    age = np.clip(random.normal(55 + 8 * died, 12), 0, 100).round(1)
    lines = [f"{r},{a},{d}" for r, a, d in zip(risk, age, died, strict=True)]
    path.write_text("\n".join(["risk,age,died", *lines, ""]))
    return path


class Site:
    """One member: its folder, its commands, and its process."""

    def __init__(self, folder: Path, name: str, seed: int, **options: Any) -> None:
        self.name, self.folder = name, folder / name
        source = options.pop("source", None)
        self.source: Path = source or write_rows(folder / f"{name}.csv", seed)
        self.invitation = folder / f"{name}.txt"
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / f"{name}.log"
        place = ("--listen", free_address(), "--yes", "--home", str(self.folder))
        more = [word for key, it in options.items() for word in (f"--{key}", str(it))]
        self.run("init", "--name", name, "--source", str(self.source), *place, *more)
        self.set_first("rehearsal = true")  # or other tests would be studies with the same rows
        self.invitation.write_text(self.run("invite"))

    def run(self, *words: str) -> str:
        """Run a command at this member, and return what it prints."""
        code, out, err = self.attempt(*words)
        assert code == 0, f"{words}: {err}"
        return out

    def attempt(self, command: str, *words: str) -> tuple[int, str, str]:
        """Run a command; return its exit code, its output and its messages."""
        home = () if "--home" in words else ("--home", str(self.folder))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["peer", command, *words, *home])
        return code, out.getvalue(), err.getvalue()

    def set(self, text: str) -> None:
        """Append a line to peer.toml."""
        with open(self.folder / "peer.toml", "a", encoding="utf-8") as file:
            file.write(text)

    def set_first(self, line: str) -> None:
        """Put a line at the beginning of peer.toml."""
        file = self.folder / "peer.toml"
        file.write_text(f"{line}\n{file.read_text()}")

    def start(self) -> None:
        """Start the peer, as a service does."""
        with open(self.log, "ab") as log:
            whole = [sys.executable, "-P", "-m", "pairgossip.study", str(self.folder)]
            self.process = subprocess.Popen(whole, stderr=log, stdout=log)

    def kill(self) -> None:
        """Kill the process, like a loss of power."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it in an orderly way; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    @property
    def peer(self) -> Peer:
        """The same member from Python."""
        return Peer(self.folder)

    @property
    def reading(self) -> StudyReading:
        """The folder."""
        return StudyReading(self.folder)

    @property
    def status(self) -> StudyStatus:
        """Its last status."""
        status = self.reading.status()
        assert status is not None
        return status

    def has_members(self, count: int) -> bool:
        """Return whether it is on a list of this many members."""
        signed = self.reading.signed_list()
        return signed is not None and len(signed.list.members) == count

    def memory(self) -> int:
        """Return how many bytes its process has in memory."""
        assert self.process is not None
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def record(self) -> int:
        """Return how many bytes its folder has on the disk."""
        return sum(one.stat().st_size for one in self.folder.rglob("*") if one.is_file())

    def work(self) -> float:
        """Return the processor time of its process, in seconds."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(is_so: Callable[[], object], what: str = "", patience: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < end, f"{what or is_so} is not so"
        time.sleep(0.05)


@contextlib.contextmanager
def running(sites: Sequence[Site]) -> Iterator[Sequence[Site]]:
    """Run members of a study, and end their processes."""
    try:
        for site in sites:
            site.start()
        yield sites
    finally:
        for site in sites:
            if site.process is not None and site.process.poll() is None:
                site.process.terminate()
        for site in sites:
            if site.process is not None:
                site.process.wait()


def found_study(folder: Path, count: int = 5, **options: Any) -> list[Site]:
    """Make members who have joined one another; none of them runs."""
    sites = [Site(folder, f"hospital-{k + 1}", k, **options) for k in range(count)]
    for site in sites:
        site.run("join", "--yes", *(str(other.invitation) for other in sites))
    return sites


BY_POLICY = """
[policy]
accept = "by-policy"
[ranges]
risk = [0, 1]
age = [0, 100]
died = [0, 1]
"""
