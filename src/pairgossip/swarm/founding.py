"""Founding a swarm: folders, keys, invitations and lists of members, as operators make them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.files import write_text
from pairgossip.peer.home import Home, create_home
from pairgossip.peer.identity import Identity, load_identity
from pairgossip.peer.invitations import Invitation, admitted, invitation, read_invitation
from pairgossip.peer.members import Members
from pairgossip.peer.rows import rows_text
from pairgossip.swarm.plan import Plan

Reached = Callable[[int, int], str]
"""``reached(i, j)``: the address at which peer i finds peer j."""


def make_folder(folder: Path) -> None:
    """Make the folder of a new swarm, which only its owner can enter."""
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists already and is left as it is: choose another folder.")
    try:
        folder.mkdir(mode=0o700)
    except OSError as problem:
        raise InputError(f"Cannot make {folder}: {problem.strerror}.") from None


def found_peers(
    plan: Plan, folder: Path, listen: list[str], *, power_safe: bool = True
) -> list[Home]:
    """Make the folder of every peer, with its key and its rows."""
    spec, data = folder / "spec.toml", folder / ".rows.csv"
    write_text(spec, [plan.text])
    homes = []
    try:
        for name, rows, address in zip(plan.names, plan.rows, listen, strict=True):
            data.touch(mode=0o600)
            data.write_text(rows_text(rows, plan.spec), encoding="utf-8")
            # Equal rows of two peers are two people's, so each peer has a ledger of its own.
            ledger = None if plan.spec.privacy is None else folder / f"{name}.ledger"
            homes.append(
                create_home(
                    folder / name, name, spec, data, address, power_safe=power_safe, ledger=ledger
                )
            )
    finally:
        data.unlink(missing_ok=True)
    return homes


def introduce(plan: Plan, homes: list[Home], reached: Reached) -> list[Identity]:
    """Let all peers join each other by invitation: neighbors as such, others as members."""
    identities = [load_identity(home.folder) for home in homes]
    joined = {*plan.links, *((j, i) for i, j in plan.links)}

    def invited(by: int, address: str | None) -> Invitation:
        rows = len(plan.rows[by])
        return read_invitation(invitation(identities[by], plan.spec, rows, address))

    known = [invited(peer, None) for peer in range(len(homes))]
    for i, home in enumerate(homes):
        members = Members()
        for j in range(len(homes)):
            if i == j:
                continue
            is_neighbor = (i, j) in joined
            told = invited(j, reached(i, j)) if is_neighbor else known[j]
            members = admitted(members, identities[i], plan.spec, told, is_neighbor)
        members.save(home.members)
    return identities
