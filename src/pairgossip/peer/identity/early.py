"""Sentences on certificates that are not valid yet: a clock is wrong, here or at their peers."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from pairgossip.peer.identity.certificates import start
from pairgossip.text import MOST_NAMED, join_first


def describe_own_early(certificate: str, now: datetime.datetime) -> str:
    """Say that this peer's own certificate is not valid yet, and what to do."""
    return (
        f"This peer's own certificate is valid from {start(certificate):%Y-%m-%d %H:%M} UTC, and "
        f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC: set the clock of this machine. "
        "Nothing is lost, and the peer goes on by itself once the clock is right."
    )


def describe_early(
    names: Sequence[str], certificates: Sequence[str], now: datetime.datetime
) -> str:
    """Say that certificates of others are not valid yet, by which clock, and what to do."""
    since = f"{max(map(start, certificates)):%Y-%m-%d %H:%M}"
    if len(names) == 1:
        return (
            f"The certificate of '{names[0]}' is valid from {since} UTC, and this machine's clock "
            f"says {now:%Y-%m-%d %H:%M} UTC: set the clock of this machine, or of '{names[0]}', "
            "whichever is off. Nothing is lost, and the two connect by themselves once the "
            "certificate is valid."
        )
    whose = join_first([f"'{name}'" for name in names[:MOST_NAMED]], len(names))
    return (
        f"The certificates of {whose} are valid from {since} UTC at the latest, and this machine's "
        f"clock says {now:%Y-%m-%d %H:%M} UTC: set the clock of this machine, or theirs, whichever "
        "is off. Nothing is lost, and all connect by themselves once the certificates are valid."
    )
