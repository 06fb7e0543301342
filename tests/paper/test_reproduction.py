from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import pytest

import pairgossip as pg
from pairgossip_paper import reproduction
from pairgossip_paper.framework import Plan, report
from pairgossip_paper.framework.report import _render as render
from pairgossip_paper.reproduction import reproduce
from tests.paper import toy

pytestmark = pytest.mark.usefixtures("toy_catalog", "outlines")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def interrupt_at_trial(monkeypatch: pytest.MonkeyPatch, last: int, case: str = "variance") -> None:
    """Send Ctrl-C when a trial of a case begins, in the middle of the case."""
    estimate = toy.estimated

    def estimated(kernel: str, plan: Any, **how: Any) -> pg.Run:
        def progress(_: int) -> None:
            if kernel == case and max(how["trials"]) >= last:
                raise KeyboardInterrupt

        return estimate(kernel, plan, **(how | {"progress": progress}))

    monkeypatch.setattr(toy, "estimated", estimated)


def test_the_same_seed_gives_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_render", render)  # drawings, too, must be the same
    for folder in ("first", "second"):
        reproduce(trials=3, out=tmp_path / folder, seed=5)
    first, second = contents(tmp_path / "first"), contents(tmp_path / "second")
    assert first == second
    assert set(first) == {
        "report.html",
        "settings.json",
        "results/toy/gini.npz",
        "results/toy/variance.npz",
        "results/toy/auc.npz",
        "results/toy/exact.json",
        "figures/toy-error.png",
        "figures/toy-error.svg",
    }


def test_the_number_of_workers_does_not_matter(tmp_path: Path) -> None:
    reproduce(trials=5, out=tmp_path / "one", n_jobs=1)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        reproduce(trials=5, out=tmp_path / "two", n_jobs=None)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_results_are_those_of_one_call(tmp_path: Path) -> None:
    outcome = reproduce(trials=6, out=tmp_path / "out", seed=1)
    run = pg.load(tmp_path / "out" / "results" / "toy" / "gini.npz")
    once = pg.estimate(toy.DATA, "gini", "cycle", iterations=toy.ITERATIONS, trials=6, seed=1)
    assert (run.estimates == once.estimates).all()
    assert f"{once.mean[-1]:.6f}" in outcome.report.read_text(encoding="utf-8")
    assert [claim.name for claim in outcome.claims] == ["toy"]
    saved = json.loads((tmp_path / "out" / "results" / "toy" / "exact.json").read_text())
    assert saved["seed"] == run.seed == 1
    assert saved["versions"]["pairgossip"] == pg.__version__ and saved["machine"]["cores"] >= 1


@pytest.mark.parametrize("last", [0, 2])
def test_interrupted_and_resumed_equals_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    reproduce(trials=5, out=tmp_path / "whole", n_jobs=2)
    with monkeypatch.context() as patched:
        interrupt_at_trial(patched, last)
        with pytest.raises(KeyboardInterrupt):
            reproduce(trials=5, out=tmp_path / "parts", n_jobs=2)
    kept = tmp_path / "parts" / "results" / "toy" / "variance.unfinished.npz"
    if last:
        assert 0 < pg.load(kept).trials < 5
    reproduce(trials=5, out=tmp_path / "parts", n_jobs=2, resume=True)
    assert contents(tmp_path / "whole") == contents(tmp_path / "parts")


def test_finished_trials_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce(trials=3, out=tmp_path)
    asked: list[int] = []

    estimate = toy.estimated

    def estimated(kernel: str, plan: Any, **how: Any) -> pg.Run:
        asked.extend(how["trials"])
        return estimate(kernel, plan, **how)

    monkeypatch.setattr(toy, "estimated", estimated)
    computed: list[int] = []

    def exactly(plan: Plan) -> dict[str, float]:
        computed.append(plan.trials)
        return {"gini": 1.0}

    monkeypatch.setattr(toy, "exactly", exactly)
    reproduce(trials=3, out=tmp_path, resume=True)
    assert asked == computed == []
    reproduce(trials=5, out=tmp_path, resume=True)
    assert sorted(asked) == [3, 3, 4, 4]
    assert computed == [5]  # results may depend on the number of trials
    assert pg.load(tmp_path / "results" / "toy" / "auc.npz").trials == 5


@pytest.mark.parametrize("is_finished", [False, True])
def test_neither_interrupted_nor_finished_results_are_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_finished: bool
) -> None:
    if is_finished:
        reproduce(trials=3, out=tmp_path)
    finished = contents(tmp_path)
    with monkeypatch.context() as patched:
        interrupt_at_trial(patched, 2)
        with pytest.raises(KeyboardInterrupt):
            reproduce(trials=3, out=tmp_path, n_jobs=1)
    before = contents(tmp_path)
    assert {name: before[name] for name in finished} == finished
    with pytest.raises(pg.InputError, match="holds an interrupted reproduction: add resume=True"):
        reproduce(trials=3, out=tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "holds a reproduction with seed 0, not 1: give another folder, or give the"),
        ({"quick": True}, "holds a reproduction with quick off, not on"),
        ({"trials": 2}, "holds a reproduction with trials 3, not 2"),
        ({"trials": 4}, "or resume=True to add trials to it"),
    ],
)
def test_results_of_other_settings_are_not_mixed(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    settings: dict[str, Any] = {"trials": 3, "seed": 0, "quick": False}
    reproduce(out=tmp_path, **settings)
    before = contents(tmp_path)
    for resume in (False, True):
        if resume and changes == {"trials": 4}:
            continue
        with pytest.raises(pg.InputError, match=re.escape(message)):
            reproduce(out=tmp_path, resume=resume, **(settings | changes))
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"only": "tox"}, "Unknown experiment 'tox': did you mean 'toy'?"),
        ({"only": []}, "No experiment is named: choose among toy."),
        ({"trials": 0}, "The number of trials must be a whole number >= 1, not 0."),
        ({"seed": -1}, "The seed must be a whole number >= 0"),
        ({"n_jobs": 0}, "Invalid n_jobs=0"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(pg.InputError, match=re.escape(message)):
        reproduce(out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(pg.InputError, match="Cannot create"):
        reproduce(out=tmp_path / "file" / "out")


WRONG_KINDS = [
    b'{"seed": 0, "trials": 2, "result": 3}',
    b'{"seed": "0", "trials": 2, "quick": false}',
]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("results/toy/exact.json", "delete it, and add resume=True"),
        ("results/toy/gini.npz", "delete it, and add resume=True"),
        ("settings.json", "give another folder"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, remedy: str) -> None:
    reproduce(trials=2, out=tmp_path)
    for content in (b"", b"{", b"[]", b"{}", *WRONG_KINDS):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(pg.InputError, match=f"{Path(name).name} is damaged: {remedy}"):
            reproduce(trials=2, out=tmp_path, resume=True)


@pytest.mark.parametrize("name", ["exact.json", "gini.npz"])
def test_results_of_another_seed_are_not_relabeled(tmp_path: Path, name: str) -> None:
    reproduce(trials=2, out=tmp_path)
    (tmp_path / "settings.json").unlink()
    for other in (tmp_path / "results" / "toy").iterdir():
        if other.name != name:
            other.unlink()
    with pytest.raises(pg.InputError, match=rf"{name} is of another seed or length"):
        reproduce(trials=2, seed=7, out=tmp_path, resume=True)


def test_what_is_incomplete_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(toy.TOY, name="other", title="Another toy")
    monkeypatch.setattr(reproduction, "CATALOG", {"toy": toy.TOY, "other": other})
    reproduce(trials=2, out=tmp_path)
    outcome = reproduce("toy", trials=3, out=tmp_path, resume=True)
    assert list(outcome.sections) == ["toy"]
    why = "some of its results are missing: run it with resume=True."
    assert str(outcome.incomplete["other"]) == why
    told = outcome.report.read_text(encoding="utf-8")
    assert f"<p>other is not in this report: {why}</p>" in told
    (tmp_path / "results" / "other" / "exact.json").write_text("{")
    outcome = reproduce("toy", trials=3, out=tmp_path, resume=True)
    assert "exact.json is damaged" in str(outcome.incomplete["other"])
    assert "have it run again.</p>" in outcome.report.read_text(encoding="utf-8")


def test_only_chosen_experiments_run_and_all_finished_ones_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(toy.TOY, name="other", title="Another toy")
    monkeypatch.setattr(reproduction, "CATALOG", {"toy": toy.TOY, "other": other})
    assert list(reproduce("other", trials=2, out=tmp_path).sections) == ["other"]
    assert not (tmp_path / "results" / "toy").exists()
    assert list(reproduce(["toy"], trials=2, out=tmp_path).sections) == ["toy", "other"]
