"""Results on disk: a folder per experiment, a file per case; finished trials are never lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pairgossip
from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_text
from pairgossip.results import Fit, Run
from pairgossip.results.loading import load
from pairgossip.results.provenance import machine, versions
from pairgossip.results.reproductions import RESULTS, SETTINGS, UNFINISHED
from pairgossip.results.storage import read_header
from pairgossip.text import plain_value
from pairgossip_paper.framework import Case, Computation, Experiment, Plan, Simulation


class Store:
    """The folder of one reproduction.

    A case in progress has a file of its own, so that an earlier result stays on disk until the new
    one is finished.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / RESULTS

    def open(self, plan: Plan, *, resume: bool) -> None:
        """Prepare the folder for a plan; refuse a plan that would destroy or mix results."""
        settings = {"pairgossip": pairgossip.__version__} | plan._asdict()
        path = self.folder / SETTINGS
        if path.exists():
            before = _read_json(path, _KINDS)
            _check_same(self.folder, before, settings, resume=resume)
        if not resume and any(self.results.glob(f"*/*{UNFINISHED}")):
            raise InputError(
                f"{self.folder} holds an interrupted reproduction: add {{argument}} to go on "
                "with it, or give another folder.",
                "resume",
                value=True,
            )
        try:
            self.results.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"Cannot create {self.results}: {problem.strerror}.") from None
        write_text(path, [_to_json(settings)])

    def saved_plan(self) -> Plan:
        """Return the plan that the folder was made for."""
        path = self.folder / SETTINGS
        try:
            saved = _read_json(path, _KINDS)
        except InputError:
            raise InputError(
                f"{path} is damaged: give the .npz files below {self.folder} by their names "
                "instead."
            ) from None
        return Plan(bool(saved["quick"]), saved["trials"], saved["seed"])

    def result(self, experiment: str, case: Case, plan: Plan) -> Any:
        """Return the result of a case if it is finished under the plan, or None."""
        path = self._path(experiment, case)
        if not path.exists():
            return None
        if isinstance(case, Simulation):
            result = _load(path, case, plan)
            return result if result.trials >= case.trials else None
        document = _read_json(path, {"seed": int, "trials": int, "result": dict})
        if document["seed"] != plan.seed:
            raise _other_plan_error(path)
        # A computation may depend on the number of trials.
        return document["result"] if document["trials"] == plan.trials else None

    def finished_trials(self, experiment: str, case: Simulation, plan: Plan) -> Run | Fit | None:
        """Return the finished trials of a case; None if there are none."""
        paths = (self._unfinished_path(experiment, case), self._path(experiment, case))
        results = [_load(path, case, plan) for path in paths if path.exists()]
        return max(results, key=lambda result: result.trials, default=None)

    def provenance(self) -> list[dict[str, Any]]:
        """Return the machines and versions that computed the results, each once."""
        machines: list[dict[str, Any]] = []
        for path in sorted(self.results.glob("*/*")):
            try:
                is_json = path.suffix == ".json"
                header = json.loads(read_bytes(path)) if is_json else read_header(path)
                one = {**header["versions"], **header["machine"]}
            except Exception:  # a damaged file is reported where it is read as a result
                continue
            if one not in machines:
                machines.append(one)
        return machines

    def has_begun(self, experiment: Experiment) -> bool:
        """Return whether the folder has any file of an experiment."""
        return any((self.results / experiment.name).glob("*"))

    def keep_trials(self, experiment: str, case: Simulation, trials: Run | Fit) -> None:
        """Save the trials finished so far."""
        trials.save(self._unfinished_path(experiment, case))

    def finish(self, experiment: str, case: Simulation, result: Run | Fit) -> None:
        """Save a case with all its trials."""
        result.save(self._path(experiment, case))
        self._unfinished_path(experiment, case).unlink(missing_ok=True)

    def keep_computation(
        self, experiment: str, case: Computation, result: Mapping[str, Any], plan: Plan
    ) -> None:
        """Save the result of a computation, with the seed, the machine and the versions."""
        document = {
            "seed": plan.seed,
            "trials": plan.trials,
            "machine": machine(),
            "versions": versions(),
            "result": result,
        }
        write_text(self._path(experiment, case), [_to_json(document)])

    def results_of(self, experiment: Experiment, plan: Plan) -> dict[str, Any] | None:
        """Return all results of an experiment, read from disk; None if any is missing."""
        if not self.has_begun(experiment):  # listing its cases may take seconds
            return None
        results = {
            case.name: self.result(experiment.name, case, plan) for case in experiment.cases(plan)
        }
        return None if any(result is None for result in results.values()) else results

    def _path(self, experiment: str, case: Case) -> Path:
        suffix = ".npz" if isinstance(case, Simulation) else ".json"
        return self.results / experiment / f"{case.name}{suffix}"

    def _unfinished_path(self, experiment: str, case: Case) -> Path:
        return self.results / experiment / f"{case.name}{UNFINISHED}"


_KINDS: Mapping[str, type] = {"quick": int, "trials": int, "seed": int}


def _check_same(
    folder: Path, before: Mapping[str, Any], now: Mapping[str, Any], *, resume: bool
) -> None:
    # A reproduction that is resumed may get more trials; nothing else may differ.
    free = ("trials",) if resume and now["trials"] >= before.get("trials", 0) else ()
    for name, value in now.items():
        if name not in free and before.get(name) != value:
            resumable = name == "trials" and value > before.get("trials", 0)
            remedy = "{argument} to add trials to it" if resumable else "give the same"
            raise InputError(
                f"{folder} holds a reproduction with {name} {_format_setting(before.get(name))}, "
                f"not {_format_setting(value)}: give another folder, or {remedy}.",
                "resume",
                value=True,
            )


def _format_setting(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _load(path: Path, case: Simulation, plan: Plan) -> Run | Fit:
    try:
        result: Run | Fit = load(path)
    except InputError:
        raise _damaged_error(path) from None
    if result.seed != plan.seed or result.iterations[-1] != case.iterations:
        raise _other_plan_error(path)
    return result


def _read_json(path: Path, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Read an object, and check that it has these entries, each of its type."""
    try:
        content = json.loads(read_bytes(path))
    except ValueError:
        raise _damaged_error(path) from None
    is_sound = isinstance(content, dict) and all(
        isinstance(content.get(name), kind) for name, kind in kinds.items()
    )
    if not is_sound:
        raise _damaged_error(path)
    return dict(content)


def _damaged_error(path: Path) -> InputError:
    if path.name == SETTINGS:
        return InputError(f"{path} is damaged: give another folder with {{argument}}.", "out")
    return InputError(
        f"{path} is damaged: delete it, and add {{argument}} to have it run again.",
        "resume",
        value=True,
    )


def _other_plan_error(path: Path) -> InputError:
    return InputError(
        f"{path} is of another seed or length than this reproduction: give another folder with "
        "{argument}, or delete it.",
        "out",
    )


def _to_json(value: Any) -> str:
    return json.dumps(value, indent=1, default=plain_value) + "\n"
