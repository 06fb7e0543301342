"""All errors and warnings that this package raises on purpose, with one sentence each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from pairgossip.text import printable

_PACKAGE = __name__.partition(".")[0]
_CUTOFF = 0.61
"""Least likeness of a name that is offered in place of a list: 'digits' is too far from 'iris'."""


class Notice(Exception):
    """The base of errors and warnings for the user: one sentence, kept in parts.

    Parameters
    ----------
    message
        The sentence, with ``{argument}`` as the name of the argument to give, change or leave out.
        ``str()`` spells that as Python does, ``engine='plain'`` or, without a value, ``engine=``;
        the command line spells it as an option.
    argument, value
        The argument, and the value to give it.
    place
        The file, or other source, that the sentence is about; it stands before the sentence.
    subject
        The argument or setting that is wrong, for a page to mark; the advised one by default.
    """

    def __init__(
        self,
        message: str,
        argument: str | None = None,
        value: object = None,
        *,
        place: object = None,
        subject: str | None = None,
    ) -> None:
        # Messages quote names and entries of files.
        self.message, self.argument, self.value = printable(message), argument, value
        self.place = None if place is None else printable(str(place))
        self.subject = argument if subject is None else subject
        super().__init__(self.spell(_in_python))

    def spell(self, write: Callable[[str, object], str]) -> str:
        """Return the sentence; ``argument`` writes its argument, given the value or None."""
        sentence = self.message
        if self.argument is not None:
            sentence = sentence.replace("{argument}", write(self.argument, self.value))
        return sentence if self.place is None else f"{self.place}: {sentence}"

    def at(self, place: object) -> Self:
        """Return the same notice with a place before its own, such as the file that was read."""
        place = place if self.place is None else f"{place}: {self.place}"
        return type(self)(
            self.message, self.argument, self.value, place=place, subject=self.subject
        )


def _in_python(argument: str, value: object) -> str:
    return f"{argument}=" if value is None else f"{argument}={value!r}"


class PairgossipError(Notice):
    """The base of every error raised on purpose; its message is one sentence for the user."""


class InputError(PairgossipError, ValueError):
    """An argument or file of the user is wrong; the message names it and says what to do."""


class MissingExtra(PairgossipError, ImportError):
    """A feature needs a library that is not installed, or that does not load."""


class InterruptedRun(Notice, UserWarning):
    """A run was stopped by Ctrl-C; the message says which results were kept."""


class UnknownTarget(Notice, UserWarning):
    """The exact value is too costly to compute by default; estimates are fine, errors unknown."""


class RowsDropped(Notice, UserWarning):
    """Rows with missing values were left out, as requested; the message says how many and which."""


class ManyRows(Notice, UserWarning):
    """Large whole-number weights count as frequencies: intervals are those of many more rows."""


class NotEnough(Notice, UserWarning):
    """A run, or its step, was too short: its answers are less exact than they could be."""


class CoarseSketch(Notice, UserWarning):
    """The bins of a sketch cost more than the sample does; answers are less sure than stated."""


class SlowRun(Notice, UserWarning):
    """A run takes much longer than one that learns nearly the same; the message names that one."""


class NotCompiled(Notice, UserWarning):
    """A method or loss runs without compilation, many times slower; the message says why."""


class SlowSchedule(Notice, UserWarning):
    """A schedule would be slower than random exchanges, which are made instead."""


def notify(notice: Warning) -> None:
    """Warn the line that called this package, through any number of its functions."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(notice, stacklevel=level)


def canonical(name: str) -> str:
    """Return a name as catalogs spell it: lower case, with dashes."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def unknown_name(kind: str, name: str, choices: Iterable[str], owner: str = "") -> InputError:
    """Build the error for a name that is not in a catalog, offering the nearest one.

    Entries of a catalog may have other names, ``also_called``, in common use. The owner, such as
    "[stop]", is the part that the name would belong to.
    """
    import difflib  # not needed on a device at work

    names, typed = sorted(choices), canonical(name)
    entries = choices if isinstance(choices, Mapping) else {}
    called = [
        choice
        for choice, entry in entries.items()
        if typed.replace("-", "")
        in {other.replace("-", "") for other in getattr(entry, "also_called", ())}
    ]
    begun = [choice for choice in names if typed and choice.startswith(typed)]
    near = called or begun or difflib.get_close_matches(typed, names, n=1, cutoff=_CUTOFF)
    if not near:  # one word of a name, as long as it is of no other
        holding = [choice for choice in names if typed in choice.split("-")]
        near = holding if len(holding) == 1 else []
    listed = f"use '{names[0]}'." if len(names) == 1 else f"choose one of {', '.join(names)}."
    hint = f"did you mean '{near[0]}'?" if near else listed
    return InputError(f"Unknown {kind} '{name}'{f' of {owner}' if owner else ''}: {hint}")


# Optional libraries: imported where they are needed, and named in errors where they are missing.


@contextmanager
def needed_for(
    feature: str,
    install: str = "pairgossip[lab]",
    argument: str | None = None,
    value: object = None,
) -> Iterator[None]:
    """Turn a failed import inside the block into a sentence that says what to install.

    ``argument`` and ``value`` avoid the need, if ``feature`` has ``{argument}``.

    >>> with needed_for("figures"):
    ...     import json
    """
    try:
        yield
    except ImportError as missing:
        if isinstance(missing, ModuleNotFoundError) and missing.name:
            library = missing.name.partition(".")[0]
            lack = f"{library}, which is not installed: pip install '{install}'."
        else:  # such as a library of another system, or too little memory to load it
            reason = " ".join(str(missing).split()).rstrip(".")
            lack = f"a library that is installed but does not load ({reason})."
        raise MissingExtra(f"{feature} needs {lack}", argument, value) from missing


def needed_for_speed() -> AbstractContextManager[None]:
    """Turn a failed import of compiled loops into a sentence with the way around them."""
    feature = "The fast engine ({argument} runs without it)"
    return needed_for(feature, argument="engine", value="plain")
