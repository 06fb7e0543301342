"""Releases of real peers: prepared when they are made, told before the first card, and refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping import overlaps, row_names
from pairgossip.peer.bookkeeping.entries import Entries
from pairgossip.peer.bookkeeping.registers import Outcome, hold_registers
from pairgossip.peer.bookkeeping.row_names import NamedColumn
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.storage.folder import Home, OperatorSettings
from pairgossip.peer.storage.growth import request_growth
from pairgossip.peer.storage.home import create_home, make_folder
from pairgossip.peer.storage.kept_releases import (
    ReleaseOptions,
    noted_registers,
    settle_release,
    tell_releases,
)
from tests.cli.running import CommandLine
from tests.peer.homes import introduce

AUC = """
kernel = "auc"
columns = ["risk"]
label = "died"
[ranges]
risk = [-9, 9]
died = [0, 1]
"""
GINI = 'kernel = "gini"\ncolumns = ["risk"]\n[ranges]\nrisk = [-9, 9]\n'
DIFFERENCE = AUC.replace('"auc"', '"auc-difference"').replace('["risk"]', '["risk", "logit"]')
DIFFERENCE += "logit = [-9, 9]\n"
EXCHANGE = 'algorithm.name = "exchange"\n' + AUC
NOISY = AUC + "[privacy]\nepsilon = 1.0\n"
RNG = np.random.default_rng(4)
RISK, DIED = RNG.random(60), np.arange(60.0) % 2
VISIBLE = ReleaseOptions(is_visible=True)


def write(file: Path, risk: FloatArray = RISK, ids: str = "P") -> Path:
    rows = zip(risk.tolist(), np.log(risk / (1 - risk)).tolist(), DIED, strict=False)
    lines = [f"{ids}{k},{','.join(map(repr, map(float, row)))}" for k, row in enumerate(rows)]
    file.write_text("\n".join(["patient,risk,logit,died", *lines, ""]))
    return file


def make(
    folder: Path, name: str, data: Path, text: str = AUC, release: ReleaseOptions | None = None
) -> Home:
    (folder / f"{name}.toml").write_text(text)
    return create_home(folder / name, name, folder / f"{name}.toml", data, release=release)


def outcomes(home: Home) -> list[list[Outcome]]:
    with hold_registers(noted_registers(home)) as registers:
        return [[old.outcome for old in one.releases] for one in registers.values()]


def test_a_peer_that_was_only_made_has_released_nothing(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv")
    first, _ = make(tmp_path, "first", data), make(tmp_path, "second", data, GINI)
    assert outcomes(first) == [["prepared"] * 2] * 2
    assert noted_registers(first)[0] == data.resolve().with_name("a.csv.releases")


@pytest.mark.parametrize("text", [AUC, GINI, AUC + "[algorithm]\nbins = 32\n"])
def test_what_was_told_is_not_released_again(tmp_path: Path, text: str) -> None:
    first = make(tmp_path, "first", write(tmp_path / "a.csv"))
    tell_releases(first)
    (tmp_path / "other").mkdir()
    copy = write(tmp_path / "other" / "b.csv", RISK[5:])
    with pytest.raises(InputError) as refused:
        make(tmp_path, "again", copy, text)
    kept, study = (tmp_path / "first" / "tables").resolve(), first.read_spec().hash[:12]
    assert "Column 'risk' of 55 of these rows went out on 2" in str(refused.value)
    assert f"to study {study} as a table" in str(refused.value)
    assert f"read the kept table {kept} (peer result --reading), or give" in str(refused.value)
    assert not (tmp_path / "again").exists()
    assert not copy.with_name("b.csv.releases").exists()
    make(tmp_path, "again", copy, text, VISIBLE)
    make(tmp_path, "others", write(tmp_path / "c.csv", RNG.random(60)), text)


def test_noise_pays_by_its_ledger_and_does_not_mix_with_counts(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv")
    tell_releases(make(tmp_path, "first", data, NOISY))
    with pytest.raises(InputError, match="noise bounds nothing beside exact counts"):
        make(tmp_path, "second", data, AUC, VISIBLE)
    make(tmp_path, "third", data, NOISY)


def test_ids_find_rows_that_were_computed_anew(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(AUC)

    def make_with_id(name: str, data: Path) -> Home:
        return create_home(tmp_path / name, name, tmp_path / "r.toml", data, row_id="patient")

    tell_releases(make_with_id("first", write(tmp_path / "a.csv")))
    again = write(tmp_path / "b.csv", np.sqrt(RISK))
    with pytest.raises(InputError, match="Column 'risk' of 60 of these rows went out"):
        make_with_id("again", again)
    make(tmp_path, "by-values", again)
    make_with_id("others", write(tmp_path / "c.csv", np.sqrt(RISK), "Q"))
    with pytest.raises(InputError, match="no column 'person'"):
        create_home(tmp_path / "x", "x", tmp_path / "r.toml", again, row_id="person")


def test_functions_of_one_another_are_two_tables_of_one_column(tmp_path: Path) -> None:
    data, spec = write(tmp_path / "a.csv"), tmp_path / "d.toml"
    spec.write_text(DIFFERENCE)
    with pytest.raises(
        InputError,
        match=r"correlation of 1\.000.* with --same risk,logit \(same in peer\.toml\)\.$",
    ):
        create_home(tmp_path / "a", "a", spec, data)
    for wrong in (("risk",), ("risk", "risk"), ("age", "years")):
        with pytest.raises(InputError, match=r"must name two columns or more.*\(risk, logit, died"):
            create_home(tmp_path / "a", "a", spec, data, same=(wrong,))
    create_home(tmp_path / "a", "a", spec, data, same=(("risk", "logit"),))
    spec.write_text(DIFFERENCE.replace("auc-difference", "kendall").replace('label = "died"', ""))
    spec.write_text(spec.read_text().replace("died = [0, 1]", ""))
    create_home(tmp_path / "b", "b", spec, data)  # one table of both


def test_added_rows_are_a_release_of_their_own(tmp_path: Path) -> None:
    home = make(tmp_path, "first", write(tmp_path / "a.csv"))
    tell_releases(home)
    old = write(tmp_path / "more.csv", np.append(RISK[:10], RNG.random(10)))
    with pytest.raises(InputError, match="Column 'risk' of 10 of these rows went out"):
        request_growth(home, old)
    assert not home.next_sources.exists()
    new, said = write(tmp_path / "new.csv", RNG.random(20)), list[str]()
    request_growth(home, new, confirm=said.extend)
    assert said[-1].startswith(f"{new.resolve()}.releases notes what is released of these rows")
    assert outcomes(home)[-1] == ["prepared"] and noted_registers(home)[2] == Path(
        f"{new.resolve()}.releases"
    )
    settle_release(home, "table")  # of the first rows: nothing was told of the others
    with hold_registers(noted_registers(home)) as registers:
        (users,) = [one for one in registers.values() if len(one.releases) == 2]
    assert [old.outcome for old in users.releases] == ["prepared", "table"]
    tell_releases(home)
    with pytest.raises(InputError, match="Column 'risk' of 20 of these rows went out"):
        make(tmp_path, "again", new)


def test_rows_that_a_peer_has_are_not_added_again(tmp_path: Path) -> None:
    home = make(tmp_path, "first", write(tmp_path / "a.csv"))
    again = write(tmp_path / "more.csv", np.append(RISK[:10], RNG.random(10)))
    with pytest.raises(
        InputError,
        match=r"of 10 of these rows will be told by this peer already, .*: leave them out",
    ):
        request_growth(home, again)
    new = RNG.random(20)
    request_growth(home, write(tmp_path / "new.csv", new))
    with pytest.raises(InputError, match="of 19 of these rows will be told by this peer already"):
        request_growth(home, write(tmp_path / "newer.csv", new[1:]))
    tell_releases(home)  # and its two tables do not refuse each other


def test_what_was_killed_before_it_was_done_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make(tmp_path, "first", write(tmp_path / "a.csv"))
    new = write(tmp_path / "new.csv", RNG.random(20))
    with monkeypatch.context() as patch:

        def end(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr("pairgossip.peer.storage.growth.rename", end)
        with pytest.raises(KeyboardInterrupt):
            request_growth(home, new)
    assert not home.next_sources.exists()
    tell_releases(home)  # the rows that were not added are not told
    assert outcomes(home)[-1] == ["prepared"]
    request_growth(home, new)
    assert len(noted_registers(home)) == 4
    tell_releases(home)
    with pytest.raises(InputError, match="Column 'risk' of 20 of these rows went out"):
        request_growth(home, new.rename(tmp_path / "renamed.csv"))


def test_rows_are_read_and_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    usual = row_names.name_column

    def noting(secret: bytes, values: Entries) -> NamedColumn:
        calls.append(len(values))
        return usual(secret, values)

    monkeypatch.setattr(overlaps, "name_column", noting)
    make(tmp_path, "first", write(tmp_path / "a.csv"))
    make(tmp_path, "second", tmp_path / "a.csv")
    assert calls == [60] * 4  # risk and died, of each


def test_combinations_that_are_not_filled_are_named_before_anything_is_made(tmp_path: Path) -> None:
    data, spec, said = tmp_path / "a.csv", tmp_path / "g.toml", list[str]()
    sexes = ["f", "m"] * 30
    rows = zip(RISK.tolist(), np.arange(60) < 32, sexes, strict=True)
    lines = [f"{risk!r},{died:d},{sex}" for risk, died, sex in rows]
    lines[1:31:2] = [line.replace(",m", ",f") for line in lines[1:31:2]]  # one man has died
    data.write_text("\n".join(["risk,died,sex", *lines, ""]))
    spec.write_text('by = "sex"\ngroups = ["f", "m"]\n' + AUC)
    settings = OperatorSettings("g")
    make_folder(tmp_path / "g", settings, spec, data, confirm=said.extend)
    assert (
        "This site has fewer than 3 rows of died 1, sex m (1): it would tell all members that it "
        "does not fill every one and contribute zeros, and its rows would count as released."
    ) in said
    assert "a member without 3 rows of every combination of died and sex counts none." in said[2]
    more = tmp_path / "more.csv"
    some = [f"{risk!r},{k % 2},f" for k, risk in enumerate(RNG.random(20).tolist())]
    more.write_text("\n".join(["risk,died,sex", *some, ""]))
    said.clear()
    request_growth(Home(tmp_path / "g"), more, confirm=said.extend)
    assert said[0].startswith("This batch has fewer than 3 rows of died 0, sex m (0) and died 1")


def test_totals_of_another_column_are_compared_by_the_agreed_number(tmp_path: Path) -> None:
    values = RNG.random((2, 60))

    def write_both(name: str, rows: int) -> Path:
        lines = [f"P{k},{a!r},{b!r},{k % 2}" for k, (a, b) in enumerate(values.T.tolist())]
        (tmp_path / name).write_text("\n".join(["patient,risk,crp,died", *lines[:rows], ""]))
        return tmp_path / name

    tell_releases(make(tmp_path, "first", write_both("a.csv", 60)))
    other = AUC.replace("risk", "crp")
    with pytest.raises(InputError, match=r"^Other columns of 58 of these rows went out on .* few"):
        make(tmp_path, "second", write_both("b.csv", 58), other)
    make(tmp_path, "third", write_both("c.csv", 54), other)
    one = "[algorithm]\nleast_cell = 1\n"
    with pytest.raises(InputError, match=r"^Other columns"):  # three rows of each in the first
        make(tmp_path, "fourth", write_both("d.csv", 58), other + one)


def test_other_kinds_of_runs_say_what_went_out_before(tmp_path: Path) -> None:
    data, said = write(tmp_path / "a.csv"), list[str]()
    tell_releases(make(tmp_path, "first", data))
    (tmp_path / "e.toml").write_text(EXCHANGE)
    settings = OperatorSettings("e")
    make_folder(tmp_path / "e", settings, tmp_path / "e.toml", data, confirm=said.extend)
    assert said[-1].startswith("Column 'risk' of 60 of these rows went out on ")
    assert said[-1].endswith(": what this run tells comes on top of it.")
    (tmp_path / "l.toml").write_text(EXCHANGE.replace("risk", "logit"))
    fewer, told = write(tmp_path / "b.csv", RISK[:-1]), list[str]()
    make_folder(tmp_path / "l", settings, tmp_path / "l.toml", fewer, confirm=told.extend)
    assert not any("totals of the two tables" in one for one in told)


def test_the_same_text_over_another_list_is_another_study(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv")
    first, second, third = (make(tmp_path, name, data) for name in ("first", "second", "third"))
    introduce(second, first)
    tell_releases(first)
    tell_releases(second)  # the two are members of one study
    with pytest.raises(InputError, match="others can subtract"):
        tell_releases(third)


def first_card(home: Home) -> tuple[Rounds, bool]:
    """Start a peer's rounds; return them, and whether they have told a card."""
    parts = assemble(home)
    try:
        assert isinstance(parts.saved, SumsState)
        rounds = Rounds(parts.context, parts.saved)
        rounds.start()
        return rounds, (0, parts.context.me) in rounds.state.contributions
    finally:
        parts.close()


@pytest.fixture
def members(tmp_path: Path) -> list[Home]:
    """Members that know each other, each with rows of its own."""
    homes = [
        make(tmp_path, f"m{k}", write(tmp_path / f"m{k}.csv", RNG.random(60)), AUC)
        for k in range(5)
    ]
    for home in homes:
        for other in homes:
            if other is not home:
                introduce(home, other)
    return homes


def test_a_release_is_noted_before_the_first_card(
    members: list[Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, has_card = first_card(members[0])
    assert has_card and outcomes(members[0])[0] == ["bit"]
    _, has_card = first_card(members[0])  # and after a restart
    assert has_card and outcomes(members[0])[0] == ["bit"]
    for place in noted_registers(members[1]):
        place.unlink(missing_ok=True)
    rounds, has_card = first_card(members[1])
    assert not has_card
    assert "The register of releases that knows this peer's rows is not there" in (
        rounds.refusal() or ""
    )
    members[2].releases.unlink()
    rounds, has_card = first_card(members[2])
    assert not has_card and "put it back" in (rounds.refusal() or "")


def test_of_two_studies_that_were_made_one_is_told(members: list[Home], tmp_path: Path) -> None:
    second = make(tmp_path, "second", tmp_path / "m0.csv", GINI)
    tell_releases(second)
    rounds, has_card = first_card(members[0])
    assert not has_card
    refusal = rounds.refusal() or ""
    assert "Column 'risk' of 60 of these rows went out on " in refusal
    assert "read the kept table" in refusal
    assert refusal.endswith("or make this peer again with peer init --visible.")


def test_one_register_out_of_reach_is_no_reason_to_stop(members: list[Home]) -> None:
    beside = noted_registers(members[0])[0]
    copy = beside.read_bytes()
    beside.unlink()
    _, has_card = first_card(members[0])
    assert has_card and not beside.exists()
    beside.write_bytes(copy)
    beside.chmod(0o600)
    assert outcomes(members[0])[0] == ["prepared"]
    first_card(members[0])  # a restart is enough for others who use the same data to see it
    assert outcomes(members[0])[0] == ["bit"]
    settle_release(members[0], "no table")
    beside.write_bytes(copy)
    settle_release(members[0], "table")  # of rows that waited
    assert outcomes(members[0])[0] == ["table"]


def test_the_commands_say_what_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(capsys)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv")
    (tmp_path / "auc.toml").write_text(AUC)
    (tmp_path / "exchange.toml").write_text(EXCHANGE)
    given = ("peer", "init", "--data", "a.csv", "--yes")
    auc = (*given, "--spec", "auc.toml", "--name")
    said = cli(*auc, "one", "--register", "kept/r").err
    assert (
        f"{tmp_path.resolve()}/kept/r notes what is released of these rows, and knows them by "
        in said
    )
    assert "their lines and values: a later file of the same people may not be recognized." in said
    home = Home(tmp_path / "one")
    tell_releases(home)
    unit = cli("peer", "unit", "--home", "one").out
    assert str(tmp_path.resolve() / "kept") in unit and str(noted_registers(home)[1].parent) in unit
    refused = cli.error(*auc, "two", "--register", "kept/r")
    assert "or give --visible." in refused
    said = cli(*auc, "two", "--register", "kept/r", "--visible", "--id", "patient").err
    assert "as a table, unless only the first bit of it was told: members of both studies " in said
    assert "and knows them by 'patient'." in said
    assert Home(tmp_path / "two").read_settings().row_id == "patient"
    shutil.copy(tmp_path / "a.csv", tmp_path / "b.csv")
    assert "others can subtract" in cli.error("peer", "add", "one", "--data", "b.csv")
    write(tmp_path / "c.csv", RNG.random(60))
    said = cli("peer", "add", "one", "--data", "c.csv").err
    assert "few large batches leave less open than many small ones" in said
    cli(*given, "--spec", "exchange.toml", "--name", "rows")
    said = cli("peer", "add", "rows", "--data", "b.csv").err
    assert "what this run tells comes on top" in said and "few large batches" not in said
    for option in (("--visible",), ("--register", "r"), ("--id", "patient"), ("--same", "a,b")):
        refused = cli.error(*given, "--spec", "exchange.toml", "--name", "x", *option)
        assert refused == (
            f"{option[0]} is for tables of counts, and this specification has none: leave it out."
        )


def test_a_text_that_counts_fewer_rows_than_a_site_allows_is_refused(
    tmp_path: Path, members: list[Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, spec = write(tmp_path / "a.csv", RNG.random(60)), tmp_path / "r.toml"
    sentence = r"algorithm.least_cell is 3, and this site asks for 5 or more: agree on that, or .*"
    spec.write_text(AUC)
    with pytest.raises(InputError, match=f"^{sentence}$"):
        create_home(tmp_path / "x", "x", spec, data, least_cell=5)
    monkeypatch.setenv("PAIRGOSSIP_LEAST_CELL", "5")
    with pytest.raises(InputError, match=f"^{sentence}$"):
        create_home(tmp_path / "x", "x", spec, data)
    with pytest.raises(InputError, match=f"^{sentence}$"):
        assemble(members[0])
    assert not data.with_name("a.csv.releases").exists()
    spec.write_text(f"{AUC}[algorithm]\nleast_cell = 5\n")
    create_home(tmp_path / "five", "five", spec, data)
    for text in (NOISY, EXCHANGE):  # which have another rule, or none
        spec.write_text(text)
        create_home(tmp_path / f"x{len(text)}", "x", spec, write(tmp_path / f"{len(text)}.csv"))
    monkeypatch.setenv("PAIRGOSSIP_LEAST_CELL", "0")
    with pytest.raises(InputError, match="least_cell is 0: give 1 or more"):
        create_home(tmp_path / "y", "y", spec, data)


def test_runs_without_tables_need_no_register(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, damaged = write(tmp_path / "a.csv"), tmp_path / "damaged"
    damaged.write_text("not a register")
    damaged.chmod(0o600)
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(damaged))
    make(tmp_path, "exchange", data, EXCHANGE)
    with pytest.raises(InputError, match="is not a register of releases"):
        make(tmp_path, "tables", data)


def test_whole_lines_of_the_file_stand_for_ids(tmp_path: Path) -> None:
    """Also of entries that are not asked for, written by another program, and in another order."""
    whole = AUC.replace("[ranges]", 'whole = ["risk"]\n[ranges]')
    visits = RNG.integers(1, 9, 60)

    def lines(first: int) -> list[str]:
        each = enumerate(zip(visits, RISK.tolist(), DIED, strict=True))
        return [f"{k},{visit},{x!r},{died:g}" for k, (visit, x, died) in each][first:]

    (tmp_path / "a.csv").write_text("\n".join(["n,risk,x,died", *lines(0), ""]))
    tell_releases(make(tmp_path, "first", tmp_path / "a.csv", whole))
    turned = [
        ";".join([died, f"{float(x):.9f}", n, f"{float(risk)}"])
        for n, risk, x, died in (line.split(",") for line in lines(1))
    ]
    (tmp_path / "b.csv").write_text("\n".join(["died;y;number;risk", *turned, ""]))
    with pytest.raises(InputError, match=r"^Column 'risk' of 59 of these rows went out"):
        make(tmp_path, "again", tmp_path / "b.csv", whole)
