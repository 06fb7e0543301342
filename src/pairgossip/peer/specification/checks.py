"""Checks of a specification, each with its error message."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any

from pairgossip.checks import ROUNDINGS
from pairgossip.errors import InputError, unknown_name
from pairgossip.kernels import as_kernel
from pairgossip.losses import as_loss
from pairgossip.peer.specification.agreement import Spec, link_name
from pairgossip.peer.specification.differences import NOISE
from pairgossip.peer.specification.keys import Key
from pairgossip.peer.specification.tables import ADAPTIVE
from pairgossip.text import MOST_NAMED, join_first

if TYPE_CHECKING:
    import msgspec

    from pairgossip.peer.specification.kinds import ReportsSpec, RowsSpec

FACTORS = {"by": "groups", "within": "strata", "weight": "weights"}
"""Keys for a column by which rows are counted separately, and the keys for its values."""
_LARGEST_BOUND = 1e60
"""Largest absolute bound of a range; a larger one is refused, as sums of squares could overflow."""
_LEAST_WEIGHT = 1e-6
"""Least weight of a link; the largest is its inverse, and others are refused."""
_MOST_WEIGHT = 16
"""Largest number of times that a row may count; larger ones are refused."""
_LABELS: Collection[tuple[str, ...]] = (("label",), ("cluster",))
"""The last columns of kernels and losses that need a label."""
_EXAMPLES = {
    "by": 'by = "sex" with groups = ["f", "m"]',
    "within": 'within = "ward" with strata = ["a", "b"]',
    "weight": 'weight = "times" with weights = [1, 2, 4]',
}

_TYPE_NAMES = {
    "str": "text in quotes",
    "float": "a number",
    "int": "a whole number",
    "array": "a list in brackets",
    "object": "a table",
    "bool": "true or false",
}
_WRONG_TYPE = re.compile(r"Expected `([a-z]+)[^`]*`.*? got `(\w+)`")
_MISSING = re.compile(r"missing required field `(\w+)`")
_OUT_OF_BOUNDS = re.compile(r"Expected `(int|float)` [<>]")
_PLACE = re.compile(r"at `\$\.?([\w.]*)")


def check_table(table: Mapping[str, Any], keys_by_table: Mapping[str, Collection[str]]) -> None:
    """Refuse unknown keys, missing keys, and invalid values of the top-level keys."""
    for name, keys in keys_by_table.items():
        part = table if not name else table.get(name, {})
        for key in part if isinstance(part, Mapping) else ():
            if name and key not in keys and key in keys_by_table[""]:
                raise _misplaced(key, name)
            if key not in keys:
                raise unknown_name("key", key, keys, f"[{name}]" if name else "")
    kernel, loss = table.get("kernel"), table.get("loss")
    if kernel is None and loss is None:
        raise InputError(
            'kernel is missing: name what to estimate, as in kernel = "auc", '
            'or what to learn, as in loss = "auc-logistic".'
        )
    if kernel is not None and loss is not None:
        raise InputError("kernel and loss are both given: keep the one that this run is about.")
    if "columns" not in table:
        raise InputError('columns is missing: name the columns to read, as in columns = ["score"].')
    _check_columns(table["columns"], table.get("label"))
    if "classes" in table:
        _check_names(table["classes"], table)
    if "whole" in table:
        _check_whole(table["whole"], table["columns"])
    for key, listed in FACTORS.items():
        _check_factor(key, listed, table)
    if "links" in table:
        _check_links(table["links"])
    _check_ranges(table, keys_by_table[""])


def _check_links(links: Any) -> None:
    """Refuse links that do not name two members, and weights beyond their bounds."""
    if not isinstance(links, Mapping):
        raise InputError('links must be a table of weights, as in links = {"ann bob" = 2.5}.')
    seen = set[str]()
    for name, weight in links.items():
        members = name.split()
        if len(members) != 2 or members[0] == members[1]:
            raise InputError(
                f"links names '{name[:70]}': name the two members of a link, as in 'ann bob'."
            )
        link = link_name(*members)
        if link in seen:
            raise InputError(f"links names '{link}' twice: keep one of them.")
        seen.add(link)
        is_weight = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not is_weight or not _LEAST_WEIGHT <= weight <= 1 / _LEAST_WEIGHT:
            raise InputError(
                f"links.'{name}' is {weight!r}: give a number from {_LEAST_WEIGHT:g} to "
                f"{1 / _LEAST_WEIGHT:g}, how often it rings beside other links."
            )


def check_link_names(
    links: Collection[str], members: Iterable[str], neighbors: Iterable[str]
) -> None:
    """Raise `InputError` for links of unknown members, or of members that are not neighbors.

    ``neighbors`` has the names of all links that exist, or may exist.
    """
    if strangers := {name for link in links for name in link.split()}.difference(members):
        raise InputError(
            f"links names {_list_some(strangers)}, and no member is called so: let all members "
            "join, or correct the names and begin again."
        )
    if apart := set(links).difference(neighbors):
        raise InputError(
            f"links names {_list_some(apart)}, who are not neighbors: let them join each other as "
            "neighbors, or leave the link out and begin again."
        )


def _list_some(names: Collection[str]) -> str:
    shown = [repr(one[:70]) for one in sorted(names)[:MOST_NAMED]]
    return join_first(shown, len(names))


def wrong_kind(
    problem: msgspec.ValidationError,
    table: Any = None,
    find_key: Callable[[str], Key] = lambda _: Key(),
) -> InputError:
    """Return the error for a value in a table that has the wrong type, or is beyond its bounds."""
    text = str(problem)
    place = _PLACE.search(text)
    key = place[1] if place else ""
    shown = re.sub(f"^{NOISE}\\b", "privacy", key)
    missing = _MISSING.search(text)
    if missing:
        return InputError(f"{f'{shown}.' if key else ''}{missing[1]} is missing: add it.")
    if _OUT_OF_BOUNDS.match(text):
        number = reduce(lambda part, name: part[name], key.split("."), table or {})
        if not isinstance(number, float) and not (isinstance(number, int) and abs(number) < 2**63):
            return InputError(f"{shown} is a whole number beyond 64 bits: give another.")
        return InputError(f"{shown} is {number}: {find_key(key).refusal}")
    kinds = _WRONG_TYPE.search(text)
    if kinds is None:
        return InputError(f"{shown} is not as it must be: {text.partition(' - ')[0]}.")
    expected, got = (_TYPE_NAMES.get(kind, kind) for kind in kinds.groups())
    return InputError(f"{shown} must be {expected}, but it is {got}.")


def _misplaced(key: str, table: str) -> InputError:
    """Return the error for a top-level key that stands below the line [table]."""
    return InputError(f"{key} stands under [{table}]: move it above all tables.")


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _find_repeated(words: list[str]) -> str | None:
    return next((word for word, count in Counter(words).items() if count > 1), None)


def _check_columns(columns: Any, label: Any) -> None:
    if not _are_words(columns):
        raise InputError('columns must be a list of names, as in columns = ["score"].')
    if not columns:
        raise InputError("columns is empty: name at least one column.")
    if label is not None and not isinstance(label, str):
        raise InputError('label must be the name of a column, as in label = "diseased".')
    if not all(columns) or label == "":
        raise InputError("A column has an empty name: give every column a name.")
    if (repeated := _find_repeated(columns)) is not None:
        raise InputError(f"columns names '{repeated}' twice: name it once.")
    if label in columns:
        raise InputError(
            f"label '{label}' is also among columns: leave it out there, it comes last by itself."
        )


def _check_names(classes: Any, table: Mapping[str, Any]) -> None:
    """Refuse classes that are not two or more distinct words for the values of a label."""
    if not _are_words(classes):
        raise InputError('classes must be a list of words, as in classes = ["no", "yes"].')
    label, privacy = table.get("label"), table.get("privacy")
    if label is None:
        raise InputError("classes are those of a label: name its column, or remove them.")
    if len(classes) < 2:
        raise InputError("classes must list two labels or more, from the lowest to the highest.")
    _check_words("classes", classes)
    if isinstance(table.get("ranges"), Mapping) and label in table["ranges"]:
        raise InputError(f"ranges.{label} is not needed: classes say what it can be; remove it.")
    if isinstance(privacy, Mapping) and "classes" in privacy:
        raise InputError("privacy.classes is not needed: classes say what they are; remove it.")


def _check_words(key: str, words: list[str]) -> None:
    """Refuse words that are repeated, empty or surrounded by blanks, and fewer than two words."""
    if len(words) < 2:
        raise InputError(f"{key} must list two words or more, all that there may be.")
    if (repeated := _find_repeated(words)) is not None:
        raise InputError(f"{key} lists '{repeated}' twice: list it once.")
    if not all(name and name == name.strip() for name in words):
        raise InputError(f"{key} lists a word that is empty or has blanks around it.")


def _check_whole(whole: Any, columns: list[str]) -> None:
    if not _are_words(whole):
        raise InputError('whole must be a list of columns, as in whole = ["grade"].')
    strangers = [name for name in whole if name not in columns]
    if strangers:
        raise InputError(
            f"whole names '{strangers[0]}', which is not among columns: name columns of whole "
            "numbers (a label is one anyway)."
        )


def _check_factor(key: str, listed: str, table: Mapping[str, Any]) -> None:
    """Refuse a column of groups, strata or weights without a valid list of its values."""
    name, values = table.get(key), table.get(listed)
    if name is None and values is None:
        return
    example = _EXAMPLES[key]
    if name is None or values is None:
        lacks, there = (key, listed) if name is None else (listed, key)
        raise InputError(f"{there} is given without {lacks}: give both, as in {example}.")
    others = [table[one] for one in ("label", *FACTORS) if one != key and one in table]
    if not isinstance(name, str) or not name:
        raise InputError(f"{key} must be the name of a column, as in {example}.")
    if name in (*table["columns"], *others):
        raise InputError(f"{key} is '{name}', which this run has for something else: remove one.")
    if key == "weight":
        _check_weights(values)
        return
    if not _are_words(values):
        raise InputError(f"{listed} must be a list of words, as in {example}.")
    _check_words(listed, values)
    if not all(one.isprintable() for one in values):
        raise InputError(f"{listed} lists a word that cannot be printed: write it otherwise.")


def _check_weights(values: Any) -> None:
    are_whole = isinstance(values, list) and all(type(one) is int for one in values)
    if not are_whole or not values or not all(1 <= one <= _MOST_WEIGHT for one in values):
        raise InputError(
            f"weights must list how often rows may count, 1 to {_MOST_WEIGHT}, as in "
            f"{_EXAMPLES['weight']}: one row that counts more would stand out among others."
        )


def _check_ranges(table: Mapping[str, Any], top: Collection[str]) -> None:
    ranges = table.get("ranges")
    has_range = table.get("label") and "classes" not in table
    columns = [*table["columns"], *([table["label"]] if has_range else [])]
    if not isinstance(ranges, Mapping):
        raise InputError(
            f"ranges is missing: add a table [ranges] with a line such as {columns[0]} = [0, 1] "
            f"for every column."
        )
    names = set(columns)
    for name in ranges:
        if name not in names and name in top:
            raise _misplaced(name, "ranges")
        if name not in names:
            is_label = f' if it is the label, add label = "{name}"; else' * _lacks_label(table)
            raise InputError(
                f"ranges.{name} is for no column of this run:{is_label} remove it, or name the "
                "column."
            )
    for name in columns:
        if name not in ranges:
            raise InputError(
                f"ranges.{name} is missing: say between which values it lies, "
                f"as in {name} = [0, 1]."
            )
        _check_range(name, ranges[name])


def _lacks_label(table: Mapping[str, Any]) -> bool:
    """Return whether no label is named, and the kernel or loss needs one."""
    kernel, loss = table.get("kernel"), table.get("loss")
    with suppress(InputError, TypeError):  # these are refused later
        measure = as_loss(loss) if kernel is None else as_kernel(kernel)
        return table.get("label") is None and (measure.columns or ())[-1:] in _LABELS
    return False


def _check_range(name: str, bounds: Any) -> None:
    if (
        not isinstance(bounds, list)
        or len(bounds) != 2
        or not all(type(bound) in (int, float) for bound in bounds)
    ):
        raise InputError(f"ranges.{name} must be two numbers, as in {name} = [0, 1].")
    low, high = bounds
    if not all(-math.inf < bound < math.inf for bound in bounds):
        raise InputError(f"ranges.{name} is [{low}, {high}]: both bounds must be finite.")
    if max(abs(low), abs(high)) > _LARGEST_BOUND:
        raise InputError(f"ranges.{name} goes beyond {_LARGEST_BOUND:g}: rescale the column.")
    if low >= high:
        raise InputError(
            f"ranges.{name} is [{low}, {high}]: the first bound must be below the second."
        )


def check_measure(spec: Spec) -> None:
    """Refuse columns, classes and a target that do not fit the kernel or loss."""
    what = f"kernel '{spec.kernel}'" if spec.loss is None else f"loss '{spec.loss}'"
    columns = spec.measure.columns or ("features...",)
    needs_label = columns[-1:] in _LABELS
    if needs_label and spec.label is None:
        raise InputError(f"label is missing: {what} needs one, so name its column.")
    if not needs_label and spec.label is not None:
        raise InputError(f"label is given but {what} takes none: remove it.")
    if len(spec.classes or ()) > 2 and spec.has_two_classes:
        raise InputError(
            f"classes lists {len(spec.classes or ())} labels, but {what} takes two: list two."
        )
    others = columns[:-1] if needs_label else columns
    fewest = sum(not name.endswith("?") for name in others)
    most = math.inf if any(name.endswith("...") for name in others) else len(others)
    if not fewest <= len(spec.columns) <= most:
        names = ", ".join(name.rstrip("?") for name in others)
        raise InputError(
            f"columns names {len(spec.columns)}, but {what} takes {names}"
            f"{' besides the label' if needs_label else ''}: name just those."
        )
    if spec.target not in ("v", "u"):
        raise InputError(f'target is "{spec.target}": choose "v" or "u".')
    if spec.target == "u" and spec.loss is not None:
        raise InputError('target = "u" is for a kernel: remove it from a run with a loss.')


def check_exchange(spec: RowsSpec) -> None:
    """Refuse an invalid target, mixing or step of a run in which rows or reports travel."""
    if spec.target == "u" and spec.members is None:
        raise InputError(
            'target = "u" needs members: say how many rows all members have together, '
            "as in members = 40."
        )
    mixing, learning = spec.algorithm.mixing, spec.learning
    if learning is None and mixing not in ("weighted", "paper"):
        raise unknown_name("algorithm.mixing", str(mixing), ("weighted", "paper"))
    if learning is not None and isinstance(learning.step, str) and learning.step != ADAPTIVE:
        raise unknown_name("learning.step", learning.step, (ADAPTIVE,))


def check_privacy(spec: ReportsSpec) -> None:
    """Raise `InputError` for an invalid mechanism, or a measure that reports cannot give."""
    privacy = spec.privacy
    if spec.learning is not None and isinstance(spec.learning.step, str):
        raise InputError(
            "learning.step is adaptive, also where it is left out, and that takes the noise "
            "of reports for slopes: give a first step size, as in step = 0.1."
        )
    if privacy.rounding not in ROUNDINGS:
        raise unknown_name("privacy.rounding", privacy.rounding, ROUNDINGS)
    assert isinstance(privacy.bins, tuple)
    if len(privacy.bins) != len(spec.columns):
        raise InputError(
            f"privacy.bins lists {len(privacy.bins)} numbers, but columns names "
            f"{len(spec.columns)}: give one number for all, or one for each of them (and none for "
            f"a label)."
        )
    _check_classes(spec)
    try:
        _ = spec.debiased
    except InputError as problem:
        raise problem.at("[privacy]") from None


def _check_classes(spec: ReportsSpec) -> None:
    privacy = spec.privacy
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
