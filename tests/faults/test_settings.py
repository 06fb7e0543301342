"""The faults that a run is asked for, and their text."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip.faults.attacks import ATTACKS

_NODES = st.lists(st.integers(0, 10**6), min_size=1, max_size=5, unique=True)
_TIMES = st.floats(0, 1e300)
_LONG = st.floats(1e-3, 1e300)
_FAULTS = st.builds(
    pg.Faults,
    loss=st.floats(0, 1, exclude_max=True),
    half_loss=st.floats(0, 1, exclude_max=True),
    delay=_TIMES,
    churn=st.none() | st.builds(pg.Churn, _LONG, _LONG),
    crashed=st.integers(0, 9) | _NODES | st.dictionaries(st.integers(0, 99), _TIMES, max_size=4),
    liars=st.integers(0, 9) | _NODES,
    attack=st.sampled_from(sorted(ATTACKS)),
    lie=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


@given(_FAULTS)
def test_text_gives_the_same_faults(faults: pg.Faults) -> None:
    assert pg.Faults.from_text(str(faults)) == faults
    assert bool(faults) == bool(pg.Faults.from_text(str(faults)))


@given(st.text(alphabet="loshcrdia=,.[]@/0123456789 -", max_size=30))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        faults = pg.Faults.from_text(text)
    except pg.InputError as refusal:
        assert str(refusal).endswith((".", "?"))
    else:
        assert pg.Faults.from_text(str(faults)) == faults


def test_text_is_what_one_would_write() -> None:
    text = "loss=0.01, half_loss=0.001, churn=100/10, crashed=[3, 5], liars=7, attack=sign"
    faults = pg.Faults(
        loss=0.01,
        half_loss=0.001,
        churn=pg.Churn(up=100, down=10),
        crashed=[5, 3],
        liars=7,
        attack="sign",
    )
    assert str(faults) == text
    assert pg.Faults.from_text(text.replace("half_loss", " Half-Loss").replace(", ", ",")) == faults
    assert pg.Faults.from_text("liars=[7]") == pg.Faults(liars=[7]) != pg.Faults(liars=7)
    assert str(pg.Faults(liars=[7])) == "liars=[7]"
    assert pg.Faults.from_text("crashed=[3@10, 5]").crashed == {3: 10.0, 5: 0.0}
    assert pg.Faults(crashed={3: 0}).crashed == (3,)


def test_no_fault_is_none() -> None:
    assert pg.Faults.check("") is None
    assert pg.Faults.check(pg.Faults(attack="sign", lie=3, crashed=[], liars=0)) is None
    assert pg.Faults.check(" loss=0.5 ") == pg.Faults(loss=0.5)


def test_own_attack_has_its_name() -> None:
    def shout(z: Any, liar: int, partner: int, clip: float, network: Any) -> float:
        return 1e9

    assert str(pg.Faults(liars=1, attack=shout)) == "liars=1, attack=shout"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: pg.Faults(loss=1), "loss must be a probability >= 0 and < 1, not 1"),
        (lambda: pg.Faults(half_loss=-0.1), "half_loss must be a probability"),
        (lambda: pg.Faults(loss="0.1"), "loss must be a probability"),  # type: ignore[arg-type]
        (lambda: pg.Faults(delay=math.inf), "delay must be a finite number >= 0"),
        (lambda: pg.Faults(lie=math.nan), "lie must be a finite number"),
        (lambda: pg.Churn(0, 10), "up of churn must be a finite number >= 0.001, not 0"),
        (lambda: pg.Churn(1, math.inf), "down of churn must be a finite number >= 0.001, not inf"),
        (lambda: pg.Faults(churn=(1, 2)), r"churn must be pg.Churn\(up=, down=\)"),  # type: ignore[arg-type]
        (lambda: pg.Faults(liars=[3, 3]), "a node is twice among liars"),
        (lambda: pg.Faults(liars="3"), "liars must be a number of nodes, or a list"),  # type: ignore[arg-type]
        (lambda: pg.Faults(liars=[-1]), "number of a node must be a whole number >= 0"),
        (lambda: pg.Faults(crashed={2: -1}), "crash time of node 2 must be a finite number >= 0"),
        (lambda: pg.Faults(attack="sing"), "Unknown attack 'sing': did you mean 'sign'"),
        (lambda: pg.Faults(attack=3), "Unknown attack '3'"),  # type: ignore[arg-type]
        (lambda: pg.Faults.from_text("los=0.1"), "Unknown fault 'los': did you mean 'loss'"),
        (lambda: pg.Faults.from_text("loss"), "'loss' has no value"),
        (lambda: pg.Faults.from_text("loss=.1, loss=.2"), "'loss' is given twice"),
        (
            lambda: pg.Faults.from_text("loss=much"),
            "loss must be a probability >= 0 and < 1, not 'much'",
        ),
        (lambda: pg.Faults.from_text("churn=5"), "as text up/down, not 5"),
        (lambda: pg.Faults.from_text("churn=5/a"), "down of churn must be .* not 'a'"),
        (lambda: pg.Faults.from_text("crashed=[3@1, 3@2]"), "a node is twice among crashed"),
        (lambda: pg.Faults.from_text("liars=ann"), "liars must be a number of nodes"),
        (lambda: pg.Faults.from_text("liars=[1, 1]"), "a node is twice among liars"),
        (lambda: pg.Faults.from_text("liars=[1@3]"), "liars must be a number of nodes"),
        (lambda: pg.Faults.from_text("crashed=1@3"), r"such as \[3, 5\], not '1@3'"),
        (lambda: pg.Faults.from_text("crashed=[]"), "crashed must be a number of nodes"),
        (lambda: pg.Faults.check(0.1), "give pg.Faults"),
    ],
)
def test_refusals_say_what_is_wrong(make: Any, sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        make()


def test_a_text_about_lies_needs_liars() -> None:
    for text in ("attack=sign", "lie=3", "liars=0, lie=3"):
        with pytest.raises(pg.InputError, match="nobody lies: write liars"):
            pg.Faults.check(text)
    assert pg.Faults.check(pg.Faults(liars=0, attack="sign")) is None
