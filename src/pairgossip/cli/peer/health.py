"""Health checks and metrics of a peer, of a single network or of a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import EXIT_FAILED, output, tell

if TYPE_CHECKING:
    from pairgossip.peer.service.status import Status
    from pairgossip.study.service.status import StudyStatus


def print_metrics(read: Callable[[], Status | StudyStatus | None]) -> None:
    """Print what a status has as metrics."""
    from pairgossip.peer.service.metrics import MetricsPages

    output().file.write(MetricsPages(read).get("/metrics")[2].decode())


def check_health(folder: Path, read: Callable[[], Status | StudyStatus | None]) -> int:
    """Return the exit code of a health check; print what is wrong."""
    from pairgossip.peer.service.metrics import MetricsPages

    code, _, answer = MetricsPages(read).get("/healthz")
    if code == 200:
        return 0
    tell(f"{folder}: {answer.decode().strip()}.")
    return EXIT_FAILED
