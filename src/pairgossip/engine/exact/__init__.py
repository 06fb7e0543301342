"""Compiled sums over all pairs: counts of ordered pairs, and users' own functions of pairs."""
