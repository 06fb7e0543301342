"""The table of kernels."""

from __future__ import annotations

from pairgossip.kernels import CATALOG, Summary, describe


def test_every_kernel_is_listed() -> None:
    table = describe()
    assert [line.name for line in table] == sorted(CATALOG)
    assert all(line.expression and line.description for line in table)
    assert table[0] == Summary(
        "auc",
        ("score", "label"),
        "1{l > l'} (1{s > s'} + ties 1{s = s'}) / 1{l > l'}",
        "bipartite ranking: area under the ROC curve",
        "O(n log n)",
    )
    costs = {line.name: line.exact_cost for line in table}
    assert costs["metric-learning-risk"] == "O(n^2), blocked"
