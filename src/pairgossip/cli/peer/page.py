"""`pairgossip peer page`: the operator's page of a study, in a browser."""

from __future__ import annotations

import threading
from typing import Annotated

from cyclopts import Parameter

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import SERVER, Flag, HomeFolder, Whole
from pairgossip.cli.peer.studies import read_study
from pairgossip.errors import needed_for


def page_command(
    *,
    home: HomeFolder = None,
    port: Annotated[Whole | None, Parameter(group=SERVER)] = None,
    no_browser: Annotated[Flag, Parameter(group=SERVER)] = False,
) -> None:
    """Open a web page on which this member's operator decides.

    It shows who is a member, the questions that wait with what would leave this machine for each,
    those that run with who is awaited, the results with their curves, and the record of all that
    has left. Questions are asked, accepted and refused on it, each after it was confirmed; the
    peer, which runs on its own, carries that out.

    It is served on this machine alone, to whoever opens the address that is printed: the token
    in it lets others on this machine do nothing. From another machine, forward the port by
    `ssh -L 8765:127.0.0.1:8765` and give --port 8765. Ctrl-C ends the page, and not the peer.

    For example:

        pairgossip peer page

    Parameters
    ----------
    port
        Where to listen; by default an unused port.
    no_browser
        Print the address without opening a browser.
    """
    import webbrowser

    from pairgossip.cli.watch import has_screen

    with needed_for("The page", "pairgossip[watch]"):
        from pairgossip.watch.server.server import ServerAddress, Service
        from pairgossip.watch.study.desk import Desk
        from pairgossip.watch.study.door import Door, forwarding
        from pairgossip.watch.study.view import PAGE, StudyView

    door = Door()
    desk = Desk(read_study(home))
    service = Service(ServerAddress(port=port or 0), [StudyView(desk, door)], PAGE)
    address = door.address(service.address)
    with forwarding(address) as opening:

        def announce() -> None:
            write_line(address)
            tell("Ctrl-C ends it; the peer goes on.")
            if not no_browser and has_screen():
                threading.Thread(target=webbrowser.open, args=(opening,), daemon=True).start()

        service.run(announce)
