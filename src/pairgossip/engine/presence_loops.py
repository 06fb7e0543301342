"""The compiled loop that finds exchanges that do not take place."""

from pairgossip.engine.loops import loop
from pairgossip.faults import presence

find_lost = loop(presence.find_lost)
