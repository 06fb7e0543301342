"""A program that becomes another one, which ends when its parent does, however that ends.

    python child.py PARENT PROGRAM ARGUMENT...

It is run as a file and imports little: it stays only for a moment, before the other begins.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""From Linux's prctl.h: the signal that the system sends when the parent ends; exec keeps it."""


def _die_with(parent: int) -> None:
    """Let the system kill this process with its parent, on Linux even while it is frozen."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the system knew
        os._exit(1)


if __name__ == "__main__":
    _die_with(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
