"""A peer's files on disk: its folder, rows, journal, ledger and witness."""
