"""A site's verdicts on questions: by its policy, their texts and earlier questions."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import NO_DIGEST, Card, MemberList, Question
from pairgossip.study.site import policy
from pairgossip.study.site.layouts import find_scores, layout_of, read_text
from pairgossip.study.site.offers import Entry
from pairgossip.study.site.policy import judge
from pairgossip.study.storage.settings import StudySettings, make_settings, read_settings
from tests.study_site.consortium import AUC, canonical

DECLARED = frozenset({"risk", "died", "age", "sex", "score_2024"})
MODEL = """
loss = "auc-hinge"
columns = ["risk"]
label = "died"
[ranges]
risk = [0, 1]
died = [0, 1]
[algorithm]
rounds = 10
"""
EXCHANGE = AUC + '[algorithm]\nname = "exchange"\n'
ENDS = EXCHANGE + "[stop]\nexchanges = 100\n"
NOISY = AUC + "[privacy]\nepsilon = 2\n"
BY_SEX = AUC.replace("[ranges]", 'by = "sex"\ngroups = ["f", "m"]\n[ranges]')
OPEN = {"ranges": {"risk": (0, 1)}}


def settings_of(policy: dict[str, Any] | None = None, **more: Any) -> StudySettings:
    return make_settings(name="a", source="/rows.csv", policy=policy or {}, **more)


def members_of(count: int = 5, least_cell: int = 3) -> MemberList:
    cards = (Card(f"id-{at}", f"m-{at}", "", None, 3, 10, least_cell) for at in range(count))
    return MemberList(NO_DIGEST, tuple(cards))


def ask(text: str, **more: Any) -> Question:
    given: dict[str, Any] = {"member": "id-0", "list": members_of().digest}
    given |= {"number": 1, "expires": 0}
    return Question(**(given | {"text": canonical(text)} | more))


def entry_of(text: str, settings: StudySettings, name: bytes = b"1" * 32, **more: Any) -> Entry:
    spec = read_text(canonical(text))
    return Entry(
        question=name,
        asker="id-0",
        text=canonical(text),
        pieces=(),
        scores=find_scores(spec, settings),
        layout=layout_of(canonical(text)),
        disclosure=b"",
        commitment=b"",
        salt=b"",
        **more,
    )


def verdict_of(
    text: str,
    settings: StudySettings,
    before: tuple[Entry, ...] = (),
    members: MemberList | None = None,
    **more: Any,
) -> tuple[str, str]:
    here = members or members_of()
    given = judge(ask(text, **more), settings, here, DECLARED, before, me="me")
    return given.answer, given.because


def test_the_operator_is_asked_unless_the_policy_says_otherwise() -> None:
    assert verdict_of(AUC, settings_of()) == ("ask", "")
    answer, because = verdict_of(AUC, settings_of({"accept": "by-policy"}))
    assert answer == "ask" and "no range in [ranges]" in because
    assert verdict_of(AUC, settings_of({"accept": "by-policy"}, **OPEN)) == ("yes", "")
    assert verdict_of(AUC, settings_of(), member="me")[0] == "yes"


@pytest.mark.parametrize(
    ("text", "policy", "said"),
    [
        (AUC, {"kernels": ["gini"]}, "kernel 'auc'"),
        (MODEL, {"losses": ["auc-logistic"]}, "loss 'auc-hinge'"),
        (MODEL, {}, "could locate a row"),
        (AUC, {"columns": ["age"]}, "column 'risk'"),
        (BY_SEX, {"groups": []}, "column 'sex'"),
        (AUC, {"least_cell": 5}, "asks for 5 or more"),
        (AUC, {"least_members": 6}, "6 or more"),
        (AUC, {"most_numbers": 100}, "100 at most"),
        (AUC, {"may_ask": ["m-1", "id-2"]}, "no questions of this member"),
        (NOISY, {}, "epsilon"),
        (NOISY, {"epsilon": 1.5}, "epsilon"),
        (EXCHANGE, {}, "Rows do not leave"),
        (EXCHANGE, {"exchange": True}, "without an end"),
        (
            ENDS + "[privacy]\nepsilon = 2\nbins = 8\nclasses = [0, 1]\n",
            {"exchange": True},
            "Reports of rows",
        ),
        (ENDS.replace("[ranges]", "members = 50\n[ranges]"), {"exchange": True}, "leave them out"),
        (
            ENDS.replace("[stop]", "rate = 1e6\n[stop]"),
            {"exchange": True},
            "1000 exchanges per second",
        ),
        (ENDS, {"exchange": True, "columns": ["age"]}, "column 'risk'"),
        (AUC.replace("risk", "weight"), {}, "frozen no column 'weight'"),
    ],
)
def test_what_the_policy_does_not_allow_is_refused_at_once(
    text: str, policy: dict[str, Any], said: str
) -> None:
    for accept in ("ask", "by-policy"):
        answer, because = verdict_of(text, settings_of(policy | {"accept": accept}, **OPEN))
        assert answer == "no" and said in because


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (AUC, {"kernels": ["auc"], "columns": ["risk", "died"], "groups": []}),
        (BY_SEX, {"groups": ["sex"]}),
        (MODEL, {"losses": ["auc-hinge"], "allow": ["auc-hinge"]}),
        (NOISY, {"epsilon": 2.0}),
        (AUC, {"may_ask": ["m-0"]}),
        (AUC, {"may_ask": ["id-0"]}),
    ],
)
def test_what_the_policy_allows_is_accepted(text: str, policy: dict[str, Any]) -> None:
    given = settings_of(policy | {"accept": "by-policy"}, **OPEN)
    assert verdict_of(text, given) == ("yes", "")


def test_rows_travel_unasked_only_where_both_settings_say_so() -> None:
    for accept, exchange, answer in (
        ("ask", True, "ask"),
        ("by-policy", True, "ask"),
        ("ask", "by-policy", "ask"),
        ("by-policy", "by-policy", "yes"),
    ):
        given = settings_of({"accept": accept, "exchange": exchange}, **OPEN)
        assert verdict_of(ENDS, given)[0] == answer
    more: dict[str, Any] = {"reads": (b"2" * 32,)}
    assert verdict_of(ENDS, settings_of({"exchange": True}), **more)[0] == "no"


def test_rows_count_no_column_and_are_held_to_no_earlier_table() -> None:
    given = settings_of({"exchange": True, "most_columns": 1})
    counted = entry_of(AUC, given, state="answered")
    assert verdict_of(ENDS.replace("risk", "age"), given, (counted,))[0] == "ask"
    traveled = entry_of(ENDS, given, state="answered")
    assert not traveled.scores
    assert (
        verdict_of(AUC.replace("risk = [0, 1]", "risk = [-1, 1]"), given, (traveled,))[0] == "ask"
    )


def test_rows_never_travel_by_a_relay() -> None:
    given = settings_of(relay="tls/relay.example:443")
    assert "never travel by one" in verdict_of(ENDS, given)[1]
    with pytest.raises(InputError, match="Rows do not travel by a relay"):
        settings_of({"exchange": True}, relay="tls/relay.example:443")


def test_a_narrower_range_than_this_sites_is_refused() -> None:
    given = settings_of({"accept": "by-policy"}, ranges={"risk": (0, 1)})
    answer, because = verdict_of(AUC.replace("risk = [0, 1]", "risk = [0, 0.9]"), given)
    assert answer == "no" and "lie in [0, 1]" in because
    assert verdict_of(AUC.replace("risk = [0, 1]", "risk = [-1, 2]"), given)[0] == "yes"


def test_three_members_hide_no_small_counts() -> None:
    few = members_of(3)
    answer, because = verdict_of(AUC, settings_of(), members=few)
    assert (answer, because) == (
        "no",
        "The list has 3 members, and where no count of fewer than 3 rows leaves a site a table "
        "takes the rows of 4: let another member join, or found a study in which all say peer init "
        "--least-cell 1.",
    )
    assert verdict_of(NOISY, settings_of({"epsilon": 9}), members=few)[0] == "ask"
    as_they_are = AUC + "[algorithm]\nleast_cell = 1\n"
    settings = settings_of({"least_cell": 1})
    assert verdict_of(as_they_are, settings, members=members_of(3, least_cell=1))[0] == "ask"


def test_the_members_least_cell_is_every_questions() -> None:
    answer, because = verdict_of(AUC, settings_of(), members=members_of(least_cell=5))
    assert answer == "no" and "list's members count 5" in because
    five = AUC.replace("[ranges]", "algorithm.least_cell = 5\n[ranges]")
    assert verdict_of(five, settings_of(), members=members_of(least_cell=5))[0] == "ask"
    assert verdict_of(five, settings_of())[0] == "no"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (AUC.replace("[0, 1]\ndied", "[0, 2]\ndied"), "other cells"),
        (BY_SEX, "other cells"),
        (AUC.replace("[ranges]", "algorithm.bins = 64\n[ranges]"), "other cells"),
        (
            AUC.replace('"risk"', '"age"').replace("risk =", "age =").replace("died", "risk"),
            "score",
        ),
        (AUC.replace("risk", "died2").replace("died]", "x]"), "frozen no column"),
    ],
)
def test_a_column_is_what_it_was_first(text: str, said: str) -> None:
    given = settings_of()
    before = (entry_of(AUC, given),)
    answer, because = verdict_of(text, given, before)
    assert answer == "no" and said in because


def test_a_label_is_never_a_score_and_its_values_stay() -> None:
    given = settings_of()
    before = (entry_of(BY_SEX, given),)
    as_score = AUC.replace("risk", "died2").replace("died", "sex").replace("sex2", "died")
    answer, because = verdict_of(as_score.replace("sex", "risk"), given, before)
    assert answer == "no" and "score in one question" in because
    age = AUC.replace("risk", "age").replace("age = [0, 1]", "age = [0, 99]")
    by_other = age.replace("[ranges]", 'by = "sex"\ngroups = ["f", "m", "x"]\n[ranges]')
    answer, because = verdict_of(by_other, given, before)
    assert answer == "no" and "fixed by its first use" in because
    assert verdict_of(age, given, before)[0] == "ask"


def test_an_ended_question_binds_nobody() -> None:
    given = settings_of()
    ended = entry_of(AUC, given, state="ended")
    assert verdict_of(BY_SEX, given, (ended,))[0] == "ask"


def test_two_names_of_one_column_are_one() -> None:
    given = settings_of(columns={"risk": "score_2024", "score": "score_2024x"})
    before = (entry_of(AUC, given),)
    other = AUC.replace('"risk"', '"score_2024"').replace("risk =", "score_2024 =")
    assert verdict_of(other.replace("[0, 1]\ndied", "[0, 2]\ndied"), given, before)[0] == "no"
    same = settings_of(same=[["risk", "age"]])
    before = (entry_of(AUC, same),)
    logit = AUC.replace("risk", "age").replace("age = [0, 1]", "age = [-9, 9]")
    assert "other cells" in verdict_of(logit, same, before)[1]
    both = 'kernel = "kendall"\ncolumns = ["risk", "age"]\n[ranges]\nrisk = [0, 1]\nage = [0, 9]'
    assert "are one here" in verdict_of(both, same)[1]


def test_amounts_are_bounded_over_the_whole_study() -> None:
    given = settings_of({"most_columns": 1, "epsilon": 3.0})
    age = AUC.replace("risk", "age")
    assert "1 score columns" in verdict_of(age, given, (entry_of(AUC, given),))[1]
    assert verdict_of(AUC, given, (entry_of(AUC, given),))[0] == "ask"
    spent = entry_of(NOISY, given, state="answered")
    more = NOISY.replace("risk", "age")
    bounded = settings_of({"epsilon": 3.0})
    assert "epsilon" in verdict_of(more, bounded, (spent,))[1]
    few = settings_of({"most_open": 2})
    waiting = tuple(entry_of(AUC, few, name=bytes([at]) * 32) for at in range(2))
    assert "2 open questions" in verdict_of(AUC, few, waiting)[1]
    assert verdict_of(AUC, few, waiting, adds=False, reads=(b"1" * 32,))[0] == "ask"


def test_a_judgment_is_given_nothing_of_rows() -> None:
    """Answers that depend on rows would reveal these by bisection."""
    given = set(inspect.signature(judge).parameters)
    assert given == {"question", "settings", "members", "declared", "before", "me"}
    source = inspect.getsource(policy)
    for module in ("snapshots", "counting", "tables", "storage", "rows", "journal", "member_site"):
        assert f"{module} import" not in source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "a"', "source is missing"),
        ('name = "a"\nsource = "rows.csv"', "write the whole path"),
        (
            'name = "a"\nsource = "/r.csv"\n[policy]\nkernel = ["auc"]',
            "Unknown key of \\[policy\\]",
        ),
        ('name = "a"\nsource = "/r.csv"\nsorce = "rows.csv"', "Unknown key 'sorce'"),
        ('name = "a"\nsource = "/r.csv"\nleast_rows = 3', "below a line \\[policy\\]"),
        ('name = "a"\nsource = "/r.csv"\n[policy]\nleast_members = 2', "give 3 or more"),
        ('name = "a"\nsource = "/r.csv"\n[policy]\nmost_columns = 0', "give 1 or more"),
        ('name = "a"\nsource = "/r.csv"\n[policy]\nepsilon = 0', "finite number > 0"),
        ('name = "a"\nsource = "/r.csv"\n[policy]\naccept = "always"', "policy.accept"),
        ('name = "a"\nsource = "/r.csv"\nmetrics = "9464"', "HOST:PORT"),
        ('name = "a"\nsource = "/r.csv"\n[columns]\na = "x"\nb = "x"', "calls two columns 'x'"),
    ],
)
def test_settings_that_are_wrong_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "peer.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_settings(file)
