"""Summaries: tables of counts, and the statistics read from them, with certain bounds."""
