"""Compiled loops over exchanges of which some do not take place."""

from pairgossip.engine.loops import loop
from pairgossip.faults import presence

find_lost = loop(presence.find_lost)


@loop
def remove(exchanges, lost, left):  # type: ignore[no-untyped-def]
    """Write the exchanges that are not lost; return how many there are."""
    count = 0
    for s in range(exchanges.shape[0]):
        left[count, 0] = exchanges[s, 0]
        left[count, 1] = exchanges[s, 1]
        count += 0 if lost[s] else 1
    return count


@loop
def meet_themselves(exchanges, lost, met):  # type: ignore[no-untyped-def]
    """Write all exchanges; in those that are lost the first node meets itself."""
    for s in range(exchanges.shape[0]):
        met[s, 0] = exchanges[s, 0]
        met[s, 1] = exchanges[s, 0 if lost[s] else 1]
    return exchanges.shape[0]
