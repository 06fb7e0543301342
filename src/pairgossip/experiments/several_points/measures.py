"""What is measured of one construction at one place: errors against what was sent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.results import Run


@dataclass(frozen=True)
class Curve:
    """Relative errors over checkpoints, from the first that sent anything."""

    run: Run
    value: float
    """The statistic, which errors are relative to."""

    @cached_property
    def _sent(self) -> IntArray:
        return np.flatnonzero(self.run.messages > 0)

    @property
    def messages(self) -> FloatArray:
        """Messages sent between sites."""
        return self.run.messages[self._sent].astype(np.float64)

    @property
    def bytes(self) -> FloatArray:
        """Bytes of payload sent between sites."""
        return self.run.bytes[self._sent]

    @cached_property
    def error(self) -> FloatArray:
        """Root mean square over nodes and trials, relative to the statistic."""
        return self.run.error[self._sent] / self.value

    @property
    def trial_error(self) -> FloatArray:
        """Root mean square over nodes, of every trial."""
        return self.run.trial_error[:, self._sent] / self.value

    @property
    def final(self) -> float:
        """The error at the end."""
        return float(self.error[-1])

    @property
    def site_error(self) -> float:
        """The error at the end of what sites know: the mean of their rows' estimates."""
        apart = self.run.site_estimates - self.value
        return float(np.sqrt(np.mean(apart**2)) / self.value)

    @property
    def noise(self) -> float:
        """Relative standard error of the final error, by the scatter over trials."""
        squares = self.trial_error[:, -1] ** 2
        return float(squares.std(ddof=1) / squares.mean() / np.sqrt(len(squares)) / 2)

    @property
    def slope(self) -> float:
        """The exponent with which the error falls in the last decade of messages."""
        late = self.messages >= self.messages[-1] / 10
        return float(np.polyfit(np.log(self.messages[late]), np.log(self.error[late]), 1)[0])

    @property
    def bytes_per_message(self) -> float:
        """How long a message is on average."""
        return float(self.bytes[-1] / self.messages[-1])

    def error_at(self, amount: float, against: str) -> float:
        """Interpolate the error when so many messages, or bytes, were sent, on log scales."""
        x, y = np.log(getattr(self, against)), np.log(self.error)
        return float(np.exp(np.interp(np.log(amount), x, y)))

    def needed(self, level: float, against: str) -> float | None:
        """Return the messages, or bytes, after which the error stays below a level, if it does."""
        above = np.flatnonzero(self.error >= level)
        sent = getattr(self, against)
        if not len(above):
            return float(sent[0])
        last = above[-1]
        if last == len(sent) - 1:
            return None
        # np.interp wants rising abscissas, and the error falls here.
        errors, amounts = np.log(self.error[[last + 1, last]]), np.log(sent[[last + 1, last]])
        return float(np.exp(np.interp(np.log(level), errors, amounts)))


def ratio_at_end(one: Curve, other: Curve, against: str) -> float:
    """Divide the errors where both have sent as much as the one that sent less in all."""
    amount = min(getattr(one, against)[-1], getattr(other, against)[-1])
    return one.error_at(amount, against) / other.error_at(amount, against)
