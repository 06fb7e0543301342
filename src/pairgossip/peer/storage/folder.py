"""A peer's folder: one process, one peer, one folder that only its owner can enter.

It also holds requests of the operator to evict a member, which the peer carries out when it runs.
A request is a file that stays until the change is on the disk, so it survives a crash, and works
whether or not the peer runs. A peer that learns of its own eviction notes that here, too: the
others no longer let it connect, so it could not learn of it again after a restart.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path

import msgspec

from pairgossip import files
from pairgossip.errors import InputError, unknown_name
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes, refuse_open_link, sync
from pairgossip.peer.bookkeeping.places import REGISTER_VARIABLE
from pairgossip.peer.identity.certificates import check_name, is_id
from pairgossip.peer.identity.identity import missing_file
from pairgossip.peer.identity.members import Members, check_address
from pairgossip.peer.protocol.messages import Rows
from pairgossip.peer.specification.checks import wrong_kind
from pairgossip.peer.specification.spec import Spec, parse_unchecked, read_spec
from pairgossip.peer.storage.rows import read_copy
from pairgossip.text import parse_address

DEFAULT_LISTEN = "tls/0.0.0.0:7447"
HOME_VARIABLE = "PAIRGOSSIP_HOME"
"""The variable that names the peer's folder for commands without one."""
_PREFIX = "PAIRGOSSIP_"
_BY_ENVIRONMENT = ("listen", "metrics", "power_safe")
"""Settings that variables may change; a peer's name does not change, as its certificate has it."""


_FORMER = frozenset((
    *("least_members", "least_rows", "least_cell", "allow", "show", "row_id", "same"),
    *("budget", "source", "batch", "relay"),
))  # fmt: skip
"""Settings of sums, which earlier versions wrote into all folders; they are ignored."""


class OperatorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that the operator of one peer decides alone."""

    name: str
    listen: str = DEFAULT_LISTEN
    power_safe: bool = True
    """Whether to wait for the disk, so that a loss of power undoes no exchange."""
    metrics: str | None = None
    """The address at which metrics are served, such as 127.0.0.1:9464; None for no metrics."""


class Home:
    """The folder of a peer, and the paths of its files."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.peer = self.folder / "peer.toml"
        self.spec = self.folder / "spec.toml"
        self.data = self.folder / "data.csv"
        self.next_data = self.folder / "data.next.csv"
        self.key = self.folder / "key.pem"
        self.cert = self.folder / "cert.pem"
        self.members = self.folder / "members.json"
        self.state = self.folder / "state.sqlite"
        self.status = self.folder / "status.json"
        self.ledgers = self.folder / "ledgers.json"
        self.ended = self.folder / "ended.json"
        self.evicted = self.folder / "evicted.json"
        self.lock_file = self.folder / "peer.lock"
        self.evictions = self.folder / "evict"

    def read_settings(self) -> OperatorSettings:
        """Read the operator's settings; raise `InputError` if they are wrong."""
        content = read_bytes(self.peer, LARGEST_TOML)
        with explain_settings(self.peer):
            table = parse_toml(content.decode())
            table = {key: value for key, value in table.items() if key not in _FORMER}
            for key in table:
                if key not in OperatorSettings.__struct_fields__:
                    raise unknown_name("key", key, OperatorSettings.__struct_fields__)
            settings = check_settings(msgspec.convert(table, OperatorSettings))
        return change_by_environment(settings, os.environ)

    def read_spec(self) -> Spec:
        """Read the agreed specification."""
        return read_spec(self.spec)

    def read_rows(self) -> Rows:
        """Read the copy of the peer's own rows that travel, or under privacy of their reports."""
        return read_copy(self.data, self.read_spec())

    def read_members(self) -> Members:
        """Read the list of members."""
        return Members.load(self.members)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder, so that one process runs its peer; any end of it unlocks the folder."""
        with contextlib.ExitStack() as stack:
            try:
                descriptor = stack.enter_context(files.lock(self.lock_file))
            except BlockingIOError:
                raise self._already_running() from None
            except OSError as problem:
                raise files.unwritable(self.lock_file, problem, "lock") from None
            try:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            except OSError as problem:
                raise files.unwritable(self.lock_file, problem) from None
            yield

    def is_running(self) -> bool:
        """Return whether a process has locked the folder."""
        return files.is_locked(self.lock_file)

    def _already_running(self) -> InputError:
        pid = self.lock_file.read_bytes()[:32].decode(errors="replace").strip()
        who = f" as process {pid}" if pid.isdigit() else ""
        return InputError(
            f"The peer in {self.folder} is already running{who}: let it run, or stop it before you "
            "start it again. A second peer needs a folder of its own: run peer init."
        )


def open_home(folder: str | PathLike[str]) -> Home:
    """Open a peer's folder; raise `InputError` if it is not one."""
    home = Home(folder)
    if not home.folder.is_dir():
        raise InputError(f"There is no folder {home.folder}: run peer init, or check the path.")
    if not home.peer.exists():
        raise InputError(f"{home.folder} is not the folder of a peer: run peer init to make one.")
    check_private(home.folder)
    for file in (home.peer, home.spec, home.key, home.cert, home.members):
        if not file.is_file():
            raise missing_file(file)
    if read_any_spec(home.spec).is_sums:
        raise InputError(
            f"{home.folder} is of a single run on sums, which members of a study compute now: make "
            f"a member of it with pairgossip peer init --from {home.folder} --source FILE."
        )
    home.read_settings()
    return home


def read_any_spec(file: Path) -> Spec:
    """Read a specification, also one that only an earlier version can run."""
    content = read_bytes(file, LARGEST_TOML)
    with explain_settings(file):
        return parse_unchecked(content.decode("utf-8-sig"))


def check_private(folder: Path) -> None:
    """Raise `InputError` if others than its owner can enter a folder."""
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        refuse_open_link("The folder", folder)
        raise InputError(f"Others can enter {folder}: run chmod 700 {folder}")


@contextlib.contextmanager
def explain_settings(place: Path | str) -> Iterator[None]:
    """Add their place to errors of settings."""
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(f"{place} is not UTF-8 text: save it as TOML in UTF-8.") from None
    except msgspec.ValidationError as problem:
        raise wrong_kind(problem).at(place) from None
    except InputError as problem:
        raise problem.at(place) from None


def check_settings(settings: OperatorSettings) -> OperatorSettings:
    """Refuse settings with which a peer cannot run."""
    check_name(settings.name)
    check_address(settings.listen)
    if settings.metrics is not None:
        parsed = parse_address(settings.metrics)
        if parsed is None or parsed[1] == 0:
            raise InputError(
                f"metrics is {settings.metrics[:64]!r}: write it as HOST:PORT, such as "
                f"127.0.0.1:9464."
            )
    return settings


def read_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in variables; refuse an unknown variable, such as a typo."""
    variables = {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(_PREFIX) and name not in (HOME_VARIABLE, REGISTER_VARIABLE)
    }
    for key in variables:
        if key not in _BY_ENVIRONMENT:
            names = [f"{_PREFIX}{one.upper()}" for one in _BY_ENVIRONMENT]
            valid_names = (*names, HOME_VARIABLE, REGISTER_VARIABLE)
            raise unknown_name("variable", f"{_PREFIX}{key.upper()}", valid_names)
    return variables


def change_by_environment(
    settings: OperatorSettings, environment: Mapping[str, str]
) -> OperatorSettings:
    """Return settings in which variables such as PAIRGOSSIP_LISTEN replace those of peer.toml."""
    table = {**msgspec.to_builtins(settings), **read_variables(environment)}
    with explain_settings("Environment"):
        return check_settings(msgspec.convert(table, OperatorSettings, strict=False))


class Evicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The announcement by which a peer has learned of its own eviction."""

    by: str
    """The id of the member that announced it."""
    name: str
    learned: float
    """The time in seconds since 1970, by the clock of this machine."""

    def sentence(self) -> str:
        """Describe the eviction, and advise what to do."""
        when = datetime.datetime.fromtimestamp(self.learned, datetime.UTC)
        return (
            f"The other members have evicted this peer: '{self.name}' announced it, which was "
            f"learned on {when:%Y-%m-%d at %H:%M:%S} UTC. Make a new peer with peer init, and "
            f"exchange invitations again."
        )


def note_eviction(home: Home, evicted: Evicted) -> None:
    """Note durably that this peer was evicted."""
    files.replace(home.evicted, msgspec.json.encode(evicted) + b"\n")


def read_eviction(home: Home) -> Evicted | None:
    """Return the noted eviction of this peer; None if there is none."""
    if not home.evicted.exists():
        return None
    try:
        return msgspec.json.decode(read_bytes(home.evicted, 1 << 16), type=Evicted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(
            f"{home.evicted} says that this peer was evicted, but cannot be read: make a new peer "
            f"with peer init."
        ) from None


def find_member(members: Members, me: str, name_or_id: str) -> str:
    """Return the id of a member by its name, or by the start of its id."""
    matching = [
        member.id
        for member in members.listed
        if member.name == name_or_id or (len(name_or_id) >= 8 and member.id.startswith(name_or_id))
    ]
    if len(matching) == 1:
        return matching[0]
    if name_or_id == me:
        raise InputError("A peer does not evict itself: stop it, and let another evict it.")
    names = ", ".join(sorted(members.names().values())) or "nobody"
    raise InputError(f"No member is called '{name_or_id[:64]}': the members are {names}.")


def request_eviction(home: Home, member: str) -> Path:
    """Request a member's eviction; return the file, which disappears once it is done."""
    return _write_request(home.evictions / member)


def requested_evictions(home: Home) -> tuple[str, ...]:
    """Return the members to evict."""
    return _list_requests(home.evictions, is_id)


def _write_request(file: Path) -> Path:
    """Make an empty file in one of the peer's folders of requests, durably; return the file."""
    folder = file.parent
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        for place in (folder, folder.parent):
            sync(place)
    except OSError as problem:
        raise files.unwritable(file, problem) from None
    return file


def _list_requests(folder: Path, is_valid: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the names of all requests in a folder; ignore other files."""
    try:
        return tuple(sorted(filter(is_valid, os.listdir(folder))))
    except OSError:
        return ()
