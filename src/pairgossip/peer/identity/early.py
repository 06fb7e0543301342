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
    last = max(map(start, certificates))
    whose = join_first([f"'{name}'" for name in names[:MOST_NAMED]], len(names))
    since = f"valid from {last:%Y-%m-%d %H:%M} UTC"
    clock = f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC: set the clock of this machine"
    if len(names) == 1:
        return (
            f"The certificate of {whose} is {since}, and {clock}, or of {whose}, whichever is off. "
            "Nothing is lost, and the two connect by themselves once the certificate is valid."
        )
    return (
        f"The certificates of {whose} are {since} or before, and {clock}, or theirs, whichever is "
        "off. Nothing is lost, and all connect by themselves once the certificates are valid."
    )
