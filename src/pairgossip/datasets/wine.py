"""Chemical analyses of Italian wines."""

from __future__ import annotations

from pairgossip.datasets.dataset import REPORTED_LICENSE, Dataset, read_shipped
from pairgossip.datasets.labeled import LabeledData, labeled

FILE = "wine.csv"
SHA256 = "6c75822a8a38ddfff660a8cd569ad5b8311d54cdc9fd55fe2998f1dc114240d5"


def wine(standardize: bool = False) -> LabeledData:
    """Load 178 wines of three cultivars: thirteen chemical measurements, and which cultivar.

    The labels are 0 (59 wines), 1 (71) and 2 (48), as in scikit-learn's ``load_wine``.

    Parameters
    ----------
    standardize
        Whether to center every feature and divide it by its standard deviation.

    Examples
    --------
    >>> X, y = wine()
    >>> X.shape, int(y.max())
    ((178, 13), 2)
    """
    return labeled(wine_table(), standardize)


def wine_table() -> Dataset:
    """Load the wines as a table: thirteen measurements and class (0, 1 or 2: the cultivar)."""
    columns, values = read_shipped(FILE, SHA256)
    return Dataset(
        name="wine",
        columns=columns,
        values=values,
        description=(
            "Thirteen chemical measurements of 178 wines grown in one region of Italy, "
            "and class (0, 1, 2: the cultivar)."
        ),
        source=(
            "M. Forina et al., PARVUS, Institute of Pharmaceutical and Food Analysis and "
            "Technologies, Genoa; Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J; "
            "as in sklearn.datasets.load_wine."
        ),
        license=REPORTED_LICENSE,
    )
