"""`pairgossip kernels`: what can be averaged over pairs."""

from __future__ import annotations

from pairgossip.cli.console import new_table, write_json, write_table
from pairgossip.cli.options import Flag


def kernels_command(*, json: Flag = False) -> None:
    """List the built-in kernels: what each averages over pairs, and the columns it needs.

    A kernel h(x, y) is a function of two observations; the statistic is its average over all
    pairs. Columns in order: the first --column is the first one listed; a last column named
    label or cluster can also be given with --label. From Python any function of two observations
    will do.

    For example:

        pairgossip kernels

    Parameters
    ----------
    json
        Print one JSON object instead of a table.
    """
    from pairgossip.kernels import describe

    if json:
        write_json({kernel.name: kernel._asdict() for kernel in describe()})
        return
    table = new_table(("kernel", "columns, cost of exact", "what it measures"), numbers=False)
    table.columns[0].no_wrap = True
    for kernel in describe():
        columns = "any" if kernel.columns is None else ", ".join(map(_column, kernel.columns))
        table.add_row(
            kernel.name,
            f"{columns}\n{kernel.exact_cost}",
            f"{kernel.description}\n{kernel.expression}",
        )
    write_table(table)


def _column(name: str) -> str:
    return f"[{name[:-1]}]" if name.endswith("?") else name
