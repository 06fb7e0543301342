"""Frames that no honest member sends change nothing at a member of a study, and never raise."""

from __future__ import annotations

import pytest

from tests.study.hostile import fuzz_study, record_scene


@pytest.mark.parametrize("seed", range(5))
def test_hostile_frames_change_nothing(seed: int) -> None:
    verdicts = fuzz_study(1_000, seed)
    assert {"ignored", "answered", "saved"} <= verdicts.keys()


def test_the_scene_has_all_that_members_say() -> None:
    """Records and frames of every kind are mutated, at a member in every phase."""
    scene = record_scene()
    kinds = {type(record).__name__ for record in scene.world.auditor.records.values()}
    assert kinds >= {
        *("Assent", "Batch", "Digests", "Echo", "Ending"),
        *("Leave", "Question", "Statement", "Words", "Yes"),
    }
    assert len(scene.victims) > 50
    assert len(scene.frames) > 100
