"""The report: one HTML file that opens offline, and every figure as PNG and SVG beside it."""

from pairgossip.experiments.report.writing import write_report

__all__ = ["write_report"]
