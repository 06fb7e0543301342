"""A study of members who cannot connect to each other: processes with a relay on 127.0.0.1."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.study.service.membership import find_address
from pairgossip.study.storage.folder import open_study
from tests.cli.running import main
from tests.peer.zenoh_people import free_address

from .real import SPEC, Site, found_study, running, until
from .test_real_peers import exact_auc, has_questions, wait_for_list


@contextmanager
def relayed(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "pairgossip", "relay", "run", "--home", str(home)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as relay:
        try:
            yield relay
        finally:
            relay.kill()


def is_connected(site: Site, name: str) -> bool:
    status = site.reading.status()
    return status is not None and name in status.neighbors and status.neighbors[name].connected


def test_a_study_by_a_relay(tmp_path: Path) -> None:
    place, home = free_address(), tmp_path / "relay"
    assert main(["relay", "init", "--home", str(home), "--address", place]) == 0
    sites = found_study(tmp_path, 3, relay=home / "relay.txt", **{"least-cell": 1})
    invitations = [str(one.invitation) for one in sites]
    assert main(["relay", "allow", "--home", str(home), *invitations[:2]]) == 0
    spec = tmp_path / "auc.toml"
    spec.write_text(SPEC)
    with running(sites):
        with relayed(home):
            until(partial(is_connected, sites[0], "hospital-2"), "the two are there")
            assert not sites[0].has_members(3)
            assert main(["relay", "allow", "--home", str(home), *invitations[2:]]) == 0
            wait_for_list(sites, 3)
        assert sites[0].run("ask", str(spec)) == "1\n"  # while the relay is gone
        with relayed(home):
            for one in sites[1:]:
                until(partial(has_questions, one, 1), "the question is heard")
                one.run("accept", "1")
            results = [one.peer.question(1).wait(200).result for one in sites]
        truth = exact_auc(sites, 0)
        assert results[0] == results[1] == results[2]
        bracket = results[0].bracket
        assert bracket is not None and bracket[0] <= truth <= bracket[1]
    said = sites[0].attempt("invite", "--address", "tls/a.example:7447")
    assert said[0] == 2 and f"This peer meets others at {place}, and nobody calls it" in said[2]
    study = open_study(sites[0].folder)
    assert find_address(study) is None
    sites[0].set("exchange = true\n")  # in [policy], the last table
    with pytest.raises(InputError, match=r"Rows do not travel by a relay: leave policy\.exchange"):
        study.read_settings()
