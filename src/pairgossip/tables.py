"""Columns of CSV files, for commands, peers and the page."""

from pairgossip.rows.csv_file import STANDARD_INPUT
from pairgossip.rows.csv_lines import (
    DELIMITERS,
    UNNAMED,
    column_name,
    list_columns,
    parse_number,
)
from pairgossip.rows.csv_table import Table, no_numbers, parse_columns, read_columns

__all__ = [
    "DELIMITERS",
    "STANDARD_INPUT",
    "UNNAMED",
    "Table",
    "column_name",
    "list_columns",
    "no_numbers",
    "parse_columns",
    "parse_number",
    "read_columns",
]
