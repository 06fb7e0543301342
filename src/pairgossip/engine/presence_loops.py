"""The compiled form of who is there and free."""

from pairgossip.engine.loops import loop
from pairgossip.faults import presence

find_lost = loop(presence.find_lost)
