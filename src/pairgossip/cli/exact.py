"""`pairgossip exact`: the statistic itself, over all pairs."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.observations import check_labels, read_observations
from pairgossip.errors import canonical

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

        pairgossip dataset engel --out incomes.csv
        pairgossip exact incomes.csv --column income --kernel gini

    Parameters
    ----------
    file
        A CSV file whose first line names its columns; - for standard input.
    kernel
        What is averaged over pairs; `pairgossip kernels` lists them.
    column
        Column of numbers to use; repeat it, or separate names by commas, for several. May be
        left out if the file has only one.
    label
        Column of labels for kernels that compare classes. Text counts in alphabetical order: for
        auc, the last class is the positive one; ranking-risk and concordance take numbers only.
    kind
        v: over all pairs, a row with itself included; u: over pairs of different rows.
    """
    from pairgossip.kernels import exact
    from pairgossip.progress import progress_bar

    observations = read_observations(file, column, label)
    check_labels(observations, kernel)
    done = 0
    with progress_bar(f"exact {kernel}", PROGRESS_STEPS) as advance:

        def on_progress(fraction: float) -> None:
            nonlocal done
            steps = int(fraction * PROGRESS_STEPS)
            if advance is not None:
                advance(steps - done)
            done = steps

        value = exact(
            observations.values, kernel, canonical(kind), observations.labels, on_progress
        )
    tell(observations.described())
    write_line(repr(value))
