"""`pairgossip doctor`: what is in the way on this machine, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pairgossip.cli.console import EXIT_FAILED, working_on, write_json, write_line
from pairgossip.cli.options import Json

_MARKS = {"fine": "ok", "look": "look", "broken": "BROKEN"}


def doctor_command(
    folders: Annotated[list[Path] | None, Parameter(name="FOLDERS")] = None,
    /,
    *,
    json: Json = False,
) -> int:
    """Look at this installation, and at peers' folders, and say what to do about what is wrong.

    It looks at Python, at what the extras bring, where compiled loops are kept, at the clock and
    at free space; for each folder of a member of a study at its settings, certificates and source,
    at whether its peer runs or could listen, and at whether other members or the relay take
    connections. Nothing is changed, and nothing but an empty connection is sent. It ends with 1 if
    something is broken.

    For example:

        pairgossip doctor
        pairgossip doctor hospital-1

    Parameters
    ----------
    folders
        Folders of members of studies to look at as well.
    """
    from pairgossip.doctor.installation import examine_installation
    from pairgossip.doctor.peers import examine_peer

    with working_on("Looking at this machine"):
        findings = list(examine_installation(Path()))
        for folder in folders or ():
            findings += examine_peer(folder)
    if json:
        write_json([one._asdict() for one in findings])
    else:
        width = max(len(one.subject) for one in findings)
        for one in findings:
            write_line(f"{_MARKS[one.state]:6}  {one.subject:{width}}  {one.sentence}")
            if one.advice:
                write_line(f"{'':6}  {'':{width}}  {one.advice}")
    return EXIT_FAILED if any(one.state == "broken" for one in findings) else 0
