"""Descriptions of what would leave a site, in the words that its operator accepts."""

from __future__ import annotations

from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.protocol.records import Question
from pairgossip.study.site.kinds import describe_question
from pairgossip.study.site.words import Asked
from pairgossip.study.storage.settings import StudySettings

from .real import SPEC


def test_names_of_the_asker_do_not_turn_words_around() -> None:
    text = parse_spec(SPEC.replace("risk =", '"ri\\u202esk" =').replace("risk", "ri\\u202esk", 1))
    question = Question(member="a", list=bytes(32), number=1, text=text.text, expires=9)
    words = describe_question(Asked(question, StudySettings("a", "rows.csv"), [], {}))
    assert any("'ri\\u202esk'" in one for one in words)
    assert all(one.isprintable() for one in words)
