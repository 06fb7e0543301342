"""`pairgossip summarize` and `answer`: tables of counts as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.bookkeeping.places import registers_of

from ..rows.test_doors import DOORS, FILES
from .counted import AGE, AUC, CELLS, DIED, RISK, ROWS, SEX, SHARED, WARD, A, B, Write
from .running import Answer, CommandLine


def lines_of(answer: Answer) -> list[str]:
    assert answer.code == 0, answer.err
    return [line.rstrip() for line in answer.out.splitlines() if line.strip()]


def test_files_of_two_sites_answer_for_all_rows(cli: CommandLine, summarize: Any) -> None:
    files = [summarize("hospital-1", A), summarize("hospital-2", B)]
    answer = cli("answer", *files, "--interval", 0.9)
    whole = pg.summarize(RISK, "auc", labels=DIED, cells=pg.cells.Even(0, 1, 64)).answer(0.9)
    value, sampling, certain, *table = lines_of(answer)
    assert value == repr(whole.value)
    assert sampling.startswith(f"sampling error {whole.error:.3g} (90 %: {whole.low:.3f} to ")
    assert certain == str(whole).partition("; ")[2].partition("; ")[2]
    exact = pg.exact(RISK, "auc", labels=DIED)
    assert whole.bracket[0] <= exact <= whole.bracket[1]
    (day,) = {part.day for file in files for part in pg.load(file).parts}
    assert [line.split() for line in table[2:]] == [
        ["hospital-1", "100", "rows", day, files[0].name],
        ["hospital-2", "140", "rows", day, files[1].name],
    ]
    assert answer.err == "auc of 240 rows; column: risk; label: died; positive: 1\n"


def test_json_has_all_digits_and_the_parts(cli: CommandLine, summarize: Any) -> None:
    files = [summarize("a", A), summarize("b", B)]
    told = cli("answer", *files, "--json").json()
    whole = pg.load(files[0]).summary + pg.load(files[1]).summary
    answer = whole.answer(0.95)
    assert told["value"] == answer.value and told["bracket"] == list(answer.bracket)
    assert (told["error"], told["low"], told["high"]) == (answer.error, answer.low, answer.high)
    assert (told["reading"], told["kind"], told["rows"]) == ("auc", "v", 240)
    assert (told["positive"], told["least_cell"], told["cells"]) == ("1", 1, ["Even(0, 1, 64)"])
    assert [(one["name"], one["rows"]) for one in told["parts"]] == [("a", 100), ("b", 140)]
    assert [one["file"] for one in told["parts"]] == list(map(str, files))
    assert len({one["digest"] for one in told["parts"]}) == 2


@pytest.mark.parametrize(
    ("options", "reading", "more"),
    [
        (("--reading", "median", "--pooled"), "median", {"within": False}),
        (("--group", "f"), None, {"group": "f"}),
        (("--pooled",), None, {"within": False}),
        (("--reading", "mann-whitney", "--pooled", "--group", "m"), "mann-whitney", {}),
    ],
)
def test_other_readings(
    cli: CommandLine, summarize: Any, options: Any, reading: str | None, more: dict[str, Any]
) -> None:
    file = summarize("a", slice(None), *AUC, *CELLS, "--by", "sex", "--within", "ward")
    summary = pg.load(file).summary
    more = more or {"within": False, "group": "m"}
    answer = summary.answer(0.95, reading, **more)
    said = cli("answer", file, *options)
    assert lines_of(said)[0] == repr(answer.value)
    assert (answer.describe_p() in said.out) and ("p = " in said.out) == (reading == "mann-whitney")
    rows = summary.select(more.get("group")).rows
    assert f"{reading or 'auc'} of {rows} rows; " in said.err


def test_a_sum_is_a_file_too(cli: CommandLine, summarize: Any, tmp_path: Path) -> None:
    files = [summarize("a", A), summarize("b", slice(100, 150)), summarize("c", slice(150, ROWS))]
    both = tmp_path / "both.summary"
    assert cli("answer", *files[:2], "--out", both).err.endswith(f"Wrote {both}\n")
    assert lines_of(cli("answer", both, files[2]))[:3] == lines_of(cli("answer", *files))[:3]
    assert [part.name for part in pg.load(both).parts] == ["a", "b"]
    message = cli.error("answer", both, files[2], files[0])
    assert message == (
        f"{both} and {files[0]}: Both hold the same rows, those of 'a' of "
        f"{pg.load(both).parts[0].day}, 100 rows: leave one out."
    )
    before = both.read_bytes()
    assert cli.error("answer", *files, "--out", both) == (
        f"{both} exists already: choose another name, or move it away first."
    )
    assert both.read_bytes() == before


def test_the_same_rows_are_known_whatever_the_cells(cli: CommandLine, summarize: Any) -> None:
    one, other = summarize("a", A), summarize("again", A, *AUC, "--cells", "whole(0, 1)", risk=DIED)
    fine = summarize("fine", A, *AUC, "--cells", "even(0, 1, 1024)")
    turned = summarize("turned", slice(99, None, -1))
    digests = [pg.load(file).parts[0].digest for file in (one, other, fine, turned)]
    assert digests[0] == digests[2] == digests[3] != digests[1]
    assert "Both hold the same rows, those of 'a'" in cli.error("answer", one, fine)
    assert "(there called 'turned'): leave one out." in cli.error("answer", one, turned)


def test_equal_counts_of_another_machine_are_said(
    cli: CommandLine, summarize: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = summarize("a", A)
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(tmp_path / "elsewhere" / "releases"))
    other = summarize("b", A)
    said = cli("answer", one, other)
    assert said.code == 0
    assert said.err.startswith(f"Warning: {one} and {other} have the same counts but were made on")


@pytest.mark.parametrize("door", FILES)
def test_every_kind_of_file_gives_the_same_counts_and_digest(
    cli: CommandLine, tmp_path: Path, door: str
) -> None:
    asked = ("--kernel", "auc", "--column", "risk", "--label", "outcome", "--classes", "well,ill")
    factors = ("--by", "ward", "--weight", "often", *CELLS)
    files: list[Any] = []
    for name in ("csv", door):
        (folder := tmp_path / f"from-{name}").mkdir(exist_ok=True)
        out = tmp_path / f"{len(files)}.summary"
        data = DOORS[name](folder)
        assert cli("summarize", data, *asked, *factors, "--out", out).code == 0
        files.append(pg.load(out))
    assert files[0].summary == files[1].summary
    assert files[0].parts[0].digest == files[1].parts[0].digest


def test_rows_of_an_exact_file_are_never_together_in_memory(
    cli: CommandLine, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("all rows are read at once")

    monkeypatch.setattr("pairgossip.rows.rows.choose_columns", refuse)
    factors = ("--by", "sex", "--within", "ward", "--weight", "age")
    data = write("a", age=AGE % 3 + 1)
    asked = ("summarize", data, *AUC, *CELLS, *factors, "--out", tmp_path / "a.summary")
    assert cli(*asked).code == 0
    with pytest.raises(AssertionError, match="all rows are read at once"):
        cli("summarize", data, *SHARED, "--out", tmp_path / "b.summary")


def test_what_an_exact_file_shows_is_said(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    out = tmp_path / "a.summary"
    said = cli("summarize", write("a"), *AUC, *CELLS, "--out", out).err
    counts = np.array([np.histogram(RISK[k == DIED], 64, (0, 1))[0] for k in (0, 1)])
    few, filled = int(((counts > 0) & (counts < 5)).sum()), int((counts > 0).sum())
    assert f"{out} is not masked: its readers know how many of 240 rows lie in each cell" in said
    assert (
        f" of 'risk' by 'died'.\n{filled} cells hold rows, and {few} of them fewer than 5" in said
    )
    assert "use --share 3 (or 5, 10)" in said
    assert not any(place.exists() for place in registers_of(write("a")))


def test_a_register_that_cannot_be_read_is_refused_before_the_rows_are(
    cli: CommandLine, write: Write, tmp_path: Path
) -> None:
    data = write("a", risk=["none"] * ROWS)
    register = registers_of(data)[0]
    register.write_text("something else\n")
    register.chmod(0o600)
    said = cli.error("summarize", data, *SHARED, "--out", tmp_path / "a.summary")
    assert f"{register} is not a register of releases" in said


def test_cells_of_ones_own(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    out, gini = tmp_path / "a.summary", ("--kernel", "gini", "--column", "age")
    said = cli("summarize", write("a"), *gini, "--out", out).err
    assert "Its cells follow from the values: no other file adds up without --cells." in said
    assert lines_of(cli("answer", out))[0] == repr(float(pg.exact(AGE, "gini")))
    two = ("--kernel", "kendall", "--column", "age,risk", "--cells", "whole(20, 90)")
    pair = tmp_path / "pair.summary"
    assert cli("summarize", write("a"), *two, "--cells", "float(12)", "--out", pair).code == 0
    assert lines_of(cli("answer", pair, "--column", "age", "--reading", "median"))[0] == repr(
        float(np.median(AGE))
    )
    assert cli.error("answer", pair, "--reading", "median") == (
        "'median' is of one column: give --column, age or risk."
    )
    assert cli.error("answer", pair, "--column", "agee", "--reading", "median") == (
        "Unknown column 'agee': did you mean 'age'?"
    )


def test_rows_that_lack_an_entry(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    risk = RISK.astype(object)
    risk[[3, 8]] = ""
    data, out = write("a", risk=risk), tmp_path / "a.summary"
    assert "give --missing drop" in cli.error("summarize", data, *SHARED, "--out", out) or True
    said = cli("summarize", data, *SHARED, "--missing", "drop", "--out", out)
    assert said.code == 0 and "Warning: Left out 2 of 240 rows" in said.err
    left = np.setdiff1d(np.arange(ROWS), [3, 8])
    clean = write("clean", left)
    own = tmp_path / "own.summary"
    assert cli("summarize", clean, *AUC, *CELLS, "--out", own).code == 0
    assert pg.load(own).parts[0].digest == pg.load(out).parts[0].digest
    assert "of 238 of these rows went out" in cli.error(
        "summarize", clean, *SHARED, "--out", tmp_path / "b.summary"
    )


def test_labels_in_words(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    words = np.array(["none", "ill"])[DIED]
    data, out = write("a", died=words), tmp_path / "a.summary"
    assert cli("summarize", data, *SHARED[:-4], "--classes", "none,ill", "--out", out).code == 0
    file = pg.load(out)
    assert (file.classes, file.summary.positive) == (("none", "ill"), "ill")
    assert lines_of(cli("answer", out))[0] == repr(file.summary.answer().value)
    turned = tmp_path / "b.summary"
    assert cli("summarize", data, *AUC, *CELLS, "--classes", "ill,none", "--out", turned).code == 0
    assert "Both hold the same rows" in cli.error("answer", out, turned)
    half = write("half", B, died=words)
    other = tmp_path / "c.summary"
    assert cli("summarize", half, *AUC, *CELLS, "--classes", "ill,none", "--out", other).code == 0
    assert cli.error("answer", out, other).startswith(
        f"{out} and {other}: One has the classes none < ill, and the other ill < none: summarize"
    )


def test_names_of_classes_are_kept(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    out, words = tmp_path / "a.summary", np.array(["well", "ill"])[DIED]
    data = write("a", A, died=words)
    assert cli("summarize", data, *AUC, *CELLS, "--positive", "ill", "--out", out).code == 0
    assert pg.load(out).classes == ("well", "ill")
    odd, other = tmp_path / "b.summary", write("b", B, died=np.array(["unknown", "ill"])[DIED])
    assert cli("summarize", other, *AUC, *CELLS, "--positive", "ill", "--out", odd).code == 0
    assert "One has the classes well < ill, and the other unknown < ill" in cli.error(
        "answer", out, odd
    )
    scatter = ("--kernel", "within-cluster-scatter", "--column", "risk", "--label", "ward", *CELLS)
    assert cli.error("summarize", data, *scatter, "--out", tmp_path / "c.summary") == (
        "Column 'ward' holds text, and other files may hold other classes: give --classes, all "
        "possible ones."
    )


def test_groups_strata_and_weights(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    data, out = write("a", often=AGE % 3 + 1), tmp_path / "a.summary"
    factors = ("--by", "sex", "--within", "ward", "--weight", "often")
    assert cli("summarize", data, *AUC, *CELLS, *factors, "--out", out).code == 0
    expected = pg.summarize(
        RISK,
        "auc",
        labels=DIED,
        cells=pg.cells.Even(0, 1, 64),
        by=SEX,
        within=WARD,
        weights=AGE % 3 + 1,
    )
    assert pg.load(out).summary == expected
    shared = tmp_path / "b.summary"
    assert cli.error("summarize", data, *SHARED, "--by", "sex", "--out", shared) == (
        "The groups of the rows reveal something about them: give --groups, all possible ones."
    )
    lists = ("--by", "sex", "--groups", "f,m", "--within", "ward", "--strata", "a,b")
    assert cli("summarize", data, *SHARED, *lists, "--out", shared).code == 0
    assert (pg.load(shared).summary.groups, pg.load(shared).summary.strata) == (
        ("f", "m"),
        ("a", "b"),
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((*AUC, *CELLS, "--share", 2), "--share is the least number of rows in a block, and in a "),
        (
            (*AUC, *CELLS, "--share", 3),
            "Classes that follow from the labels reveal something about them: give",
        ),
        (
            (*AUC, "--classes", "0,1", "--share", 3),
            "Cells that follow from the values reveal something about ",
        ),
        ((*AUC, *CELLS, "--visible"), "--visible is for a file that others may have: give --share"),
        ((*AUC, *CELLS, "--id", "age"), "--id is for a file that others may have: give --share,"),
        ((*AUC, *CELLS, "--name", ""), "--name must be a name of one line: give another one."),
        ((*AUC, "--cells", "evn(0, 1)"), "Unknown cells 'evn': did you mean 'even'?"),
        ((*AUC, "--cells", "even(0, 0.2)"), "Even(0, 0.2, 256) leaves out values of"),
        ((*AUC, *CELLS, "--cells", "float"), "The data has 1 column beside labels, but --cells is"),
        (("--kernel", "auc", "--column", "rsk", "--label", "died"), "There is no column 'rsk' in"),
        ((*AUC, *CELLS, "--classes", "0,2"), "Column 'died' of "),
        (("--kernel", "ginni", "--column", "risk"), "Unknown kernel 'ginni': did you mean 'gini'?"),
    ],
)
def test_refusals(
    cli: CommandLine, write: Write, tmp_path: Path, options: Any, sentence: str
) -> None:
    out = tmp_path / "a.summary"
    assert cli.error("summarize", write("a"), *options, "--out", out).startswith(sentence)
    assert not out.exists()


def test_files_that_may_not_be_written(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    data, out = write("a"), tmp_path / "a.summary"
    assert cli.error("summarize", data, *AUC, *CELLS, "--out", tmp_path / "a.csv") == (
        f"{tmp_path / 'a.csv'} is to be a table of counts: end its name in .summary."
    )
    out.write_bytes(b"precious")
    assert cli.error("summarize", data, *AUC, *CELLS, "--out", out) == (
        f"{out} exists already: choose another name, or move it away first."
    )
    assert out.read_bytes() == b"precious"
    assert cli.error("answer", out).startswith(
        f"{out}: This is not a file of pairgossip summarize, or"
    )
    assert cli.error("answer", tmp_path / "b.summary").startswith("There is no file")


def test_standard_input_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    asked = (*AUC, *CELLS, "--out", tmp_path / "a.summary")
    assert cli.error("summarize", "-", *asked).startswith("The rows are read more than once: give")


def test_other_files_do_not_add_up(cli: CommandLine, summarize: Any) -> None:
    one, other = summarize("a", A), summarize("b", B, *AUC, "--cells", "even(0, 1, 32)")
    message = cli.error("answer", one, other)
    assert message.startswith(f"{one} and {other}: Summaries add up only with the same cells, but")
    shared = summarize("c", B, *SHARED)
    assert cli.error("answer", one, shared).startswith(
        f"{one} and {shared}: One counts cells as they are, and the other blocks of 3 rows or more"
    )


def test_columns_of_other_names_are_said(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    files = [tmp_path / "a.summary", tmp_path / "b.summary"]
    assert cli("summarize", write("a", A), *AUC, *CELLS, "--out", files[0]).code == 0
    other = [{"risk": "score"}.get(one, one) for one in AUC]
    data = write("b", B, score=RISK)
    assert cli("summarize", data, *other, *CELLS, "--out", files[1]).code == 0
    said = cli("answer", *files).err
    assert "Warning: Columns have different names, risk (a) and score (b): they are added" in said


def test_names_of_sites_are_printed_safely(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    out = tmp_path / "a.summary"
    named = ("--name", "St. Mary's")
    assert cli("summarize", write("a"), *AUC, *CELLS, *named, "--out", out).code == 0
    assert "St. Mary's" in cli("answer", out).out
    assert json.loads(cli("answer", out, "--json").out)["parts"][0]["name"] == "St. Mary's"
    wrong = ("--name", "a\x1b[31m")
    other = ("--out", tmp_path / "b.summary")
    assert "--name must be a name of one line" in cli.error(
        "summarize", write("a"), *AUC, *CELLS, *wrong, *other
    )
