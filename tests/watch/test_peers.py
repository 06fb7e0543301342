"""Which peers are read, and how their estimates have changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.watch import peers
from pairgossip.watch.peers import Swarm, SwarmHistory, peers_at, swarm_in
from tests.peer.homes import introduce, make_home

from .peers_to_watch import HOSTILE, Scripted, made_up_swarm, told


def test_a_swarm_by_its_folder(tmp_path: Path) -> None:
    folder = made_up_swarm(tmp_path / "swarm", ["a", "b", "c"])
    swarm = swarm_in(folder)
    assert [reader.name for reader in swarm.readers] == ["a", "b", "c"]
    assert swarm.links == [(0, 1), (1, 2)]
    assert (swarm.exact, swarm.measure, swarm.family) == (1.5, "gini", "path")
    assert swarm.refresh() is True
    content = json.loads((folder / "swarm.json").read_text())
    (folder / "swarm.json").write_text(json.dumps(content | {"running": False}))
    assert swarm.refresh() is False
    (folder / "swarm.json").write_text("{")
    assert swarm.refresh() is None  # it is being removed, perhaps


def test_no_swarm(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^There is no folder .*nowhere: check the path\.$"):
        swarm_in(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no swarm\.json: give the folder of a swarm"):
        swarm_in(tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        {"format": "another"},
        {"version": 2},
        {"peers": []},
        {"peers": [{"name": "a", "id": "1", "home": "../../etc"}], "links": []},
        {"peers": [{"name": "a", "id": "1", "home": ".."}], "links": []},
        {"peers": [{"name": "a", "id": "1", "home": "/etc"}], "links": []},
        {"peers": [{"name": "a", "id": "1", "home": "x"}] * 2, "links": []},
        {"links": [["a", "nobody"]]},
        {"exact": float("nan")},
        {"positions": [[0, 0]]},
        {"positions": [[0, float("inf")], [1, 1]]},
        {"peers": 7},
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, more: dict[str, Any]) -> None:
    folder = made_up_swarm(tmp_path / "swarm", ["a", "b"], **more)
    with pytest.raises(InputError, match="is not the manifest of a swarm: check the path"):
        swarm_in(folder)


def test_a_manifest_of_nested_lists(tmp_path: Path) -> None:
    (tmp_path / "swarm.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="is not the manifest of a swarm"):
        swarm_in(tmp_path)


def test_names_may_be_anything(tmp_path: Path) -> None:
    swarm = swarm_in(made_up_swarm(tmp_path / "swarm", [HOSTILE, "b"], measure="\x1b[31m"))
    assert swarm.readers[0].name == HOSTILE and swarm.measure == "\\x1b[31m"


def test_peers_by_their_folders(tmp_path: Path) -> None:
    homes = [make_home(tmp_path, name, [1.0, 2.0]) for name in ("ann", "bob", "cy")]
    introduce(homes[0], homes[1])
    introduce(homes[2], homes[1], is_neighbor=False)
    swarm = peers_at([*(str(home.folder) for home in homes), "127.0.0.1:9"])
    assert [reader.name for reader in swarm.readers] == ["ann", "bob", "cy", "127.0.0.1:9"]
    assert swarm.links == [(0, 1)] and swarm.title == "4 peers"
    assert [reader.read().state for reader in swarm.readers] == ["down"] * 4


def test_no_peers(tmp_path: Path) -> None:
    home = make_home(tmp_path, "ann", [1.0, 2.0])
    with pytest.raises(InputError, match=r"^No peer is named"):
        peers_at([])
    with pytest.raises(InputError, match=r"^There is no folder nowhere"):
        peers_at(["nowhere"])
    with pytest.raises(InputError, match="is not the folder of a peer"):
        peers_at([str(tmp_path)])
    with pytest.raises(InputError, match="is named twice: name every peer once"):
        peers_at([str(home.folder)] * 2)
    with pytest.raises(InputError, match="is named twice: name every peer once"):
        peers_at(["127.0.0.1:9", str(home.folder), "127.0.0.1:9"])
    with pytest.raises(InputError, match="too many to watch"):
        peers_at(["127.0.0.1:9"] * 1001)


def test_history_is_bounded_and_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_MOST_MOMENTS", 60)
    kept = SwarmHistory(Swarm("test", [Scripted("a", [told(k, float(k)) for k in range(500)])]))
    for _ in range(500):
        kept.read()
        assert len(kept.curves()[0]) <= 60
    seconds, (curve,) = kept.curves()
    assert curve[-1] == 499.0 and sorted(seconds) == seconds and len(seconds) == len(curve) > 25
    assert curve[0] < 60  # the beginning is not forgotten
