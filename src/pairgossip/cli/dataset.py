"""`pairgossip dataset`: the small data sets that ship with the package."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import new_table, write_line, write_table
from pairgossip.cli.outputs import check_outputs


def dataset_command(name: str | None = None, *, out: Path | None = None) -> None:
    """Write an embedded data set as a CSV file; without a name, list the data sets.

    For example:

        pairgossip dataset engel --out incomes.csv

    Parameters
    ----------
    name
        Which data set.
    out
        The CSV file to write; without it the table goes to standard output.
    """
    from pairgossip.datasets import CATALOG
    from pairgossip.errors import canonical, unknown_name
    from pairgossip.files import write_text

    if name is None:
        table = new_table(("data set", "rows", "columns", "what it holds"), numbers=False)
        for known, loader in sorted(CATALOG.items()):
            data = loader()
            table.add_row(known, str(len(data)), data.column_list, data.description)
        write_table(table)
        return
    if canonical(name) not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    check_outputs([out])
    data = CATALOG[canonical(name)]()
    lines = [",".join(data.columns), *(",".join(map(repr, row)) for row in data.values.tolist())]
    if out is None:
        for line in lines:
            write_line(line)
        return
    write_text(out, (f"{line}\n" for line in lines))
    write_line(f"Wrote {out}: {len(data)} rows. {data.source}")
