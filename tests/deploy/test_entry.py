"""The program of a container, tested without an engine: its start, and a study of three clinics.

The clinics run as in `compose.yaml`: each as an unprivileged user, on a file tree that it cannot
write to, with one volume.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

import pairgossip as pg
from pairgossip.peer.storage.folder import Evicted, Home, note_eviction

from ..peer.homes import make_pair
from ..peer.zenoh_people import free_address
from .test_files import CLINICS, DEPLOY, METRIC, alerts

ENTRY = DEPLOY / "entry.sh"
ENGINE = Path(__file__).with_name("engine.sh")
PROGRAMS = Path(sys.executable).parent
ENVIRONMENT = {
    "PATH": f"{PROGRAMS}:{os.environ.get('PATH', os.defpath)}",
    "PYTHONPATH": str(Path(pg.__file__).parents[1]),
}
EXACT = 0.9740029716066607
"""The AUC of all rows, as `pairgossip exact` prints it."""
PATIENCE = 200.0
"""Seconds to wait for something that takes 2 on an idle machine."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="peers do not run on Windows")


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


class Container:
    """A process, and what it has logged."""

    def __init__(self, command: list[str], log: Path, environment: dict[str, str]) -> None:
        self._log = log
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command, env=environment, stdout=file, stderr=subprocess.STDOUT
            )

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def stop(self) -> int:
        """Stop it as an engine does; return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def remove(self) -> None:
        if self.is_running():
            with suppress(subprocess.TimeoutExpired):
                self.stop()
            self._process.kill()
            self._process.wait()


Start = Callable[..., Container]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that runs the entry point with the given arguments."""
    started: list[Container] = []

    def container(home: Path, *words: str) -> Container:
        environment = ENVIRONMENT | {"PAIRGOSSIP_HOME": str(home)}
        environment["PAIRGOSSIP_LISTEN"] = free_address()
        started.append(Container([str(ENTRY), *words], tmp_path / "log", environment))
        return started[-1]

    yield container
    for one in started:
        one.remove()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [10.0])
    return ann


def test_a_stop_lets_the_peer_finish(start: Start, home: Home) -> None:
    container = start(home.folder, "peer", "run")
    until(home.status.exists)
    assert container.stop() == 0
    assert '"event": "stopped"' in container.log


def test_a_peer_that_cannot_go_on_is_not_started_again(start: Start, home: Home) -> None:
    """An engine would start it again after any other end."""
    note_eviction(home, Evicted("00" * 32, "bob", 0.0))
    container = start(home.folder, "peer", "run")
    until(lambda: "ended with code 3 and is not started again" in container.log)
    assert "The other members have evicted this peer: 'bob'" in container.log
    assert container.is_running() and not home.is_running()
    assert container.stop() == 3


def test_a_peer_that_must_be_repaired_is_started_again(start: Start, tmp_path: Path) -> None:
    container = start(tmp_path / "nothing", "peer", "run")
    assert container.wait() == 2
    assert "There is no folder" in container.log


def test_other_commands_are_those_of_pairgossip(start: Start, home: Home) -> None:
    container = start(home.folder, "--version")
    assert container.wait() == 0 and container.log == f"{pg.__version__}\n"


class Engine:
    """Volumes of three clinics, and what `engine.sh` needs to run them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Loopback addresses of these clinics alone, at which the ports are free.
        first, second = divmod(os.getpid() % (1 << 16), 256)
        self.addresses = {
            clinic: f"127.{first}.{second}.{number}" for number, clinic in enumerate(CLINICS, 11)
        }
        hosts = "".join(f"{address} {clinic}\n" for clinic, address in self.addresses.items())
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        for clinic in CLINICS:
            self.volume(clinic).mkdir()
            os.chown(self.volume(clinic), 10001, 10001)
        self.environment = ENVIRONMENT | {
            "COMPOSE": str(ENGINE),
            "VOLUMES": str(folder),
            "HOSTS": str(folder / "hosts"),
            "PROGRAMS": str(PROGRAMS),
            "ENTRY": str(ENTRY),
        }

    def volume(self, clinic: str) -> Path:
        return self.folder / clinic

    def home(self, clinic: str) -> Path:
        return self.volume(clinic) / "peer"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ENGINE), "run", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def metrics(self, clinic: str) -> str:
        with urlopen(f"http://{self.addresses[clinic]}:9464/metrics", timeout=20) as answer:
            return str(answer.read().decode())


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a tree that cannot be written to is made as root on Linux")
    if missing := [one for one in ("unshare", "setpriv", "mount") if not shutil.which(one)]:
        pytest.skip(f"{', '.join(missing)} is not installed (Debian: util-linux, mount)")
    # Not in pytest's folder, which other users may not enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        made = Engine(Path(folder))
        tried = made.run(CLINICS[0], "--version")
        if tried.returncode:
            pytest.skip(f"another user cannot run pairgossip here: {tried.stderr.strip()}")
        yield made


def test_nothing_but_the_volume_can_be_written_to(engine: Engine) -> None:
    script = 'find / -xdev -type d -writable 2>/dev/null; touch here && rm here && echo "$PWD"'
    found = engine.run("--entrypoint", "sh", "clinic-a", "-c", script).stdout.split()
    assert found == [str(engine.volume("clinic-a"))] * 2


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_three_clinics_compute_an_auc(engine: Engine, tmp_path: Path) -> None:
    """This covers the script that makes them, metrics, health and a result that all have signed."""
    made = subprocess.run(
        [DEPLOY / "three-clinics.sh"],
        env=engine.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("member clinic-") == 6
    containers = [
        Container(
            [str(ENGINE), "run", clinic, "peer", "run"], tmp_path / clinic, engine.environment
        )
        for clinic in CLINICS
    ]
    try:
        until(lambda: all((engine.home(one) / "members.msgpack").exists() for one in CLINICS))
        answer_question(engine)
        assert engine.run("clinic-a", "peer", "status", "--check").returncode == 0
        check_metrics(engine)
        check_result(engine)
        assert [container.stop() for container in containers] == [0, 0, 0]
    finally:
        for container in containers:
            container.remove()


def answer_question(engine: Engine) -> None:
    """Ask at one clinic, and accept at the others."""
    asked = engine.run("clinic-a", "peer", "ask", "auc.toml")
    assert asked.returncode == 0 and asked.stdout == "1\n", asked.stderr
    questions = [engine.home(one) / "questions" / "1.json" for one in CLINICS]
    for clinic, question in zip(CLINICS[1:], questions[1:], strict=True):
        until(question.exists)
        assert engine.run(clinic, "peer", "accept", "1").returncode == 0
    until(lambda: all(b'"phase":"done"' in one.read_bytes() for one in questions))


def check_metrics(engine: Engine) -> None:
    """Check that a running peer serves the metrics of a study's alerts, and that none fires."""
    until(lambda: all('how="done"} 1.0' in engine.metrics(one) for one in CLINICS))
    for clinic in CLINICS:
        text = engine.metrics(clinic)
        served = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
        assert served["pairgossip_problems"] == "0.0" and "refused" not in text
        assert served["pairgossip_questions_disclosed"] == "1.0"
        assert served["pairgossip_questions_waiting_seconds"] == "0.0"
        names = {name for rule in alerts() for name in METRIC.findall(rule["expr"])}
        # A kind of refusal has a counter after the first, and a phase while a question is in it.
        assert names - {name.partition("{")[0] for name in served} == {
            "pairgossip_refused_total",
            "pairgossip_questions_seconds",
            "pairgossip_staleness_seconds",
        }


def check_result(engine: Engine) -> None:
    made = engine.run("clinic-b", "peer", "result", "1", "--json", "result.json")
    assert made.returncode == 0, made.stderr
    verified = engine.run("clinic-c", "verify", str(engine.volume("clinic-b") / "result.json"))
    assert verified.returncode == 0 and "All 3 members have signed this." in verified.stdout
    assert f"{EXACT:.6g}" in verified.stdout
