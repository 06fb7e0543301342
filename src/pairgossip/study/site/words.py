"""Descriptions of what would leave this site: its operator accepts them, a yes signs their digest.

They follow from the question and the public history alone: the same words for any rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pairgossip.study.protocol.records import Question
from pairgossip.study.site.layouts import read_text
from pairgossip.study.storage.settings import StudySettings
from pairgossip.study.storage.snapshots import Batch
from pairgossip.text import clean_text, format_count, join_names

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec


class Asked(NamedTuple):
    """A question at a site, with what the words about it depend on."""

    question: Question
    settings: StudySettings
    batches: Sequence[Batch]
    """The batches that would be counted, or travel."""
    names: Mapping[str, str]
    """The names of the members on the question's list, by their ids."""
    is_visible: bool = False
    """Whether the operator accepts that others can subtract."""

    @property
    def spec(self) -> Spec:
        """The specification of the question."""
        return read_text(self.question.text)


def describe_reading(asked: Asked) -> list[str]:
    """Describe what leaves this site for a question that tables answer."""
    return [
        "Nothing leaves this machine but a signature: the answer is read from tables that all "
        f"members have ({_name_questions(asked.question.reads)})."
    ]


def describe_sums(asked: Asked) -> list[str]:
    """Describe what leaves this site where sums are computed."""
    question, spec = asked.question, asked.spec
    sentences = [*spec.leaves(), *_describe_batches(asked.batches), *_describe_columns(asked)]
    if asked.names:
        listed = _list(asked.names)
        sentences.append(f"The members are {listed}: no other sees the sum, and none a part of it.")
    if question.reads:
        sentences.append(
            f"Rows are added to tables that all members have ({_name_questions(question.reads)}): "
            "they learn the sum over the new rows, too."
        )
    if question.repeats is not None:
        sentences.append(
            f"The numbers are those of question {question.repeats.hex()[:12]}, the very same."
        )
    if asked.is_visible:
        sentences.append(
            "This operator accepts that others can subtract the numbers of this question from "
            "known ones, and so learn numbers of this site alone."
        )
    return sentences


def digest_words(sentences: Sequence[str]) -> bytes:
    """Return the digest by which a yes names the words shown to its operator."""
    return hashlib.sha256("\n".join(sentences).encode()).digest()


def describe_travel(asked: Asked) -> list[str]:
    """Describe what leaves this site where rows travel."""
    spec, batches = asked.spec, asked.batches
    rows = [
        f"{one.number} ({format_count(one.rounded_rows, 'row')} or a few more)" for one in batches
    ]
    whose = f"batch{'es' * (len(batches) > 1)} {join_names(rows)}" if rows else "no batch"
    return [
        "Rows of this site will be read by the machines of all other members: all rows of "
        f"{whose}, each with {join_names([repr(name) for name in spec.observed])}, and with the "
        "name of this site.",
        *spec.leaves(),
        f"The members are {_list(asked.names)}; all of them learn how many rows this site has.",
        *_describe_columns(asked),
        "They travel between these members alone, never by a relay, until all have exchanged "
        "enough, the question expires, or any of them ends it. Then pairgossip erases others' rows "
        "on each machine; nobody can see whether a member has kept a copy.",
        "Rows of two such questions can be put together by the columns that they share.",
        "There is no common answer: each member has an estimate of its own, signed by nobody else.",
    ]


def _describe_columns(asked: Asked) -> list[str]:
    own = asked.settings.columns
    called = [
        f"'{name}' is '{own[name]}' here"
        for name in asked.spec.observed
        if own.get(name, name) != name
    ]
    return [f"By [columns] of peer.toml, {join_names(called)}."] if called else []


def _list(names: Mapping[str, str]) -> str:
    return join_names([f"'{clean_text(one, 64)}'" for one in sorted(names.values())])


def _describe_batches(batches: Sequence[Batch]) -> list[str]:
    if not batches:
        return [
            "None of this site's rows are counted: each batch was counted in these columns "
            "before, or lacks one of them. It contributes zeros."
        ]
    listed = [f"{one.number} ({format_count(one.rounded_rows, 'row')})" for one in batches]
    return [
        f"The rows are those of batch{'es' * (len(batches) > 1)} {join_names(listed)}, sizes "
        "rounded down to tens. Once added, they are never counted again in these columns.",
        "A batch adds nothing if it does not fill every class, group and stratum, has values out "
        "of range, or could be identified by earlier releases: it then waits. A dry run "
        "(peer questions N --try) shows this to this site alone, and peer accept N "
        "--visible adds rows though others can subtract.",
    ]


def _name_questions(questions: Sequence[bytes]) -> str:
    return join_names([f"question {one.hex()[:12]}" for one in questions]) if questions else "none"
