"""A report from its rehearsal to the page: `estimate --spec`, peers, `peer result` and `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pairgossip.peer.reports.figures import find_difference, list_figures
from pairgossip.peer.signed_report import add_report
from pairgossip.peer.signed_result import write_signed
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.rows import read_site_rows
from tests.cli.running import CommandLine
from tests.peer.signing import sign_table_of

SPEC = """
report = "validation"
columns = ["risk"]
label = "died"
thresholds = [0.1, 0.3]
missing = "drop"
[ranges]
risk = [0, 1]
died = [0, 1]
"""
FILES = tuple(f"c{k}.csv" for k in range(5))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write files of five members; in each of them a risk is missing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    for file in FILES:
        logit = rng.normal(-1.0, 1.2, 150)
        died = rng.random(150) < 1 / (1 + np.exp(-logit))
        risks = [f"{one:.4f}" for one in 1 / (1 + np.exp(-logit))]
        risks[7] = ""
        rows = zip(risks, died.astype(int), rng.choice(["f", "m"], 150), strict=True)
        lines = [f"{risk},{ill},{sex}" for risk, ill, sex in rows]
        Path(file).write_text("\n".join(["risk,died,sex", *lines, ""]))
    Path("study.toml").write_text(SPEC)
    return tmp_path


def test_members_find_the_report_of_the_rehearsal(cli: CommandLine, study: Path) -> None:
    rehearsed = cli("estimate", *FILES, "--spec", "study.toml", "--json", "--html", "before.html")
    found = rehearsed.json()
    assert rehearsed.err.count("leaves out 1 of its 150 rows") == 5
    assert found["rows"] == 5 * 149 and len([*list_figures(found["report"])]) > 20
    before = Path("before.html").read_text()
    assert "<h1>Rehearsal: Validation of risk, by died</h1>" in before and "<svg" in before
    assert "No member has signed this" in before

    spec = parse_spec(SPEC)
    bare, table = sign_table_of(study, SPEC, [read_site_rows(one, spec).matrix for one in FILES])
    write_signed(add_report(bare, table), Path("r.json"))
    assert cli("verify", "r.json", "--html", "r.html").code == 0
    signed = json.loads(Path("r.json").read_text())
    assert find_difference(signed["report"], found["report"]) is None
    page = Path("r.html").read_text()
    assert "<h1>Validation of risk, by died</h1>" in page
    assert page.count("<svg") == before.count("<svg")

    said = cli("verify", "r.json", "--html", "again.html")
    assert "All 5 members have signed this.\n" in said.out
    assert "figures in it follow from the counts that they have signed.\n" in said.out
    assert Path("again.html").read_text() == page
    told = cli("verify", "r.json", "--json").json()
    assert told["report"] == signed["report"]
    assert told["recomputed"] == 6 + len([*list_figures(signed["report"])])
    assert len(cli("verify", "r.json", "--report").out) > len(said.out) + 500
    kept = Path("bare.json")
    write_signed(bare, kept)
    assert "This file holds no counts: peer result --json writes one" in cli("verify", kept).out
    assert "This file holds no report" in cli.error("verify", kept, "--report")
    assert "--json is of the signed figures" in cli.error("verify", "r.json", "--json", "--report")

    place, number = next(one for one in list_figures(signed["report"]) if type(one[1]) is float)
    part = signed["report"]
    for name in place[:-1]:
        part = part[int(name) - 1] if isinstance(part, list) else part[name]
    part[int(place[-1]) - 1 if isinstance(part, list) else place[-1]] = number + 0.001
    Path("altered.json").write_text(json.dumps(signed))
    error = cli.error("verify", "altered.json")
    assert error.startswith("altered.json says otherwise than the counts in it (")
    assert ".".join(place) in error


def test_a_page_is_for_what_members_compute(cli: CommandLine, study: Path) -> None:
    asked = ("estimate", FILES[0], "--column", "risk", "--kernel", "gini", "--html", "a.html")
    assert "--html is for a --spec whose sums members compute" in cli.error(*asked)
    assert "named twice" in cli.error(
        "estimate", *FILES, "--spec", "study.toml", "--html", "study.toml"
    )
