"""`pairgossip exact`: the statistic itself, over all pairs."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import write_line
from pairgossip.cli.observations import read_observations

PROGRESS_STEPS = 1000


def exact_command(
    file: Path,
    /,
    *,
    kernel: str,
    column: list[str] | None = None,
    label: str | None = None,
    kind: str = "v",
) -> None:
    """Print the exact value of a pairwise statistic, to all its digits.

    It averages the kernel over all pairs of rows of a CSV file: what gossip estimates without
    ever collecting the data in one place.

    For example:

        pairgossip exact incomes.csv --column income --kernel gini

    Parameters
    ----------
    file
        A CSV file whose first line names its columns.
    kernel
        What is averaged over pairs; `pairgossip kernels` lists them.
    column
        Column of numbers to use; repeat it, or separate names by commas, for several. May be
        left out if there is only one.
    label
        Column of labels, numbers or text, for kernels that compare classes.
    kind
        v: over all pairs, a row with itself included; u: over pairs of different rows.
    """
    from pairgossip.kernels import exact
    from pairgossip.progress import progress_bar

    observations = read_observations(file, column, label)
    done = 0
    with progress_bar(f"exact {kernel}", PROGRESS_STEPS) as advance:

        def on_progress(fraction: float) -> None:
            nonlocal done
            steps = int(fraction * PROGRESS_STEPS)
            if advance is not None:
                advance(steps - done)
            done = steps

        value = exact(observations.values, kernel, kind, observations.labels, on_progress)
    write_line(repr(value))
