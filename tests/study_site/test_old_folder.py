"""Members that are made from folders of a run's peers: what they keep, and what still counts.

`old_folder/clinic-0` was made by pairgossip 0.2.0 itself: one of three members, in the second
generation, which began when another had added rows. The key in it was made for this test alone.
`result.json` is what `peer result --json` of 0.2.0 wrote there.
"""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.registers import Release, hold_registers
from pairgossip.peer.bookkeeping.releases import prepare_release, tell_release
from pairgossip.peer.bookkeeping.snapshots import Snapshot
from pairgossip.peer.identity import certificates
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.signed_result import check_signed
from pairgossip.peer.storage.folder import Home, open_home
from pairgossip.peer.storage.old_folder import read_old_folder
from pairgossip.study.protocol.records import Piece, digest_of
from pairgossip.study.storage.folder import StudyHome, create_study
from tests.study_site.consortium import AUC, Consortium, draw_rows, write_rows
from tests.study_site.test_rows import site_of

GIVEN = Path(__file__).parent / "old_folder"
ROWS = draw_rows(0, 140)


@pytest.fixture
def old(tmp_path: Path) -> Home:
    """Copy the old folder, with the permissions of a peer's folder."""
    home = Home(shutil.copytree(GIVEN / "clinic-0", tmp_path / "old"))
    home.folder.chmod(0o700)
    home.key.chmod(0o600)
    return home


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.csv", ROWS)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.*")}


def make_member(old: Home, source: Path, **more: object) -> StudyHome:
    taken = read_old_folder(old.folder)
    settings = {"name": taken.identity.name, "rehearsal": True, **taken.settings, **more}
    folder = old.folder.parent / "new"
    name = str(settings.pop("name"))
    return create_study(folder, name, source, relay=taken.relay, old=taken, **settings)


def test_key_certificate_and_settings_are_taken_and_nothing_is_changed(
    old: Home, source: Path
) -> None:
    old.peer.write_text(
        'name = "clinic-0"\nlisten = "tls/[::1]:99"\npower_safe = false\nleast_members = 5\n'
        'metrics = "127.0.0.1:9464"\nbudget = 2.5\nleast_rows = 0\nleast_cell = 1\nshow = true\n'
        'allow = ["distance"]\nrow_id = "id"\nsame = [["risk", "logit"]]\nsource = "/gone.csv"\n'
    )
    before = contents(old.folder)
    new = make_member(old, source)
    assert contents(old.folder) == before, "the old folder is left as it is"
    assert [file.read_bytes() for file in (new.key, new.cert)] == [
        file.read_bytes() for file in (old.key, old.cert)
    ]
    assert new.key.stat().st_mode & 0o777 == 0o600
    settings, policy = new.read_settings(), new.read_settings().policy
    assert (settings.name, settings.source) == ("clinic-0", str(source))
    assert (settings.listen, settings.metrics) == ("tls/[::1]:99", "127.0.0.1:9464")
    assert (settings.power_safe, settings.show, settings.row_id) == (False, True, "id")
    assert settings.same == (("risk", "logit"),)
    assert (policy.least_rows, policy.least_members, policy.least_cell) == (10, 5, 3)
    assert (policy.allow, policy.epsilon) == (("distance",), None)
    assert read_old_folder(old.folder).has_budget


def test_variables_do_not_end_up_in_settings(old: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRGOSSIP_LISTEN", "tls/elsewhere:1")
    assert read_old_folder(old.folder).settings["listen"] == "tls/127.0.0.1:7450"


def test_a_key_stays_where_its_certificate_cannot(
    old: Home, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = make_member(old, source, name="hospital-0")
    me, before = load_identity(new.folder), load_identity(old.folder)
    assert (me.id, me.name, before.name) == (before.id, "hospital-0", "clinic-0")
    shutil.rmtree(new.folder)
    monkeypatch.setattr("pairgossip.peer.identity.identity.is_expired", lambda _: True)
    me = load_identity(make_member(old, source).folder)
    assert (me.id, me.name) == (before.id, "clinic-0") and me.certificate != before.certificate
    left = certificates.expiry(me.certificate) - datetime.datetime.now(datetime.UTC)
    assert left > datetime.timedelta(days=3_000)


# What was released before


def tell_by_0_2(old: Home) -> None:
    """Record that the peer has released a table of the rows, as pairgossip 0.2 did by a copy."""
    old.spec.write_text(AUC)
    write_rows(old.data, {name: ROWS[name] for name in ("risk", "died")})


def tell_by_run(old: Home, register: Path, *, is_told: bool = True) -> None:
    """Record that the peer has released a table, as runs of 0.3 did in a register."""
    old.spec.write_text(AUC)
    rows = Snapshot(Path("/elsewhere.csv"), {"risk": ROWS["risk"]}, {"died": ROWS["died"] * 1.0})
    key = prepare_release([register], rows, "run", table="tables")
    if is_told:
        tell_release([register], key)
    kept = {"key": key, "registers": [str(register)], "rows": 140}
    (old.folder / "releases.json").write_text(json.dumps({"releases": [kept]}))


def told_in(register: Path) -> list[Release]:
    with hold_registers([register]) as registers:
        return [one for it in registers.values() for one in it.releases if one.is_told]


def pieces_of(home: StudyHome, text: str = AUC) -> tuple[Piece, ...]:
    """Return what a member adds to a question about its rows."""
    others = Consortium(home.folder.parent, [draw_rows(seed, 140) for seed in range(1, 4)])
    question = others.question(text)
    others.close()
    return site_of(home, others.list).offer(digest_of(question), question).pieces


def test_rows_that_0_2_has_told_add_nothing_to_the_same_question(old: Home, source: Path) -> None:
    tell_by_0_2(old)
    said: list[str] = []
    new = make_member(old, source, confirm=said.extend)
    assert said[-1].startswith("Others know a table of 'risk' that has the rows of ")
    assert pieces_of(new) == (Piece(1, 0),)
    (told,) = told_in(source.with_name("rows.csv.releases"))
    assert (told.columns, told.peer) == (("risk",), load_identity(old.folder).id)
    shutil.rmtree(new.folder)
    make_member(old, source)
    assert len(told_in(source.with_name("rows.csv.releases"))) == 1, "it is noted once"


def test_rows_that_the_old_peer_never_had_are_free(old: Home, tmp_path: Path) -> None:
    tell_by_0_2(old)
    new = make_member(old, write_rows(tmp_path / "later.csv", draw_rows(7, 140)))
    assert pieces_of(new) == (Piece(1, 140),)


def test_another_column_of_the_same_rows_is_free(old: Home, source: Path) -> None:
    tell_by_0_2(old)
    age = AUC.replace("risk", "age").replace("age = [0, 1]", "age = [0, 120]")
    assert pieces_of(make_member(old, source), age) == (Piece(1, 140),)


def test_a_member_goes_by_the_register_that_knows_what_was_told(old: Home, source: Path) -> None:
    register = source.with_name("elsewhere.releases")
    tell_by_run(old, register)
    new = make_member(old, source)
    assert new.read_settings().register == str(register)
    assert pieces_of(new) == (Piece(1, 0),)


def test_what_was_never_told_keeps_nothing_from_being_told(old: Home, source: Path) -> None:
    tell_by_run(old, source.with_name("rows.csv.releases"), is_told=False)
    said: list[str] = []
    new = make_member(old, source, confirm=said.extend)
    assert said == [] and new.read_settings().register is None
    assert pieces_of(new) == (Piece(1, 140),)


@pytest.mark.parametrize("is_gone", [True, False])
def test_no_member_is_made_while_nobody_knows_what_was_told(
    old: Home, source: Path, is_gone: bool
) -> None:
    """The register is gone, or another one beside the rows does not know of the release."""
    register = source.with_name("elsewhere.releases")
    tell_by_run(old, register)
    if is_gone:
        register.unlink()
    else:
        rows = Snapshot(source, {"other": np.arange(20.0)})
        prepare_release([source.with_name("rows.csv.releases")], rows, "x", table="")
    with pytest.raises(InputError, match=r"has released is noted in .*elsewhere\.releases, and"):
        make_member(old, source)
    assert not (old.folder.parent / "new").exists()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (f'algorithm.name = "exchange"\n{AUC}', "Rows of .*old traveled: whoever has received"),
        (AUC.replace('kernel = "auc"', 'loss = "auc-logistic"'), "may have told sums over its row"),
    ],
)
def test_what_no_register_knows_is_said(old: Home, source: Path, spec: str, sentence: str) -> None:
    import re

    old.spec.write_text(spec)
    said: list[str] = []
    make_member(old, source, confirm=said.extend)
    assert len(said) == 1 and re.search(sentence, said[0])
    assert not source.with_name("rows.csv.releases").exists()


# Refusals


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda home: shutil.rmtree(home.folder), r"There is no folder .*old: check the path that"),
        (
            lambda home: home.peer.unlink(),
            r"old is the folder of no peer of a single network or of",
        ),
        (
            lambda home: home.spec.unlink(),
            r"old is the folder of no peer of a single network or of",
        ),
        (lambda home: home.data.unlink(), r"data\.csv is missing in .*old: restore it"),
        (lambda home: home.cert.unlink(), r"cert\.pem is missing in .*old: restore it"),
        (lambda home: home.key.chmod(0o644), r"Others can read the key .*: run chmod 600 "),
        (lambda home: home.spec.write_text("x = ["), r"spec\.toml: .*not valid TOML"),
        (lambda home: home.spec.write_bytes(b"\xff"), r"spec\.toml is not UTF-8 text"),
        (lambda home: home.peer.write_text("listen = 3"), r"listen must be text in quotes"),
        (lambda home: home.peer.write_text("relay = 'tls/r:1'"), r"There is no file .*relay\.pem"),
    ],
)
def test_what_cannot_be_taken_is_refused(
    old: Home, source: Path, change: Callable[[Home], object], sentence: str
) -> None:
    change(old)
    with pytest.raises(InputError, match=sentence):
        make_member(old, source)
    assert not (old.folder.parent / "new").exists()


def test_a_running_peer_is_left_alone(old: Home) -> None:
    with old.lock(), pytest.raises(InputError, match=r"The peer in .*old is running: stop it"):
        read_old_folder(old.folder)


def test_an_old_folder_says_what_to_do_with_it(old: Home) -> None:
    """Its settings, as written by 0.2.0, are not the operator's mistake."""
    with pytest.raises(InputError, match=r"is of a single run on sums, .* peer init --from .*old"):
        open_home(old.folder)


def test_a_result_that_0_2_wrote_can_be_verified() -> None:
    checked = check_signed(GIVEN / "result.json")
    assert len(checked.signed) == 3 and not checked.missing
