"""Small images of handwritten digits."""

from __future__ import annotations

from pairgossip.datasets.dataset import REPORTED_LICENSE, Dataset, read_shipped
from pairgossip.datasets.labeled import LabeledData, labeled

FILE = "digits.csv.gz"
SHA256 = "962f775032df9effe32b24d91624022649d502ee17d3d8160e2887dcb10db722"


def digits(standardize: bool = False) -> LabeledData:
    """Load 1797 images of handwritten digits: 8 x 8 gray levels from 0 to 16, and which digit.

    It is the test part of the UCI set, as in scikit-learn's ``load_digits``.

    Parameters
    ----------
    standardize
        Whether to center every pixel and divide it by its standard deviation; the three pixels
        that are blank in every image become 0.

    Examples
    --------
    >>> X, y = digits()
    >>> X.shape, int(y.max())
    ((1797, 64), 9)
    """
    return labeled(digits_table(), standardize)


def digits_table() -> Dataset:
    """Load the images as a table: 64 gray levels, row by row, and class (the digit, 0 to 9)."""
    columns, values = read_shipped(FILE, SHA256)
    return Dataset(
        name="digits",
        columns=columns,
        values=values,
        description=(
            "Gray levels, 0 to 16, of 1797 images of handwritten digits, 8 x 8 pixels each, "
            "and class (0 to 9: the digit)."
        ),
        source=(
            "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, test "
            "part, UCI Machine Learning Repository, doi:10.24432/C50P49; as in "
            "sklearn.datasets.load_digits."
        ),
        license=REPORTED_LICENSE,
    )
