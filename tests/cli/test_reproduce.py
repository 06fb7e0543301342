from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pairgossip as pg
from pairgossip.engine.trials import Trial
from pairgossip_paper import reproduction
from pairgossip_paper.framework import report
from pairgossip_paper.reproduction import CATALOG
from tests.paper.test_reproduction import contents
from tests.paper.toy import TOY, outline

from .running import CommandLine, main

ROOT = Path(__file__).parents[2]
TRIALS = ("--trials", "14")

# Reproduces the toy instead of the paper; the length of a trial is an argument.
SCRIPT = """
import sys, time
from pairgossip.cli import main
from pairgossip.engine.trials import Trial
from pairgossip_paper import reproduction
from tests.paper.toy import TOY

reproduction.CATALOG = {"toy": TOY}
reproduction._SECONDS_BETWEEN_SAVES = 0.1
run = Trial.run

def run_slowly(self, on_progress):
    run(self, on_progress)
    time.sleep(float(sys.argv[1]))

Trial.run = run_slowly
sys.exit(main(sys.argv[2:]))
"""


def start(seconds: float, *tokens: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(seconds), *map(str, tokens)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never written"
        time.sleep(0.02)


def test_the_list_names_every_experiment(cli: CommandLine) -> None:
    answer = cli("reproduce", "--list")
    assert answer.code == 0
    for name in CATALOG:
        assert name in answer.out


@pytest.mark.usefixtures("toy_catalog")
class TestWithToy:
    @pytest.fixture(autouse=True)
    def toy_catalog(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reproduction, "CATALOG", {"toy": TOY})
        monkeypatch.setattr(report, "_render", outline)

    def test_it_prints_verdicts_and_where_the_report_is(
        self, cli: CommandLine, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        answer = cli("reproduce", "--only", "toy", "--trials", 2, "--out", out, "--jobs", 1)
        assert answer.code == 0
        assert "1 statement checked" in answer.out and "✓ holds" in answer.out
        assert f"Wrote {out / 'report.html'}" in answer.out.replace("\n", "")
        assert pg.load(out / "results" / "toy" / "gini.npz").trials == 2

    def test_names_of_several_experiments(self, cli: CommandLine, tmp_path: Path) -> None:
        message = cli.error("reproduce", "--only", "toy,tox", "--out", tmp_path / "out")
        assert message == "Unknown experiment 'tox': did you mean 'toy'?"

    def test_other_settings(self, cli: CommandLine, tmp_path: Path) -> None:
        assert cli("reproduce", "--quick", "--out", tmp_path).code == 0
        message = cli.error("reproduce", "--quick", "--seed", 1, "--out", tmp_path)
        assert "holds a reproduction with seed 0, not 1: give another folder, or give" in message
        message = cli.error("reproduce", "--quick", "--trials", 9, "--out", tmp_path)
        assert message.endswith("or --resume to add trials to it.")

    @pytest.mark.parametrize("mode", ["w", "r"])
    def test_ctrl_c_in_the_middle_of_an_archive(
        self, cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
    ) -> None:
        """Archives are written after each case and read for the report: both end in one warning."""
        usual = zipfile.ZipFile.open
        opened: list[object] = []

        def interrupted(self: zipfile.ZipFile, *arguments: Any, **options: Any) -> Any:
            entry = usual(self, *arguments, **options)
            if self.mode == mode and not opened:
                opened.append(self.filename)
                signal.raise_signal(signal.SIGINT)
            return entry

        tokens = ("reproduce", "--trials", 2, "--jobs", 1, "--out")
        assert cli(*tokens, tmp_path / "whole").code == 0
        with monkeypatch.context() as patched:
            patched.setattr(zipfile.ZipFile, "open", interrupted)
            answer = cli(*tokens, tmp_path / "parts")
        assert answer.code == 130
        assert answer.err.strip() == (
            "Warning: Interrupted: finished trials are kept, and --resume goes on from them."
        )
        assert set(contents(tmp_path / "parts")) <= set(contents(tmp_path / "whole"))
        assert cli(*tokens, tmp_path / "parts", "--resume").code == 0
        assert contents(tmp_path / "parts") == contents(tmp_path / "whole")

    def test_no_scheduler(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pairgossip_paper.commands._CONNECT_SECONDS", 0.5)
        message = cli.error("reproduce", "--dask", "tcp://127.0.0.1:1")
        assert message.startswith("There is no Dask scheduler at tcp://127.0.0.1:1: start one")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of an uninterrupted reproduction of the toy."""
    folder = tmp_path_factory.mktemp("reproduction") / "whole"
    reproduce_toy("--out", folder)
    return contents(folder)


def reproduce_toy(*tokens: object) -> None:
    """Reproduce the toy in this process, without drawing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "CATALOG", {"toy": TOY})
        patch.setattr(report, "_render", outline)
        assert main(["reproduce", *TRIALS, *map(str, tokens)]) == 0


def test_killed_and_resumed(whole: dict[str, bytes], tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    with start(0.5, "reproduce", *TRIALS, "--out", parts, "--jobs", 2) as process:
        wait_for(parts / "results" / "toy" / "gini.unfinished.npz")
        process.kill()
        process.communicate(timeout=120)
    reproduce_toy("--out", parts, "--resume")
    assert contents(parts) == whole


def test_interrupted_and_resumed(
    whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: CommandLine
) -> None:
    """A signal interrupts it while the threads of two trials run."""
    parts, run, sent = tmp_path / "parts", Trial.run, list[int]()

    def run_slowly(self: Any, on_progress: Any) -> None:
        run(self, on_progress)
        time.sleep(0.1)
        if not sent and (parts / "results" / "toy" / "gini.unfinished.npz").exists():
            sent.append(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(reproduction, "CATALOG", {"toy": TOY})
        patch.setattr(reproduction, "_SECONDS_BETWEEN_SAVES", 0.05)
        patch.setattr(Trial, "run", run_slowly)
        answer = cli("reproduce", *TRIALS, "--out", parts, "--jobs", 2)
    assert sent and (answer.code, answer.err.strip()) == (
        130,
        "Warning: Interrupted: finished trials are kept, and --resume goes on from them.",
    )
    reproduce_toy("--out", parts, "--resume")
    assert contents(parts) == whole


CLUSTER = """
import asyncio
from distributed import Scheduler, Worker

async def serve():
    where = {"host": "127.0.0.1", "dashboard": False}
    async with Scheduler(port=0, **where) as scheduler:
        async with Worker(scheduler.address, nthreads=1, **where):
            async with Worker(scheduler.address, nthreads=1, **where):
                print(scheduler.address, flush=True)
                await asyncio.Event().wait()

asyncio.run(serve())
"""
"""A scheduler and two workers that talk over TCP, in one process, as several start slowly."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """Run a Dask scheduler and two workers in another process; yield the address."""
    pytest.importorskip("distributed")
    environment = os.environ | {
        "DASK_DISTRIBUTED__ADMIN__LOG_LEVEL": "error",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()  # it has nothing to lose


def test_a_dask_cluster_gives_the_same_files(
    cluster: str, whole: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = tmp_path / "shared"
    reproduce_toy("--out", shared, "--dask", cluster)
    assert capsys.readouterr().err == ""
    assert contents(shared) == whole
