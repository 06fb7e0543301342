"""The log of a peer: one line per event, without data and without keys."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from collections.abc import Iterator
from typing import TextIO

from pairgossip.text import clean_text

_LOGGER = "pairgossip.peer"


class Log:
    """Writes events under the name of one peer; all fields are cleaned."""

    def __init__(self, peer: str) -> None:
        self._logger = logging.getLogger(_LOGGER)
        self._peer = peer

    def info(self, event: str, **fields: object) -> None:
        """Log an expected event."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log an event that somebody should look at."""
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log the reason why the peer cannot go on."""
        self._write(logging.ERROR, event, fields)

    def _write(self, level: int, event: str, fields: dict[str, object]) -> None:
        plain = {
            name: value if isinstance(value, int | float | None) else clean_text(value)
            for name, value in fields.items()
        }
        extra = {"peer": self._peer, "fields": plain}
        self._logger.log(level, "%s", clean_text(event, 2000), extra=extra)


class _JsonLines(logging.Formatter):
    """One JSON object per line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{whole}.{int(record.created % 1 * 1000):03d}Z",
            "level": record.levelname.lower(),
            "peer": getattr(record, "peer", ""),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps(line)


class _PlainLines(logging.Formatter):
    """One line of text per event, for people at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.capitalize()}: "
        fields = "".join(f"  {k}={v}" for k, v in getattr(record, "fields", {}).items())
        return f"{clock}  {level}{record.getMessage()}{fields}"


@contextlib.contextmanager
def write_logs(stream: TextIO | None = None) -> Iterator[None]:
    """Send a peer's events to standard error: as text to a terminal, as JSON otherwise."""
    stream = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_PlainLines() if stream.isatty() else _JsonLines())
    logger = logging.getLogger(_LOGGER)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
