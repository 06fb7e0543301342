"""The report: one HTML file that opens offline, and every figure as PNG and SVG beside it."""

from pairgossip.experiments.report.writing import Contents, write_report

__all__ = ["Contents", "write_report"]
