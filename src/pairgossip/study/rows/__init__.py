"""Questions whose rows travel between members, within a study."""
