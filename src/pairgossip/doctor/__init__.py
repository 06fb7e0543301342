"""Checks of this machine and of peers' folders, with advice for each fault."""
