"""Files and pages of signed results: of this version and of the first, genuine and altered."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.result_page import write_page
from pairgossip.peer.signed_result import (
    SignedResult,
    check_signatures,
    check_signed,
    read_signed,
    write_signed,
)
from pairgossip.peer.specification.canonical_text import restore_spec
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.results import decode_figures
from tests.peer.signing import FIRST, draw_rows, sign_result_of

AUC = """
kernel = "auc"
columns = ["score"]
label = "diseased"
classes = ["no", "yes"]
[ranges]
score = [0, 1]
[algorithm]
name = "sums"
"""


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedResult:
    return sign_result_of(tmp_path_factory.mktemp("signed"), AUC, draw_rows(3, 1))


def change_first(change: Any, tmp_path: Path) -> Path:
    table = json.loads(FIRST.read_text())
    change(table)
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(table))
    return file


def test_a_file_of_the_first_version_is_checked() -> None:
    checked = check_signed(FIRST)
    checked.require_all()
    assert set(checked.signed.values()) == {"clinic-0", "clinic-1", "clinic-2"}
    assert (checked.version, checked.kept, checked.result.ordinal) == (1, None, 1)
    assert (checked.result.generation, checked.result.versions) == (0, {"pairgossip": "0.2.0"})


@pytest.mark.parametrize("digit", ["value", "rows", "generation", "round", "version"])
def test_a_flipped_digit_of_the_first_version_is_found_out(tmp_path: Path, digit: str) -> None:
    def flip(table: dict[str, Any]) -> None:
        part = table["result"] if digit in table["result"] else table
        part[digit] += 1e-12 if digit == "value" else 1

    with pytest.raises(InputError, match="was altered"):
        check_signed(change_first(flip, tmp_path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("result", "generation"), "0123"),
        (("result", "generation"), 10**30),
        (("result", "rows"), 10**30),
        (("round",), 10**30),
        (("version",), 3),
        (("kept",), "yesterday"),
        (("kept",), "2026-02-03T14:15:16"),
    ],
)
def test_numbers_that_nobody_writes_get_a_sentence(
    tmp_path: Path, path: tuple[str, ...], value: object
) -> None:
    def put(table: dict[str, Any]) -> None:
        part = table
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    with pytest.raises(InputError):
        check_signed(change_first(put, tmp_path))


def test_a_file_says_which_class_is_the_positive_one(tmp_path: Path, signed: SignedResult) -> None:
    write_signed(signed, tmp_path / "result.json")
    table = json.loads((tmp_path / "result.json").read_text())
    assert (table["positive_class"], table["version"]) == ("yes", 2)
    assert table["kept"] == "2026-02-03T14:15:16Z"
    assert read_signed(tmp_path / "result.json") == signed
    with pytest.raises(InputError, match=r"\(its positive class is not that of its specification"):
        check_signatures(replace(signed, positive_class="no"), "It")


@pytest.mark.parametrize(
    "versions",
    [
        {},
        {"pairgossip": "see http://example.org"},
        {"pairgossip": "1" * 33},
        {"pairgossip": "1.0\n"},
        {"pairgossip": "1.0", "note": "2"},
    ],
)
def test_no_member_chooses_the_words_that_all_sign(
    signed: SignedResult, versions: dict[str, str]
) -> None:
    with pytest.raises(Disagreement, match="something else than a version of pairgossip"):
        decode_figures(replace(signed.result, versions=versions).state())
    later = replace(signed.result, versions={"pairgossip": "10.2.0.dev3+g0123abc.d20260203"})
    assert decode_figures(later.state()).versions == later.versions


def read_page(signed: SignedResult, tmp_path: Path) -> str:
    write_page(signed, tmp_path / "result.html")
    return (tmp_path / "result.html").read_text()


def test_the_page_tells_what_left_each_site(tmp_path: Path, signed: SignedResult) -> None:
    page = read_page(signed, tmp_path)
    spec = parse_spec(AUC)
    words = page.replace("&#x27;", "'")
    assert all(f"<p>{sentence}</p>" in words for sentence in spec.leaves())
    assert "<td>2026-02-03 14:15 UTC, when the peer" in page
    assert ">positive class</th><td>yes (diseased): the class that high scores indicate" in page
    assert page.count('<td class="number">36</td>') == 3 and "Signed by all 3 members" in page
    (toml,) = re.findall("<pre>(.*)</pre>", page, re.DOTALL)
    assert parse_spec(toml.replace("&quot;", '"')).hash == spec.hash == signed.result.hash
    assert restore_spec(signed.result.specification) == spec


def test_a_crowded_cell_is_told_with_the_result_of_a_test(tmp_path: Path) -> None:
    text = AUC.replace('"auc"', '"mann-whitney"').replace("score = [0, 1]", "score = [0, 1e4]")
    text += "least_cell = 1\n"
    signed = sign_result_of(tmp_path, text, draw_rows(3, 1))
    warning = "100 % of all rows share one cell of 'score', so that their order is not known"
    words = read_page(signed, tmp_path).replace("&#x27;", "'")
    assert f">left open</th><td>{warning}: agree on" in words
    assert ">p over all rows</th><td>between " in words and " and 1 for certain</td>" in words
    write_signed(signed, tmp_path / "result.json")
    assert read_signed(tmp_path / "result.json") == signed
    check_signatures(signed, "It").require_all()
    assert signed.result.p_bracket is not None
    better = replace(signed, result=replace(signed.result, p_bracket=(0.5, 1.0)))
    with pytest.raises(InputError, match="was altered"):
        check_signatures(better, "It")


def test_the_page_of_a_result_of_the_first_version_says_what_its_sums_told(tmp_path: Path) -> None:
    page = read_page(read_signed(FIRST), tmp_path)
    assert "could read from them a row that was alone in its cell" in page
    assert ">date</th><td>not recorded</td>" in page
    assert "refine = 2" in page and "<td>yes (diseased)" in page


def test_no_text_of_members_controls_the_page(tmp_path: Path) -> None:
    strange = "score\\u202E\\u0007<b>"
    text = AUC.replace('"score"', f'"{strange}"').replace("score =", f'"{strange}" =')
    signed = sign_result_of(tmp_path, text.replace('"yes"', '"yes<p>"'), draw_rows(3, 1))
    page = read_page(signed, tmp_path)
    assert all(letter.isprintable() or letter == "\n" for letter in page)
    assert "<h1>auc of score\\u202e\\x07&lt;b&gt; by diseased" in page
    assert "<td>yes&lt;p&gt; (diseased)" in page
    assert "<b>" not in page
