"""`pairgossip peer export`: a peer's durable state, to look at."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import tell
from pairgossip.cli.options import Flag
from pairgossip.cli.outputs import check_outputs
from pairgossip.cli.peer.place import found_home


def export_command(*, out: Path, home: Path | None = None, with_data: Flag = False) -> None:
    """Write the peer's durable state as JSON: whose records it holds, offers, outcomes, sums.

    No observation is written unless asked for, and never the key. The peer may be running.
    This is for looking only: a peer cannot be restored from it.

    For example:

        pairgossip peer export --out state.json

    Parameters
    ----------
    out
        The JSON file to write.
    home
        The peer's folder; by default this one, or the only peer's in it.
    with_data
        Also write the observations that the peer holds, its own and those of others.
    """
    import json

    from pairgossip.files import write_text
    from pairgossip.peer.journal import export

    place = found_home(home)
    check_outputs([out])
    shown = export(place.state, private=with_data)
    write_text(out, [json.dumps(shown, indent=2, allow_nan=False), "\n"])
    tell(f"Wrote {out}")
