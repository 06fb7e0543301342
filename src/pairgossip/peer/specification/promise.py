"""The promises about tables of counts, in the same words as in SECURITY.md and the guide."""

from __future__ import annotations

_BLOCKS = (
    "Where a half of a block holds fewer than k rows, none included, k rows or all are counted at "
    "the block, so it is not told whether that half is empty. From one table alone, no set of "
    "cells is ever known for certain to hold between one and k - 1 of a site's rows. Likely is "
    "another matter: who knows the density from other sites can guess well where few rows are, who "
    "knows k - 1 people of a block learns about the k-th, and where many rows have one value, most "
    "are known to have it."
)
_COLUMNS = (
    "Columns that are functions of one another count as one column; where one is a sum or a ratio "
    "of others, their tables together can tell more."
)
PROMISE = (
    "For each frozen snapshot a site releases once per column how many of its rows, never fewer "
    "than k per class and group, are counted in the blocks of a public tree, and members see only "
    f"the sum over sites. {_BLOCKS} This is not anonymity: all other members together see this "
    "site's blocks. Rows erased later, and the rows of members that leave, stay in tables that are "
    f"kept. {_COLUMNS} Members of two studies with the same rows can subtract. Only the noise "
    "option bounds what is learned about one person."
)
"""The promise of a study; k is ``algorithm.least_cell`` of the agreed text."""
FILE_PROMISE = (
    "This file tells how many of this site's rows, never fewer than k per class and group, are "
    "counted in the blocks of a public tree. Nothing is masked: who has the file sees this site's "
    f"blocks, not only a sum over sites. {_BLOCKS} This is not anonymity. Copies of the file stay "
    f"when rows are erased. {_COLUMNS} Who has two files of the same rows can subtract. Nothing "
    "bounds what is learned about one person."
)
"""The promise of a file to mail; k is its least number of rows in a block."""
