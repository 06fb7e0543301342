"""Norms and projections."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.losses.proximal import norms, onto_ball, onto_cone, symmetric


def test_norms_of_any_size() -> None:
    theta = np.array([[3e200, 4e200], [0.0, 0.0], [3e-5, -4e-5]])
    np.testing.assert_allclose(norms(theta), [5e200, 0.0, 5e-5])
    np.testing.assert_allclose(onto_ball(theta, 10.0), [[6.0, 8.0], [0.0, 0.0], [3e-5, -4e-5]])


def test_the_cone_keeps_what_it_holds_and_cuts_the_rest() -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    before, after = (basis @ np.diag(d) @ basis.T for d in ([2.0, -1.0, 0.5], [2.0, 0.0, 0.5]))
    np.testing.assert_allclose(onto_cone(before.ravel()), after.ravel(), atol=1e-14)
    np.testing.assert_allclose(onto_cone(after.ravel()), after.ravel(), atol=1e-14)
    assert symmetric(np.zeros((2, 5, 9))).shape == (2, 5, 3, 3)


def test_a_matrix_is_square() -> None:
    with pytest.raises(InputError) as caught:
        onto_cone(np.ones(5))
    assert str(caught.value) == (
        "PSD is about square matrices, but the model has 5 parameters: "
        "use it with a loss of full matrices, such as 'metric-hinge'."
    )
