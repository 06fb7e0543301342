"""Cells, counts of rows in them, and the statistics read from counts; no network is involved."""
