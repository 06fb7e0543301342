"""`pairgossip doctor`: checks of this machine and of peers' folders, with advice."""

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
    """Check this installation and folders of peers, and advise on faults.

    It checks Python, the extras, the folder of compiled loops, the clock and free space. For each
    folder of a member of a study it checks settings and certificates, whether the source still has
    the frozen rows, whether the peer runs or could listen, and whether other members or the relay
    accept connections. It changes nothing, and sends nothing: it opens connections and closes them.
    Each line begins with ok, look (worth a look) or BROKEN. The exit code is 1 if something is
    broken.

    For example:

        pairgossip doctor
        pairgossip doctor hospital-1

    Parameters
    ----------
    folders
        Folders of members of studies to check too.
    """
    from pairgossip.doctor.installation import examine_installation
    from pairgossip.doctor.peers import examine_peer

    with working_on("Checking this machine"):
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
