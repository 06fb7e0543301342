"""``python -m pairgossip.study FOLDER``: run a study's peer, and import only what it uses."""

from __future__ import annotations

import sys

from pairgossip.peer.__main__ import run_program, tell_errors


def main(folder: str) -> int:
    """Run the peer in a folder and return the exit code."""
    from pairgossip.study.service.service import run_study
    from pairgossip.study.storage.folder import open_study

    return tell_errors(lambda: run_study(open_study(folder)))


if __name__ == "__main__":
    sys.exit(run_program("pairgossip.study", sys.argv[1:], main))
