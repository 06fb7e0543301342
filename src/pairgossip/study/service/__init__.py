"""A member of a study as a process, and the requests of its operator."""
