"""Questions whose rows travel between members, as a study goes through them."""
