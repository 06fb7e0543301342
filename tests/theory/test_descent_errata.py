"""Every row of the errata about optimization is recomputed here."""

from __future__ import annotations

import pytest

from pairgossip.theory.errata import ergodic, optimization, rates
from pairgossip.theory.errata.erratum import Erratum

ROWS = (*optimization.ROWS, *rates.ROWS, *ergodic.ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.lines)
def test_the_evidence_shows_the_claim(row: Erratum) -> None:
    evidence = row.evidence()
    assert evidence.shown, evidence.text
    assert evidence == row.evidence()
