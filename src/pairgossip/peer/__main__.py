"""``python -m pairgossip.peer FOLDER``: a peer at work, without the command line's libraries.

`pairgossip peer run` becomes this program once it has read its options: on a small device every
library that stays in memory for months without being used is one too many.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

# Otherwise hashlib loads OpenSSL into memory, which cryptography has loaded already.
sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]

_WRONG_INPUT = 2


def main(folder: str) -> int:
    """Run the peer in a folder and return the exit code."""
    from pairgossip.peer.service.service import run_peer
    from pairgossip.peer.storage.folder import open_home

    return tell_errors(lambda: run_peer(open_home(folder)))


def tell_errors(run: Callable[[], int]) -> int:
    """Run with a log, and print a `PairgossipError` as one line; return the exit code."""
    from pairgossip.errors import PairgossipError
    from pairgossip.peer.service.log import write_logs

    try:
        with write_logs():
            return run()
    except PairgossipError as problem:
        sys.stderr.write(f"Error: {' '.join(str(problem).split())}\n")
        return _WRONG_INPUT


def run_program(module: str, arguments: Sequence[str], run: Callable[[str], int]) -> int:
    """Run the program in the folder that is its only argument, and return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write(f"Usage: python -m {module} FOLDER\n")
        return _WRONG_INPUT
    return run(arguments[0])


if __name__ == "__main__":
    sys.exit(run_program("pairgossip.peer", sys.argv[1:], main))
