"""The folder of a member of a study: settings, frozen rows, journal, tables, signed results."""
