"""Requests of front doors to a network: arguments checked, rows prepared, trials run."""
