"""Runs on sums tried in one process, a file per member: `estimate --spec` and `train --spec`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import format_value, write_json, write_line, write_rows
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec
    from pairgossip.peer.sums.results import Result


def try_sums(spec: Spec, files: Sequence[Path], *, json: bool) -> Result:
    """Let every file be a member, and print what they find together."""
    from pairgossip.peer.storage.rows import read_rows
    from pairgossip.peer.sums.simulation import run_programs, start_programs

    rows = {file.stem: read_rows(file, spec) for file in files}
    if len(rows) < len(files):
        raise InputError("Two files have the same name, which is that of a member: rename one.")
    result = run_programs(start_programs(spec, rows))
    if json:
        import msgspec

        write_json(msgspec.to_builtins(result))
        return result
    write_rows((result.question, ""), _facts(result), numbers=False)
    write_line("Real peers find the same, whatever their network; no row would leave its member.")
    return result


def _facts(result: Result) -> list[tuple[str, str]]:
    facts = []
    if result.value is not None:
        facts.append(("value", format_value(result.value)))
    if result.sampling_error is not None:
        facts.append(("sampling error", format_value(result.sampling_error, 2)))
    for name, ends in (("95 %", result.interval), ("certainly", result.bracket)):
        if ends is not None:
            facts.append((name, f"{format_value(ends[0])} to {format_value(ends[1])}"))
    if result.p is not None:
        facts.append(("p", format_value(result.p)))
    if result.noise is not None:
        facts.append(("noise", f"epsilon {result.noise.epsilon:g}"))
    if result.model is not None:
        facts.append(("model", ", ".join(format_value(one) for one in result.model)))
        facts.append(("objective", format_value(result.objective)))
        if not result.finished:
            facts.append(("not at its best", result.describe_lack()))
    return [
        *facts,
        ("members", format_value(len(result.members))),
        ("rows", format_value(result.rows)),
        ("sums", format_value(result.rounds)),
    ]
