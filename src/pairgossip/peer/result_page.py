"""A signed result as one page to read and to print, which needs nothing else."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from pairgossip import files
from pairgossip.inference.answer import format_alike
from pairgossip.peer.protocol.messages import generation_ordinal
from pairgossip.peer.signed_result import Checked, SignedResult, check_signatures
from pairgossip.peer.sums.results import Result, known_bracket
from pairgossip.text import format_count

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff;
       max-width: 48rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.25rem; font-weight: 600; margin: 0 0 .25rem; }
.value { font-size: 2.5rem; font-weight: 600; margin: 1rem 0 0; }
.range { color: #57606a; margin: 0 0 1.5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0;
         border-bottom: 1px solid #d8dee4; }
th { font-weight: 500; color: #57606a; white-space: nowrap; width: 1%; padding-right: 1.5rem; }
td { overflow-wrap: anywhere; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
td code { font-size: 12px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.members th, .members td { width: auto; }
.members td:last-child { width: 30rem; }
.members td:nth-child(2), .members th:nth-child(2) { text-align: right; padding-right: 1.5rem; }
details { margin: 1rem 0; }
@media print { body { margin: 0; } details { display: none; } }
"""


def write_page(signed: SignedResult, path: Path) -> None:
    """Write the page of a signed result."""
    checked = check_signatures(signed, "This result")
    checked.require_all()
    files.write_text(path, [_page(checked)])


def _page(checked: Checked) -> str:
    result = checked.result
    facts = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in _facts(result)
    )
    facts += f"<tr><th>specification</th><td><code>{escape(result.hash)}</code></td></tr>"
    members = "".join(
        f"<tr><td>{escape(name)}</td>"
        f"<td>{result.members[member]:,}</td><td><code>{escape(member)}</code></td></tr>"
        for member, name in sorted(checked.signed.items())
    )
    specification = json.dumps(json.loads(result.specification), indent=2)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(result.question)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(result.question)}</h1>{_headline(result)}"
        f"<table>{facts}</table>"
        f"<h1>Signed by all {len(checked.signed)} members</h1>"
        "<table class='members'><tr><th>member</th><th>rows</th><th>id</th></tr>"
        f"{members}</table>"
        "<p>To check the signatures, run <code>pairgossip verify</code> on the JSON file of this "
        "result, and compare the ids with those that members have told you.</p>"
        f"<details><summary>Specification</summary><pre>{escape(specification)}</pre></details>"
        "</body></html>\n"
    )


def _headline(result: Result) -> str:
    if result.value is None:
        return ""
    if result.interval is None:
        return f"<p class='value'>{result.value:.4g}</p>"
    low, high = result.interval
    value, *ends = format_alike((result.value, low, high), (high - low) / 4)
    said = f"95 % interval for the population that the rows are drawn from: {' to '.join(ends)}"
    return f"<p class='value'>{value}</p><p class='range'>{said}</p>"


def _facts(result: Result) -> list[tuple[str, str]]:
    """Say what the figures are about, and how sure they are."""
    members = format_count(len(result.members), "member")
    facts = [("covers", f"{members}, {format_count(result.rows, 'row')} together")]
    if result.sampling_error is not None:
        said = "standard error as an estimate of the population's value"
        facts.append(("sampling error", f"{result.sampling_error:.2g} ({said})"))
    if result.bracket is not None and (ends := known_bracket(*result.bracket, digits=6)):
        low, high = ends
        facts.append(("over all rows", f"between {low:.6g} and {high:.6g} for certain"))
    if (advice := result.advise_bins()) is not None:
        facts.append(("bins", advice))
    if result.p is not None:
        facts.append(("p", f"{result.p:.3g}"))
    if result.noise is not None:
        noise = result.noise
        error = "unknown" if noise.error is None else f"{noise.error:.2g}"
        said = f"added to every count for epsilon {noise.epsilon:g}; standard error {error}"
        facts.append(("noise", said))
    if result.model is not None:
        columns = json.loads(result.specification)["columns"]
        parts = zip(columns, result.model, strict=True)
        facts.append(("model", ", ".join(f"{name}: {entry:.6g}" for name, entry in parts)))
        if not result.finished:
            facts.append(("not at its best", result.describe_lack()))
    return [
        *facts,
        ("what was shared", f"{format_count(result.rounds, 'sum')} over all members; no row"),
        ("generation", str(generation_ordinal(result.generation))),
        ("versions", ", ".join(f"{name} {one}" for name, one in result.versions.items())),
    ]
