"""Engel's household budgets."""

from __future__ import annotations

from pairgossip.datasets.dataset import Dataset, read_shipped

FILE = "engel.csv"
SHA256 = "1ab6a5c4e884ef9ad624949d2b7e94652eccd75ba3905d1a46c85d28b153ec49"


def engel() -> Dataset:
    """Load the annual incomes and food expenditures of 235 Belgian working-class households.

    Both columns, income and foodexp, are in Belgian francs.
    """
    columns, values = read_shipped(FILE, SHA256)
    return Dataset(
        name="engel",
        columns=columns,
        values=values,
        description=(
            "Annual income and food expenditure (Belgian francs) "
            "of 235 Belgian working-class households."
        ),
        source=(
            "Engel (1857); Koenker and Bassett (1982), Robust Tests of Heteroscedasticity Based on "
            "Regression Quantiles, Econometrica 50, 43-61; as in statsmodels.datasets.engel."
        ),
        license="public domain",
    )
