"""What is said of private reports: what they promise, and what they cost."""

from __future__ import annotations

from typing import Any

from pairgossip.cli.console import spelled, write_line
from pairgossip.results import Fit, Run


def privacy_facts(result: Run | Fit) -> dict[str, Any] | None:
    """Return by name what is promised and what it costs; None without privacy."""
    mechanism = result.privacy
    if mechanism is None:
        return None
    facts: dict[str, Any] = {
        "epsilon": mechanism.epsilon,
        "bins": list(mechanism.bins),
        "guarantee": mechanism.guarantee(),
    }
    if isinstance(result, Run) and result.privacy_error and result.private_values is not None:
        facts |= {
            "reports_value": float(result.private_values.mean()),
            "standard_error": result.privacy_error.standard_error,
            "binning_bias": result.privacy_error.binning_bias,
            "predicted_error": result.privacy_error.size,
        }
    return facts


def privacy_rows(facts: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the lines of a table about private reports; none without privacy."""
    if facts is None:
        return []
    rows = [("epsilon", spelled(facts["epsilon"])), ("bins", ", ".join(map(str, facts["bins"])))]
    if "reports_value" in facts:
        rows += [
            ("value of the reports, mean over trials", spelled(facts["reports_value"], 8)),
            ("predicted error of the reports", spelled(facts["predicted_error"], 4)),
            ("of it, standard error", spelled(facts["standard_error"], 4)),
            ("of it, bias of the bins", spelled(facts["binning_bias"], 4)),
        ]
    return rows


def write_guarantee(facts: dict[str, Any] | None, seed: int) -> None:
    """Say what reports promise, and that those of a seed are for simulation only."""
    if facts is None:
        return
    write_line(facts["guarantee"])
    write_line(
        f"Here reports are simulated: whoever knows the seed, {seed}, undoes them. Peers draw "
        "theirs from the operating system."
    )
