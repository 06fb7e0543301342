"""A signed result as one page to read and to print, which needs nothing else."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from pairgossip import files
from pairgossip.peer.protocol.messages import generation_ordinal
from pairgossip.peer.signed_result import Checked, SignedResult, check_signatures
from pairgossip.peer.sums.results import Result
from pairgossip.text import format_count

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff;
       max-width: 46rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.25rem; font-weight: 600; margin: 0 0 .25rem; }
.value { font-size: 2.5rem; font-weight: 600; margin: 1rem 0 0; }
.range { color: #57606a; margin: 0 0 1.5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0;
         border-bottom: 1px solid #d8dee4; }
th { font-weight: 500; color: #57606a; width: 12rem; }
td code, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere;
               white-space: pre-wrap; }
details { margin: 1rem 0; }
@media print { body { margin: 0; } details { display: none; } }
"""


def write_page(signed: SignedResult, path: Path) -> None:
    """Write the page of a signed result."""
    checked = check_signatures(signed, "This result")
    checked.require_all()
    files.replace(path, _page(checked).encode())


def _page(checked: Checked) -> str:
    result = checked.result
    facts = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in _facts(result)
    )
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
        "<h1>Signed by</h1><table><tr><th>member</th><th>rows</th><th>id</th></tr>"
        f"{members}</table>"
        "<p>Every member has signed these figures. To check that, run "
        "<code>pairgossip verify</code> on the JSON file of this result.</p>"
        f"<details><summary>Specification</summary><pre>{escape(specification)}</pre></details>"
        "</body></html>\n"
    )


def _headline(result: Result) -> str:
    if result.value is None:
        return ""
    value = f"<p class='value'>{result.value:.4g}</p>"
    if result.interval is None:
        return value
    low, high = result.interval
    return f"{value}<p class='range'>95 %: {low:.4g} to {high:.4g}</p>"


def _facts(result: Result) -> list[tuple[str, str]]:
    """Say what the figures are about, and how sure they are."""
    members = format_count(len(result.members), "member")
    facts = [("covers", f"{members}, {format_count(result.rows, 'row')} together")]
    if result.sampling_error is not None:
        said = "how far the population's value may be; falls with rows"
        facts.append(("sampling error", f"{result.sampling_error:.2g} ({said})"))
    if result.bracket is not None:
        low, high = result.bracket
        facts.append(("over all rows", f"between {low:.6g} and {high:.6g} for certain"))
    if (advice := result.advise_bins()) is not None:
        facts.append(("bins", advice))
    if result.p is not None:
        facts.append(("p", f"{result.p:.3g}"))
    if result.noise is not None:
        noise = result.noise
        error = "unknown" if noise.error is None else f"{noise.error:.2g}"
        facts.append(("noise", f"epsilon {noise.epsilon:g}; its standard error is {error}"))
    if result.model is not None:
        facts.append(("model", ", ".join(f"{entry:.6g}" for entry in result.model)))
        if not result.finished:
            facts.append(("not at its best", result.describe_lack()))
    return [
        *facts,
        ("what was shared", f"{format_count(result.rounds, 'sum')} over all members; no row"),
        ("generation", str(generation_ordinal(result.generation))),
        ("specification", result.hash),
        ("versions", ", ".join(f"{name} {one}" for name, one in result.versions.items())),
    ]
