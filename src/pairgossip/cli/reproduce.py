"""`pairgossip reproduce`: the paper's experiments, one report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from pairgossip.cli.console import EXIT_INTERRUPTED, tell, with_options, write_line, write_rows
from pairgossip.cli.options import Flag, Seed, Whole
from pairgossip.errors import InputError, needed_for
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.experiments import Reproduction

_SECONDS_TO_CONNECT = 10


def reproduce_command(
    *,
    quick: Flag = False,
    list_: Annotated[Flag, Parameter(name="--list")] = False,
    only: Annotated[tuple[str, ...], Parameter(show_default=False)] = (),
    trials: Whole | None = None,
    out: Path | None = None,
    jobs: Whole | None = None,
    resume: Flag = False,
    seed: Seed = 0,
    dask: str | None = None,
) -> int:
    """Run the experiments of the paper and write one report about them.

    The report, one HTML file that opens offline, says what was asked and what was found: figures
    (also as PNG and SVG), tables with the paper's printed value, ours and the ratio, the
    statements of the paper about what is run checked one by one, the errata with evidence,
    versions and seeds. Ctrl-C keeps all
    finished trials; --resume goes on.

    For example:

        pairgossip reproduce --quick

        pairgossip reproduce --only auc-async --trials 10 --out auc

    Parameters
    ----------
    quick
        Shorter runs and 3 trials, in about three minutes.
    list_
        Say which experiments there are, and run nothing.
    only
        Experiments to run, several separated by commas; all unless given.
    trials
        Independent trials; 50 unless given, 3 with --quick. Small networks run a multiple of
        them, and metric learning at most 10.
    out
        Folder for results, figures and report.html; pairgossip-reproduction unless given, or
        pairgossip-reproduction-quick.
    jobs
        Trials run at once; one per core unless given.
    resume
        Keep the trials that were finished in the same folder, and run only the others.
    seed
        Seed of all randomness; the same seed gives the same result files.
    dask
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers run the trials.
    """
    if list_:
        from pairgossip.experiments import CATALOG

        rows = [(name, experiment.title) for name, experiment in CATALOG.items()]
        write_rows(("name", "experiment"), rows, numbers=False)
        return 0
    from pairgossip.experiments import reproduce

    begun = time.monotonic()
    names = [name.strip() for group in only for name in group.split(",") if name.strip()]
    if only and not names:
        raise InputError("No experiment is named: see pairgossip reproduce --list.")
    with _cluster(dask):
        try:
            outcome = reproduce(
                names or None,
                quick=quick,
                trials=trials,
                out=out,
                seed=seed,
                resume=resume,
                n_jobs=-1 if jobs is None else jobs,
            )
        except KeyboardInterrupt:
            tell("Warning: Interrupted: finished trials are kept, and --resume goes on from them.")
            return EXIT_INTERRUPTED
    _print(outcome, time.monotonic() - begun)
    return 0


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Let the workers of a Dask cluster run the trials."""
    if address is None:
        yield
        return
    with needed_for("Running on a Dask cluster", "pairgossip[cluster]"):
        from distributed import Client
    from joblib import parallel_config

    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError):
        raise InputError(
            f"There is no Dask scheduler at {address}: start one with 'dask scheduler' and give "
            "the address it prints, such as tcp://10.0.0.1:8786."
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError(
                f"The Dask scheduler at {address} has no workers: start some with 'dask worker "
                f"{address}'."
            )
        with parallel_config(backend="dask"):
            yield


def _print(outcome: Reproduction, seconds: float) -> None:
    from pairgossip.experiments.framework.report import MARKS

    rows = [
        (f"{MARKS[claim.verdict]} {claim.verdict}", claim.statement, name)
        for name, section in outcome.sections.items()
        for claim in section.claims
    ]
    title = f"{format_count(len(outcome.claims), 'statement')} checked in {seconds:.0f} s"
    write_rows(("verdict", "statement", "checked by"), rows, title, numbers=False)
    for name, why in outcome.incomplete.items():
        tell(f"Warning: {name} is not in the report: {with_options(why)}")
    write_line(f"Wrote {outcome.report}")
