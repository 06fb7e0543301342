from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .running import CommandLine


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_knows_commands_and_options(cli: CommandLine, shell: str) -> None:
    answer = cli("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    for word in ("estimate", "swarm", "evict", "graph-file", "group-by"):
        assert word in answer.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_finishes_words(cli: CommandLine, tmp_path: Path) -> None:
    script = tmp_path / "completion.sh"
    script.write_text(
        cli("completion", "bash").out
        + "\nCOMP_WORDS=(pairgossip esti) COMP_CWORD=1\n_pairgossip; echo ${COMPREPLY[@]}\n"
        + "COMP_WORDS=(pairgossip estimate a.csv --grap) COMP_CWORD=3\n"
        + "_pairgossip; echo ${COMPREPLY[@]}\n",
        encoding="utf-8",
    )
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("estimate\n--graph --graph-file --graph-seed\n", "")


@pytest.mark.parametrize(
    ("shell", "start"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)]
)
def test_installing_writes_where_the_shell_looks(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, start: str | None
) -> None:
    for name in ("ZDOTDIR", "ZSH_CUSTOM", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = cli("completion", shell, "--install")
    assert (answer.code, answer.out) == (0, "")
    written = Path(answer.err.removeprefix("Wrote ").partition(": open a new shell")[0])
    assert written.is_relative_to(tmp_path)
    assert written.read_text(encoding="utf-8") == cli("completion", shell).out
    assert start is None or str(written.parent) in (tmp_path / start).read_text(encoding="utf-8")


def test_another_shell_is_refused(cli: CommandLine) -> None:
    assert cli.error("completion", "tcsh") == "Unknown shell 'tcsh': choose one of bash, fish, zsh."


def test_a_shell_that_cannot_be_told_is_asked_for(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> str:
        raise RuntimeError

    monkeypatch.setattr("cyclopts.completion.detect_shell", unknown)
    assert cli.error("completion") == "Which shell? Name it: bash, fish, zsh."


def test_a_folder_that_cannot_be_made_is_one_sentence(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert "run 'pairgossip completion fish' and put what it prints" in cli.error(
        "completion", "fish", "--install"
    )
