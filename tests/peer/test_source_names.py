"""How sources of peers are named in their settings, and which names they may have."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import msgspec
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.protocol.held import Batch
from pairgossip.peer.protocol.state import SaveSums
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import (
    finish_interrupted_growth,
    request_growth,
)
from pairgossip.peer.storage.journal import SqliteJournal

from .test_sources import MODEL, draw, make, make_peers, state_of, write_csv, write_parquet


def test_sources_are_named_by_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "rows.csv", draw(40))
    home = make(tmp_path, "ann", Path("rows.csv"))
    assert home.read_settings().source == str(tmp_path / "rows.csv")
    text = home.peer.read_text()
    for line, sentence in (
        ('source = "rows.csv"', "source is 'rows.csv': write the whole path"),
        ('batch.3 = "/more.csv"', "number them 2, 3"),
        ('batch.2 = "more.csv"', "write the whole path"),
    ):
        kept = [one for one in text.splitlines() if line[:6] != one[:6]]
        home.peer.write_text("\n".join([*kept, line]))
        with pytest.raises(InputError, match=sentence):
            home.read_settings()


def test_standard_input_and_pipes_are_no_sources(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reads its rows again whenever it starts"):
        make(tmp_path, "ann", Path("-"))
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a pipe or device, which cannot be read again"):
        make(tmp_path, "ann", pipe)
    home, *_ = make_peers(tmp_path, [draw(40) for _ in range(3)])
    (tmp_path / "0.csv").unlink()
    pipe.rename(tmp_path / "0.csv")
    with pytest.raises(InputError, match=r"is not what it was .* a pipe or device"):
        assemble(home)


@pytest.mark.parametrize("name", ["größe 😀.csv", 'a"b\\c.csv', "tab\t\x7f.csv"])
def test_settings_take_the_names_that_files_have(tmp_path: Path, name: str) -> None:
    home = make(tmp_path, "ann", write_csv(tmp_path / name, draw(40)), MODEL)
    more = write_csv(tmp_path / f"more {name}", draw(30))
    take_up(home, more)
    assert home.read_settings().sources == (str(tmp_path / name), str(more))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    source = write_csv(tmp_path / os.fsdecode(b"rows\xff.csv"), draw(40))
    with pytest.raises(InputError, match="is not UTF-8 text, as settings are: rename it"):
        make(tmp_path, "ann", source)


def take_up(home: Home, more: Path) -> None:
    """Add a source to a peer, and let it be named in the settings."""
    request_growth(home, more)
    state, asked = state_of(home), msgspec.msgpack.decode(home.next_sources.read_bytes())
    batches = tuple(Batch(*one) for one in asked["batches"])
    rows = sum(one.rows for one in batches)
    journal = SqliteJournal(home.state, create=False)
    with contextlib.closing(journal):
        journal.load()
        grown = msgspec.structs.replace(state, rows=rows, batches=batches)
        journal.save(SaveSums(grown, sync=True, everything=True, has_more_rows=True))
    finish_interrupted_growth(home)
    assert not home.next_sources.exists()


def test_sources_are_added_to_settings_that_were_edited(tmp_path: Path) -> None:
    home = make(tmp_path, "ann", write_csv(tmp_path / "rows.csv", draw(40)), MODEL)
    more = [write_csv(tmp_path / f"more-{k}.csv", draw(30)) for k in range(3)]
    take_up(home, more[0])
    *first, last = home.peer.read_text().splitlines()
    assert last == f'batch.2 = "{more[0]}"'
    home.peer.write_text("\n".join([*first, "# mine", "[batch]", f'2 = "{more[0]}"']))
    take_up(home, more[1])
    assert home.read_settings().sources[1:] == tuple(map(str, more[:2]))
    assert "# mine" in home.peer.read_text()
    home.peer.write_text(
        "\n".join([*first, f'batch = {{2 = "{more[0]}", 3 = "{more[1]}"}}']) + "\n"
    )
    before = home.peer.read_text()
    with pytest.raises(InputError, match=r"does not let sources be added: name .* as batch\.4 = "):
        request_growth(home, more[2])
    assert home.peer.read_text() == before and not home.next_sources.exists()


def test_a_file_within_a_source_is_not_added(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    write_parquet(folder / "1.parquet", draw(40))
    home = make(tmp_path, "ann", folder, MODEL)
    more = write_parquet(folder / "2.parquet", draw(30))
    with pytest.raises(InputError, match=r"2\.parquet is in .*rows, a source of this peer that"):
        request_growth(home, more)
    assert request_growth(home, more.rename(tmp_path / "rows-2.parquet")).rows == 70
