"""`pairgossip swarm`: a whole network of real peers on this machine."""

from pairgossip.cli.swarm.command import swarm_app

__all__ = ["swarm_app"]
