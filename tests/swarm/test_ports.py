from __future__ import annotations

import socket

import pytest

from pairgossip.errors import InputError
from pairgossip.swarm.processes import _HIGHEST, _LOWEST, HOST, _is_free, free_ports, ports_from


def test_free_ports_differ_and_are_not_those_of_connections() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(_LOWEST <= port < _HIGHEST for port in ports)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        assert not _is_free(port)
        with pytest.raises(InputError) as caught:
            ports_from(port - 1 if _is_free(port - 1) else port, 2)
    assert str(caught.value) == (
        f"Port {port} of 127.0.0.1 cannot be used, another program may have it: give another "
        f"first port, or none to have free ones found."
    )


@pytest.mark.parametrize("first", [0, 65_530])
def test_ports_that_do_not_exist(first: int) -> None:
    with pytest.raises(InputError, match=f"10 ports from {first} on do not exist"):
        ports_from(first, 10)
