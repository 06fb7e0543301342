"""Names in the addresses of neighbors, which are resolved without blocking the peer."""

from __future__ import annotations

import threading
import time

import pytest

from pairgossip.peer.links.addresses import NameLookup, host_name

from .zenoh_people import until


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (None, None),
        ("tls/192.168.1.5:7447", None),
        ("tls/[::1]:7447", None),
        ("tls/[fe80::1%eth0]:7447", None),
        ("tls/clinic-b.example:7447", "clinic-b.example"),
        ("tls/clinic_b:7447", "clinic_b"),
    ],
)
def test_only_names_are_looked_up(address: str | None, name: str | None) -> None:
    assert host_name(address) == name


class Service:
    """A name service that knows some names, and can be silent."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.asked: list[str] = []
        self.answers = threading.Event()
        self.answers.set()

    def resolve(self, name: str) -> None:
        self.asked.append(name)
        assert self.answers.wait(20)
        if name.startswith("."):
            raise UnicodeError("label empty or too long")
        if name not in self.names:
            raise OSError(-2, "Name or service not known")


def test_names_that_do_not_resolve_are_found_in_the_background() -> None:
    service = Service("a.example")
    lookup = NameLookup(service.resolve)
    names = {"a.example", "b.example", ".c"}
    assert until(lambda: lookup.find_unresolved(names) == {"b.example", ".c"})
    assert lookup.find_unresolved({"a.example"}) == set()
    assert sorted(service.asked) == sorted(names), "and each was asked for once"


def test_a_name_service_that_is_silent_keeps_nobody_waiting() -> None:
    service = Service()
    service.answers.clear()
    lookup = NameLookup(service.resolve, interval=0.0)
    before = time.monotonic()
    for _ in range(100):
        assert lookup.find_unresolved({"a.example", "b.example"}) == set()
    assert time.monotonic() - before < 5.0
    assert until(lambda: bool(service.asked))
    assert service.asked == ["a.example"], "one thread asks, one name after another"
    service.answers.set()
    assert until(lambda: lookup.find_unresolved({"b.example"}) == {"b.example"})


def test_a_name_that_resolves_again_is_noticed_after_a_while() -> None:
    service = Service()
    lookup = NameLookup(service.resolve, interval=0.05)
    assert until(lambda: lookup.find_unresolved({"a.example"}) == {"a.example"})
    service.names.add("a.example")
    assert until(lambda: not lookup.find_unresolved({"a.example"}))


def test_the_system_is_asked() -> None:
    """Nobody can own a name under ``.invalid``, with any name service."""
    lookup = NameLookup()
    names = {"clinic-b.invalid", "localhost"}
    assert until(lambda: lookup.find_unresolved(names) == {"clinic-b.invalid"})


def test_a_machine_without_a_thread_to_spare_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lookup = NameLookup(Service().resolve)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert lookup.find_unresolved({"a.example"}) == set()
    assert until(lambda: lookup.find_unresolved({"a.example"}) == {"a.example"})
