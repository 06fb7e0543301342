"""`pairgossip kernels`, `methods`, `losses` and `dataset`: what the package holds, listed."""

from __future__ import annotations

from pathlib import Path

from pairgossip.checks import choice, whole
from pairgossip.cli.console import (
    new_table,
    write_json,
    write_line,
    write_rows,
    write_table,
)
from pairgossip.cli.options import Json, Whole
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.errors import InputError
from pairgossip.text import format_count


def kernels_command(*, json: Json = False) -> None:
    """List the built-in kernels: what each averages over pairs, and the columns it needs.

    A kernel h(x, y) is a function of two observations; the statistic is its average over all
    pairs. Columns in order: the first --column is the first one listed; a last column named
    label or cluster can also be given with --label. In Python a kernel may be any function of two
    observations. --method sketch averages the sketch; for kernels without one use tracking. The
    last column names the same function in other software: V means over all pairs, U over pairs of
    different rows, and no letter both. Tests that are not averages are listed last; they are for
    `pairgossip test`.

    For example:

        pairgossip kernels
    """
    from pairgossip.kernels import CATALOG, describe
    from pairgossip.kernels.named_tests import NAMED_TESTS

    tests = NAMED_TESTS.values()
    if json:
        kernels = {
            kernel.name: kernel._asdict() | {"sketch": _sketch(kernel.name), "test": False}
            for kernel in describe()
        }
        write_json(kernels | {test.name: test._asdict() | {"test": True} for test in tests})
        return
    headings = ("kernel, columns, cost of exact", "sketch", "what it measures, and is the same as")
    table = new_table(headings, numbers=False)
    table.columns[0].max_width = max(len(name) for name in (*NAMED_TESTS, *CATALOG))
    for kernel in describe():
        columns = "any" if kernel.columns is None else ", ".join(map(_column, kernel.columns))
        table.add_row(
            f"{kernel.name}\n{columns}\n{kernel.exact_cost}",
            _sketch(kernel.name) or "none",
            "\n".join(filter(None, (kernel.description, kernel.expression, kernel.same_as))),
            end_section=True,
        )
    for test in tests:
        table.add_row(
            f"{test.name}\n{', '.join(test.columns)}\ntest only",
            test.sketch or "none",
            f"{test.description}\n{test.same_as}",
            end_section=True,
        )
    write_table(table)


def _sketch(kernel: str) -> str | None:
    """Return the name of a kernel's sketch; None for a kernel without one."""
    from pairgossip.kernels import as_kernel
    from pairgossip.sketches import default_sketch

    try:
        return type(default_sketch(as_kernel(kernel))).__name__
    except InputError:
        return None


def _column(name: str) -> str:
    return f"[{name[:-1]}]" if name.endswith("?") else name


def methods_command(*, json: Json = False) -> None:
    """List the methods of estimation: how each runs, who sees which rows, which faults it
    tolerates.

    In Python, `pairgossip.algorithms.methods.register` adds your own method to this list.

    For example:

        pairgossip methods
    """
    from pairgossip.algorithms.methods import METHODS

    if json:
        write_json(
            {
                method.name: {
                    "description": method.description,
                    "clocks": method.clocks,
                    "schedules": method.known_schedules,
                    "shows": method.shows,
                    "tolerates": method.tolerates,
                }
                for method in METHODS.values()
            }
        )
        return
    table = new_table(
        ("method", "clocks", "schedules", "what it does, shows and tolerates"), numbers=False
    )
    for method in METHODS.values():
        shown = dict.fromkeys(map(method.shows_along, method.known_schedules))
        tolerated = f"tolerates {method.tolerates}" if method.tolerates else ""
        table.add_row(
            method.name,
            "\n".join(method.clocks),
            "\n".join(method.known_schedules),
            "\n".join(filter(None, (method.description, *shown, tolerated))),
            end_section=True,
        )
    write_table(table)


def losses_command(*, json: Json = False) -> None:
    """List the losses: what each learns, the columns it needs, and whether it can be sketched.

    The first part of a name is the kind of model, the rest the function of the margin that is
    averaged over pairs. In Python a loss may be any function of two observations and a model.

    For example:

        pairgossip losses
    """
    from pairgossip.losses import CATALOG
    from pairgossip.losses.learning import can_sketch

    losses = {name: make() for name, make in CATALOG.items()}
    if json:
        write_json(
            {
                name: {
                    "columns": loss.columns,
                    "description": loss.description,
                    "sketches": can_sketch(loss),
                }
                for name, loss in losses.items()
            }
        )
        return
    rows = [
        (
            name,
            "any" if loss.columns is None else ", ".join(loss.columns),
            "yes" if can_sketch(loss) else "no",
            loss.description,
        )
        for name, loss in losses.items()
    ]
    write_rows(("loss", "columns", "sketch", "what is learned"), rows, numbers=False)


def dataset_command(
    name: str | None = None, *, out: Path | None = None, split: Whole | None = None
) -> None:
    """Write an embedded data set as a CSV file; without a name, list the data sets.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip dataset breast-cancer-wisconsin --split 5 --out hospital-{}.csv

    Parameters
    ----------
    name
        Which data set.
    out
        The CSV file to write; without it the table goes to standard output.
    split
        Write this many files, one for each site, and give them the rows in turn; {} in --out stands
        for the number of the site, from 1.
    """
    from pairgossip.datasets import CATALOG
    from pairgossip.files import write_text

    if name is None:
        if out is not None or split is not None:
            raise InputError("Say which data set to write: pairgossip dataset lists them.")
        table = [
            (known, str(len(data)), data.column_list, data.description)
            for known, data in ((known, CATALOG[known]()) for known in sorted(CATALOG))
        ]
        write_rows(("data set", "rows", "columns", "what it holds"), table, numbers=False)
        return
    data = CATALOG[choice("data set", name, CATALOG)]()
    header = ",".join(data.columns)
    rows = [",".join(map(repr, row)) for row in data.values.tolist()]
    if split is not None:
        files = _site_files(out, whole("The number of files", split, most=len(data)))
    elif out is not None:
        files = [out]
    else:
        for line in (header, *rows):
            write_line(line)
        return
    check_outputs(files)
    dealt = [rows[number :: len(files)] for number in range(len(files))]
    texts = ["".join(f"{line}\n" for line in (header, *part)) for part in dealt]
    for file, text in zip(files, texts, strict=True):  # it may be somebody's data
        if file.is_file() and file.read_bytes() != text.encode():
            raise InputError(
                f"{file} exists already and holds something else: choose another name, or remove "
                "it first."
            )
    for file, text, part in zip(files, texts, dealt, strict=True):
        write_text(file, [text])
        write_line(f"Wrote {file}: {format_count(len(part), 'row')}.")
    write_line(data.source)


def _site_files(out: Path | None, sites: int) -> list[Path]:
    """Return the name of a file for each site."""
    if out is None or "{}" not in out.name:
        raise InputError(
            "--split writes several files: give --out a name with {} for the number of each, as in "
            "hospital-{}.csv."
        )
    return [out.with_name(out.name.replace("{}", str(site))) for site in range(1, sites + 1)]
