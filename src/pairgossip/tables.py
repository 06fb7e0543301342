"""Columns of files, for commands, peers and the page."""

from pairgossip.rows.csv.file import STANDARD_INPUT
from pairgossip.rows.csv.lines import parse_number
from pairgossip.rows.places import UNNAMED, column_name, list_columns
from pairgossip.rows.table import Table, no_numbers, read_columns
from pairgossip.rows.table_file import open_content

__all__ = [
    "STANDARD_INPUT",
    "UNNAMED",
    "Table",
    "column_name",
    "list_columns",
    "no_numbers",
    "open_content",
    "parse_number",
    "read_columns",
]
