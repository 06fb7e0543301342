"""``python -m pairgossip.peer FOLDER``: a peer at work, without the command line's libraries.

`pairgossip peer run` becomes this program once it has read its options: on a small device every
library that stays in memory for months without being used is one too many.
"""

from __future__ import annotations

import sys

# Without it hashlib brings OpenSSL into memory, which cryptography has brought already.
sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]

_WRONG_INPUT = 2


def main(folder: str) -> int:
    """Run the peer in a folder and return the exit code."""
    from pairgossip.errors import PairgossipError
    from pairgossip.peer.service.log import write_logs
    from pairgossip.peer.service.service import run_peer
    from pairgossip.peer.storage.folder import open_home

    try:
        home = open_home(folder)
        with write_logs():
            return run_peer(home)
    except PairgossipError as problem:
        sys.stderr.write(f"Error: {' '.join(str(problem).split())}\n")
        return _WRONG_INPUT


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.stderr.write("Usage: python -m pairgossip.peer FOLDER\n")
        sys.exit(_WRONG_INPUT)
    sys.exit(main(sys.argv[1]))
