"""The settings that the operator of one site decides alone, in peer.toml of a study's folder."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from pairgossip.errors import InputError, unknown_name
from pairgossip.files import LARGEST_TOML, parse_toml, quote_toml, read_bytes
from pairgossip.peer.bookkeeping.places import REGISTER_VARIABLE
from pairgossip.peer.identity.certificates import check_name
from pairgossip.peer.identity.members import check_address
from pairgossip.peer.protocol.program import LEAST_MEMBERS, LEAST_ROWS
from pairgossip.peer.specification.checks import wrong_kind
from pairgossip.peer.storage.folder import DEFAULT_LISTEN, HOME_VARIABLE, explain_settings
from pairgossip.text import parse_address

_PREFIX = "PAIRGOSSIP_"
_BY_ENVIRONMENT = ("listen", "metrics", "power_safe")
"""Settings that variables may change; the policy of a site is in its file alone."""
_LEAST_CELL = 3
"""Default of the least number of rows in a count."""
_MOST_NUMBERS = 1 << 17
"""Default of the largest number of numbers that a question may ask of a site."""
_MOST_OPEN = 20
"""Default of the largest number of open questions of one member."""

_MOST_COLUMNS = 20
"""Default of the largest number of score columns in a study."""


_EXAMPLES: Mapping[str, tuple[object, str]] = {
    "accept": (
        "by-policy",
        "answer at once what is allowed here; else every question waits for you",
    ),
    "may_ask": (["hospital-2"], "only these members, by name or id; else all may ask"),
    "kernels": (["auc", "gini"], "only these statistics; else any"),
    "losses": (["auc-logistic"], "only models by these losses; else any"),
    "columns": (["risk", "died"], "only these scores and labels, as questions call them; else any"),
    "groups": (["sex"], "only groups by these columns; else any"),
    "least_rows": (LEAST_ROWS, "rows of a batch, and of a class of this site, at least"),
    "least_cell": (_LEAST_CELL, "rows that are counted, at least; smaller counts stay here"),
    "least_members": (LEAST_MEMBERS, "members behind whatever can be computed, at least"),
    "most_numbers": (_MOST_NUMBERS, "numbers that a question asks of this site, at most"),
    "most_open": (_MOST_OPEN, "open questions of one member, at most"),
    "most_columns": (_MOST_COLUMNS, "score columns in the whole study, at most"),
    "epsilon": (1.0, "what all questions with noise may spend together; else none is answered"),
    "allow": (["auc-hinge"], "losses whose sums can locate a single row; else none"),
    "exchange": (True, "let rows travel for a question; you are asked each time"),
}
"""What operators find in the file of settings, to be changed: each key of the policy."""
_HINTS = """
# What this site answers. A line with # in front changes nothing: take the # away, that of [policy]
# too, and change the value. It holds from the next question on; the peer need not be started again.
# least_rows, least_cell and least_members hold in the whole study as they were at peer invite.
"""
_FORMS: Mapping[str, tuple[Any, str]] = {
    "batch": (str, "the path of a file"),
    "columns": (str, "the name of a column of the source"),
    "ranges": (tuple[float, float], "two numbers, such as [0, 1]"),
}
"""The types of the values of tables, in words too."""
_COLUMNS = """
# What the source calls a column that questions call otherwise.
# [columns]
# risk = "score_2024"
"""
_RANGES = """
# Between which values columns lie; by policy nothing is accepted for a column without.
# [ranges]
# risk = [0, 1]
"""


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions that this site answers; None stands for no limit."""

    accept: Literal["ask", "by-policy"] = "ask"
    """Whether the operator is asked, or allowed questions are accepted at once."""
    may_ask: tuple[str, ...] | None = None
    """Names or ids of the members whose questions are answered."""
    kernels: tuple[str, ...] | None = None
    losses: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    """Score columns and labels that questions may use, by the questions' names."""
    groups: tuple[str, ...] | None = None
    """Columns of groups and strata that may divide the rows, by the questions' names."""
    least_rows: int = LEAST_ROWS
    """The least number of rows of a batch, and of this site and class behind a total."""
    least_cell: int = _LEAST_CELL
    """The least number of rows in a count; texts with a smaller one are refused."""
    least_members: int = LEAST_MEMBERS
    """The least number of members of a list; all of them are accepted by hand."""
    most_numbers: int = _MOST_NUMBERS
    """The largest number of numbers that a question may ask of a site."""
    most_open: int = _MOST_OPEN
    """The largest number of open questions of one member."""
    most_columns: int = _MOST_COLUMNS
    """The largest number of score columns in the whole study."""
    epsilon: float | None = None
    """The epsilon that all questions with noise may spend together; None allows none of them."""
    allow: tuple[str, ...] = ()
    """Losses that are allowed though their sums can locate a row."""
    exchange: bool | Literal["by-policy"] = False
    """Whether rows may travel. The operator is asked each time, even where `accept` accepts sums at
    once; "by-policy" here too lets rows leave without being asked."""


class StudySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a site."""

    name: str
    source: str
    """The file or folder of the first rows, which is never copied."""
    listen: str = DEFAULT_LISTEN
    relay: str | None = None
    """The relay at which a site that cannot be called meets the others, such as
    tls/relay.example:443; it then listens nowhere. The relay's certificate is in relay.pem."""
    power_safe: bool = True
    """Whether to wait for the disk where a loss of power could otherwise undo a record."""
    metrics: str | None = None
    """The address of the metrics, such as 127.0.0.1:9464; None for no metrics."""
    show: bool = False
    """Where sites are compared: show this site's own statistic to all members, with its error."""
    row_id: str | None = None
    """The column of the source that identifies rows."""
    same: tuple[tuple[str, ...], ...] = ()
    """Columns that are functions of one another, and count as one; by the source's names."""
    register: str | None = None
    """The register of releases, in place of the one beside the data."""
    rehearsal: bool = False
    """Whether all members are on this machine: then the register of this user is not used."""
    batch: Mapping[str, str] = {}
    """The new paths of sources of added rows, by "2", "3", ..."""
    declared: tuple[str, ...] | None = None
    """The columns that studies may use, by the source's names; None for all. Rows that lack one of
    them are in no question."""
    columns: Mapping[str, str] = {}
    """The source's names of the columns of questions, where they differ."""
    ranges: Mapping[str, tuple[float, float]] = {}
    """The ranges of columns, by the questions' names; questions with narrower ranges are refused,
    and none is accepted by policy for a column without a range."""
    policy: Policy = Policy()


def read_settings(path: Path) -> StudySettings:
    """Read the settings of a study's folder; raise `InputError` if they are wrong."""
    content = read_bytes(path, LARGEST_TOML)
    with explain_settings(path):
        table = parse_toml(content.decode())
        _refuse_unknown(table, StudySettings, "key")
        if isinstance(policy := table.get("policy"), dict):
            _refuse_unknown(policy, Policy, "key of [policy]")
        _check_tables(table)
        settings = check_settings(msgspec.convert(table, StudySettings))
    return change_by_environment(settings, os.environ)


def _check_tables(table: Mapping[str, Any]) -> None:
    """Refuse a value of a wrong form by its key, which may belong below another line."""
    for name, (kind, form) in _FORMS.items():
        part = table.get(name)
        for key, value in part.items() if isinstance(part, Mapping) else ():
            try:
                msgspec.convert(value, kind)
            except msgspec.ValidationError:
                shown = f"{name}.{key[:64]} is {repr(value)[:64]}: give {form}."
                raise InputError(f"{shown}{advise_place(key)}") from None


def advise_place(key: str) -> str:
    """Return advice on a key that seems to stand below the line of another table; else ""."""
    if key in Policy.__struct_fields__:
        return f" If '{key}' belongs to the policy, write it below a line [policy]."
    if key in StudySettings.__struct_fields__:
        return f" If '{key}' is a setting of this peer, write it above all lines in brackets."
    return ""


def make_settings(**given: Any) -> StudySettings:
    """Return settings by their names; raise `InputError` if they are wrong."""
    _refuse_unknown(given, StudySettings, "setting")
    if isinstance(policy := given.get("policy"), Mapping):
        _refuse_unknown(policy, Policy, "setting of policy")
    try:
        return check_settings(msgspec.convert(msgspec.to_builtins(given), StudySettings))
    except msgspec.ValidationError as problem:
        raise wrong_kind(problem) from None


def check_settings(settings: StudySettings) -> StudySettings:
    """Refuse settings with which a site cannot run."""
    check_name(settings.name)
    check_address(settings.listen)
    if settings.relay is not None:
        check_address(settings.relay)
        if settings.policy.exchange:
            raise InputError(
                "Rows do not travel by a relay: leave policy.exchange out, or let members reach "
                "each other, and give no relay."
            )
    for source in (settings.source, *settings.batch.values()):
        if not os.path.isabs(source):
            raise InputError(
                f"source is {source[:64]!r}: write the whole path, since a peer may be started "
                "anywhere."
            )
    if settings.metrics is not None:
        parsed = parse_address(settings.metrics)
        if parsed is None or parsed[1] == 0:
            raise InputError(
                f"metrics is {settings.metrics[:64]!r}: write it as HOST:PORT, such as "
                "127.0.0.1:9464."
            )
    called = list(settings.columns.values())
    if repeated := [name for name in called if called.count(name) > 1]:
        raise InputError(
            f"[columns] calls two columns '{repeated[0][:64]}': name another for one of them."
        )
    _check_policy(settings.policy)
    return settings


def _check_policy(policy: Policy) -> None:
    least = {
        "least_rows": 0,
        "least_cell": 1,
        "least_members": LEAST_MEMBERS,
        "most_numbers": 1,
        "most_open": 1,
        "most_columns": 1,
    }
    for key, bound in least.items():
        if getattr(policy, key) < bound:
            raise InputError(f"policy.{key} is {getattr(policy, key)}: give {bound} or more.")
    if policy.epsilon is not None and not 0 < policy.epsilon < math.inf:
        raise InputError(f"policy.epsilon is {policy.epsilon}: give a finite number > 0.")


def change_by_environment(settings: StudySettings, environment: Mapping[str, str]) -> StudySettings:
    """Let variables such as PAIRGOSSIP_LISTEN replace entries of peer.toml."""
    changes = {}
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or variable in (HOME_VARIABLE, REGISTER_VARIABLE):
            continue
        key = variable.removeprefix(_PREFIX).lower()
        if key not in _BY_ENVIRONMENT:
            variables = [f"{_PREFIX}{one.upper()}" for one in _BY_ENVIRONMENT]
            raise unknown_name("variable", variable, (*variables, HOME_VARIABLE, REGISTER_VARIABLE))
        changes[key] = value
    if not changes:
        return settings
    table = {**msgspec.to_builtins(settings), **changes}
    with explain_settings("Environment"):
        return check_settings(msgspec.convert(table, StudySettings, strict=False))


def format_settings(settings: StudySettings) -> str:
    """Write settings as TOML, without those at their default; tables come last."""
    table = _without_defaults(settings)
    tables = {name: table.pop(name) for name in ("batch", "columns", "ranges") if name in table}
    policy = table.pop("policy", {})
    lines = _format_entries(table)
    for name, part in tables.items():
        lines += ["", f"[{name}]", *_format_entries(part)]
    examples = {"columns": _COLUMNS, "ranges": _RANGES}
    hints = [hint.rstrip() for name, hint in examples.items() if name not in tables]
    lines += [*hints, _HINTS.rstrip(), "[policy]" if policy else "# [policy]"]
    return "\n".join([*lines, *_explain_policy(policy)]) + "\n"


def _explain_policy(policy: Mapping[str, Any]) -> list[str]:
    """Write a policy, with the alternatives beside each entry."""
    free = {name: one for name, one in _EXAMPLES.items() if name not in policy}
    examples = _format_entries({name: value for name, (value, _) in free.items()})
    words = (what for _, what in free.values())
    more = (f"# {line}  # {what}" for line, what in zip(examples, words, strict=True))
    return [*_format_entries(policy), *more]


def _format_entries(table: Mapping[str, Any]) -> list[str]:
    return [
        f"{name if name.isidentifier() else quote_toml(name)} = {quote_toml(value)}"
        for name, value in table.items()
    ]


def _without_defaults(settings: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.fields(settings)
    changed = {
        one.name: getattr(settings, one.name)
        for one in fields
        if one.required or getattr(settings, one.name) != one.default
    }
    return {
        name: _without_defaults(value)
        if isinstance(value, msgspec.Struct)
        else msgspec.to_builtins(value)
        for name, value in changed.items()
        if value not in (None, {}, ())
    }


def _refuse_unknown(table: Mapping[str, Any], kind: type[msgspec.Struct], what: str) -> None:
    for key in table:
        if key not in kind.__struct_fields__:
            if key in Policy.__struct_fields__:
                raise InputError(f"'{key}' belongs to the policy: write it below a line [policy].")
            raise unknown_name(what, key, kind.__struct_fields__)
