"""Ports on this machine where peers can listen, also when they come back after a while."""

from __future__ import annotations

import random
import socket

from pairgossip.errors import InputError

HOST = "127.0.0.1"
LOWEST, HIGHEST = 20_000, 32_000
"""Below where systems take ports for outgoing connections from: a peer that is down for a moment
would else find its port taken by another's connection."""


def is_free(port: int) -> bool:
    """Whether a program can listen at a port now."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
            tried.listen(1)
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Find free ports, anywhere."""
    found: list[int] = []
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
        if len(found) == count:
            break
        if is_free(port):
            found.append(port)
    if len(found) < count:
        raise InputError(f"Of the ports {LOWEST} to {HIGHEST}, fewer than {count} are free.")
    return found


def ports_from(first: int, count: int) -> list[int]:
    """Return ports in a row, all of which must be free."""
    if not 1 <= first <= 2**16 - count:
        raise InputError(
            f"{count} ports from {first} on do not exist: give a first port of at most "
            f"{2**16 - count}."
        )
    ports = list(range(first, first + count))
    for port in ports:
        if not is_free(port):
            raise InputError(
                f"Port {port} of {HOST} cannot be used, another program may have it: give another "
                f"first port, or none to have free ones found."
            )
    return ports
