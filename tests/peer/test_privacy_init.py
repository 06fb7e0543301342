"""`peer init` under privacy: one report per row forever, and the rows themselves nowhere."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pairgossip.cli import main
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.ledger import account_of
from pairgossip.peer.protocol.state import State
from pairgossip.peer.specification.spec import parse_spec, read_spec
from pairgossip.peer.storage.accounting import accounts
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import request_growth
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.rows import contributed_rows, read_copy
from tests.peer import crashing_init
from tests.peer.homes import GINI

ROOT = Path(__file__).parents[2]
PRIVATE = GINI + "[privacy]\nepsilon = 1\nbins = 200\n"
"""A specification with enough bins that two draws are hardly ever equal."""
RAW = [41.738291, 87.190273, 41.738291, 13.579246, 66.420917, 5.5129083]


def written(folder: Path, spec: str = PRIVATE, rows: list[float] = RAW) -> tuple[Path, Path]:
    (folder / "spec.toml").write_text(spec)
    (folder / "rows.csv").write_text("income\n" + "".join(f"{value!r}\n" for value in rows))
    return folder / "spec.toml", folder / "rows.csv"


def made(folder: Path, name: str = "ann", **more: Any) -> Home:
    return create_home(
        folder / name,
        name,
        folder / "spec.toml",
        folder / "rows.csv",
        **more,
    )


def traces(value: float) -> list[bytes]:
    """Return a value as text, and as its eight bytes in either order."""
    return [repr(value).encode()[:7], struct.pack("<d", value), struct.pack(">d", value)]


def test_the_folder_holds_reports_and_no_rows(tmp_path: Path) -> None:
    written(tmp_path)
    home = made(tmp_path)
    rows = home.read_rows()
    assert len(rows) == len(RAW)
    assert all(entry == int(entry) and 0 <= entry < 200 for (entry,) in rows)
    assert home.data.read_text().splitlines()[0] == "report of income"
    journal = SqliteJournal(home.state, create=False)
    state = journal.load()
    journal.close()
    assert isinstance(state, State)
    assert [node.record.value for node in state.nodes] == list(rows)
    ledger = tmp_path / "rows.csv.ledger"
    for file in (ledger, *home.folder.iterdir()):
        content = file.read_bytes()
        for value in RAW:
            assert not any(trace in content for trace in traces(value)), file
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600


def test_reports_are_drawn_once_whatever_becomes_of_the_folder(tmp_path: Path) -> None:
    written(tmp_path)
    first = made(tmp_path).read_rows()
    assert made(tmp_path, "bob").read_rows() == first
    shutil.rmtree(tmp_path / "ann")
    assert made(tmp_path).read_rows() == first
    other = tmp_path / "elsewhere"  # a restored backup: the data file and its ledger
    other.mkdir()
    for name in ("spec.toml", "rows.csv", "rows.csv.ledger"):
        shutil.copy2(tmp_path / name, other)
    assert made(other).read_rows() == first


def test_classes_in_another_order_are_the_same_observations(tmp_path: Path) -> None:
    words = """
    algorithm.name = "exchange"
    kernel = "auc"
    columns = ["score"]
    label = "ill"
    classes = ["no", "yes"]
    [ranges]
    score = [0, 1]
    [privacy]
    epsilon = 1.0
    bins = 2
    """
    (tmp_path / "spec.toml").write_text(words)
    (tmp_path / "rows.csv").write_text("score,ill\n0.2,no\n0.7,yes\n0.9,yes\n")
    first = made(tmp_path).read_rows()
    assert {entry for _, entry in first} <= {0.0, 1.0}
    assert made(tmp_path, "bob").read_rows() == first
    (tmp_path / "spec.toml").write_text(words.replace('"no", "yes"', '"yes", "no"'))
    with pytest.raises(InputError, match="budget"):
        made(tmp_path, "cid")
    made(tmp_path, "cid", budget=2.0)
    assert account_of(tmp_path / "rows.csv.ledger").spent == 2


def test_classes_that_are_numbers_are_the_same_observations_in_words(tmp_path: Path) -> None:
    """Otherwise each kind of specification would have a separate budget for the same rows."""
    numbers = """
    algorithm.name = "exchange"
    kernel = "auc"
    columns = ["score"]
    label = "ill"
    [ranges]
    score = [0, 1]
    ill = [0, 1]
    [privacy]
    epsilon = 1.0
    bins = 2
    classes = [0, 1]
    """
    words = numbers.replace("ill = [0, 1]", "").replace("classes = [0, 1]", "")
    words = words.replace("[ranges]", 'classes = ["1", "0"]\n[ranges]')
    (tmp_path / "rows.csv").write_text("score,ill\n0.2,0\n0.7,1\n0.9,1\n")
    for text, name in ((numbers, "ann"), (words, "bob")):
        (tmp_path / "spec.toml").write_text(text)
        made(tmp_path, name, budget=2.0)
    account = account_of(tmp_path / "rows.csv.ledger")
    assert account.observations == 3 and account.spent == 2


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    opened = os.open

    def refuse(path: Path, flags: int, *more: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(
        InputError, match=r"Cannot write .*rows.csv.ledger: Read-only file system. Give --ledger"
    ):
        contributed_rows(tmp_path / "rows.csv", parse_spec(PRIVATE))


def test_nothing_is_drawn_for_a_peer_that_cannot_be_made(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "ann").mkdir()
    for place in (tmp_path / "ann", tmp_path / "nowhere" / "ann"):
        with pytest.raises(InputError):
            create_home(place, "ann", tmp_path / "spec.toml", tmp_path / "rows.csv")
    written(tmp_path, rows=[1.0, 101.0])
    with pytest.raises(InputError, match="has 1 value outside the agreed range"):
        made(tmp_path, "bob")
    assert not (tmp_path / "rows.csv.ledger").exists()


@pytest.mark.parametrize("option", ["ledger", "budget"])
def test_options_of_privacy_need_privacy(tmp_path: Path, option: str) -> None:
    written(tmp_path, GINI)
    given: dict[str, Any] = {option: {"ledger": tmp_path / "l", "budget": 2.0}[option]}
    with pytest.raises(InputError, match=f"--{option} is for a specification with a table"):
        made(tmp_path, **given)


def test_a_copy_that_was_changed_is_noticed(tmp_path: Path) -> None:
    written(tmp_path)
    home = made(tmp_path)
    for text in ("1.5", "-1", "200"):
        home.data.write_text(f"report of income\n{text}\n")
        with pytest.raises(InputError, match="holds numbers that are not reports of this run"):
            home.read_rows()
    home.data.write_text("income\n5\n")
    with pytest.raises(InputError, match="There is no column 'report of income'"):
        home.read_rows()


def test_the_command_line_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    words = shlex.split("peer init --yes --name ann --data rows.csv --spec spec.toml --budget 1.5")
    assert main(words) == 0
    capsys.readouterr()
    assert main(["peer", "status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["privacy"].startswith("Each observation is reported once, by 200-ary randomized")
    (budget,) = told["privacy_budgets"].values()
    assert budget == {"spent": "1", "cap": "1.5"}
    assert main(["peer", "status"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "epsilon = 1" in shown and "privacy error unknown yet (reports instead" in shown
    (tmp_path / "rows.csv.ledger").unlink()
    assert main(["peer", "status"]) == 0
    assert "There is no ledger" in " ".join(capsys.readouterr().out.split())


def test_simulations_of_the_specification_say_that_their_reports_are_not_real(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, rows = written(tmp_path)
    assert main(["estimate", str(rows), "--spec", str(spec), "--graph", "complete"]) == 0
    told = " ".join(" ".join(capsys.readouterr()).split())
    assert "Each observation is reported once" in told
    assert "Here reports are simulated" in told
    assert not (tmp_path / "rows.csv.ledger").exists()


# Crashes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes as on Unix")


def program(what: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", crashing_init.__name__, what, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_a_crash_anywhere_never_makes_two_reports_of_a_row(tmp_path: Path) -> None:
    written(tmp_path)
    told = [json.loads(line) for line in program("sweep", tmp_path)]
    assert len(told) > 40
    for one in told:
        assert one["again"] is not None and len(one["again"]) == len(RAW)
        if one["ledger"] is not None:
            assert one["ledger again"] == one["ledger"]
        if one["folder"] is not None:
            assert one["ledger"] is not None and one["again"] == one["folder"]
        left = [name for name in one["left"] if not name.startswith(".peer.")]
        assert left in (
            ["peer", "rows.csv", "rows.csv.ledger", "spec.toml"],
            ["lost", "peer", "rows.csv", "rows.csv.ledger", "spec.toml"],
        )
    kinds = {(one["ledger"] is None, one["folder"] is None) for one in told}
    assert kinds == {(True, True), (False, True), (False, False)}  # all stages occurred
    drawn = {tuple(one["again"]) for one in told}
    assert len(drawn) == len(told)  # attempts are independent


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells names of open files")
def test_a_loss_of_power_undoes_nothing_that_was_used(tmp_path: Path) -> None:
    """The ledger, its name and its folder are on the disk before any trace of a peer."""
    written(tmp_path)
    (line,) = program("trace", tmp_path)
    calls = json.loads(line)
    ledger, draft = tmp_path / "rows.csv.ledger", tmp_path / ".rows.csv.ledger.new"
    order = [
        calls.index(f"fsync {draft}"),
        calls.index(f"replace {draft} {ledger}"),
        calls.index(f"fsync {tmp_path}"),
        next(k for k, call in enumerate(calls) if "/.peer." in call),
        next(k for k, call in enumerate(calls) if call.startswith("rename ")),
    ]
    assert order == sorted(order)
    shutil.rmtree(tmp_path / "peer")
    (line,) = program("trace", tmp_path)  # a ledger that was already there is synced too
    calls = json.loads(line)
    assert calls.index(f"fsync {ledger}") < next(
        k for k, call in enumerate(calls) if "/.peer." in call
    )
    assert not any(call.startswith("replace") and str(ledger) in call for call in calls)


def test_rows_that_are_added_are_reported_once_too(tmp_path: Path) -> None:
    written(tmp_path)
    home = made(tmp_path)
    first = home.read_rows()
    more = tmp_path / "more.csv"
    more.write_text("income\n29.618273\n41.738291\n")
    asked = request_growth(home, more)
    assert (asked.added, asked.rows) == (2, len(RAW) + 2)
    assert not any(trace in asked.file.read_bytes() for trace in traces(29.618273))
    added = read_copy(asked.file, home.read_spec())
    assert added[: len(RAW)] == first
    assert len(accounts(home)) == 2 and (tmp_path / "more.csv.ledger").exists()
    asked.file.unlink()  # as if it were lost: the same rows are not reported again
    request_growth(home, more)
    assert read_copy(asked.file, home.read_spec()) == added


# What would report a row again, or reveal it


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("income;age\n12;1\n41,738291;2\n", "line 3, is not a number"),
        ("income\n41.738291 EUR\n", "line 2, is not a number"),
        ("41.738291 EUR\n12\n", "There is no column 'income' in "),
    ],
)
def test_a_sentence_about_rows_does_not_quote_them(tmp_path: Path, text: str, place: str) -> None:
    _, rows = written(tmp_path)
    rows.write_text(text)
    with pytest.raises(InputError) as caught:
        made(tmp_path)
    assert place in str(caught.value)
    assert "41" not in str(caught.value).replace(str(rows), "")


def test_a_ledger_that_is_a_link_stays_one(tmp_path: Path) -> None:
    _, rows = written(tmp_path)
    made(tmp_path)
    (tmp_path / "safe").mkdir()
    safe = (tmp_path / "rows.csv.ledger").rename(tmp_path / "safe" / "kept")
    (tmp_path / "rows.csv.ledger").symlink_to(safe)
    rows.write_text(rows.read_text() + "55.0\n")
    assert list(accounts(made(tmp_path, "bob"))) == [str(safe)]
    assert (tmp_path / "rows.csv.ledger").is_symlink()
    more = made(tmp_path, "cid", ledger=safe)
    assert more.read_rows() == Home(tmp_path / "bob").read_rows()


def test_another_ledger_than_the_one_beside_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    made(tmp_path)
    with pytest.raises(InputError, match=r"rows.csv.ledger is the ledger of .*: leave --ledger"):
        made(tmp_path, "bob", ledger=tmp_path / "other")
    assert not (tmp_path / "other").exists() and not (tmp_path / "bob").exists()
    assert made(tmp_path, "bob", ledger=tmp_path / "rows.csv.ledger").read_rows()


def test_a_renamed_file_is_not_reported_anew(tmp_path: Path) -> None:
    _, rows = written(tmp_path)
    first = made(tmp_path).read_rows()
    spec = read_spec(tmp_path / "spec.toml")
    renamed = rows.rename(tmp_path / "renamed.csv")
    with pytest.raises(InputError, match=rf"rows.csv.ledger, which knows {len(RAW)} of these "):
        contributed_rows(renamed, spec)
    assert not (tmp_path / "renamed.csv.ledger").exists()
    assert contributed_rows(renamed, spec, tmp_path / "rows.csv.ledger").rows == first
    renamed.write_text(renamed.read_text() + "55.0\n")
    with pytest.raises(InputError, match=rf"knows {len(RAW)} of these {len(RAW) + 1} rows"):
        contributed_rows(renamed, spec)
    assert not (tmp_path / "renamed.csv.ledger").exists()
    with_one_more = contributed_rows(renamed, spec, tmp_path / "rows.csv.ledger")
    assert with_one_more.rows[: len(first)] == first
    renamed.write_text("income\n" + "".join(f"{k + 0.25}\n" for k in range(50)))
    assert len(contributed_rows(renamed, spec)) == 50  # other rows are another file


def test_a_forgotten_ledger_option_is_noticed(tmp_path: Path) -> None:
    written(tmp_path)
    made(tmp_path, ledger=tmp_path / "kept.ledger")
    with pytest.raises(InputError, match=r"kept.ledger, which knows .* of these .* rows"):
        made(tmp_path, "bob")
    made(tmp_path, "bob", ledger=tmp_path / "rows.csv.ledger")  # as the message says


def test_rows_are_not_added_by_a_ledger_that_is_gone(tmp_path: Path) -> None:
    _, rows = written(tmp_path)
    home = made(tmp_path)
    (tmp_path / "rows.csv.ledger").unlink()
    with pytest.raises(InputError, match=r"There is no ledger .*rows.csv.ledger any more"):
        request_growth(home, rows)
    assert not (tmp_path / "rows.csv.ledger").exists()


def test_standard_input_has_no_place_for_a_ledger(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(InputError, match="Data from standard input has no place for its ledger"):
        contributed_rows("-", parse_spec(PRIVATE))
