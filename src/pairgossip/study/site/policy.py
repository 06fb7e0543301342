"""A site's answer to a question, from its operator's policy, its text, and earlier questions.

Nothing here can read rows: an answer that depends on them would reveal them by bisection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import MemberList, Question
from pairgossip.study.protocol.site import Verdict
from pairgossip.study.site.kinds import Offered, kind_of
from pairgossip.study.site.layouts import (
    find_column,
    find_scores,
    layout_of,
    read_text,
    refuse_undeclared,
    rule_of,
)
from pairgossip.study.site.offers import Entry
from pairgossip.study.storage.settings import Policy, StudySettings

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_TRIED = (
    "An earlier question had these columns with other values or cells, and had no result: to "
    "which of the two this site adds rows would show where they lie, so its operator decides."
)
"""Otherwise an asker who withdraws questions could try one list of values after the other."""


def judge(
    question: Question,
    settings: StudySettings,
    members: MemberList | None,
    declared: frozenset[str],
    before: Collection[Entry],
    *,
    me: str,
) -> Verdict:
    """Return yes or no to a question, or that the operator is to be asked.

    Parameters
    ----------
    question, members
        The question, and its list; None if the list is not known here.
    settings, declared
        The operator's settings, and the source's declared columns.
    before
        The questions that this site has accepted.
    me
        The id of this member, whose own questions need no second word.
    """
    try:
        spec = read_text(question.text)
        kind = kind_of(spec)
        _check_list(spec, question, settings, members)
        refuse_undeclared(spec, settings, declared)
        _check_measure(spec, settings.policy)
        kind.refuse(spec, Offered(question, settings, members))
        _check_columns(spec, settings)
        live = [one for one in before if one.state != "ended"]
        if question.adds and question.repeats is None:
            _check_history(question.text, spec, settings, live)
        _check_amount(spec, question, settings, live)
    except InputError as problem:
        return Verdict("no", str(problem))
    if question.member == me:
        return Verdict("yes")
    if doubt := kind.find_doubt(settings.policy):
        return Verdict("ask", doubt)
    if settings.policy.accept == "ask":
        return Verdict("ask")
    tried = [one for one in before if one.state == "ended"]
    if question.adds and _has_other_tries(question.text, spec, settings, tried):
        return Verdict("ask", _TRIED)
    if lack := _find_undeclared_range(spec, settings):
        return Verdict("ask", lack)
    return Verdict("yes")


def _has_other_tries(
    text: str, spec: Spec, settings: StudySettings, tried: Sequence[Entry]
) -> bool:
    try:
        _check_history(text, spec, settings, tried)
    except InputError:
        return True
    return False


def _check_list(
    spec: Spec, question: Question, settings: StudySettings, members: MemberList | None
) -> None:
    policy = settings.policy
    if members is None:
        return
    if len(members.members) < policy.least_members:
        raise InputError(
            f"The list has {len(members.members)} members, and this site answers lists of "
            f"{policy.least_members} or more."
        )
    least, rule = spec.algorithm.least_cell, rule_of(members)
    if least is not None and rule and least != rule:
        raise InputError(
            f"algorithm.least_cell is {least}, and the list's members count {rule} rows or more."
        )
    asker = next((one for one in members.members if one.id == question.member), None)
    names = {question.member} | (set() if asker is None else {asker.name})
    if policy.may_ask is not None and not names & set(policy.may_ask):
        raise InputError("This site answers no questions of this member.")


def _check_measure(spec: Spec, policy: Policy) -> None:
    for what, name, allowed in (
        ("kernel", spec.kernel, policy.kernels),
        ("loss", spec.loss, policy.losses),
    ):
        if name is not None and allowed is not None and name not in allowed:
            raise InputError(f"This site does not answer {what} '{name}'.")


def _check_columns(spec: Spec, settings: StudySettings) -> None:
    policy = settings.policy
    groups = {name for name in (spec.by, spec.within, spec.weight) if name is not None}
    for names, allowed in ((spec.measured, policy.columns), (groups, policy.groups)):
        for name in names:
            if allowed is not None and name not in allowed:
                raise InputError(f"This site does not answer for column '{name[:64]}'.")
    here = [find_column(name, settings) for name in spec.observed]
    for name, own in zip(spec.observed, here, strict=True):
        if here.count(own) > 1:
            raise InputError(f"Two columns of the question are one here, '{name[:64]}' among them.")
    for name, (low, high) in settings.ranges.items():
        if name in spec.ranges:
            least, most = spec.ranges[name]
            if not (least <= low and high <= most):
                raise InputError(
                    f"ranges.{name[:64]} is [{least:g}, {most:g}], and this site's values "
                    f"lie in [{low:g}, {high:g}]."
                )


def _check_history(text: str, spec: Spec, settings: StudySettings, live: Sequence[Entry]) -> None:
    """Refuse a column in another part or with other values than at its first use."""
    scores = find_scores(spec, settings)
    if not scores:
        return
    for entry in [one for one in live if one.scores]:
        if entry.scores & scores and entry.layout != layout_of(text):
            shared = next(
                name for name in spec.columns if find_column(name, settings) in entry.scores
            )
            raise InputError(
                f"Column '{shared[:64]}' was counted for question {entry.question.hex()[:12]} in "
                "other cells, classes or groups, or beside others: read its table instead, with "
                "peer result and --reading or --group."
            )
        before = read_text(entry.text)
        _refuse_other_part(spec, before, settings)
        _refuse_other_values(spec, before, settings)
    used = frozenset[str]().union(scores, *(entry.scores for entry in live))
    if len(used) > settings.policy.most_columns:
        raise InputError(
            f"This site answers for {settings.policy.most_columns} score columns in a study, and "
            "this would be more."
        )


def _parts(spec: Spec, settings: StudySettings) -> dict[str, str]:
    """Return the columns that are not scores, by this site's names, with their part."""
    parts = (
        *(("label", spec.label), ("weight", spec.weight)),
        *(("group", spec.by), ("group", spec.within)),
    )
    return {find_column(name, settings): part for part, name in parts if name is not None}


def _refuse_other_part(spec: Spec, before: Spec, settings: StudySettings) -> None:
    for one, other in ((spec, before), (before, spec)):
        apart = _parts(other, settings)
        for name in one.columns:
            if find_column(name, settings) in apart:
                raise InputError(
                    f"Column '{name[:64]}' is a score in one question of this study and a label or "
                    "group in another: its totals would show where rows lie."
                )


def _refuse_other_values(spec: Spec, before: Spec, settings: StudySettings) -> None:
    mine, theirs = _values(spec, settings), _values(before, settings)
    for column in mine.keys() & theirs.keys():
        if mine[column] != theirs[column]:
            name = next(one for one in spec.observed if find_column(one, settings) == column)
            raise InputError(
                f"Column '{name[:64]}' has other values here than in a question before: they are "
                "fixed by its first use in the study."
            )


def _values(spec: Spec, settings: StudySettings) -> dict[str, object]:
    """Return the possible values of each column."""
    listed = {**spec.factors, **spec.words}
    values: dict[str, object] = {name: listed[name] for name in listed}
    values |= {name: ends for name, ends in spec.ranges.items() if name not in listed}
    return {find_column(name, settings): it for name, it in values.items()}


def _check_amount(
    spec: Spec, question: Question, settings: StudySettings, live: Iterable[Entry]
) -> None:
    policy = settings.policy
    if not question.adds:
        return
    numbers = kind_of(spec).count_numbers(spec)
    if numbers > policy.most_numbers:
        raise InputError(
            f"The question asks for {numbers:,} numbers of each member, and this site gives "
            f"{policy.most_numbers:,} at most."
        )
    waiting = sum(one.asker == question.member and one.state == "accepted" for one in live)
    if waiting >= policy.most_open:
        raise InputError(
            f"This site answers {policy.most_open} open questions of a member at once."
        )
    if spec.epsilon and question.repeats is None:
        spent = sum(read_text(one.text).epsilon for one in live if one.repeats is None)
        if policy.epsilon is None or spent + spec.epsilon > policy.epsilon:
            raise InputError(
                "The questions with noise would spend more epsilon together than this site allows."
            )


def _find_undeclared_range(spec: Spec, settings: StudySettings) -> str:
    """Name a column without a range in the settings, without which no yes is automatic."""
    for name in spec.columns:
        if name not in settings.ranges:
            return (
                f"Column '{name[:64]}' has no range in [ranges] of peer.toml, so its operator "
                "decides."
            )
    return ""
