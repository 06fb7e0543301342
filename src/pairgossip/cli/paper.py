"""`pairgossip reproduce` and `errata`: the paper, checked by experiments and by numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pairgossip.cli.options import Flag, Json, Seed, Whole


def errata_command(*, markdown: Flag = False, json: Json = False) -> None:
    """List the errors in the printed paper with corrections and evidence, computed now.

    Every example satisfies the paper's own hypotheses, which are listed with their lines. Errors
    outside these hypotheses are not listed (one row says that a hypothesis is not needed, with
    examples outside it). Lines are those of the paper's LaTeX source. Class A breaks an
    implementation of the printed text, B makes a printed bound or claim wrong, C leaves it valid: a
    slip of the pen, a gap in a proof whose result may hold, an inference, or a remark.

    For example:

        pairgossip errata

    Parameters
    ----------
    markdown
        Print the table in Markdown, as in the documentation.
    """
    from pairgossip.experiments import write_errata

    write_errata(markdown=markdown, json=json)


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

    The report is one HTML file that opens offline. It has figures (also as PNG and SVG); tables
    with the paper's printed value, ours and the ratio; a check of each statement of the paper about
    these experiments; the errata with evidence; versions and seeds. Ctrl-C keeps all finished
    trials; --resume continues.

    For example:

        pairgossip reproduce --quick

        pairgossip reproduce --only auc-async --trials 10 --out auc

    Parameters
    ----------
    quick
        Shorter runs and 3 trials, in about three minutes.
    list_
        List the experiments, and run nothing.
    only
        Experiments to run, several separated by commas; by default all.
    trials
        Independent trials; by default 50, or 3 with --quick. Small networks run a multiple of them,
        and metric learning at most 10.
    out
        Folder for results, figures and report.html; by default pairgossip-reproduction, or
        pairgossip-reproduction-quick.
    jobs
        Trials run at once; by default one per core.
    resume
        Keep the trials that were finished in the same folder, and run only the others.
    seed
        Seed of all randomness; the same seed gives the same result files.
    dask
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers run the trials.
    """
    from pairgossip.experiments import run_reproduction, write_experiments

    if list_:
        write_experiments()
        return 0
    return run_reproduction(
        only,
        dask=dask,
        quick=quick,
        trials=trials,
        out=out,
        seed=seed,
        resume=resume,
        n_jobs=-1 if jobs is None else jobs,
    )
