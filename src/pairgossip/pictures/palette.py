"""The colors of all pictures."""

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, distinct for color-blind readers."""
MAIN = SERIES[0]
MUTED = "#767676"
"""Color of reference lines and side remarks: the lightest gray that is readable on white."""
INK = "#1b1f24"
"""Color of axes and text."""
GRID = "#e7eaee"
