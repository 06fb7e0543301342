"""Three sites that reach only a relay follow the operating guide word for word."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from pairgossip.peer.identity.certificates import id_of_certificate

from .hosts import Host, why_not
from .hosts import typed_lines as lines_of
from .relayed import RELAY, RelayHost, Site, three_sites
from .test_three_machines import SHOWN, enter_when_due, is_connected, parts_of_page

FIELD = Path(__file__).parents[1] / "docs" / "field"
PAGE = (FIELD / "operating.md").read_text(encoding="utf-8")
CONFIGURATION = FIELD / "relay.json5"
_FENCE = re.compile(r"```text\n(# at (?:relay|clinic).*?)```", re.DOTALL)
_ID = re.compile(r"[0-9a-f]{64}")
_ROUTER = """
import time, zenoh
session = zenoh.open(zenoh.Config.from_file("relay/relay.json5"))
time.sleep(1e6)
"""
"""A router in place of zenohd where that is not installed."""
ASKED = (
    ("clinic-a", "pairgossip peer ask gini.toml"),
    ("clinic-b", "pairgossip peer accept 1"),
    ("clinic-c", "pairgossip peer accept 1"),
    ("clinic-a", "pairgossip peer result 1 --json result.json"),
    ("clinic-a", "pairgossip verify result.json"),
)
WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def typed_lines() -> list[tuple[str, str]]:
    """Return the lines that the section says to type, each with its machine."""
    section = PAGE.partition("## Sites that cannot be called")[2].partition("\n## ")[0]
    found, machine = list[tuple[str, str]](), ""
    for line in "".join(_FENCE.findall(section)).replace("relay.example", RELAY).splitlines():
        if line.startswith("# at "):
            machine = line.removeprefix("# at ")
        else:
            found.append((machine, line))
    return found


def follow(relay: RelayHost, sites: dict[str, Site]) -> str:
    """Type all lines up to the last, which runs the relay; return the last."""
    (spec, page), _ = parts_of_page()
    hosts: dict[str, Host] = {**sites, "relay": relay}
    for name, line in lines_of(page):
        if " dataset " in line:
            hosts[name].type(line)
    for site in sites.values():
        (site.folder / "gini.toml").write_text(spec, encoding="utf-8")
    *lines, (machine, last) = typed_lines()
    for name, line in lines:
        hosts[name].do(line)
        if " > " in line:
            hand_over(hosts, hosts[name].folder / f"{name}.txt")
        if "relay init" in line:
            hand_over(hosts, relay.folder / "relay" / "relay.txt")
    assert machine == "relay" and last == "pairgossip relay run"
    return last


def hand_over(hosts: dict[str, Host], file: Path) -> None:
    for host in hosts.values():
        if host.folder not in file.parents:
            shutil.copy(file, host.folder)


def write_by_hand(relay: RelayHost, sites: dict[str, Site]) -> None:
    """Replace the configuration that was made by that of the page, with other paths."""
    shown = CONFIGURATION.read_text(encoding="utf-8")
    placeholders = dict.fromkeys(_ID.findall(shown))
    folder = relay.folder / "relay"
    for placeholder, site in zip(placeholders, sites.values(), strict=True):
        certificate = (site.folder / site.name / "cert.pem").read_text()
        shown = shown.replace(placeholder, id_of_certificate(certificate))
    made = folder / "relay.json5"
    shown = shown.replace("/etc/relay", str(folder.absolute()))
    assert without_comments(shown) == json.loads(made.read_text()), "the two ways are one"
    made.write_text(shown)


def without_comments(text: str) -> Any:
    return json.loads(re.sub(r"^ *//.*$", "", text, flags=re.MULTILINE))


def test_sums_by_a_relay(tmp_path: Path) -> None:
    with three_sites(tmp_path) as (relay, sites):
        run = follow(relay, sites)
        clinic_a, clinic_b, clinic_c = sites.values()
        assert clinic_a.reaches(RELAY) and clinic_b.reaches(RELAY)
        assert not clinic_a.reaches(clinic_b.address) and not clinic_b.reaches(clinic_a.address)
        for site in (clinic_a, clinic_b):  # before there is a relay
            site.start(is_typed=site is clinic_a)
        relay.run(run)
        clinic_a.wait_for(lambda status: is_connected(status, "clinic-b"))
        relay.stop(at_once=True)
        clinic_a.wait_for(lambda status: not is_connected(status, "clinic-b"))
        clinic_c.start(is_typed=False)
        write_by_hand(relay, sites)
        relay.run(f"python -c {shlex.quote(_ROUTER)}")
        for site in sites.values():
            site.wait_for(lambda status: status["list"])
        for name, line in ASKED:
            said = enter_when_due(dict(sites), name, line)
        assert "All 3 members have signed this." in said
        assert not any(site.listens() for site in sites.values())
        for site in sites.values():
            assert SHOWN in site.do("pairgossip peer questions")
            assert [one.reaches(site.address) for one in sites.values()].count(True) == 1
            assert site.status()["counts"]["bytes in frames sent"] % 65_536 == 0
