"""The errors of a peer's estimate if rows travel."""
