"""The swarm view: what its server reports and its page shows about made-up and real peers."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from pairgossip.cli import main
from pairgossip.peer.reading import PeerReading
from pairgossip.watch import peers_view
from pairgossip.watch.peers import Swarm, swarm_in
from pairgossip.watch.peers_view import SwarmView

from .peers_to_watch import (
    HOSTILE,
    RealSwarm,
    Scripted,
    made_up_swarm,
    real_swarm,
    rewrite_status,
    told,
    until,
)
from .serving import Served
from .viewing import asking, assert_pictures_are_said, viewed

EVENTS = "/api/swarm/events"
COUNT_PAINTED = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = { painted: 0, blue: 0, orange: 0 };
  for (let k = 0; k < data.length; k += 4) {
    const [r, g, b, a] = data.slice(k, k + 4);
    if (a > 200) counts.painted += 1;
    if (a > 200 && b > r + 30 && g > r) counts.blue += 1;
    if (a > 200 && r > b + 30 && g > b) counts.orange += 1;
  }
  return counts;
}"""


@pytest.fixture
def made_up(tmp_path: Path) -> Iterator[tuple[Path, Served]]:
    folder = made_up_swarm(tmp_path / "swarm", ["ann", "bob", "cy"])
    with viewed(SwarmView(swarm_in(folder))) as server:
        yield folder, server


def newest(events: Iterator[tuple[str, Any]], fits: Callable[[dict[str, Any]], bool]) -> Any:
    """Read up to the first reading that fits."""
    end = time.monotonic() + 60
    for name, content in events:
        if name == "look" and fits(content):
            return content
        assert time.monotonic() < end, "waited in vain"
    raise AssertionError("the stream has ended")


def row(page: Page, peer: str) -> Locator:
    """Return the row of a peer, wherever it is in the table."""
    rows = page.locator("table.peers tbody tr[data-state]")
    return rows.filter(has=page.get_by_role("rowheader", name=peer, exact=True))


def cell(page: Page, peer: str, name: str) -> str:
    return row(page, peer).locator(f"[data-cell={name}]").inner_text()


def open_swarm(page: Page, server: Served) -> None:
    page.goto(server.address)
    expect(page.locator("#connection")).to_have_text("connected")
    expect(page.locator("table.peers tbody tr[data-state]").first).to_be_visible()


def test_what_is_told(made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    with server.watching(path=EVENTS) as events:
        name, setup = next(events)
        assert name == "setup" and setup["names"] == ["ann", "bob", "cy"]
        assert (setup["exact"], setup["measure"], setup["link_count"]) == (1.5, "gini", 2)
        name, history = next(events)
        assert name == "history" and len(history["estimates"]) == 3
        look = newest(events, lambda look: True)
        peer = look["peers"][0]
        assert (peer["state"], peer["estimate"], peer["gossip_error"]) == ("up", 1.5, 0.12)
        assert peer["sampling_interval"] == [1.375, 1.625]
        assert (peer["exchanges"], peer["refused"], peer["generation"]) == (7, 2, 1)
        rewrite_status(folder / "home-1", estimate=(1.75,))
        look = newest(events, lambda look: look["peers"][1]["estimate"] == 1.75)
    assert look["refused"] == 6 and look["generation"] == 1


def test_a_late_viewer_gets_the_history() -> None:
    peers = [Scripted(name, [told(k, float(k)) for k in range(1, 99)]) for name in "ab"]
    with viewed(SwarmView(Swarm("two", peers))) as server:
        until(lambda: peers[0].asked >= 3, "three looks")
        with server.watching(path=EVENTS) as events:
            next(events)
            name, history = next(events)
            assert name == "history"
            assert history["estimates"][0][:2] == [1.0, 2.0] and len(history["seconds"]) >= 2
            look = newest(events, lambda look: True)
            assert look["seconds"] >= history["seconds"][-1]


def test_it_is_read_only(made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    origin = {"Origin": server.address.rstrip("/")}
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert server.client.request(method, EVENTS, headers=origin).status_code == 405
    refused = server.client.get(EVENTS, headers={"Origin": "http://evil.example"})
    assert refused.status_code == 403
    assert server.client.get(EVENTS, headers={"Host": "evil.example"}).status_code == 421
    with server.watching(path=EVENTS) as events:
        newest(events, lambda look: True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_defect_in_one_look_does_not_end_all_looking(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Scripted):
        def read(self) -> PeerReading:
            found = super().read()
            if self.asked == 1:
                raise RuntimeError("a defect")
            return found

    view = SwarmView(Swarm("one", [Broken("a", [told(1)])]))
    with viewed(view) as server, server.watching(path=EVENTS) as events:
        newest(events, lambda look: look["peers"][0]["state"] == "up")
    assert "the peers could not be read" in caplog.text


def test_the_page_shows_peers(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    rewrite_status(folder / "home-0", estimate=(1.75,))
    rewrite_status(folder / "home-2", estimate=(1.25,), privacy_error=0.2)
    with asking(page) as asked:
        open_swarm(page, server)
    assert asked and all(url.startswith(server.address) for url in asked)
    expect(page.locator("#views a[aria-current]")).to_have_text("Swarm")
    expect(page.locator("table.peers tbody tr[data-state] [data-cell=estimate]")).to_have_text(
        ["1.75", "1.5", "1.25"]
    )
    assert cell(page, "ann", "name") == "ann" and cell(page, "ann", "state") == "up"
    assert cell(page, "ann", "gossip_error") == "0.12 (1.25 to 1.75)"
    assert cell(page, "ann", "sampling_error") == "0.062 (1.375 to 1.625)"
    assert cell(page, "cy", "sampling_error") == "at least 0.062 (1.375 to 1.625)"
    assert cell(page, "ann", "covers") == "2 of 3"
    assert cell(page, "ann", "refused") == "2" and cell(page, "ann", "generation") == "1"
    expect(page.locator("[data-total='exact value'] strong")).to_have_text("1.5")
    painted = page.locator(".swarm-picture .picture canvas").evaluate(COUNT_PAINTED)
    assert painted["painted"] > 500 and painted["blue"] > 100 and painted["orange"] > 100
    assert page.locator("#swarm-curves canvas").evaluate(COUNT_PAINTED)["painted"] > 500
    expect(page.locator("#alert")).to_be_hidden()
    ends = r"ann (1\.5 to )?1\.75; bob 1\.5; cy (1\.5 to )?1\.25; exact value 1\.5"
    curves = re.compile(rf"^Plot of estimate \(gini\) by seconds since the first look: {ends}")
    expect(page.get_by_role("img", name=curves)).to_be_visible()
    network = page.get_by_role("application", name="Network of 3 peers: 3 up.")
    expect(network).to_be_visible()
    assert_pictures_are_said(page, 3)


def test_curves_can_be_switched_off_and_peers_chosen_by_keyboard(
    page: Page, made_up: tuple[Path, Served]
) -> None:
    open_swarm(page, made_up[1])
    button = page.locator(".chart .legend button", has_text="ann")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    looks = page.evaluate("Number(document.body.dataset.looks)")
    page.wait_for_function("before => Number(document.body.dataset.looks) > before", arg=looks)
    expect(button).to_have_attribute("aria-pressed", "false")  # also after the next reading
    page.locator(".swarm-picture .picture canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".swarm-picture .about")).to_contain_text("bob: up, estimate 1.5")
    page.keyboard.press("Enter")
    expect(page.locator("table.peers tr.chosen th")).to_have_text("bob")


def test_hostile_names_are_shown_as_text(page: Page, tmp_path: Path) -> None:
    short = "<b onclick=alert(1)>x</b>"
    names = [HOSTILE, short, "\u202eevil\x1b[2J"]
    folder = made_up_swarm(tmp_path / "<i>swarm", names, measure="<script>1")
    rewrite_status(folder / "home-1", problems=(HOSTILE,))
    with viewed(SwarmView(swarm_in(folder))) as server:
        open_swarm(page, server)
        shown = page.locator("table.peers tbody th")
        expect(shown).to_have_text(
            [short, "<img src=x onerror=document.t...", "\\u202eevil\\x1b[2J"]
        )
        expect(page.locator("table.peers td.problems").first).to_have_text(HOSTILE)
        expect(page.locator(".troubles li")).to_have_text(f"{short}: {HOSTILE}")
        expect(page.locator(".swarm-head h2")).to_have_text("swarm in <i>swarm")
        assert page.locator("main img, main script, main b, main i").count() == 0
        assert page.title() != "broken"


def test_the_server_comes_back(page: Page, tmp_path: Path) -> None:
    folder = made_up_swarm(tmp_path / "swarm", ["ann", "bob"])
    with viewed(SwarmView(swarm_in(folder))) as server:
        open_swarm(page, server)
        port = server.port
    expect(page.locator("#connection")).to_have_text("disconnected, trying again")
    rewrite_status(folder / "home-0", exchanges=4321)
    with viewed(SwarmView(swarm_in(folder)), port=port):
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("table.peers [data-cell=exchanges]").first).to_have_text("4,321")


def test_many_peers_are_summed_up(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_view, "_SECONDS_BETWEEN_READINGS", 1.0)  # drawing them takes a while
    peers = [Scripted(f"peer-{k:03d}", [told(k, 1 + k / 1000)]) for k in range(200)]
    links = [(k - 1, k) for k in range(1, 200)]
    with viewed(SwarmView(Swarm("many", peers, links))) as server:
        open_swarm(page, server)
        expect(page.locator("table.peers tbody th")).to_have_count(200)
        expect(page.locator(".chart .legend button")).to_have_text(
            ["median of the peers", "lowest", "highest"]
        )


def state(server: Served, name: str, wanted: str) -> Any:
    """Wait until a peer is in a state; return the reading."""
    with server.watching(path=EVENTS) as events:
        number = next(events)[1]["names"].index(name)
        return newest(events, lambda look: look["peers"][number]["state"] == wanted)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")
def test_a_real_swarm(page: Page, tmp_path: Path) -> None:
    with (
        real_swarm(tmp_path / "swarm") as swarm,
        viewed(SwarmView(swarm_in(swarm.folder))) as server,
    ):
        open_swarm(page, server)
        badges = page.locator("table.peers .badge")
        expect(badges).to_have_text(["up"] * 5)
        with server.watching(path=EVENTS) as events:
            look = newest(
                events, lambda look: all((peer["exchanges"] or 0) > 0 for peer in look["peers"])
            )
        assert look["rate"] >= 0 and look["middle"] is not None
        a_peer_freezes_and_thaws(swarm, server, page)
        a_peer_is_killed_and_evicted(swarm, server, page)
    told = json.loads((swarm.folder / "swarm.json").read_text())
    assert told["running"] is False  # being watched has not kept it from ending


def a_peer_freezes_and_thaws(swarm: RealSwarm, server: Served, page: Page) -> None:
    swarm.signal("peer-04", signal.SIGSTOP)
    look = state(server, "peer-04", "frozen")
    assert look["peers"][3]["estimate"] is not None and look["peers"][3]["rate"] == 0
    expect(row(page, "peer-04").locator(".badge")).to_have_text("frozen")
    swarm.signal("peer-04", signal.SIGCONT)
    state(server, "peer-04", "up")


def a_peer_is_killed_and_evicted(swarm: RealSwarm, server: Served, page: Page) -> None:
    swarm.signal("peer-03", signal.SIGKILL)
    look = state(server, "peer-03", "down")
    assert look["peers"][2]["exchanges"] > 0  # its earlier reports are still known
    expect(row(page, "peer-03").locator(".badge")).to_have_text("down")
    command = ["peer", "evict", "peer-03", "--home", str(swarm.folder / "peer-02"), "--yes"]
    assert main(command) == 0
    look = state(server, "peer-03", "evicted")
    expect(row(page, "peer-03").locator(".badge")).to_have_text("evicted")
    with server.watching(path=EVENTS) as events:
        look = newest(
            events, lambda look: [peer["generation"] for peer in look["peers"]] == [2, 2, 1, 2, 2]
        )
    assert look["generation"] == 2
