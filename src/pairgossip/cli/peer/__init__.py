"""`pairgossip peer`: one peer of a real network, from its key to its result."""

from __future__ import annotations

from cyclopts import App, Parameter

from pairgossip.cli.peer.init import init_command
from pairgossip.cli.peer.operate import (
    add_command,
    evict_command,
    export_command,
    run_command,
)
from pairgossip.cli.peer.page import page_command
from pairgossip.cli.peer.questions import (
    accept_command,
    ask_command,
    disclosed_command,
    leave_command,
    questions_command,
    refuse_command,
    withdraw_command,
)
from pairgossip.cli.peer.result import result_command
from pairgossip.cli.peer.setup import invite_command, join_command
from pairgossip.cli.peer.status import status_command
from pairgossip.cli.peer.unit import unit_command
from pairgossip.cli.peer.verify import verify_command

_HELP = """Run one peer of a real network: what all members know, and no server.

Each member makes a peer of its rows, gives an invitation to the others, joins
with theirs, and runs. Members of a study stay together: each may ask all others
one question after the other. No row leaves its machine where the answer can be
computed from sums over the rows of all members, and all members learn these sums.
peer questions says what would leave, and peer accept agrees to it.

With a specification peer init makes the peer of a single network instead, where
rows travel from member to member, or with a table [privacy] randomized reports of
them, until every peer has the answer (algorithm.name = "exchange").
For example, a study, then a network:

    pairgossip peer init --name hospital-1 --source admissions.parquet
    pairgossip peer invite > hospital-1.txt
    pairgossip peer join hospital-2.txt hospital-3.txt
    pairgossip peer run
    pairgossip peer ask auc.toml
    pairgossip peer questions
    pairgossip peer accept 1
    pairgossip peer result 1 --html result.html

    pairgossip peer init --name clinic-a --data scores.csv --spec exchange.toml
    pairgossip peer invite --address tls/clinic-a.example:7447 > clinic-a.txt
    pairgossip peer join clinic-b.txt clinic-c.txt
    pairgossip peer run
    pairgossip peer status
    pairgossip peer result --out result.json
"""

peer_app = App(
    name="peer",
    help=_HELP,
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
for command in (
    init_command,
    invite_command,
    join_command,
    run_command,
    status_command,
    ask_command,
    questions_command,
    accept_command,
    refuse_command,
    withdraw_command,
    result_command,
    disclosed_command,
    page_command,
    add_command,
    leave_command,
    evict_command,
    export_command,
    unit_command,
):
    name = command.__name__.removesuffix("_command")
    peer_app.command(command, name=name, help_format="markdown")

__all__ = ["peer_app", "verify_command"]
