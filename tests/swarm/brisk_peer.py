"""``python brisk_peer.py FOLDER``: an ordinary peer that reports more often and ends sooner."""

from __future__ import annotations

import sys

from pairgossip.peer.__main__ import main

if __name__ == "__main__":
    from pairgossip.peer.service import service

    service._TICK = service._LINGER = 0.1
    sys.exit(main(sys.argv[1]))
