from __future__ import annotations

import pairgossip as pg

from .running import CommandLine


def test_the_table_names_every_kernel(cli: CommandLine) -> None:
    answer = cli("kernels")
    assert answer.code == 0
    for name in pg.kernels.CATALOG:
        assert name in answer.out
    assert "score, label" in answer.out


def test_json_is_what_describe_says(cli: CommandLine) -> None:
    found = cli("kernels", "--json").json()
    assert list(found) == [kernel.name for kernel in pg.kernels.describe()]
    assert found["kendall"]["columns"] == ["x", "y"]
    assert found["distance"]["columns"] is None
