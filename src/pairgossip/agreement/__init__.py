"""Compare a statistic between sites: their mean, their differences, and the range of a new site."""
