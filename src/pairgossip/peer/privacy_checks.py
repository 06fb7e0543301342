"""What can be wrong with the table [privacy] of a specification, each with its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairgossip.errors import InputError, unknown_name

if TYPE_CHECKING:
    from pairgossip.peer.spec import Privacy, Spec

ROUNDINGS = ("bins", "stochastic")


def check_privacy(spec: Spec) -> None:
    """Refuse a mechanism that is none, and what cannot be computed of its reports."""
    privacy = spec.privacy
    if privacy is None:
        return
    if privacy.rounding not in ROUNDINGS:
        raise unknown_name("privacy.rounding", privacy.rounding, ROUNDINGS)
    _check_bins(spec, privacy)
    _check_classes(spec, privacy)
    from pairgossip.peer.reports import debiased_kernel_of, debiased_loss_of, mechanism_of

    try:
        mechanism_of(spec)
        if spec.kernel is not None:
            debiased_kernel_of(spec)
        else:
            debiased_loss_of(spec)
    except InputError as problem:
        raise InputError(f"[privacy]: {problem}") from None


def _check_bins(spec: Spec, privacy: Privacy) -> None:
    assert isinstance(privacy.bins, tuple)
    if len(privacy.bins) != len(spec.columns):
        raise InputError(
            f"privacy.bins lists {len(privacy.bins)} numbers, but columns names "
            f"{len(spec.columns)}: give one number for all, or one for each of them (and none for "
            f"a label)."
        )


def _check_classes(spec: Spec, privacy: Privacy) -> None:
    if spec.label is None:
        if privacy.classes is not None:
            raise InputError("privacy.classes is for a label, and this run has none: remove it.")
        return
    if privacy.classes is None:
        raise InputError(
            f"privacy.classes is missing: list the values that label '{spec.label}' can have, as "
            f"in classes = [0, 1]."
        )
    low, high = spec.ranges[spec.label]
    outside = [one for one in privacy.classes if not low <= one <= high]
    if outside:
        raise InputError(
            f"privacy.classes holds {outside[0]:g}, but ranges.{spec.label} is [{low:g}, "
            f"{high:g}]: make the range hold all classes."
        )
