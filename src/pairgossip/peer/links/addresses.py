"""Checks that this machine can resolve the names in the addresses of neighbors.

A name that does not resolve looks like a neighbor that is off: Zenoh tries again forever, and does
not report it. So the names of neighbors that are not connected are also looked up here, in a
separate thread, as the system may take half a minute if the name service does not answer.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable

from pairgossip.text import TLS, parse_address

Resolve = Callable[[str], object]
"""``resolve(name)``: raise `OSError` if this machine cannot resolve a name."""

_SECONDS_BETWEEN_LOOKUPS = 60.0
"""Age of an answer, in seconds, beyond which its name is looked up again."""


def host_name(address: str | None) -> str | None:
    """Return the host name in ``tls/HOST:PORT``; None for an IP address, and without an address."""
    parsed = None if address is None else parse_address(address, TLS)
    if parsed is None:
        return None
    try:
        ipaddress.ip_address(parsed[0])
    except ValueError:
        return parsed[0]
    return None


class NameLookup:
    """Looks names up in the background, and remembers the answers."""

    def __init__(
        self, resolve: Resolve | None = None, interval: float = _SECONDS_BETWEEN_LOOKUPS
    ) -> None:
        self._resolve = _resolve if resolve is None else resolve
        self._interval = interval
        self._answers: dict[str, tuple[float, bool]] = {}
        """The time of each name's last lookup, and whether it resolved; the thread writes them."""
        self._thread: threading.Thread | None = None

    def find_unresolved(self, names: Collection[str]) -> set[str]:
        """Return the names that did not resolve when they were last looked up; this never waits.

        Names without an answer, or with an old one, are looked up for later calls, one after
        another in a single thread.
        """
        is_busy = self._thread is not None and self._thread.is_alive()
        if not is_busy and (due := sorted(set(filter(self._is_due, names)))):
            # A daemon, since a lookup that hangs must not keep the peer from ending.
            self._thread = threading.Thread(target=self._look_up, args=(due,), daemon=True)
            with contextlib.suppress(RuntimeError):  # no thread is free: a later call tries again
                self._thread.start()
        return {name for name in names if not self._answers.get(name, (0.0, True))[1]}

    def _is_due(self, name: str) -> bool:
        answer = self._answers.get(name)
        return answer is None or time.monotonic() - answer[0] > self._interval

    def _look_up(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                self._resolve(name)
            except (OSError, UnicodeError):  # UnicodeError: a label that no name can have
                is_resolved = False
            else:
                is_resolved = True
            self._answers[name] = time.monotonic(), is_resolved


def _resolve(name: str) -> object:
    return socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
