"""One report per observation and mechanism, forever, and never more than the cap allows."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import stat
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping import ledger, sealed
from pairgossip.peer.bookkeeping.ledger import Declared, account_of, ledger_beside, reports_of

ROWS = ((1.0,), (2.0,), (2.0,), (3.5,))


class Counted:
    """Draws numbers that never repeat, so that a redrawn report is detected."""

    def __init__(self, start: int = 0) -> None:
        self._next = itertools.count(start)
        self.drawn = 0

    def __call__(self, rows: Sequence[tuple[float, ...]]) -> list[tuple[int, ...]]:
        self.drawn += len(rows)
        return [(next(self._next),) for _ in rows]


def declared(
    draw: Counted, mechanism: str = "first", epsilon: float = 1.0, *columns: str
) -> Declared:
    return Declared(columns or ("income",), mechanism, epsilon, (10**6,), draw)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv.ledger"


def test_the_same_rows_have_the_same_reports(path: Path) -> None:
    draw = Counted()
    first = reports_of(path, ROWS, declared(draw))
    assert first == [(0,), (1,), (2,), (3,)]  # equal rows are different observations
    again = Counted(100)
    assert reports_of(path, ROWS, declared(again)) == first
    assert again.drawn == 0
    assert account_of(path).spent == 1


def test_rows_may_be_reordered_and_added(path: Path) -> None:
    first = reports_of(path, ROWS, declared(Counted()))
    draw = Counted(100)
    more = reports_of(path, ((7.0,), *reversed(ROWS), (2.0,)), declared(draw))
    assert draw.drawn == 2
    assert more[0] == (100,) and more[-1] == (101,)
    assert more[4] == first[0] and more[1] == first[3]
    assert sorted(more[2:4]) == sorted(first[1:3])
    assert reports_of(path, ROWS, declared(Counted(500))) == first


# The budget


def test_another_mechanism_costs_more_and_is_refused_above_the_cap(path: Path) -> None:
    first = reports_of(path, ROWS, declared(Counted()))
    before, draw = path.read_bytes(), Counted(100)
    with pytest.raises(InputError) as told:
        reports_of(path, ROWS, declared(draw, "second", 0.5))
    assert str(told.value) == (
        "These rows have spent 1 of a privacy budget of 1, and reporting them in another way would "
        "make it 1.5: keep to the mechanism used before, which costs nothing more, or allow it "
        "with --budget 1.5."
    )
    assert path.read_bytes() == before and draw.drawn == 0
    second = reports_of(path, ROWS, declared(draw, "second", 0.5), budget=1.5)
    assert second != first and draw.drawn == len(ROWS)
    account = account_of(path)
    assert (account.observations, account.spent, account.cap) == (4, Decimal("1.5"), Decimal("1.5"))
    for mechanism, reports in (("first", first), ("second", second)):  # both are kept
        epsilon = 1.0 if mechanism == "first" else 0.5
        assert reports_of(path, ROWS, declared(Counted(900), mechanism, epsilon)) == reports


def test_tenths_add_up_to_what_people_think(path: Path) -> None:
    for mechanism, epsilon in (("a", 0.1), ("b", 0.2)):
        reports_of(path, ROWS, declared(Counted(), mechanism, epsilon), budget=0.3)
    assert account_of(path).spent == Decimal("0.3")


def test_only_rows_that_would_exceed_the_cap_matter(path: Path) -> None:
    reports_of(path, ROWS[:1], declared(Counted()))
    reports_of(path, ROWS[1:], declared(Counted(), "second"))  # these have not spent anything yet
    assert account_of(path).spent == 1
    with pytest.raises(InputError, match="have spent 1 of a privacy budget of 1"):
        reports_of(path, ROWS, declared(Counted(), "second"))


def test_reports_of_other_columns_count_for_everybody(path: Path) -> None:
    reports_of(path, ROWS, declared(Counted()))
    with pytest.raises(InputError, match=r"have spent 1 of a privacy budget of 1, and .* it 2:"):
        reports_of(path, ((9.0,),), declared(Counted(), "first", 1.0, "wealth"))


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_that_is_none(path: Path, budget: float) -> None:
    with pytest.raises(InputError, match=r"--budget is .*: give a finite number > 0."):
        reports_of(path, ROWS, declared(Counted()), budget)
    assert not path.exists()


def test_a_budget_below_what_is_spent_or_asked_for(path: Path) -> None:
    with pytest.raises(InputError, match=r"--budget is 0.5, below the epsilon of 1 that"):
        reports_of(path, ROWS, declared(Counted()), budget=0.5)
    assert not path.exists()
    reports_of(path, ROWS, declared(Counted()))
    with pytest.raises(InputError, match=r"--budget is 0.5, but 1 is spent already"):
        reports_of(path, ROWS, declared(Counted()), budget=0.5)


def test_a_raised_cap_is_remembered(path: Path) -> None:
    first = reports_of(path, ROWS, declared(Counted()))
    assert reports_of(path, ROWS, declared(Counted(50)), budget=3.0) == first
    reports_of(path, ROWS, declared(Counted(), "second", 2.0))
    assert account_of(path).spent == 3


# The file


def test_a_ledger_is_its_owners_alone_and_holds_no_values(path: Path) -> None:
    reports_of(path, ((1234.5,), (2.0,)), declared(Counted()))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"1234" not in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_ledger_that_others_can_read_is_refused(path: Path) -> None:
    reports_of(path, ROWS, declared(Counted()))
    path.chmod(0o640)
    with pytest.raises(InputError, match=r"Others can read the ledger .*: run chmod 600 "):
        reports_of(path, ROWS, declared(Counted()))


def test_nobody_is_advised_to_open_or_close_what_a_link_leads_to(
    path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "passwords"
    target.write_text("secret")
    target.chmod(0o644)
    path.symlink_to(target)
    with pytest.raises(InputError, match=r"The ledger .* is a link to .*passwords") as refused:
        reports_of(path, ROWS, declared(Counted()))
    assert "chmod" not in str(refused.value)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_two_ledgers_call_the_same_row_differently(tmp_path: Path) -> None:
    names = []
    for name in ("a", "b"):
        reports_of(tmp_path / name, ROWS, declared(Counted()))
        book = ledger._load(tmp_path / name)
        assert book is not None
        names.append(set(book.drawn[0].reports))
    assert not names[0] & names[1]


def test_every_damaged_byte_is_noticed(path: Path) -> None:
    reports_of(path, ROWS[:2], declared(Counted()))
    whole = path.read_bytes()
    for place in range(len(whole)):
        if whole[place : place + 1] == b"\n":
            continue
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        draw = Counted()
        with pytest.raises(InputError) as told:
            reports_of(path, ROWS, declared(draw))
        assert "ledger" in str(told.value) and draw.drawn == 0
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            reports_of(path, ROWS, declared(Counted()))
    path.write_bytes(whole)
    assert reports_of(path, ROWS[:2], declared(Counted(50))) == [(0,), (1,)]


FOREIGN = (
    "is not a privacy ledger, or what is left of one, and is left as it is: put the latest copy"
)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", FOREIGN),
        (b"income\n3\n", FOREIGN),
        (b"{}", FOREIGN),
        (b"\xff\xfe\x00", FOREIGN),
        (b"[" * 100_000, FOREIGN),
        (b'{"format":"other","version":1}\nx\n', FOREIGN),
        (b'{"format":"pairgossip-ledger","version":3}\nx\n', "a newer version of pairgossip"),
        (b'{"format":"pairgossip-ledger","version":1}\nx\n', "is damaged or was edited, and"),
        (b'{"format":"pairgossip-ledger"\n', "is damaged or was edited, and nothing is drawn"),
    ],
)
def test_what_is_no_ledger_is_left_alone(path: Path, content: bytes, sentence: str) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    draw = Counted()
    with pytest.raises(InputError) as told:
        reports_of(path, ROWS, declared(draw))
    assert sentence in str(told.value) and "\n" not in str(told.value)
    assert path.read_bytes() == content and draw.drawn == 0


def test_an_edited_ledger_with_a_new_seal_is_still_checked(path: Path) -> None:
    reports_of(path, ROWS, declared(Counted()))
    book = json.loads(path.read_bytes().splitlines()[0])
    name = next(iter(book["drawn"][0]["reports"]))
    for key, value, sentence in (
        ("reports", {name: [10**6]}, "holds a report that its mechanism cannot give"),
        ("reports", {name: [1, 2]}, "holds a report that its mechanism cannot give"),
        ("reports", {name: [-1]}, "holds a report that its mechanism cannot give"),
        ("epsilon", "one", "holds text where a number must be"),
    ):
        changed = {**book, "drawn": [{**book["drawn"][0], key: value}]}
        body = json.dumps(changed).encode()
        path.write_bytes(body + b"\n" + sealed.seal_of(body) + b"\n")
        draw = Counted()
        with pytest.raises(InputError, match=sentence):
            reports_of(path, ROWS, declared(draw))
        assert draw.drawn == 0


def test_a_ledger_without_a_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no folder .* for the ledger: make it"):
        reports_of(tmp_path / "nowhere" / "l", ROWS, declared(Counted()))
    with pytest.raises(InputError, match=r"Cannot read the ledger .*: Is a directory"):
        reports_of(tmp_path, ROWS, declared(Counted()))


def test_links_lead_to_one_ledger(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    data = tmp_path / "far" / "rows.csv"
    data.touch()
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    assert ledger_beside(link) == ledger_beside(data) == tmp_path / "far" / "rows.csv.ledger"
    assert ledger_beside(data, tmp_path / "other") == tmp_path / "other"


# Two at once


def _draw_many(path: Path, start: int, told: multiprocessing.Queue[list[tuple[int, ...]]]) -> None:
    told.put(reports_of(path, [(float(k),) for k in range(200)], declared(Counted(start))))


def test_processes_at_the_same_time_draw_once(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    started = [context.Process(target=_draw_many, args=(path, 1000 * k, told)) for k in range(4)]
    for process in started:
        process.start()
    found = [told.get(timeout=60) for _ in started]
    for process in started:
        process.join()
    assert all(one == found[0] for one in found)


def test_who_waits_too_long_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_PATIENCE", 0.1)
    with (
        ledger._hold(path),
        pytest.raises(InputError, match=r"Another process is using the ledger .*: wait until"),
    ):
        reports_of(path, ROWS, declared(Counted()))
    assert not path.exists()
