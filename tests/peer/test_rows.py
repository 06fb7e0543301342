from __future__ import annotations

import re
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import digest_rows
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.rows import read_rows, rows_text
from tests.peer.homes import AUC, GINI, LOSS


def written(folder: Path, text: str) -> Path:
    file = folder / "data.csv"
    file.write_text(text)
    return file


def test_columns_come_in_the_agreed_order_with_the_label_last(tmp_path: Path) -> None:
    file = written(tmp_path, "diseased,name,score\n1,x,0.25\n0,y,1e-1\n")
    assert read_rows(file, parse_spec(AUC)) == ((0.25, 1.0), (0.1, 0.0))


WORDS = AUC.replace("[ranges]", 'classes = ["none", "some"]\n[ranges]').replace(
    "diseased = [0, 1]", ""
)


def test_classes_in_words_count_in_the_agreed_order(tmp_path: Path) -> None:
    spec = parse_spec(WORDS)
    # "none" is a declared class here, not a missing entry.
    rows = read_rows(written(tmp_path, "diseased,score\nsome,0.25\nnone,0.1\n"), spec)
    assert rows == ((0.25, 1.0), (0.1, 0.0))
    assert rows_text(rows, spec) == "score,diseased\n0.25,some\n0.1,none\n"
    assert read_rows(written(tmp_path, rows_text(rows, spec)), spec) == rows
    turned = parse_spec(WORDS.replace('"none", "some"', '"some", "none"'))
    assert read_rows(written(tmp_path, rows_text(rows, spec)), turned) == ((0.25, 0.0), (0.1, 1.0))


@pytest.mark.parametrize(
    ("text", "more", "sentence"),
    [
        ("0.5,Some\n0.7,none\n0.2,Some", "",
         "Column 'diseased' of {file} holds 'Some' in lines 2 and 4, but the declared classes are "
         "'none' and 'some': correct the labels, or declare all classes."),
        ("0.5,1\n0.7,none", "", "Column 'diseased' of {file} holds '1' in line 2, but"),
        ("0.5,some\n0.7,", "", "Column 'diseased' of {file}, line 3, is missing"),
        ("0.5,secret", "[privacy]\nepsilon = 1.0\nbins = 2\n",
         "Column 'diseased' of {file} holds others in line 2, but the declared classes are"),
        ("x,none\ny,none", "[privacy]\nepsilon = 1.0\nbins = 2\n",
         "Column 'score' of {file}, lines 2 and 3, is not a number (the entry is private"),
    ],
)  # fmt: skip
def test_other_words_are_refused(tmp_path: Path, text: str, more: str, sentence: str) -> None:
    file = written(tmp_path, f"score,diseased\n{text}\n")
    with pytest.raises(InputError) as caught:
        read_rows(file, parse_spec(WORDS + more))
    assert str(caught.value).startswith(sentence.format(file=file))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty: it needs a header line and rows."),
        ("score,diseased\n", "has a header line only: it needs rows."),
        ("score,disease\n0,1\n", "There is no column 'diseased' in .*: did you mean 'disease'?"),
        ("score,diseased\n0.5,nan\n", "Column 'diseased' of .*, line 2, is missing: fill it in"),
        ("score,diseased\n0.5,\n", "Column 'diseased' of .*, line 2, is missing"),
        ("score,diseased\ninf,1\n", "Column 'score' of .*, line 2, is not a number: 'inf'."),
        ("score,diseased\n0.5,yes\n", "Column 'diseased' of .*, line 2, is not a number: 'yes'."),
        (
            "score,diseased\n0.5,1\n1.5,0\n",
            r"Column 'score' of .*data.csv has 1 value outside the agreed range \[0, 1\], in "
            r"line 3: correct the file, or agree on another range.",
        ),
        (
            "score,diseased\n-0.1,1\n0.5,0\n2,0\n3,1\n",
            r"has 3 values outside the agreed range \[0, 1\], in lines 2, 4 and 5:",
        ),
        ("score,diseased\n0,0\n0,0.5\n0,1\n", "needs two classes, but the labels hold 3"),
    ],
)
def test_what_may_not_circulate_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_rows(written(tmp_path, text), parse_spec(AUC))


def test_a_value_outside_the_range_is_not_shown(tmp_path: Path) -> None:
    file = written(tmp_path, "income\n12345678\n")
    with pytest.raises(InputError) as caught:
        read_rows(file, parse_spec(GINI))
    assert "12345678" not in str(caught.value)


@pytest.mark.parametrize("value", ["0", "100", "1e-300"])
def test_the_bounds_belong_to_the_range(tmp_path: Path, value: str) -> None:
    file = written(tmp_path, f"income\n{value}\n")
    assert read_rows(file, parse_spec(GINI)) == ((float(value),),)


@pytest.mark.parametrize("spec", [AUC, LOSS])
def test_rows_of_one_class_are_no_mistake(tmp_path: Path, spec: str) -> None:
    file = written(tmp_path, "score,diseased,a,b,class\n0.5,1,0,0,1\n0.25,1,1,1,1\n")
    assert len(read_rows(file, parse_spec(spec))) == 2


def test_rows_of_a_loss_are_checked(tmp_path: Path) -> None:
    file = written(tmp_path, "a,b,class\n0,0,0\n1,1,0.5\n2,2,1\n")
    with pytest.raises(InputError, match="An AUC loss needs two classes, but the labels hold 3"):
        read_rows(file, parse_spec(LOSS))


def test_events_are_checked(tmp_path: Path) -> None:
    spec = 'kernel = "concordance"\ncolumns = ["p", "o", "e"]\n[ranges]\n'
    spec += "p = [0, 1]\no = [0, 1]\ne = [0, 2]"
    with pytest.raises(InputError, match="needs events of 0"):
        read_rows(written(tmp_path, "p,o,e\n0,0,2\n"), parse_spec(spec))


def test_rows_read_back_bit_for_bit(tmp_path: Path) -> None:
    odd = "\"a, 'b'; c\""
    spec = parse_spec(f'kernel = "gini"\ncolumns = [{odd}]\n[ranges]\n{odd} = [0, 100]')
    rows = ((0.1 + 0.2,), (5e-324,), (1 / 3,), (100.0,))
    file = written(tmp_path, rows_text(rows, spec))
    assert read_rows(file, spec, delimiter=",") == rows
    assert digest_rows(read_rows(file, spec, delimiter=",")) == digest_rows(rows)


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    (row,) = read_rows(written(tmp_path, "income\n-0.0\n"), parse_spec(GINI))
    assert str(row[0]) == "0.0"


def test_the_digest_tells_rows_apart() -> None:
    assert digest_rows(((1.0,), (2.0,))) != digest_rows(((1.0, 2.0),))
    assert digest_rows(((1.0,), (2.0,))) != digest_rows(((2.0,), (1.0,)))
    assert re.fullmatch("[0-9a-f]{64}", digest_rows(((1.0,),)))
