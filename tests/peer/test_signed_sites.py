"""Agreement of sites in signed results: figures from their sums, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.result_page import write_page
from pairgossip.peer.signed_result import SignedResult, check_signatures, read_signed, write_signed
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.simulation import run_programs, start_programs
from pairgossip.peer.sums.site_sums import Line, SiteSums, find_agreement
from pairgossip.peer.sums.tables import Table, pack_table, read_table
from tests.peer.signing import make_members, sign
from tests.sums.test_sites import SIZES, TEXT, draw


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedResult:
    members = make_members(tmp_path_factory.mktemp("sites"), len(SIZES))
    rows = dict(sorted(zip((one.id for one in members), draw().values(), strict=True)))
    result = run_programs(start_programs(parse_spec(TEXT), rows, [members[1].id]))
    return replace(sign(result, members), agreement=find_agreement(result.heterogeneity))


def test_figures_are_computed_again_from_signed_sums(tmp_path: Path, signed: SignedResult) -> None:
    write_signed(signed, tmp_path / "a.json")
    again = read_signed(tmp_path / "a.json")
    check_signatures(again, "a.json").require_all()
    assert again.agreement is not None and again.result.heterogeneity is not None
    moved = replace(again.agreement, tau=again.agreement.tau + 0.001)
    for wrong in (replace(again, agreement=moved), replace(again, agreement=None)):
        with pytest.raises(InputError, match="it says otherwise than its sums over sites"):
            check_signatures(wrong, "a.json")
    sums = replace(again.result.heterogeneity, errors=again.result.heterogeneity.errors + 1)
    other = replace(again.result, heterogeneity=sums)
    with pytest.raises(InputError, match="is not of this result"):
        check_signatures(replace(again, result=other, agreement=find_agreement(sums)), "a.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"sites": 0},
        {"sites": 1},
        {"sites": -6},
        {"sites": 10**400},
        {"logits": 10**400},
        {"logits": 121},
        {"squares": -1},
        {"errors": 0},
        {"shown": {"a": Line(0.5, 1e308)}},
        {"shown": {"a": Line(-0.1, 0.1)}},
        {"shown": {str(k): Line(0.5, 0.1) for k in range(7)}},
    ],
)
def test_sums_that_no_sites_have_are_refused_whoever_signs_them(
    signed: SignedResult, changes: dict[str, Any]
) -> None:
    assert signed.result.heterogeneity is not None
    sums = replace(signed.result.heterogeneity, **changes)
    with pytest.raises(InputError, match="no sites have its sums over sites"):
        check_signatures(replace(signed, result=replace(signed.result, heterogeneity=sums)), "It")


def test_the_page_draws_sites_and_names_those_that_show_theirs(
    tmp_path: Path, signed: SignedResult
) -> None:
    write_page(signed, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "Do the sites agree?" in page and "a new site" in page
    assert "the other 5 do not" in page and "measured to hold 75 to 99 %" in page
    assert signed.result.heterogeneity is not None
    (name,) = list(signed.result.heterogeneity.shown or ())
    assert check_signatures(signed, "").signed[name] in page.split("<h2>What left")[0]


def test_tables_without_sites_are_kept_in_the_bytes_of_before() -> None:
    plain = Table((4,), b"12345678")
    assert pack_table(b"s" * 32, plain) == b"s" * 32 + b"\x92\x91\x04\xc4\x0812345678"
    for table in (plain, plain._replace(sites=SiteSums(sites=3, without="few"))):
        assert read_table(pack_table(b"s" * 32, table)) == table
