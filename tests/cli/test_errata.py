from __future__ import annotations

import pytest

from pairgossip.theory.errata import ERRATA, markdown_table

from .running import CommandLine


def test_every_row_is_listed(cli: CommandLine) -> None:
    answer = cli("errata")
    assert answer.code == 0
    assert answer.out.count("correct: ") == len(ERRATA)


def test_lines_leave_room_for_the_evidence(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("errata").out.splitlines()
    assert lines[0].index("class") < 14
    assert any("301, 323," in line for line in lines)


def test_json_says_that_the_evidence_holds(cli: CommandLine) -> None:
    found = cli("errata", "--json").json()
    assert len(found) == len(ERRATA)
    assert all(row["shown"] for row in found.values())


def test_markdown_is_what_the_page_holds(cli: CommandLine) -> None:
    assert cli("errata", "--markdown").out == markdown_table()
