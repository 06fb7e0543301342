"""A signed result as one page to read and to print, which needs nothing else.

It is what an ethics board is shown: what was asked, what came out, who has signed it, and what left
each site, in the words in which `pairgossip peer init` asks the operator of each. Text of members
is shown with characters that control how it looks spelled out.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path

from pairgossip import files
from pairgossip.peer.signed_result import FIRST_VERSION, Checked, SignedResult, check_signatures
from pairgossip.peer.spec.canonical_text import find_positive_class, restore_spec, write_toml
from pairgossip.peer.sums.results import Result, rounded_bracket
from pairgossip.text import clean_text, format_alike, format_count

_LONGEST_LINE = 10_000
"""Characters of one text of members; a longer one is cut."""
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff;
       max-width: 48rem; margin: 3rem auto; padding: 0 1.25rem; }
h1, h2 { font-size: 1.25rem; font-weight: 600; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin-top: 2rem; }
.value { font-size: 2.5rem; font-weight: 600; margin: 1rem 0 0; }
.range { color: #57606a; margin: 0 0 1.5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0;
         border-bottom: 1px solid #d8dee4; }
th { font-weight: 500; color: #57606a; white-space: nowrap; width: 1%; padding-right: 1.5rem; }
td { overflow-wrap: anywhere; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
td code { font-size: 12px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f8fa; padding: .75rem 1rem; }
blockquote { margin: .5rem 0 1rem; padding-left: 1rem; border-left: 3px solid #d8dee4; }
blockquote p { margin: .35rem 0; }
.members th, .members td { width: auto; }
.members td:last-child { width: 30rem; }
.members td:nth-child(2), .members th:nth-child(2) { text-align: right; padding-right: 1.5rem; }
@media print { body { margin: 0; } tr, blockquote { break-inside: avoid; } }
"""
_OLD_SUMS = (
    "This result was computed by pairgossip 0.2, whose sums told more than those of today: unless "
    "noise was added, members could read from them a row that was alone in its cell or its class."
)


def write_page(signed: SignedResult, path: Path) -> None:
    """Write the page of a signed result."""
    checked = check_signatures(signed, "This result")
    checked.require_all()
    files.write_text(path, [_page(checked)])


def _escape(text: object) -> str:
    """Return text as HTML on one line, with control characters spelled out."""
    return html.escape(clean_text(text, _LONGEST_LINE))


def _page(checked: Checked) -> str:
    result = checked.result
    question, toml = _escape(result.question), html.escape(write_toml(result.specification))
    facts = "".join(
        f"<tr><th>{_escape(name)}</th><td>{_escape(said)}</td></tr>"
        for name, said in [*_facts(result, checked.signed), *_origin(checked)]
    )
    members = "".join(
        f"<tr><td>{_escape(name)}</td><td>{result.members[member]:,}</td>"
        f"<td><code>{_escape(member)}</code></td></tr>"
        for name, member in sorted((name, member) for member, name in checked.signed.items())
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{question}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{question}</h1>{_headline(result)}"
        f"<table>{facts}<tr><th>specification</th><td><code>{_escape(result.hash)}</code></td></tr>"
        "</table>"
        f"<h2>What left each site</h2>{_leaves(checked)}"
        f"<h2>Signed by all {len(checked.signed)} members</h2>"
        "<table class='members'><tr><th>member</th><th>rows</th><th>id</th></tr>"
        f"{members}</table>"
        f"<p>Rows are as each member has stated them{_rounded(result)}. "
        "To check the signatures, run <code>pairgossip verify</code> on the JSON file of this "
        "result, and compare the ids with those that members have told you.</p>"
        f"<h2>Specification that all members agreed to</h2><pre>{toml}</pre>"
        "</body></html>\n"
    )


def _rounded(result: Result) -> str:
    """Say how the numbers of rows of members are told, where they are counted in a table."""
    return ", rounded down to tens" if result.table is not None or not result.rounds else ""


def _leaves(checked: Checked) -> str:
    """Say what each site has sent, as its operator was told."""
    if checked.version == FIRST_VERSION:
        return f"<p>{_escape(_OLD_SUMS)}</p>"
    sentences = restore_spec(checked.result.specification).leaves()
    paragraphs = "".join(f"<p>{_escape(sentence)}</p>" for sentence in sentences)
    return (
        "<p>Before a site takes part, <code>pairgossip peer init</code> tells its operator, and "
        f"asks:</p><blockquote>{paragraphs}</blockquote>"
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


def _facts(result: Result, names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Say what the figures are about, and how sure they are."""
    members = format_count(len(result.members), "member")
    facts = [("covers", f"{members}, {format_count(result.rows, 'row')} together")]
    facts += result.describe_table(names)
    if (positive := find_positive_class(result.specification)) is not None:
        shown = positive if isinstance(positive, str) else f"{positive:g}"
        label = json.loads(result.specification)["label"]
        facts.append(("positive class", f"{shown} ({label}): the one that high scores speak for"))
    if result.sampling_error is not None:
        said = "standard error as an estimate of the population's value"
        facts.append(("sampling error", f"{result.sampling_error:.2g} ({said})"))
    if result.bracket is not None and (ends := rounded_bracket(*result.bracket, digits=6)):
        low, high = ends
        facts.append(("over all rows", f"between {low:.6g} and {high:.6g} for certain"))
    if (advice := result.advise_bins()) is not None:
        facts.append(("left open", advice))
    if result.p is not None:
        facts.append(("p", f"{result.p:.3g}"))
    if result.p_bracket is not None and (ends := rounded_bracket(*result.p_bracket, digits=3)):
        low, high = ends
        facts.append(("p over all rows", f"between {low:.3g} and {high:.3g} for certain"))
    if result.noise is not None:
        noise = result.noise
        error = "unknown" if noise.error is None else f"{noise.error:.2g}"
        said = f"added to every count for epsilon {noise.epsilon:g}; standard error {error}"
        facts.append(("noise", said))
        if noise.without_interval is not None:
            facts.append(("no interval", noise.without_interval))
    if result.model is not None:
        columns = json.loads(result.specification)["columns"]
        parts = zip(columns, result.model, strict=False)
        facts.append(("model", ", ".join(f"{name}: {entry:.6g}" for name, entry in parts)))
        if not result.finished:
            facts.append(("not at its best", result.describe_lack()))
    return [*facts, ("what was shared", f"{format_count(result.rounds, 'sum')} over all members")]


def _origin(checked: Checked) -> list[tuple[str, str]]:
    """Say when and by what the result was made."""
    result, date = checked.result, "not recorded"
    if checked.kept is not None:
        date = f"{checked.kept:%Y-%m-%d %H:%M %Z}, when the peer that wrote this had all signatures"
    return [
        ("date", date),
        ("generation", str(result.ordinal)),
        ("versions", ", ".join(f"{name} {one}" for name, one in result.versions.items())),
    ]
