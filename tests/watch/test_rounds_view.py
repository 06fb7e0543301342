"""The swarm view and the terminal, of peers that compute sums."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from rich.console import Console

from pairgossip.peer.reading import PeerReading, SwarmReading, describe_result
from pairgossip.peer.service.status import Coverage, RoundsStatus
from pairgossip.watch.peers import swarm_in
from pairgossip.watch.peers_view import SwarmView, _contributed
from pairgossip.watch.terminal import PeersPicture

from .peers_to_watch import HOSTILE, made_up_swarm, rewrite_status
from .serving import Served
from .test_swarm_view import COUNT_PAINTED, cell, open_swarm
from .viewing import viewed

NAMES = ["ann", "bob", "cy"]
OPEN = RoundsStatus(1, 5, 2, ("cy",), False, kind="sum")
COMPLETE = RoundsStatus(3, 5, 3, (), True, (1.23456789, 1.76543219))


def say(folder: Path, rounds: list[RoundsStatus], **more: Any) -> None:
    """Let made-up peers be as far as this with their rounds."""
    nothing = {"gossip_error": None, "gossip_interval": None, "exchanges": 0}
    for number, one in enumerate(rounds):
        rewrite_status(
            folder / f"home-{number}",
            rounds=one,
            covers=Coverage(one.held, len(rounds), 6),
            **{**nothing, **more},
        )


@pytest.fixture
def made_up(tmp_path: Path) -> Iterator[tuple[Path, Served]]:
    folder = made_up_swarm(tmp_path / "swarm", NAMES)
    behind = RoundsStatus(0, 5, 2, ("bob",), False, kind="cards")
    unknown = {"estimate": None, "sampling_error": None, "sampling_interval": None}
    say(folder, [OPEN, RoundsStatus(1, 5, 1, ("ann", "cy"), False, kind="sum"), behind], **unknown)
    with viewed(SwarmView(swarm_in(folder))) as server:
        yield folder, server


def test_rounds_fill_up_and_then_there_is_a_result(
    page: Page, made_up: tuple[Path, Served]
) -> None:
    folder, server = made_up
    open_swarm(page, server)
    rounds = page.locator(".rounds li")
    expect(rounds).to_have_count(2)
    expect(rounds.nth(0)).to_contain_text("members commit to their rows")
    expect(rounds.nth(0)).to_contain_text("3 of 3")
    expect(rounds.nth(1)).to_contain_text("sum over all rows")
    expect(rounds.nth(1)).to_contain_text("2 of 3")
    expect(rounds.nth(1).locator(".awaited")).to_have_text("waits for cy")
    assert cell(page, 1, "round") == "1: 1 of 3" and cell(page, 1, "awaited") == "ann, cy"
    expect(page.locator("[data-total='result']")).to_contain_text("not all members have")
    painted = page.locator(".swarm-picture .picture canvas").evaluate(COUNT_PAINTED)
    assert painted["blue"] > 100 and painted["orange"] > 100, "awaited, and not"
    say(
        folder,
        [COMPLETE] * 3,
        estimate=(1.5,),
        sampling_error=0.062,
        sampling_interval=(1.375, 1.625),
    )
    expect(rounds).to_have_count(3)
    expect(rounds.nth(2)).to_contain_text("members sign the result")
    expect(page.locator(".rounds .awaited")).to_have_count(0)
    expect(page.locator("[data-total='result'] strong")).to_have_text("1.5")
    expect(page.locator("[data-total='result']")).to_contain_text("signed by all members")
    found = page.locator(".found")
    expect(found.locator(".value")).to_have_text("1.5")
    expect(found).to_contain_text("0.062, 95 %: 1.375 to 1.625")
    expect(found).to_contain_text("1.2345 to 1.7655over all rows: what the counts leave open")
    assert cell(page, 0, "round") == "all complete"
    assert cell(page, 0, "bracket") == "1.2345 to 1.7655"


def test_brackets_are_rounded_outward(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    open_swarm(page, server)
    for bracket, shown in (
        ((1.23456, 1.23456), "1.2345 to 1.2346"),
        ((-1.23456, 0.0), "-1.2346 to 0"),
        ((1_234_567.0, 1_234_567.0), "1.23·10⁶ to 1.24·10⁶"),
        ((0.000_123_456, 0.000_123_456), "1.23·10⁻⁴ to 1.24·10⁻⁴"),
    ):
        say(folder, [RoundsStatus(3, 5, 3, (), True, bracket)] * 3)
        expect(page.locator("td[data-cell=bracket]").first).to_have_text(shown)


def test_who_is_awaited_may_be_unknown() -> None:
    """Metrics hold no names: then nobody is painted as if it had contributed."""
    found = reading(*[RoundsStatus(1, 5, 2, (), False, kind="sum")] * 3)
    last = found.rounds()[-1]
    assert (last.held, last.awaited) == (2, ())
    assert np.isnan(_contributed(tuple(NAMES), found, last)).all()


def test_many_complete_sums_are_one_line(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    say(folder, [RoundsStatus(21, 103, 2, ("cy",), False, kind="sum")] * 3)
    open_swarm(page, server)
    rounds = page.locator(".rounds li")
    expect(rounds).to_have_count(3)
    expect(rounds.nth(1)).to_contain_text("1 to 20")
    expect(rounds.nth(2)).to_contain_text("waits for cy")
    say(folder, [RoundsStatus(22, 103, 3, (), True)] * 3)
    expect(rounds.nth(1)).to_contain_text("1 to 20")
    expect(rounds.nth(2)).to_contain_text("members sign the result")


def test_hostile_names_are_text_and_fit_a_phone(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    page.set_viewport_size({"width": 390, "height": 844})
    open_swarm(page, server)
    expect(page.locator(".rounds li")).to_have_count(2)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 390
    say(folder, [RoundsStatus(1, 5, 2, (HOSTILE, "\u202ex"), False, kind="<b>")] * 3)
    awaited = page.locator(".rounds .awaited")
    expect(awaited).to_have_text("waits for <img src=x onerror=document.t..., \\u202ex")
    assert page.locator("main img, main b").count() == 0
    assert page.evaluate(width) <= 390


def reading(*rounds: RoundsStatus, **more: Any) -> SwarmReading:
    peers = [
        PeerReading("up", name, rounds=one, covers=(one.held, 3), generation=1, exchanges=0, **more)
        for name, one in zip(NAMES, rounds, strict=True)
    ]
    return SwarmReading(2.0, tuple(peers))


def test_what_one_peer_lacks_another_may_have() -> None:
    two = RoundsStatus(1, 5, 2, ("ann",), False, kind="sum")
    *_, last = reading(OPEN, two, two).rounds()
    assert (last.held, last.awaited) == (3, ())
    *_, last = reading(OPEN, OPEN, two).rounds()
    assert last.number == 1


def test_no_claim_of_rounds_is_too_large_to_show() -> None:
    vast = RoundsStatus(10**15, 10**15, 2, ("cy",), False, kind="sum")
    assert len(reading(OPEN, OPEN, vast).rounds()) == 10_000


def describe(found: SwarmReading) -> str:
    result = found.result()
    assert result is not None
    return describe_result(result)


def test_the_terminal_shows_rounds_and_the_result() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    picture = PeersPicture(console, "3 peers: auc", None)
    picture.add(reading(OPEN, OPEN, OPEN))
    assert picture.line() == (
        "2 s: 3 up; round 1 (sum over all rows): 2 of 3, waiting for cy; 0 refused; generation 1"
    )
    console.print(picture.draw(200, 40))
    assert "waits for" in console.export_text()
    unsigned = reading(OPEN, OPEN, OPEN, estimate=0.75).summary()
    assert "value 0.75, not signed by all members yet" in unsigned
    assert "signed" not in describe(reading(COMPLETE, OPEN, OPEN, estimate=0.75))
    picture.add(reading(COMPLETE, COMPLETE, COMPLETE, estimate=0.75))
    console.print(picture.draw(200, 40))
    text = console.export_text()
    assert "round 2 (members sign the result) complete; value 0.75" in text
    assert "1.23456 to 1.76544" in text and "complete" in text
