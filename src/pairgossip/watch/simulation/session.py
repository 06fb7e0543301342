"""One watched simulation: a thread that runs it, and its viewers.

The thread posts the newest state on a board and never waits for a slow viewer, which skips states;
a late one finds the whole history there. While there are no viewers, the run waits.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from pairgossip.engine.compiling import noticing_compilation
from pairgossip.errors import InputError, PairgossipError
from pairgossip.graphs.layout import LARGEST_DRAWN
from pairgossip.watch.server.requests import Board, format_event, spell_on_page
from pairgossip.watch.simulation.frames import make_frames, make_setup
from pairgossip.watch.simulation.runs import WatchedRun
from pairgossip.watch.simulation.settings import Settings, read_speed

_FRAME_SECONDS, _LARGE_FRAME_SECONDS = 1 / 20, 1 / 12
_SMALLEST_BLOCK, _LARGEST_BLOCK = 16, 1 << 16
"""Least and largest number of iterations made at once."""
_MOST_PENDING = 256
"""Largest number of pending actions: more than a user presses before the run handles them."""
_log = logging.getLogger(__name__)


class Session:
    """Runs on the same data, advanced together; all viewers see and control the same runs."""

    def __init__(self, key: str, settings: Settings, runs: list[WatchedRun]) -> None:
        self.key, self.settings = key, settings
        self._runs = runs
        self._speed = settings.speed
        self._status, self._problem = "ready", ""
        self._pending: list[Callable[[], None]] = []
        self._changed = threading.Condition()
        self._board = Board()
        self.closed = False
        """Whether it has ended for good."""
        self._is_theory_claimed = False
        self._reach: float | None = None
        large = any(run.places.network.n > LARGEST_DRAWN for run in runs)
        self._frame_seconds = _LARGE_FRAME_SECONDS if large else _FRAME_SECONDS
        self._block = _SMALLEST_BLOCK
        setups = [
            # The common parts of equal networks.
            make_setup(
                run, (run.places.network.n, settings.seed, chosen.graph, *chosen.parameters.items())
            )
            for run, chosen in zip(runs, settings.runs, strict=True)
        ]
        self._publish("setup", {"runs": setups})
        self._publish_state()
        self._thread = threading.Thread(target=self._work, name=f"watch {key}", daemon=True)
        self._thread.start()

    # Actions of viewers.

    @property
    def is_watched(self) -> bool:
        """Whether there are viewers."""
        return self._board.is_watched

    def control(self, action: str, value: str = "") -> None:
        """Start, pause, step, reset, change the speed, follow a node's observation or stop."""
        actions: dict[str, Callable[[], Callable[[], None]]] = {
            "start": lambda: self._start,
            "pause": lambda: self._pause,
            "step": lambda: self._step,
            "reset": lambda: self._reset,
            "forget": lambda: partial(self._follow, None),
            "speed": lambda: partial(self._set_speed, read_speed(value)),
            "follow": lambda: partial(self._follow, self._row(value)),
            "follow-node": lambda: partial(self._follow, self._place(value), by_place=True),
        }
        if action not in actions:
            raise InputError(f"There is no action {action[:40]!r}.")
        chosen = actions[action]()  # a wrong value is refused now
        with self._changed:
            if len(self._pending) >= _MOST_PENDING:
                raise InputError("The run is busy with earlier actions: wait a moment.")
            self._pending.append(chosen)
            self._changed.notify()

    def messages(self, on_join: Callable[[Session], None] = lambda _: None) -> AsyncIterator[bytes]:
        """Yield server-sent events, the newest of every kind, until the session ends."""

        def joined() -> None:
            with self._changed:
                self._changed.notify()
            on_join(self)

        return self._board.messages(joined)

    def claim_theory(self) -> bool:
        """Return whether the theory is not yet computed; the caller then computes it."""
        with self._changed:
            claimed, self._is_theory_claimed = self._is_theory_claimed, True
        return not claimed

    def find_theory(self) -> None:
        """Compute expectation and bounds for viewers; takes seconds, so it is called elsewhere."""
        if self.closed or not self.is_watched:
            self._is_theory_claimed = False  # for the next viewer
            return
        self._publish("theory", {"runs": [run.theory() for run in self._runs]})

    def close(self) -> None:
        """End the thread and disconnect every viewer."""
        with self._changed:
            self.closed = True
            self._changed.notify()
        self._board.close()

    def join(self) -> None:
        """Wait for the thread to end."""
        self._thread.join(timeout=5)

    # Work of the thread; only it touches the runs.

    def _work(self) -> None:
        try:
            with noticing_compilation(lambda: self._publish_notice(is_compiling=True)):
                self._loop()
        except PairgossipError as problem:
            self._fail(spell_on_page(problem))
        except MemoryError:
            self._fail("The memory is not enough: use fewer nodes.")
        except Exception:
            _log.exception("a watched run failed")
            self._fail("The run failed: the server's own log says why.")

    def _loop(self) -> None:
        last, owed = time.monotonic(), 0.0
        while not self.closed:
            with self._changed:
                if not self._pending and not self._is_moving():
                    self._changed.wait(timeout=1.0)
                    last, owed = time.monotonic(), 0.0
                pending, self._pending = self._pending, []
            for action in pending:
                action()
            if pending:
                self._publish_state()
            if self.closed or not self._is_moving():
                continue
            now = time.monotonic()
            # At most a second's worth, but at least one iteration: slow speeds save up for it.
            owed = min(owed + (now - last) * self._speed, max(self._speed, 1.0))
            last = now
            if math.isinf(self._speed):
                self._advance(math.inf, now + self._frame_seconds)
                owed = 0.0
            elif owed >= 1:
                owed -= self._advance(int(owed), now + self._frame_seconds)
            self._publish_state()
            rest = self._frame_seconds - (time.monotonic() - now)
            if rest > 0:
                with self._changed:
                    self._changed.wait_for(lambda: self._pending or self.closed, timeout=rest)

    def _is_moving(self) -> bool:
        """Whether there is work: a run without viewers waits."""
        return self._status == "running" and self.is_watched

    def _advance(self, iterations: float, end: float) -> int:
        """Advance all runs together; return the number of iterations that time allowed for.

        At the highest speed, pending actions come first.
        """
        made = 0
        while made < iterations and self._status == "running":
            if math.isinf(iterations) and self._pending:
                break
            block = int(min(self._block, iterations - made))
            began = time.monotonic()
            for run in self._runs:
                run.advance(block)
            made += block
            self._notice_the_end()
            now = time.monotonic()
            # A block takes a fraction of a frame.
            if now - began < self._frame_seconds / 8:
                self._block = min(2 * self._block, _LARGEST_BLOCK)
            elif now - began > self._frame_seconds / 2:
                self._block = max(self._block // 2, _SMALLEST_BLOCK)
            if now >= end:
                break
        return made

    def _notice_the_end(self) -> None:
        if all(run.is_over for run in self._runs):
            self._status = "done"

    def _start(self) -> None:
        if self._status in ("ready", "paused"):
            self._status = "running"

    def _pause(self) -> None:
        if self._status == "running":
            self._status = "paused"

    def _step(self) -> None:
        if self._status == "done":
            return
        self._status = "paused"
        for run in self._runs:
            run.step()
        self._notice_the_end()

    def _reset(self) -> None:
        for run in self._runs:
            run.restart()
        self._reach = None
        self._status = "ready"

    def _set_speed(self, speed: float) -> None:
        self._speed = speed

    def _row(self, value: str) -> int:
        places = self._runs[0].places
        rows = places.network.n if places.sizes is None else int(places.sizes.sum())
        return _numbered(value, rows, "row" if self.settings.group_by else "node")

    def _place(self, value: str) -> int:
        kind = "site" if self.settings.group_by else "node"
        return _numbered(value, self._runs[0].places.network.n, kind)

    def _follow(self, number: int | None, by_place: bool = False) -> None:
        """Follow a row, or the one now held at a place of the first run that swaps rows."""
        if by_place and number is not None:
            swapping = (run.follower for run in self._runs if run.follower is not None)
            first = next(swapping, None)
            number = None if first is None else first.held_at(number)
        for run in self._runs:
            run.follow(number)

    def _fail(self, problem: str) -> None:
        self._status, self._problem = "failed", problem
        self._publish_notice(is_compiling=False)
        self._publish("frame", self._state([]))

    def _publish_notice(self, *, is_compiling: bool) -> None:
        """Inform viewers that nothing moves for some seconds, or that it does again."""
        self._publish("notice", {"compiling": is_compiling}, only_if_new=True)

    def _publish_state(self) -> None:
        self._publish_notice(is_compiling=False)
        frames, self._reach = make_frames(self._runs, self._reach)
        curves = [list(run.curves) for run in self._runs]
        self._publish("curve", {"runs": curves}, only_if_new=True)
        self._publish("frame", self._state(frames))

    def _state(self, frames: list[dict[str, Any]]) -> dict[str, Any]:
        speed = "max" if math.isinf(self._speed) else self._speed
        return {"status": self._status, "problem": self._problem, "speed": speed, "runs": frames}

    def _publish(self, name: str, value: Any, *, only_if_new: bool = False) -> None:
        self._board.post(name, format_event(name, value), only_if_new=only_if_new)


def _numbered(value: str, count: int, kind: str) -> int:
    if not value.isdecimal() or len(value) > 9 or int(value) >= count:
        raise InputError(f"There is no {kind} {value[:40]!r}: {kind}s are 0 to {count - 1}.")
    return int(value)
