"""Everything this package raises on purpose, one sentence per class."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from pairgossip.text import printable

_PACKAGE = __name__.partition(".")[0]


class Notice(Exception):
    """The base of errors and warnings for the user: one sentence, kept in parts.

    Parameters
    ----------
    message
        The sentence, with ``{argument}`` where it names the argument to give, change or leave out.
        ``str()`` spells that as Python does, ``engine='plain'`` or, without a value, ``engine=``;
        the command line spells it as an option.
    argument, value
        That argument, and the value to give it.
    place
        The file, or what else was read, that the sentence is about; it stands before the sentence.
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
        """Return the sentence; a function writes its argument, given the value or None."""
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
    """Something given by the user is wrong; the message names it and says what to do."""


class MissingExtra(PairgossipError, ImportError):
    """A feature needs a library that the installed extras do not bring."""


class InterruptedRun(Notice, UserWarning):
    """A run was stopped by Ctrl-C; the message says what was kept."""


class UnknownTarget(Notice, UserWarning):
    """The exact value is too costly to compute unasked; estimates are fine, errors unknown."""


class RowsDropped(Notice, UserWarning):
    """Rows with missing values were left out, as asked; the message says how many and which."""


class ManyRows(Notice, UserWarning):
    """Large whole-number weights count as frequencies: intervals are those of many more rows."""


class NotEnough(Notice, UserWarning):
    """A run was too short, or its step: its answers are less exact than they could be."""


class CoarseSketch(Notice, UserWarning):
    """The bins of a sketch cost more than the sample does; answers are less sure than they say."""


class SlowRun(Notice, UserWarning):
    """A run takes much longer than one that learns nearly the same; the message says which."""


class NotCompiled(Notice, UserWarning):
    """A method or loss runs as it is written, many times slower; the message says why."""


class SlowSchedule(Notice, UserWarning):
    """A schedule would be slower than random exchanges, which are made instead."""


def notify(notice: Warning) -> None:
    """Warn the line that called this package, through however many of its functions."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(notice, stacklevel=level)


def canonical(name: str) -> str:
    """Spell a name the one way the catalogs use: lower case, dashes."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def unknown_name(kind: str, name: str, choices: Iterable[str], owner: str = "") -> InputError:
    """Build the error for a name that is not in a catalog, offering the nearest one.

    Entries of a catalog may have other names, ``also_called``, which people know them by. The
    owner, such as "[stop]", is whose name it would be.
    """
    import difflib  # which a device at work does not need

    names, typed = sorted(choices), canonical(name)
    entries = choices if isinstance(choices, Mapping) else {}
    called = [
        choice
        for choice, entry in entries.items()
        if typed.replace("-", "")
        in {other.replace("-", "") for other in getattr(entry, "also_called", ())}
    ]
    begun = [choice for choice in names if typed and choice.startswith(typed)]
    near = called or begun or difflib.get_close_matches(typed, names, n=1, cutoff=0.6)
    if not near:  # one word of a name, as long as it is of no other
        holding = [choice for choice in names if typed in choice.split("-")]
        near = holding if len(holding) == 1 else []
    listed = f"use '{names[0]}'." if len(names) == 1 else f"choose one of {', '.join(names)}."
    hint = f"did you mean '{near[0]}'?" if near else listed
    return InputError(f"Unknown {kind} '{name}'{f' of {owner}' if owner else ''}: {hint}")


# Optional libraries: imported where they are needed, named clearly where they are absent.


@contextmanager
def needed_for(
    feature: str,
    install: str = "pairgossip[lab]",
    argument: str | None = None,
    value: object = None,
) -> Iterator[None]:
    """Turn a failed import inside the block into a sentence that says what to install.

    ``argument`` and ``value`` are what avoids the need, if ``feature`` has ``{argument}``.

    >>> with needed_for("figures"):
    ...     import json
    """
    try:
        yield
    except ImportError as missing:
        library = (missing.name or "a library").partition(".")[0]
        raise MissingExtra(
            f"{feature} needs {library}, which is not installed: pip install '{install}'.",
            argument,
            value,
        ) from missing


def needed_for_speed() -> AbstractContextManager[None]:
    """Turn a failed import of compiled loops into a sentence with the way around them."""
    feature = "The fast engine ({argument} runs without it)"
    return needed_for(feature, argument="engine", value="plain")
