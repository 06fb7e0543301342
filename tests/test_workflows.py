"""Continuous integration calls `./run` as a person does, on all supported versions."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
ACTION = re.compile(r"uses: (?P<name>[^@\s]+)@(?P<commit>[0-9a-f]{40}) # v(?P<version>[\d.]+)\n")


def audit(*files: Path) -> subprocess.CompletedProcess[str]:
    """Run zizmor, which checks that workflows are valid and safe."""
    command = [str(Path(sys.executable).with_name("zizmor")), "--offline", "--quiet"]
    # Without the second, an invalid workflow would be skipped with a warning.
    command += ["--persona=pedantic", "--strict-collection"]
    return subprocess.run(
        [*command, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_workflows_are_valid_and_safe() -> None:
    found = audit(*WORKFLOWS)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "finding"),
    [
        ("@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "[unpinned-uses]"),
        ("permissions: {}\n", "permissions: write-all\n", "[excessive-permissions]"),
        ("runs-on: ubuntu-24.04", "run-on: ubuntu-24.04", "'run-on' was unexpected"),
        ('./run build "$TAG"', './run build "${{ github.ref_name }}"', "[template-injection]"),
    ],
)
def test_a_mistake_in_a_workflow_is_noticed(
    tmp_path: Path, right: str, wrong: str, finding: str
) -> None:
    text = (ROOT / ".github/workflows/release.yaml").read_text(encoding="utf-8")
    assert right in text
    # zizmor recognizes a workflow only in the folder of workflows.
    file = tmp_path / ".github" / "workflows" / "release.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    found = audit(ROOT / ".github/workflows/test.yaml", file)
    assert found.returncode != 0
    assert finding in found.stdout + found.stderr


def read(workflow: Path) -> dict[str, Any]:
    return msgspec.yaml.decode(workflow.read_bytes(), type=dict[Any, Any])["jobs"]


def test_every_job_calls_the_script_that_people_call() -> None:
    known = set(re.findall(r"^#   \./run (\w+)", (ROOT / "run").read_text(), re.MULTILINE))
    called = set()
    for workflow in WORKFLOWS:
        for job in read(workflow).values():
            for step in job.get("steps", []):
                if "run" in step:
                    script, command = step["run"].split()[:2]
                    assert script == "./run" and "\n" not in step["run"]
                    called.add(command)
            assert "uses" in job or job["timeout-minutes"] <= 120
    assert {"test", "build", "docs"} == called <= known


def test_all_that_the_package_claims_to_support_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"])))
    matrix = read(ROOT / ".github/workflows/test.yaml")["test"]["strategy"]["matrix"]
    assert claimed and claimed <= set(matrix["python"])
    systems = [*matrix["system"], *(more["system"] for more in matrix["include"])]
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}


def test_an_action_is_the_same_everywhere() -> None:
    pinned: dict[str, set[tuple[str, str]]] = {}
    for workflow in WORKFLOWS:
        for found in ACTION.finditer(workflow.read_text(encoding="utf-8")):
            pinned.setdefault(found["name"], set()).add((found["commit"], found["version"]))
    assert len(pinned) == 6
    assert all(len(versions) == 1 for versions in pinned.values()), pinned
