"""The options that say which rows are at which site of the network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from pairgossip.cli.options import NETWORK
from pairgossip.errors import InputError, canonical, unknown_name

if TYPE_CHECKING:
    from pairgossip.tables import Table


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class GroupOptions:
    """Sites that hold several rows."""

    group_by: str | None = None
    """Column that says at which site each row is. The nodes of the network are then the sites:
    with --graph-file those of the same names, or numbers, else in the order of the names."""
    construction: str | None = None
    """How sites exchange, with --group-by: lexicographic (unless given; one row at a time, rows of
    one site for free), blow-up (never rows of one site) or whole-sets (all rows at once)."""

    def chosen(self, spec: Path | None) -> str:
        """Return the construction; refuse one without sites, and sites of a specification."""
        from pairgossip.checks import CONSTRUCTIONS, LEXICOGRAPHIC

        if self.group_by is not None and spec is not None:
            raise InputError(
                f"{spec} is for peers, whose links ring alike however many rows they join: leave "
                "--group-by out, or run without --spec."
            )
        if self.construction is None:
            return LEXICOGRAPHIC
        if self.group_by is None:
            raise InputError(
                "--construction is about sites that hold several rows: give --group-by, the column "
                "that says the site of each row, too."
            )
        if canonical(self.construction) not in CONSTRUCTIONS:
            raise unknown_name("construction", self.construction, CONSTRUCTIONS)
        return canonical(self.construction)


NO_GROUPS = GroupOptions()


def read_groups(table: Table, column: str | None) -> Any:
    """Return the site of every row as a column says it: numbers or text; None without a column."""
    if column is None:
        return None
    texts = table.text(column)  # complains about an unknown column and about gaps
    # Sorted as text, 10 would come before 2; but 007 is a name, of which nothing must be lost.
    has_padding = any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in texts)
    return table.numbers(column) if table.holds_numbers(column) and not has_padding else texts
