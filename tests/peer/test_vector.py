"""A vector is a tuple whose copies are cheap."""

from __future__ import annotations

import random

import pytest

from pairgossip.peer.protocol.state import _BITS, _WIDTH, Vector, as_vector

SIZES = [0, 1, _WIDTH - 1, _WIDTH, _WIDTH + 1, _WIDTH**2, _WIDTH**2 + 1, _WIDTH**3 + 7]


@pytest.mark.parametrize("size", SIZES)
def test_it_holds_what_a_tuple_holds(size: int) -> None:
    items = tuple(range(size))
    vector = Vector(items)
    assert len(vector) == size
    assert tuple(vector) == items and vector == items and items == vector
    assert vector == Vector(list(items))
    for at in {0, size // 2, size - 1, -1, -size} if size else ():
        assert vector[at] == items[at]
    for part in (slice(1, None), slice(None, None, -7), slice(3, -2)):
        assert vector[part] == items[part]
    for at in (size, -size - 1):
        with pytest.raises(IndexError):
            vector[at]
        with pytest.raises(IndexError):
            vector.replaced({at: 0})


@pytest.mark.parametrize("size", SIZES[1:])
def test_any_history_of_changes_is_as_with_tuples(size: int) -> None:
    chance = random.Random(size)
    vector, items = Vector(range(size)), list(range(size))
    seen = []
    for step in range(60):
        places = {chance.randrange(size) for _ in range(chance.randint(1, 3))}
        changes = {at: -step * 10 - k for k, at in enumerate(places)}
        seen.append((vector, tuple(items)))
        vector = vector.replaced(changes)
        for at, item in changes.items():
            items[at] = item
        assert all(vector[at] == item for at, item in changes.items())
    assert vector == tuple(items)
    assert all(before == then for before, then in seen)  # nothing has changed them since


def test_different_vectors_differ() -> None:
    vector = Vector(range(2000))
    assert vector != vector.replaced({1999: 0})
    assert vector != Vector(range(1999)) and vector != tuple(range(1999))
    assert vector != list(range(2000)) and Vector("ab") != "ab"


def test_a_copy_shares_all_but_a_few_branches() -> None:
    """The cost of a change depends on the height of the tree, not on the number of items."""
    size = _WIDTH**3
    before = Vector(range(size))
    after = before.replaced({12_345: -1})

    def branches(vector: Vector[int]) -> dict[int, object]:
        found: dict[int, object] = {}
        todo = [(vector._root, vector._depth)]
        while todo:
            branch, depth = todo.pop()
            found[id(branch)] = branch
            if depth:
                todo += [(one, depth - _BITS) for one in branch]
        return found

    new = branches(after).keys() - branches(before).keys()
    assert len(new) == 3 and len(branches(before)) > 1000


def test_a_vector_is_taken_as_it_is() -> None:
    vector = Vector((1, 2))
    assert as_vector(vector) is vector
    assert as_vector((1, 2)) == vector
