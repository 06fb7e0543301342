"""`pairgossip watch` as a real process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from .serving import GINI

START = "import sys; from pairgossip.cli import main; sys.exit(main())"


def take_signals() -> None:
    # A shell may have started the tests with Ctrl-C ignored, which children would inherit.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def watching(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; yield the process and the address it prints."""
    with subprocess.Popen(
        [sys.executable, "-c", START, "watch", "--no-browser", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_signals,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")
def test_ctrl_c_ends_it_cleanly_while_somebody_looks_on() -> None:
    with watching() as (process, address):
        assert address.startswith("http://127.0.0.1:")
        origin = {"Origin": address.rstrip("/")}
        with httpx.Client(base_url=address, headers=origin, timeout=60) as client:
            opened = client.post("/api/sessions", json={"settings": {**GINI, "speed": "max"}})
            path = f"/api/sessions/{opened.json()['session']}"
            with client.stream("GET", f"{path}/events") as stream:
                lines = stream.iter_lines()
                assert next(lines) == "event: setup"
                client.post(f"{path}/control", json={"action": "start"})
                process.send_signal(signal.SIGINT)
                assert "Traceback" not in "".join(lines)  # the stream ends by itself
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "Ctrl-C ends it.\n")
