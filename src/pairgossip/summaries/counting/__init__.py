"""Rows that come in batches, counted per cell; nothing else is kept of them."""
