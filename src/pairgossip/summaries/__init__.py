"""Summaries: tables of counts, and the statistics that are read from them, with certain bounds."""
