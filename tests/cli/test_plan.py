"""`pairgossip plan`: its tables, its advice, its files, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from .images import is_drawn
from .running import CommandLine

INCOME = ("--column", "income", "--kernel", "gini")


def test_the_advice_can_be_followed(cli: CommandLine, incomes: Path) -> None:
    options = (*INCOME, "--graph", "cycle")
    answer = cli("plan", incomes, *options, "--error", "0.05")
    assert answer.code == 0
    assert "gini to 5 % RMS error over nodes, cycle of 20 nodes" in answer.out
    for word in ("sketch (tree)", "gosta (sync)", "who sees what", "all rows to all nodes"):
        assert word in answer.out
    assert "It takes at least 38 messages, or 37 exchanges, until every node" in answer.out
    *_, advice = answer.out.strip().splitlines()
    best, other = advice.removeprefix("Fewest messages: pairgossip estimate ").split("; ")
    assert best == "--method sketch --schedule tree --iterations 76"
    for advised in (best, other.partition(": ")[2].rstrip(".")):
        found = cli("estimate", incomes, *options, *advised.split(), "--json").json()
        assert found["rms_error"] < 0.05 * found["exact"]


def test_one_object_and_a_figure(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    figure = tmp_path / "plan.png"
    options = ("--label", "class", "--positive", "rich", "--graph", "star", "--error", "0.1")
    command = ("plan", incomes, "--column", "age", "--kernel", "auc", *options)
    answer = cli(*command, "--json", "--out", figure)
    assert answer.code == 0 and answer.err.endswith(f"Wrote {figure}\n")
    assert is_drawn(figure)
    made = answer.json()
    assert (made["error"], made["bounds"]["messages"]) == (0.1, 38)
    assert made["best"] == "sketch (tree)" and made["options"].startswith("--method sketch")
    assert len(made["methods"]) == 10
    for method in made["methods"]:
        assert (method["messages"] is None) == (method["why_not"] is not None)


def test_a_declared_range_halves_the_messages_of_a_tree(cli: CommandLine, incomes: Path) -> None:
    sketch = ("--sketch-bins", "16", "--sketch-range", "0,20")
    made = cli("plan", incomes, *INCOME, *sketch, "--error", "0.1", "--json").json()
    assert made["options"] == (
        "--method sketch --schedule tree --sketch-bins 16 --sketch-range=0,20 --iterations 38"
    )
    found = cli("estimate", incomes, *INCOME, *made["options"].split(), "--json").json()
    assert (found["messages"], found["rms_error"] < 0.1 * found["exact"]) == (38, True)


def test_the_advice_names_the_law_and_lets_collecting_end(cli: CommandLine, incomes: Path) -> None:
    kernel = ("--kernel", "metric-learning-risk", "--label", "class", "--column", "income")
    options = (*kernel, "--graph", "star", "--law", "node-clocks")
    made = cli("plan", incomes, *options, "--error", "0.05", "--json").json()
    assert made["best"] == "collect (random)"
    assert made["options"] == (
        f"--method collect --law node-clocks --iterations {2 * made['methods'][0]['exchanges']}"
    )
    advised = made["options"].split()
    found = cli("estimate", incomes, *kernel, "--graph", "star", *advised, "--json").json()
    assert found["rms_error"] < 1e-12 * found["exact"]


def test_each_file_is_a_site(cli: CommandLine, tmp_path: Path) -> None:
    files = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"
    for number, file in enumerate(files):
        file.write_text("x\n" + "".join(f"{value + number}\n" for value in range(5)))
    made = cli("plan", *files, "--kernel", "gini", "--error", "0.1", "--json").json()
    assert made["title"].endswith("complete of 3 sites, 15 rows") and made["rows_dropped"] == 0
    together = tmp_path / "all.csv"
    rows = [(value + number, file.stem) for number, file in enumerate(files) for value in range(5)]
    together.write_text("x,site\n" + "".join(f"{value},{site}\n" for value, site in rows))
    by_column = ("--kernel", "gini", "--error", "0.1", "--group-by", "site", "--json")
    assert cli("plan", together, *by_column).json() == made
    found = cli("estimate", *files, "--kernel", "gini", *made["options"].split(), "--json").json()
    assert found["relative_error"] < 0.1
    assert "leave --group-by out" in cli.error("plan", *files, "--kernel", "gini",
                                               "--group-by", "x")  # fmt: skip
