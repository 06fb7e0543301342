"""A peer's folder on disk: its rows, journal, witness, tables and results."""
