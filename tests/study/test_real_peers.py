"""Five members as processes over TLS on 127.0.0.1: all that people do, from the first command."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import pairgossip as pg

from .real import AGE, BY_POLICY, SPEC, Site, found_study, running, until


def exact_auc(sites: list[Site], column: int) -> float:
    """Return the AUC of all members' rows, by the rank sum of another library."""
    rows = np.vstack([np.loadtxt(one.source, delimiter=",", skiprows=1) for one in sites])
    scores, died = rows[:, column], rows[:, 2] == 1
    statistic = mannwhitneyu(scores[died], scores[~died]).statistic
    return float(statistic / (died.sum() * (~died).sum()))


def wait_for_list(sites: list[Site], count: int) -> None:
    until(lambda: all(one.has_members(count) for one in sites), f"a list of {count}")


def has_questions(site: Site, count: int) -> bool:
    return len(site.peer.questions()) == count


def is_proposed(site: Site, name: str) -> bool:
    return f"peer accept {name}" in site.run("status")


def test_operators_ask_accept_and_read(tmp_path: Path) -> None:
    sites = found_study(tmp_path, **{"least-cell": 1})
    asker, *others = sites
    spec = tmp_path / "auc.toml"
    spec.write_text(SPEC)
    with running(sites):
        wait_for_list(sites, 5)
        assert asker.run("ask", str(spec)) == "1\n"
        for one in others:
            until(partial(has_questions, one, 1), "the question is heard")
            shown = one.run("questions", "1")
            assert "asked by    hospital-1" in shown and "peer accept 1" in shown
            one.run("accept", "1")
        answer = pg.field.Peer(asker.folder).question(1).wait(200)
        truth, result = exact_auc(sites, 0), answer.result
        assert result.rows == 1000 and result.bracket is not None
        assert result.bracket[0] <= truth <= result.bracket[1]
        assert abs(answer.roc().auc - truth) < 0.005
        for one in sites:  # the same at every member, bit for bit
            one.peer.question(1).wait(200)
            assert one.peer.question(1).result == result
        check_files(asker, tmp_path, result.value)
        # The table answers another question immediately: two commands, and nobody has to agree.
        assert asker.run("ask", str(spec), "--wait") == "2\n"
        assert "0.8" in asker.run("result", "2")
        assert not any(one.event == "shown" for one in asker.peer.disclosed(verify=True)[3:])
        check_refusal(sites, tmp_path)


def check_files(site: Site, folder: Path, value: float | None) -> None:
    """Check that a result can be passed on and verified by its signatures."""
    from pairgossip.cli import main

    json_file, html = folder / "result.json", folder / "result.html"
    site.run("result", "1", "--json", str(json_file), "--html", str(html), "--with-table")
    assert json.loads(json_file.read_text())["result"]["value"] == value
    assert "Signed by all 5 members" in html.read_text()
    assert main(["verify", str(json_file)]) == 0


def check_refusal(sites: list[Site], folder: Path) -> None:
    """Check that a refusal ends a question for all, with its reason."""
    spec = folder / "age.toml"
    spec.write_text(AGE)
    number = sites[2].run("ask", str(spec)).strip()
    until(partial(has_questions, sites[0], int(number)), "the question is heard")
    code, _, err = sites[0].attempt("withdraw", number)
    assert code == 2 and "was asked by 'hospital-3'" in err
    sites[0].run("refuse", number, "--because", "the board has not decided")
    until(lambda: sites[2].peer.question(number).status.is_over, "the refusal is heard")
    shown = " ".join(sites[2].run("questions", number).split())
    assert "refused by 'hospital-1': the board has not decided" in shown
    with pytest.raises(pg.InputError, match="the board has not decided"):
        sites[2].peer.question(number).wait(10)


def test_a_sixth_member_joins_while_the_others_answer(tmp_path: Path) -> None:
    sites = found_study(tmp_path)
    for one in sites:
        one.set(BY_POLICY)
    with running(sites):
        wait_for_list(sites, 5)
        processes = [one.process for one in sites]
        spec = tmp_path / "auc.toml"
        spec.write_text(SPEC)
        first = sites[0].peer.ask(spec).wait(200)
        sixth = Site(tmp_path, "hospital-6", 6)  # init and invite
        sixth.set(BY_POLICY)
        for one in sites:
            one.invitation.write_text(one.run("invite"))  # with the list that all have signed
        sixth.run("join", "--yes", *(str(one.invitation) for one in sites))
        sixth.start()
        try:
            sites[0].run("accept", str(sixth.invitation))
            for one in sites[1:]:
                until(partial(is_proposed, one, "hospital-6"), "it is proposed")
                one.run("accept", "hospital-6")
            wait_for_list([*sites, sixth], 6)
            assert first.result.members.keys() == {one.status.id for one in sites}
            assert [one.process for one in sites] == processes
            assert all(one.process and one.process.poll() is None for one in sites)
        finally:
            assert sixth.stop() == 0
