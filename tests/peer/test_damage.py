"""Hundreds of damages to a killed peer's files: each is harmless, or refused in one sentence."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.service.status import Coverage, Ended, keep_ended, write_status
from pairgossip.peer.storage.folder import Evicted, note_eviction, open_home, read_eviction
from pairgossip.peer.storage.growth import finish_interrupted_growth
from tests.peer import damage
from tests.peer.damage import DAMAGES, REFUSED, SAME, sweep
from tests.peer.homes import make_pair


def test_a_damaged_state_is_the_same_or_refused(tmp_path: Path) -> None:
    """This makes four hundred; `benchmarks.peer_damage` makes any number."""
    counts = sweep(tmp_path, range(10), 40)
    assert counts[SAME] + counts[REFUSED] == 400
    assert min(counts.values()) > 100


def test_damage_that_is_accepted_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the checker: without the witness a lost log is an older state."""
    monkeypatch.setattr("pairgossip.peer.storage.journal_file.check_witnessed", lambda *_: None)
    with pytest.raises(damage.Accepted, match="another state"):
        sweep(tmp_path, range(10), 40)


def test_damage_to_any_file_of_a_folder_is_told_in_one_sentence(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0, 2.0], [10.0])
    write_status(ann.status, read_snapshot(ann).status())
    keep_ended(ann.ended, Ended(1, (2.5,), 17, Coverage(2, 2, 4), (), 1.5))
    note_eviction(ann, Evicted("bob", "bob", 1.5))
    counts: Counter[str] = Counter()
    names = sorted(file.name for file in ann.folder.iterdir())
    assert {"key.pem", "cert.pem", "members.json", "state.witness", "peer.toml"} <= set(names)
    for name in names:
        for number, harm in enumerate(2 * DAMAGES):
            copy = tmp_path / "copy"
            shutil.copytree(ann.folder, copy)
            chance = random.Random(f"{name} {number}")
            content = harm((copy / name).read_bytes() or b"x", chance)
            (copy / name).unlink()
            if content is not None:
                (copy / name).write_bytes(content)
                (copy / name).chmod(0o600)
            try:
                home = open_home(copy)
                finish_interrupted_growth(home)
                read_snapshot(home).status()
                read_eviction(home)
                assemble(home).close()
                counts[SAME] += 1
            except InputError as problem:
                assert "\n" not in str(problem) and len(str(problem)) < 1000
                counts[REFUSED] += 1
            shutil.rmtree(copy)
    assert min(counts.values()) > 20


SHORT_KEY = """-----BEGIN PRIVATE KEY-----
MC0CAQAwBQYDK2VwBCEEHwABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4=
-----END PRIVATE KEY-----
"""
"""A key that lacks a byte, for which the library's error message is not helpful."""


@pytest.mark.parametrize("text", [SHORT_KEY, "", "-----BEGIN PRIVATE KEY-----\n", "\0" * 100])
def test_a_damaged_key_is_told_in_one_sentence(tmp_path: Path, text: str) -> None:
    ann, _ = make_pair(tmp_path, [1.0], [10.0])
    ann.key.write_text(text)
    with pytest.raises(InputError, match=r"key.pem is not an Ed25519 key: restore the file"):
        load_identity(ann.folder)
