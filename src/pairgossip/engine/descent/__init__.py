"""Trials of minimization: plain steps, and their compiled twins."""
