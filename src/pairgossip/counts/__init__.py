"""Cells, counts of rows in them, and all that is read from counts: no network."""
