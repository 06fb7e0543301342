from __future__ import annotations

import numpy as np
import pytest

from pairgossip import InputError
from pairgossip.engine.schedule import child, root_seed, stream


def test_children_do_not_depend_on_what_was_asked_before() -> None:
    root = root_seed(1)
    child(root, 0)
    first = stream(root, 3).integers(0, 1 << 30, 5)
    np.testing.assert_array_equal(first, stream(root_seed(1), 3).integers(0, 1 << 30, 5))
    assert not np.array_equal(first, stream(root, 4).integers(0, 1 << 30, 5))


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(InputError, match="The seed must be a whole number >= 0 or None"):
        root_seed(seed)  # type: ignore[arg-type]
