"""Peers read again and again, and how their estimates have moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.peer.reading import READERS_AT_ONCE, SwarmReader, SwarmReading
from pairgossip.watch.peers.source import Swarm

MOST_NUMBERS = 60_000
"""Estimates kept for all peers together; beyond this, every other moment is dropped."""
MOST_MOMENTS = 1_200


class SwarmHistory:
    """Reads a swarm and keeps its estimates. For one thread; `curves` may be called by others."""

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self._reader = SwarmReader(swarm.readers, READERS_AT_ONCE)
        self._kept: list[tuple[float, FloatArray]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the peers, made harmless."""
        return self._reader.names

    def read(self) -> SwarmReading:
        """Read all peers; one that does not answer delays the others only briefly."""
        is_running = self.swarm.refresh()
        reading = replace(self._reader.read(), is_running=is_running)
        kept = [*self._kept, (reading.seconds, estimates_in(reading))]
        most = min(MOST_MOMENTS, max(MOST_NUMBERS // len(self.names), 60))
        if len(kept) > most:  # older moments grow farther apart, the newest stays
            kept = kept[-1::-2][::-1]
        self._kept = kept
        return reading

    def curves(self) -> tuple[list[float], list[list[float]]]:
        """Return the moments, and the estimates of every peer at each of them."""
        kept = list(self._kept)
        if not kept:
            return [], [[] for _ in self.names]
        curves = np.stack([estimates for _, estimates in kept], axis=1)
        return [seconds for seconds, _ in kept], curves.tolist()

    def close(self) -> None:
        """Ask no peer any more."""
        self._reader.close()


def estimates_in(reading: SwarmReading) -> FloatArray:
    """Return the estimates of all peers, NaN where there is none."""
    return np.array(reading.estimates(), dtype=np.float64)
