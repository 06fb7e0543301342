"""How sure a statistic is: sampling errors, intervals and tests."""
