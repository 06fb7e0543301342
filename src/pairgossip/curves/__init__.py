"""Curves read from counts of two classes: ROC, precision and recall, calibration."""
