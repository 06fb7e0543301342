"""The compiled loop over exchanges of which some do not take place."""

from pairgossip.engine.loops import loop
from pairgossip.faults import presence

find_lost = loop(presence.find_lost)
