"""``python brisk_member.py MODULE FOLDER``: a study's member that checks requests more often."""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    from pairgossip.study.service import service

    service._TICK = service._LINGER = 0.1
    service._SLOW_TICK = 0.3
    sys.exit(importlib.import_module(sys.argv[1]).main(sys.argv[2]))
