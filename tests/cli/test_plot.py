from __future__ import annotations

from pathlib import Path

import pytest

import pairgossip as pg

from .images import is_drawn
from .running import CommandLine


@pytest.fixture
def saved(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "complete.npz", tmp_path / "cycle.npz"]
    for file in files:
        run = pg.estimate([1, 2, 4, 8, 16], "gini", file.stem, iterations=500, trials=2, seed=0)
        run.save(file)
    return files


@pytest.mark.parametrize("what", ["error", "estimate"])
@pytest.mark.parametrize("count", [1, 2])
def test_runs_are_drawn(
    cli: CommandLine, saved: list[Path], tmp_path: Path, what: str, count: int
) -> None:
    out = tmp_path / "figure.png"
    answer = cli("plot", *saved[:count], "--out", out, "--what", what, "--against", "messages")
    assert answer == (0, "", f"Wrote {out}\n")
    assert is_drawn(out)


@pytest.mark.parametrize(("suffix", "magic"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("SVG", b"<")])
def test_formats_follow_the_name(
    cli: CommandLine, saved: list[Path], tmp_path: Path, suffix: str, magic: bytes
) -> None:
    out = tmp_path / f"figure.{suffix}"
    assert cli("plot", saved[0], "--out", out).code == 0
    assert out.read_bytes().startswith(magic)


def test_runs_of_the_same_name_are_both_drawn(
    cli: CommandLine, saved: list[Path], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    twin = saved[0].rename(other / saved[1].name)
    out = tmp_path / "both.svg"
    assert cli("plot", twin, saved[1], "--out", out).code == 0
    assert out.read_text().count("cycle.npz") >= 2


def test_mistakes(cli: CommandLine, saved: list[Path], incomes: Path, tmp_path: Path) -> None:
    out = tmp_path / "figure.png"
    message = cli.error("plot", incomes, "--out", out)
    assert message.startswith(f"{incomes} is not a run saved by pairgossip")
    message = cli.error("plot", tmp_path / "none.npz", "--out", out)
    assert message == f"There is no file {tmp_path / 'none.npz'}: check the path."
    message = cli.error("plot", saved[0], "--out", out, "--what", "eror")
    assert message == "Unknown curve 'eror': did you mean 'error'?"
    message = cli.error("plot", saved[0], "--out", out, "--against", "time")
    assert message == "A synchronous run has no clock times: use --clock async."
    message = cli.error("plot", saved[0], "--out", tmp_path / "figure.docx")
    assert message.endswith("end its name in .png, .pdf or .svg.")
    message = cli.error("plot", saved[0], "--out", saved[0].with_suffix(".png") / "x.png")
    assert "there is no folder" in message
    assert not out.exists()
