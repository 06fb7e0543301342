from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pairgossip.peer.service import descriptors

RAISED = """
import resource
from pairgossip.peer.service import descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
descriptors.raise_descriptor_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE), descriptors.descriptor_limit())
"""


@pytest.mark.parametrize(("soft", "hard"), [(100, 1000), (300, 300)])
def test_the_limit_is_raised_as_far_as_permitted(soft: int, hard: int) -> None:
    code = RAISED.format(soft=soft, hard=hard)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(hard)] * 3


def test_open_descriptors_are_counted() -> None:
    before = descriptors.count_descriptors()
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
    assert descriptors.count_descriptors() == before + 20
    for one in opened:
        os.close(one)
    assert descriptors.count_descriptors() == before


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_that_none_is_free_is_noticed(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refusing(path: str | Path) -> list[str]:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "listdir", refusing)
    assert descriptors.count_descriptors() == descriptors.descriptor_limit()
    assert descriptors.is_short_of_descriptors(descriptors.count_descriptors())


@pytest.mark.parametrize(
    ("limit", "count", "short"),
    [(128, 111, False), (128, 112, True), (1024, 895, False), (1024, 896, True)],
)
def test_some_are_kept_free(
    monkeypatch: pytest.MonkeyPatch, limit: int, count: int, short: bool
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert descriptors.is_short_of_descriptors(count) == short


def test_many_neighbors_are_no_crowd() -> None:
    assert not descriptors.is_crowded(200, neighbors=1)
    assert descriptors.is_crowded(400, neighbors=1)
    assert not descriptors.is_crowded(2 * 500 + 50, neighbors=500)
