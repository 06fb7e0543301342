"""The certainty of a statistic: sampling errors, intervals and tests."""
