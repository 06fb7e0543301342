"""swarm.json: what a swarm consists of, for whoever wants to look at it while it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairgossip.files import write_text
from pairgossip.swarm.plan import Plan
from pairgossip.swarm.processes import PeerProcess

FORMAT = "pairgossip-swarm"
FILE = "swarm.json"


@dataclass
class Manifest:
    """Writes the file anew whenever a process has come or gone."""

    folder: Path
    plan: Plan
    peers: list[PeerProcess]
    addresses: list[str]
    exact: float | None
    started: float
    _written: str = ""

    def write(self, *, is_running: bool = True, result: Mapping[str, Any] | None = None) -> None:
        """Write what has changed, if anything has."""
        text = json.dumps(self._content(is_running, result), indent=2) + "\n"
        if text != self._written:
            write_text(self.folder / FILE, [text])
            self._written = text

    def _content(self, is_running: bool, result: Mapping[str, Any] | None) -> dict[str, Any]:
        plan, names = self.plan, self.plan.names
        positions = plan.graph.positions
        return {
            "format": FORMAT,
            "version": 1,
            "running": is_running,
            "pid": os.getpid() if is_running else None,
            "started": self.started,
            "measure": plan.spec.kernel or plan.spec.loss,
            "target": plan.spec.target,
            "exact": self.exact,
            "spec": plan.spec.hash,
            "family": plan.graph.family,
            "peers": [
                {
                    "name": peer.name,
                    "id": peer.id,
                    "home": peer.home.folder.name,
                    "rows": len(rows),
                    "address": address,
                    "pid": peer.pid,
                    "state": peer.state,
                }
                for peer, rows, address in zip(self.peers, plan.rows, self.addresses, strict=True)
            ],
            "links": [[names[i], names[j]] for i, j in plan.links],
            "positions": None if positions is None else positions.tolist(),
            "result": result,
        }
