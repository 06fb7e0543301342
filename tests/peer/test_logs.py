from __future__ import annotations

import io
import json

import pytest

from pairgossip.peer.service.reporter import Log, write_logs
from pairgossip.text import clean_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_events_are_json_lines() -> None:
    stream = io.StringIO()
    with write_logs(stream):
        Log("ann").info("started", rows=3, share=0.5, neighbor="bob")
        Log("ann").error("The disk is full.")
    Log("ann").error("Nobody listens any more.")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "info",
        "peer": "ann",
        "event": "started",
        "rows": 3,
        "share": 0.5,
        "neighbor": "bob",
    }
    assert (second["level"], second["event"]) == ("error", "The disk is full.")


def test_people_at_a_terminal_read_text() -> None:
    stream = Terminal()
    with write_logs(stream):
        Log("ann").warning("refused what was received", too_long=3)
    line = stream.getvalue()
    assert line.endswith("  Warning: refused what was received  too_long=3\n")


@pytest.mark.parametrize("terminal", [io.StringIO, Terminal])
def test_text_from_elsewhere_cannot_forge_lines(terminal: type[io.StringIO]) -> None:
    stream = terminal()
    with write_logs(stream):
        Log("ann").warning("odd\nevent", text='x\n{"level": "error"}\x1b[2J\u2028' + "y" * 5000)
    written = stream.getvalue()
    assert written.count("\n") == 1 and "\x1b" not in written and "\u2028" not in written
    assert len(written) < 700


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain text", "plain text"),
        ("a\tb\nc\x00", "a\\tb\\nc\\x00"),
        ("\u202eevil", "\\u202eevil"),
        ("x" * 11, "xxxxxxx..."),
        ("x" * 10, "xxxxxxxxxx"),
        ("\n" * 10, "\\n\\n\\n\\..."),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert clean_text(text, 10 if len(text) >= 10 and text != "plain text" else 40) == cleaned
