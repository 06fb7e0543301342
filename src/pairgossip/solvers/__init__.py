"""Learning from averages: gradients over all pairs from sketches of scores, and their minimizer.

The gradient of a loss of differences of scores is a function of two averages: of a few numbers
about the scores of each grade, and then of rows, whose weights follow from the first average.
"""
