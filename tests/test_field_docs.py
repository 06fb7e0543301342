"""The field guide says what the programs do: its sentences, files and walkthrough are tested."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from pairgossip.cli import main
from pairgossip.counts.cells import KINDS, Quantiles, parse_cells
from pairgossip.peer.specification.promise import FILE_PROMISE, PROMISE
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.protocol.records import AnyRecord
from pairgossip.study.service.reading import WHAT_FOR
from pairgossip.study.storage.settings import Policy, StudySettings

from .hosts import NAMES, typed_lines

ROOT = Path(__file__).parents[1]
FIELD = ROOT / "docs" / "field"
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
ROW = re.compile(r"^\| (`[^|]*`[^|]*) \|", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
SPOKEN = re.compile(r'"([^"]+)"')
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
VARIES = "\0"


def texts_of(source: Path) -> set[str]:
    """Return all text in a program; each part that is filled in at run time is one character."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else VARIES for one in node.values]
            found.add("".join(map(str, parts)))
    return found


@pytest.fixture(scope="module")
def texts() -> set[str]:
    package = ROOT / "src" / "pairgossip"
    folders = [package / name for name in ("peer", "swarm", "study", "cli")]
    files = [package / "files.py", *(file for folder in folders for file in folder.rglob("*.py"))]
    return set().union(*map(texts_of, files))


def fixed_parts(sentence: str) -> list[str]:
    return [part.strip() for part in sentence.split("…") if part.strip()]


def is_said(sentence: str, texts: set[str]) -> bool:
    """Return whether some text has all fixed parts, in order."""
    pattern = re.compile(".*".join(map(re.escape, fixed_parts(sentence))), re.DOTALL)
    return any(pattern.search(text) for text in texts)


def sentences() -> list[str]:
    page = (FIELD / "troubleshooting.md").read_text(encoding="utf-8")
    return [quoted for row in ROW.findall(page) for quoted in QUOTED.findall(row)]


@pytest.mark.parametrize("sentence", sentences())
def test_sentences_are_those_of_the_programs(sentence: str, texts: set[str]) -> None:
    head, _, reason = sentence.partition(": ")
    counted = head in ("refused", "rejected by neighbors", "frames dropped", "frames refused")
    if counted and not is_said(sentence, texts):  # a counter for which a reason is filled in
        assert is_said(f"{head}: ", texts) and reason in texts
    else:
        assert is_said(sentence, texts)


def test_a_sentence_that_nobody_says_is_noticed(texts: set[str]) -> None:
    assert len(sentences()) > 40
    assert not is_said("The disk is empty: … could not be written", texts)
    assert not is_said("could not be written … The disk is full", texts)


def quotations() -> list[tuple[str, str]]:
    """Return what the pages quote in prose, each with its page."""
    found = []
    for page in sorted(FIELD.glob("*.md")):
        prose = CODE.sub("", page.read_text(encoding="utf-8"))
        found += [(page.name, " ".join(quoted.split())) for quoted in SPOKEN.findall(prose)]
    return found


@pytest.mark.parametrize(("page", "quoted"), quotations())
def test_what_the_pages_quote_is_what_the_programs_print(
    page: str, quoted: str, texts: set[str]
) -> None:
    """A quotation may end with a part that is filled in, such as a name."""
    begins = any(
        text.endswith(VARIES) and len(text) > 5 and quoted.startswith(text[:-1]) for text in texts
    )
    assert begins or is_said(quoted, texts), f"{page} quotes {quoted!r}, which nobody prints"


def test_a_quotation_that_nobody_prints_is_noticed(texts: set[str]) -> None:
    assert len(quotations()) >= 5
    assert not is_said("as exact as the specification asks", texts)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/field/index.md"])
def test_the_opening_says_what_travels(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    first = " ".join(re.split(r"^(?:## |```|\|)", text, flags=re.MULTILINE)[0].split())
    assert "only masked sums travel" in first.lower()
    assert re.search(r"members learn the whole table", first)
    assert "For everything else rows travel from member to member" in first
    assert "privacy.md" in first and "reports travel instead" in first


def test_no_page_says_that_rows_stay() -> None:
    pages = [ROOT / "README.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    programs = (ROOT / "src").rglob("*.py")
    for file in (*pages, *programs):
        text = " ".join(file.read_text(encoding="utf-8").split())
        for claim in ("never leave for", "stay where they are", "No clinic sends its table"):
            assert claim not in text, f"{file.name}: {claim}"


def test_specifications_are_valid() -> None:
    files = [ROOT / "README.md", *sorted(FIELD.glob("*.md"))]
    pages = [page.read_text(encoding="utf-8") for page in files]
    shown = [parse_spec(text) for page in pages for text in TOML.findall(page)]
    assert any(spec.kernel for spec in shown) and any(spec.loss for spec in shown)


def test_the_unit_file_can_be_read() -> None:
    unit = configparser.RawConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read((ROOT / "src/pairgossip/peer/pairgossip-peer.service"), encoding="utf-8")
    assert " peer run --home " in unit["Service"]["ExecStart"]
    assert unit["Service"]["RestartPreventExitStatus"] == "3"


@pytest.mark.parametrize("number", [0, 1])
def test_three_machines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
) -> None:
    """Type what the page says on three machines, except what needs a network."""
    page = (FIELD / "three-machines.md").read_text(encoding="utf-8")
    part = page.split("## If rows may travel")[number]
    typed = 0
    for machine, line in typed_lines(part):
        if " peer run" in line:
            break
        folder = tmp_path / machine
        folder.mkdir(exist_ok=True)
        (folder / "incomes.csv").write_text("income\n" + "100\n200\n" * 20)
        (folder / "rows.toml").write_text(TOML.findall(part)[0], encoding="utf-8")
        monkeypatch.chdir(folder)
        command, _, file = line.partition(" | " if " | " in line else " > ")
        capsys.readouterr()
        code = main(shlex.split(command)[1:])
        out, err = capsys.readouterr()
        assert code == 0, err
        if " peer invite " in line:
            for other in NAMES:
                (tmp_path / other).mkdir(exist_ok=True)
                (tmp_path / other / file).write_text(out, encoding="utf-8")
        typed += 1
    assert typed == 12 - 3 * number


@pytest.mark.parametrize("page", [ROOT / "SECURITY.md", FIELD / "sums.md"])
def test_the_promise_is_word_for_word_that_of_peer_init(page: Path) -> None:
    said = " ".join(page.read_text(encoding="utf-8").replace("\n> ", " ").split())
    assert PROMISE in said


def test_the_promise_of_files_is_word_for_word_that_of_the_command() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert FILE_PROMISE in " ".join(page.replace("\n> ", " ").split())


def test_cells_are_written_as_the_table_has_them() -> None:
    page = (FIELD / "files.md").read_text(encoding="utf-8")
    kinds = {type(parse_cells(text)) for text in re.findall(r"^\| `(\w+\([^`]*\))` \|", page, re.M)}
    assert kinds == {*KINDS.values(), Quantiles}


def test_the_pictures_of_a_study_are_as_drawn(tmp_path: Path) -> None:
    """`python docs/_ext/study_pictures.py docs` draws them again."""
    (tmp_path / "images").mkdir()
    script = ROOT / "docs" / "_ext" / "study_pictures.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    for file in sorted((tmp_path / "images").iterdir()):
        shown = (ROOT / "docs" / "images" / file.name).read_text(encoding="utf-8")
        assert file.read_text(encoding="utf-8") == shown


def test_phases_and_records_of_a_study_are_those_of_the_program() -> None:
    page = (ROOT / "docs" / "peer-protocol.md").read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "images" / "study-phases.svg").read_text(encoding="utf-8")
    assert all(f">{phase}<" in picture for phase in WHAT_FOR)
    assert set(re.findall(r"^\| `([A-Z]\w+)` \|", page, re.M)) == {
        record.__name__ for record in get_args(AnyRecord)
    }


def test_settings_of_a_study_are_those_of_the_program() -> None:
    page = (FIELD / "studies.md").read_text(encoding="utf-8")
    said = {name for row in ROW.findall(page) for name in re.findall(r"`\[?(\w+)\]?`", row)}
    known = {*Policy.__struct_fields__, *StudySettings.__struct_fields__}
    assert known - {"name", "rehearsal", "show", "policy", "exchange"} <= said
