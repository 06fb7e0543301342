"""The secret by which a machine recognizes rows."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.local_secret import keep_secret


def place_of() -> Path:
    return Path(f"{os.environ['PAIRGOSSIP_RELEASES']}.key")


def test_it_is_made_once_and_for_its_owner_only() -> None:
    secret = keep_secret()
    assert len(secret) == 32 and keep_secret() == secret == place_of().read_bytes()
    assert stat.S_IMODE(place_of().stat().st_mode) == 0o600
    assert not list(place_of().parent.glob(f".{place_of().name}*"))
    place_of().unlink()
    assert keep_secret() != secret


def test_processes_that_begin_together_have_one() -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = {one.result() for one in [pool.submit(keep_secret) for _ in range(32)]}
    assert len(secrets) == 1


def test_a_disk_without_links_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert keep_secret() == keep_secret()


def test_one_that_others_can_read_is_refused() -> None:
    keep_secret()
    place_of().chmod(0o644)
    with pytest.raises(InputError, match=f"Others can read the secret {place_of()}: run chmod 600"):
        keep_secret()


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_damaged_one_is_refused(content: bytes) -> None:
    keep_secret()
    place_of().write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged: put back|is longer than 32 bytes"):
        keep_secret()
