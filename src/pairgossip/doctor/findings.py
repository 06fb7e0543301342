"""One thing that was looked at: whether it is as it should be, and what to do if it is not."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["fine", "look", "broken"]
"""As it should be; worth a look; in the way of what the user wants."""


class Finding(NamedTuple):
    """What was found about one subject, in a sentence."""

    subject: str
    state: State
    sentence: str
    advice: str = ""
    """What to do, unless all is fine."""
