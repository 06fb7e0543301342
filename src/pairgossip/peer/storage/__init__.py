"""What a peer keeps on disk: its folder, rows, journal, ledger and witness."""
