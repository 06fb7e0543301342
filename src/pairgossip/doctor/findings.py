"""One subject that was checked: its state, and what to do if something is wrong."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["fine", "look", "broken"]
"""In order; worth a look; a fault that stops something."""


class Finding(NamedTuple):
    """The state of one subject, in a sentence."""

    subject: str
    state: State
    sentence: str
    advice: str = ""
    """The remedy; empty if the subject is fine, or if the sentence has it."""
