"""The command line: one file per command; whatever is heavy is imported inside the commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from pairgossip import __version__
from pairgossip.cli.completion import completion_command
from pairgossip.cli.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_WRONG_INPUT,
    in_options,
    output,
    silence_output,
    tell,
)
from pairgossip.cli.dataset import dataset_command
from pairgossip.cli.demo import demo_command
from pairgossip.cli.errata import errata_command
from pairgossip.cli.estimate import estimate_command
from pairgossip.cli.exact import exact_command
from pairgossip.cli.graph import graph_command
from pairgossip.cli.kernels import kernels_command
from pairgossip.cli.peer import peer_app
from pairgossip.cli.plot import plot_command
from pairgossip.cli.reproduce import reproduce_command
from pairgossip.cli.score import score_command
from pairgossip.cli.swarm import swarm_app
from pairgossip.cli.train import train_command
from pairgossip.cli.watch import watch_command
from pairgossip.errors import MissingExtra, PairgossipError

HELP = """Gossip for pairwise statistics: simulate it, check it against theory.

Every node of a network holds one observation and talks to its neighbors only.
By gossip, each learns an average over all pairs of observations, such as
Gini's mean difference or the AUC. Begin with:

    pairgossip demo --quick
    pairgossip dataset engel --out incomes.csv
    pairgossip estimate incomes.csv --column income --kernel gini
    pairgossip graph torus --rows 26 --cols 26
    pairgossip reproduce --quick
    pairgossip watch
"""

app = App(
    name="pairgossip",
    help=HELP,
    version=__version__,
    help_format="plaintext",  # Markdown alone would take a third of the time of --help.
    # No "--no-json" and "--empty-column": a flag left out says the same.
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
for command in (
    completion_command,
    dataset_command,
    demo_command,
    errata_command,
    estimate_command,
    exact_command,
    graph_command,
    kernels_command,
    plot_command,
    reproduce_command,
    score_command,
    train_command,
    watch_command,
):
    app.command(command, name=command.__name__.removesuffix("_command"), help_format="markdown")
app.command(peer_app)
app.command(swarm_app)

__all__ = ["app", "main"]


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = sys.argv[1:] if tokens is None else tokens
    try:
        # The parser takes a lone dash, which stands for standard input, for an unknown option.
        code = app(
            ["./-" if token == "-" else token for token in given],
            result_action="return_value",
            exit_on_error=False,
            print_error=False,
        )
        output().file.flush()
    except CycloptsError as problem:
        from pairgossip.cli.refusals import refusal

        tell(f"Error: {refusal(problem)}")
        return EXIT_WRONG_INPUT
    except PairgossipError as problem:
        tell(f"Error: {in_options(str(problem))}")
        return EXIT_FAILED if isinstance(problem, MissingExtra) else EXIT_WRONG_INPUT
    except MemoryError:
        tell("Error: The memory is not enough: use fewer nodes, trials or checkpoints.")
        return EXIT_FAILED
    except KeyboardInterrupt:
        tell("Warning: Interrupted before there was anything to keep.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        silence_output()
        return EXIT_FAILED
    except OSError as problem:  # a full disk behind standard output
        silence_output()
        tell(f"Error: Cannot write the output: {problem.strerror}.")
        return EXIT_FAILED
    return code if isinstance(code, int) else 0
