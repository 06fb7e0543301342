"""`pairgossip completion`: what lets a shell finish commands and options at the tab key."""

from __future__ import annotations

from typing import Any

from pairgossip.cli.console import output, tell
from pairgossip.cli.options import Flag
from pairgossip.errors import InputError, canonical, unknown_name

SHELLS = ("bash", "fish", "zsh")


def completion_command(shell: str | None = None, /, *, install: Flag = False) -> None:
    """Print the script by which a shell finishes commands and options at the tab key.

    With --install it is written to where the shell finds it in all sessions to come.

    For example:

        pairgossip completion --install
        pairgossip completion bash

    Parameters
    ----------
    shell
        bash, zsh or fish; the shell this runs in unless given.
    install
        Write the script to a file of its own. For bash and zsh, a line that reads it is added to
        ~/.bashrc or ~/.zshrc.
    """
    from pairgossip.cli import app

    chosen: Any = _current() if shell is None else canonical(shell)
    if chosen not in SHELLS:
        raise unknown_name("shell", str(chosen), SHELLS)
    if not install:
        # As it is: the console would make spaces of tabs.
        output().file.write(app.generate_completion(shell=chosen))
        return
    try:
        place = app.install_completion(shell=chosen)
    except OSError as problem:
        raise InputError(
            f"Cannot write {problem.filename}: {problem.strerror}; run 'pairgossip completion "
            f"{chosen}' and put what it prints where {chosen} reads it."
        ) from None
    tell(f"Wrote {place}: open a new shell, and try pairgossip followed by the tab key.")


def _current() -> str:
    from cyclopts.completion import detect_shell

    try:
        return detect_shell()
    except Exception:
        raise InputError(f"Which shell? Name it: {', '.join(SHELLS)}.") from None
