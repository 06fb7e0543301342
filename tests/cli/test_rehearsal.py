"""`estimate --spec` shows how much blocks and noise would cost a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.cli.rehearsal import Tried, advise
from pairgossip.peer.sums.results import Result

from .running import CommandLine

AUC = """
kernel = "auc"
columns = ["score"]
label = "sick"
algorithm.bins = 16
{}
[ranges]
score = [0, 1]
sick = [0, 1]
"""
FILES = tuple(f"site-{k}.csv" for k in range(5))


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Write files of five members; the last one has few rows of a class."""
    monkeypatch.chdir(tmp_path)
    rng, parts = np.random.default_rng(3), []
    for file in FILES:
        sick = (np.arange(80) < (6 if file == FILES[-1] else 30)).astype(float)
        score = np.clip(rng.normal(0.4 + 0.2 * sick, 0.2), 0, 1)
        parts.append(np.column_stack([score, sick]))
        np.savetxt(file, parts[-1], delimiter=",", header="score,sick", comments="", fmt="%.17g")
    return parts


def rehearse(cli: CommandLine, more: str = "") -> dict[str, Any]:
    Path("auc.toml").write_text(AUC.format(more))
    found: dict[str, Any] = cli("estimate", *FILES, "--spec", "auc.toml", "--json").json()
    return found


def test_every_rule_finds_what_a_study_by_it_would(
    cli: CommandLine, parts: list[np.ndarray]
) -> None:
    found = rehearse(cli)
    rules = found["rules"]
    assert [one["least_cell"] for one in rules] == [1, 3, 5, 10, None]
    assert [one["epsilon"] for one in rules] == [None] * 4 + [1.0]
    assert [one["is_chosen"] for one in rules] == [False, True, False, False, False]
    assert rules[1]["bracket"] == found["bracket"] and rules[1]["value"] == found["value"]
    widths = [one["bracket"][1] - one["bracket"][0] for one in rules[:4]]
    assert widths == sorted(widths) and widths[0] < 0.2 < widths[3]
    for one in rules[:4]:  # the last site does not fill a class with 10 rows
        counted = parts[:4] if one["least_cell"] == 10 else parts
        summed = [
            pg.summarize(
                part[:, 0],
                "auc",
                labels=part[:, 1],
                cells=pg.cells.Even(0, 1, 16),
                classes=[0.0, 1.0],
                least_cell=one["least_cell"],
            )
            for part in counted
        ]
        total = sum(summed[1:], start=summed[0])
        assert one["bracket"] == pytest.approx(total.bracket(), abs=1e-9)
        rows = np.concatenate(counted)
        low, high = one["bracket"]
        assert low <= pg.exact(rows[:, 0], "auc", labels=rows[:, 1]) <= high
        is_wide = (high - low) / 2 > one["sampling_error"]
        assert one["read"] == ("bracket" if is_wide else "value")
    assert rules[4]["bracket"] is None and rules[4]["noise_error"] > 0


def test_a_choice_of_one_s_own_is_marked(cli: CommandLine, parts: list[np.ndarray]) -> None:
    rules = rehearse(cli, "algorithm.least_cell = 4")["rules"]
    assert [one["least_cell"] for one in rules if one["is_chosen"]] == [4]
    assert len(rules) == 6
    rules = rehearse(cli, "privacy.epsilon = 20.0")["rules"]
    assert [one["epsilon"] for one in rules if one["is_chosen"]] == [20.0]
    assert [one["least_cell"] for one in rules] == [1, 3, 5, 10, None, None]
    Path("auc.toml").write_text(AUC.format("algorithm.least_cell = 1"))
    shown = cli("estimate", *FILES, "--spec", "auc.toml").out
    assert "k = 1 (chosen)" in shown and "k = 10 " in shown and "epsilon = 1 " in shown
    assert "What it costs to hide rows" in shown
    assert "half the bracket is more than the sampling error" in shown


def tried(
    least: int | None, half: float = 0.0, interval: tuple[float, float] | None = None, **more: Any
) -> Tried:
    bracket = (0.5 - half, 0.5 + half) if least else None
    result = Result(
        question="auc",
        members={"a": 9},
        rows=9,
        generation=1,
        specification="{}",
        hash="",
        versions={},
        rounds=1,
        **{"value": 0.5, "sampling_error": 0.1, "bracket": bracket, "interval": interval, **more},
    )
    return Tried(least, None if least else 1.0, False, result)


WIDE, NARROW = (0.0, 1.0), (0.4, 0.6)


def test_advice_on_what_to_read() -> None:
    assert advise([tried(1, 0.01), tried(3, 0.09)])[0].startswith("Up to k = 3 half the bracket is")
    wide = advise([tried(1, 0.01), tried(3, 0.11), tried(5, 0.3)])
    assert wide == [
        "From k = 3 on half the bracket is more than the sampling error: read the bracket, not the "
        "value, or let sites have more rows."
    ]
    # Without a table there is nothing to read, and some statistics have no error.
    none = tried(10, value=None, bracket=None, sampling_error=None)
    assert advise([tried(1, 0.01), none])[0].startswith("Up to k = 1 half")
    assert advise([tried(1, 0.3, sampling_error=None)]) == []


def test_advice_on_blocks_and_noise() -> None:
    blocks = [tried(1, 0.01, NARROW), tried(3, 0.05, WIDE)]
    (_, noise) = advise([*blocks, tried(None, interval=NARROW)])
    assert noise.startswith(
        "Noise costs less: the 95 % interval is 1 wide with k = 3, 0.2 with eps"
    )
    assert "Only noise bounds what is learned about one person" in noise
    (_, blocked) = advise([*blocks[:1], tried(3, 0.05, NARROW), tried(None, interval=WIDE)])
    assert blocked.startswith("Blocks cost less: the 95 % interval is 0.2 wide with k = 3, 1 with")
    (_, same) = advise([*blocks, tried(None, interval=(0.0, 0.95))])
    assert same.startswith("Blocks and noise cost about the same: the 95 % interval is 1 wide")
    (_, nothing) = advise([*blocks, tried(None)])
    assert nothing == "Blocks cost less: with epsilon = 1 there is no interval."
    (_, tested) = advise([tried(3, 0.01, p=0.04), tried(None)])
    assert tested == "Blocks cost less: with epsilon = 1 a test has no p."


def test_groups_are_rehearsed(cli: CommandLine, parts: list[np.ndarray]) -> None:
    """Results are by group, and name the combinations of which a member has too few rows."""
    for file, part in zip(FILES, parts, strict=True):
        lines = [f"{score},{int(sick)},{'fm'[at % 2]}" for at, (score, sick) in enumerate(part)]
        Path(file).write_text("\n".join(["score,sick,sex", *lines]) + "\n")
    group = 'by = "sex"\ngroups = ["f", "m"]\n'
    Path("auc.toml").write_text(group + AUC.format("algorithm.least_cell = 5"))
    found = cli("estimate", *FILES, "--spec", "auc.toml", "--json").json()
    assert [one["epsilon"] for one in found["rules"]] == [None] * 4  # no noise with groups
    assert [one["group"] for one in found["groups"]] == ["f", "m"]
    assert found["groups"][0]["value"] != found["groups"][1]["value"] != found["value"]
    for at, one in enumerate(found["groups"]):
        rows = np.concatenate([part[at::2] for part in parts[:4]])
        low, high = one["bracket"]
        assert one["rows"] == len(rows) == 160
        assert low <= pg.exact(rows[:, 0], "auc", labels=rows[:, 1]) <= high
    assert (
        "site-4 has fewer than 5 rows of sick 1, sex f (3) and sick 1, sex m (3): it would tell"
        in found["advice"][-1]
    )
    shown = cli("estimate", *FILES, "--spec", "auc.toml").out
    assert "The same for every group" in shown and "(3): it would tell all members" in shown


def test_groups_with_weights_and_without_rows(cli: CommandLine, parts: list[np.ndarray]) -> None:
    """Rows are counted once, whatever their weights, and a group may have none."""
    for file, part in zip(FILES, parts, strict=True):
        lines = [f"{score},{int(sick)},f,{at % 2 + 1}" for at, (score, sick) in enumerate(part)]
        Path(file).write_text("\n".join(["score,sick,sex,times", *lines]) + "\n")
    top = 'by = "sex"\ngroups = ["f", "m"]\nweight = "times"\nweights = [1, 2]\n'
    Path("auc.toml").write_text(top + AUC.format("algorithm.least_cell = 1"))
    of_f, of_m = cli("estimate", *FILES, "--spec", "auc.toml", "--json").json()["groups"]
    assert (of_f["rows"], of_m["rows"]) == (400, 0)
    score, sick = np.concatenate(parts).T
    exact = pg.exact(score, "auc", labels=sick, weights=np.arange(400) % 2 + 1)
    assert of_f["bracket"][0] <= exact <= of_f["bracket"][1]
    assert of_m["value"] is of_m["bracket"] is of_m["interval"] is None
    test = (top.partition("weight")[0] + AUC).replace('"auc"', '"mann-whitney"')
    Path("auc.toml").write_text(test.format("algorithm.least_cell = 1"))
    shown = cli("estimate", *FILES, "--spec", "auc.toml").out
    assert "p" in next(line for line in shown.splitlines() if line.startswith("sex")).split()
