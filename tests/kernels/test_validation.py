"""What single kernels ask of labels and events."""

from __future__ import annotations

import pytest

from pairgossip.errors import InputError
from pairgossip.kernels import exact


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (
            [1, 1, 1],
            "Kernel 'auc' needs two classes, but the labels hold one class only (1): "
            "add observations of the other class.",
        ),
        (
            [0, 1, 2],
            "Kernel 'auc' needs two classes, but the labels hold 3: "
            "use 'ranking-risk' or 'concordance' for graded labels.",
        ),
    ],
)
def test_auc_needs_two_classes(labels: list[int], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        exact([0.1, 0.2, 0.3], "auc", labels=labels)
    assert str(caught.value) == sentence


def test_auc_takes_any_two_classes() -> None:
    scores = [0.1, 0.4, 0.35, 0.8]
    for labels in ([0, 0, 1, 1], [-1, -1, 1, 1], [False, False, True, True], list("aabb")):
        assert exact(scores, "auc", labels=labels) == 0.75


def test_events_are_zero_or_one() -> None:
    with pytest.raises(InputError) as caught:
        exact([[1, 5, 1], [2, 6, 2], [3, 7, 0]], "concordance")
    assert str(caught.value) == (
        "Kernel 'concordance' needs events of 0 (censored) or 1 (observed): "
        "recode row 1 (counting from 0)."
    )
