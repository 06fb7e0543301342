"""Check the auditor: each planted defect must be detected, by few schedules or by a scene."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.peer.audit import Violated
from tests.study import scenes
from tests.study.defects import DEFECTS
from tests.study.schedules import run_schedule

MOST_SEEDS = 40
FIRST_SEEDS = {
    "pieces without rows are counted": 9,
    "differences are not looked at": 6,
    "two questions have one mask": 85,
    "of two questions for one column neither goes first": 539,
}
"""Seeds at which searches begin that would take long from 1."""
BY_SCENE: dict[str, Callable[[], None]] = {
    "an ending counts beside an echo of its member": scenes.end_after_the_echo,
    "a question is repeated over other rows": scenes.repeat_with_more_rows,
    "a table is read that is not finished": scenes.read_what_is_open,
    "a member that joins is counted before it has signed": scenes.ask_while_one_joins,
    "one list evicts two members": scenes.evict_two_at_once,
    "a restored member contradicts what it has said": scenes.restore_before_the_yes,
    "a restored member forgets what it has released": scenes.restore_after_a_release,
    "a proof of a lie ends nothing": scenes.tell_two_halves,
}
"""Scenes that reveal defects which random schedules seldom show, by defect."""


def caught_by(said: str, first: int) -> int | None:
    """Return the first seed whose schedule fails as expected with a defect."""
    for seed in range(first, first + MOST_SEEDS):
        try:
            run_schedule(seed)
        except Violated as problem:
            if re.search(said, str(problem)):
                return seed
    return None


@pytest.mark.parametrize("name", [name for name in DEFECTS if name not in BY_SCENE])
def test_a_planted_defect_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, said = DEFECTS[name]
    plant(monkeypatch)
    assert caught_by(said, FIRST_SEEDS.get(name, 1)) is not None


@pytest.mark.parametrize("name", BY_SCENE)
def test_a_planted_defect_is_noticed_in_a_scene(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, said = DEFECTS[name]
    plant(monkeypatch)
    with pytest.raises(Violated, match=said):
        BY_SCENE[name]()


@pytest.mark.parametrize("scene", scenes.SCENES.values(), ids=list(scenes.SCENES))
def test_a_scene_without_a_defect_breaks_nothing(scene: Callable[[], None]) -> None:
    scene()


def test_no_defect_is_lost() -> None:
    """Two with the same name would count as one."""
    assert len(DEFECTS) == 23
