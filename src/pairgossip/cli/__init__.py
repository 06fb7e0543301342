"""The command line: commands by subject. Heavy libraries are imported inside the commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

try:
    from cyclopts import App, CycloptsError, Parameter

    from pairgossip import __version__
    from pairgossip.checks import choice
    from pairgossip.cli.console import (
        EXIT_FAILED,
        EXIT_INTERRUPTED,
        EXIT_WRONG_INPUT,
        output,
        refusal,
        silence_output,
        tell,
        with_options,
    )
    from pairgossip.cli.doctor import doctor_command
    from pairgossip.cli.exact import exact_command, test_command
    from pairgossip.cli.graph import graph_command
    from pairgossip.cli.lab.demo import demo_command
    from pairgossip.cli.lab.estimate import estimate_command
    from pairgossip.cli.lab.plan import plan_command
    from pairgossip.cli.lab.saved import plot_command, score_command
    from pairgossip.cli.lab.train import train_command
    from pairgossip.cli.listing import (
        dataset_command,
        kernels_command,
        losses_command,
        methods_command,
    )
    from pairgossip.cli.options import Flag
    from pairgossip.cli.paper import errata_command, reproduce_command
    from pairgossip.cli.peer import peer_app, verify_command
    from pairgossip.cli.relay import relay_app
    from pairgossip.cli.summaries.answer import answer_command
    from pairgossip.cli.summaries.summarize import summarize_command
    from pairgossip.cli.swarm import swarm_app
    from pairgossip.cli.validate import validate_command
    from pairgossip.cli.watch import watch_command
    from pairgossip.errors import InputError, MissingExtra, PairgossipError
    from pairgossip.text import format_bytes
except KeyboardInterrupt:  # before `main` can take it
    raise SystemExit(130) from None

_SHELLS = ("bash", "fish", "zsh")
_WITHOUT_WORK = {"-h", "--help", "--version"}
_ON_UNIX = (["peer"], ["relay"], ["swarm"])
"""Commands that need Unix locks, signals and permissions; their help works everywhere."""
_ADDRESSES = 7 << 28
_ADDRESSES_PER_CORE = 1 << 27
"""Addresses that compiled libraries reserve, in bytes: 1.8 GB were seen with two cores."""


def completion_command(shell: str | None = None, /, *, install: Flag = False) -> None:
    """Print a script that completes commands and options at the tab key.

    With --install, write it to the place where the shell finds it in later sessions.

    For example:

        pairgossip completion --install
        pairgossip completion bash

    Parameters
    ----------
    shell
        bash, zsh or fish; by default the shell in which this runs.
    install
        Write the script to a file. For bash and zsh, add a line that reads it to ~/.bashrc or
        ~/.zshrc.
    """
    chosen: Any = choice("shell", _detect_shell() if shell is None else shell, _SHELLS)
    if not install:
        # Not through the console, which would turn tabs into spaces.
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


def _detect_shell() -> str:
    from cyclopts.completion import detect_shell

    try:
        return detect_shell()
    except Exception:
        raise InputError(f"Which shell? Name it: {', '.join(_SHELLS)}.") from None


def _warn_of_few_addresses() -> None:
    """Warn of a limit under which libraries may end the process, or wait forever, silently."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    from pairgossip.rows.batches import count_threads

    needed = _ADDRESSES + _ADDRESSES_PER_CORE * count_threads(-1)
    if limit < needed:
        tell(
            f"Warning: This process is limited to {format_bytes(limit)} of address space (ulimit "
            f"-v), but libraries may reserve {format_bytes(needed)} and use little of it: they may "
            "stop or wait forever without a message. Limit its memory instead, by MemoryMax= of "
            "systemd or a container."
        )


_HELP = """Statistics and models over pairs of rows that many sites hold, without a server.

Every node of a network holds rows of its own and talks to its neighbors only.
By gossip, each learns an average over all pairs of rows, such as the AUC or
Gini's mean difference. Most commands simulate such a network on this machine;
peer runs one node of a real one, and pairgossip COMMAND --help explains each
command. Begin with:

    pairgossip demo --quick
    pairgossip dataset engel --out incomes.csv
    pairgossip exact incomes.csv --column income --kernel gini --interval 0.95
    pairgossip estimate incomes.csv --column income --kernel gini
    pairgossip graph torus --rows 26 --cols 26
    pairgossip reproduce --quick
    pairgossip watch
"""

app = App(
    name="pairgossip",
    help=_HELP,
    version=__version__,
    help_format="plaintext",  # Markdown alone would take a third of the time of --help.
    # No "--no-json" and "--empty-column": to leave the flag out means the same.
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
for command in (
    answer_command,
    completion_command,
    dataset_command,
    demo_command,
    doctor_command,
    errata_command,
    estimate_command,
    exact_command,
    graph_command,
    kernels_command,
    losses_command,
    methods_command,
    plan_command,
    plot_command,
    reproduce_command,
    score_command,
    summarize_command,
    verify_command,
    test_command,
    train_command,
    validate_command,
    watch_command,
):
    app.command(command, name=command.__name__.removesuffix("_command"), help_format="markdown")
app.command(peer_app)
app.command(relay_app)
app.command(swarm_app)

__all__ = ["app", "main"]


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if tokens is None else tokens)
    try:
        if sys.platform == "win32" and words[:1] in _ON_UNIX and not {"-h", "--help"} & set(words):
            raise InputError("Peers need Linux or macOS: on Windows, run pairgossip in WSL 2.")
        if not _WITHOUT_WORK & set(words):
            _warn_of_few_addresses()
        # The parser takes a lone dash, which stands for standard input, for an unknown option.
        code = app(
            ["./-" if token == "-" else token for token in words],
            result_action="return_value",
            exit_on_error=False,
            print_error=False,
        )
        output().file.flush()
    except CycloptsError as problem:
        tell(f"Error: {refusal(problem)}")
        return EXIT_WRONG_INPUT
    except PairgossipError as problem:
        tell(f"Error: {with_options(problem)}")
        return EXIT_FAILED if isinstance(problem, MissingExtra) else EXIT_WRONG_INPUT
    except MemoryError:
        tell(
            "Error: There is not enough memory: use fewer nodes or trials, or of a large table the "
            "counts (pairgossip summarize)."
        )
        return EXIT_FAILED
    except KeyboardInterrupt as stop:
        tell(f"Warning: {str(stop) or 'Interrupted before there was anything to keep.'}")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        silence_output()
        return EXIT_FAILED
    except OSError as problem:
        silence_output()
        if problem.errno is None:  # raised by a library, such as one whose parts do not load
            tell(f"Error: A library failed: {problem}")
        else:  # a full disk behind standard output
            tell(f"Error: Cannot write the output: {problem.strerror}.")
        return EXIT_FAILED
    return code if isinstance(code, int) else 0
