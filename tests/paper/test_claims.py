"""The rules by which claims are judged, and what evidence may cite."""

from __future__ import annotations

import pytest

from pairgossip_paper import framework as fw

VALUES = {"cycle": 0.5, "torus": 2.0, "star": 4.0}


def check(rule: fw.Rule | dict[str, fw.Rule], evidence: str = "", **cited: object) -> fw.Claim:
    return fw.check("name", "It does.", "theory", VALUES, rule, evidence, **cited)


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        (fw.at_least(0.5), "holds"),
        (fw.at_least(2.0), "holds in part"),
        (fw.at_most(4.0), "holds"),
        (fw.at_most(0.4), "does not hold"),
        (fw.more_than(0.5), "holds in part"),
        (fw.more_than(4.0), "does not hold"),
        (fw.less_than(4.0), "holds in part"),
        (fw.less_than(0.5), "does not hold"),
        (fw.within(2.0, of=2.5), "holds"),
        (fw.within(1.5, of=3.5), "holds in part"),
        (fw.within(0.1, of=1.0), "does not hold"),
        ({"star": fw.more_than(3.0)}, "holds"),
        ({"star": fw.more_than(3.0), "cycle": fw.more_than(3.0)}, "holds in part"),
    ],
)
def test_rules(rule: fw.Rule | dict[str, fw.Rule], verdict: str) -> None:
    assert check(rule).verdict == verdict


def test_what_is_not_a_number_meets_no_rule() -> None:
    rules = (fw.at_least(0), fw.at_most(0), fw.more_than(0), fw.less_than(0), fw.within(9, of=0))
    assert not any(rule.is_met(float("nan")) for rule in rules)


def test_evidence_cites_values_limits_and_whatever_is_given() -> None:
    evidence = "{values}; {values:.1f}; {low} to {high}; {passed} of {judged}; {least:g}; {graphs}"
    assert check(fw.at_least(2), evidence, graphs=3).evidence == (
        "0.5 (cycle), 2 (torus), 4 (star); 0.5 (cycle), 2.0 (torus), 4.0 (star); 0.5 to 4.0; "
        "2 of 3; 2; 3"
    )
    assert check(fw.within(1, of=2), "{of} within {tolerance}").evidence == "2 within 1"
