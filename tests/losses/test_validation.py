"""What losses ask of labels and columns."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.losses import Loss, as_loss
from pairgossip.losses.builtin import difference

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("name", "labels", "sentence"),
    [
        (
            "auc-hinge",
            [1.0, 1.0, 1.0],
            "An AUC loss needs two classes, but the labels hold one class only (1): "
            "add observations of another class.",
        ),
        (
            "auc-hinge",
            [0.0, 1.0, 2.0],
            "An AUC loss needs two classes, but the labels hold 3: "
            "use a ranking loss, such as 'ranking-logistic', for graded labels.",
        ),
        (
            "ranking-logistic",
            [4.0, 4.0, 4.0],
            "A ranking loss needs two classes, but the labels hold one class only (4): "
            "add observations of another class.",
        ),
        (
            "metric-hinge",
            [0.0, 0.0, 0.0],
            "A metric-learning loss needs two classes, but the labels hold one class only (0): "
            "add observations of another class.",
        ),
    ],
)
def test_labels_must_suit_the_loss(name: str, labels: list[float], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        as_loss(name).check(np.column_stack((X, labels)))
    assert str(caught.value) == sentence


def test_any_two_labels_do() -> None:
    for labels in ([2.0, 4.0, 2.0], [-1.0, 1.0, 1.0]):
        as_loss("auc-logistic").check(np.column_stack((X, labels)))


def test_columns_must_suit_the_loss() -> None:
    with pytest.raises(InputError) as caught:
        as_loss("auc-hinge").check(np.arange(3.0))
    assert str(caught.value) == (
        "Loss 'auc-hinge' takes 2 or more columns (features..., label), but the data has 1: "
        "give the labels as the last column or as labels."
    )
    with pytest.raises(InputError) as caught:
        Loss(difference, name="mine", columns=("x", "label")).check(np.ones((3, 4)))
    assert str(caught.value) == (
        "Loss 'mine' takes 2 columns (x, label), but the data has 4: give just those."
    )
