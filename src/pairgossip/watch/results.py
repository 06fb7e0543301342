"""The results view: saved runs, and the figures of a reproduction.

The files are found once, at the start; nothing else is opened.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, MissingExtra, PairgossipError
from pairgossip.graphs.laws import name_law
from pairgossip.results import Fit, Run
from pairgossip.results.charts import CHARTS, make_charts
from pairgossip.results.curves import Chart, axis_label, describe, wall
from pairgossip.results.fields import PAGE, shown_facts
from pairgossip.results.loading import load
from pairgossip.results.reproductions import REPORT, group_of, is_reproduction, saved_runs
from pairgossip.results.result import AGAINST
from pairgossip.results.storage import read_header
from pairgossip.text import clean_text
from pairgossip.watch.server.requests import json_answer, make_route

if TYPE_CHECKING:  # experiments take a second to import, and few viewers need them
    from pairgossip.experiments import Experiment, Panel, PlacedCurve, Plan, Section, Store


_MOST_FILES = 1_000
_LONGEST_NAME = 120
_REMEMBERED = 64
"""Number of results that are kept in memory; beyond it, the oldest is dropped."""
_DASHES = {"-": "solid", "--": "dashed", "-.": "dash-dotted", ":": "dotted"}
"""The page's names of the line styles of matplotlib."""
_Chapters = Callable[[], list[dict[str, Any]]]
"""Make the page's chapters of reproductions, one per experiment; this takes seconds."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _ResultFile:
    """One file under a short key, which stays the same as long as its path does."""

    key: str
    name: str
    """The name to show: without control characters."""
    group: str
    """The folder of the file, below the given one; after the given one if there are several."""
    path: Path

    def load(self) -> Any:
        """Read the run or the fit; a damaged file gives one sentence."""
        try:
            return load(self.path)
        except MemoryError:
            raise InputError(f"{self.path.name} needs more memory than there is.") from None

    def header(self) -> dict[str, Any]:
        """Read what the file says about itself, without its arrays."""
        try:
            return read_header(self.path)
        except InputError:
            raise
        except Exception:  # a damaged archive can fail in many ways
            raise InputError(
                f"{self.path.name} is not a run saved by pairgossip, or is damaged."
            ) from None


@dataclass(frozen=True)
class ResultFiles:
    """The table of all files."""

    files: dict[str, _ResultFile]
    reports: dict[str, Path]
    """Reports of reproductions, by key."""
    reproductions: list[Path]
    """Folders that `pairgossip reproduce` made."""


def find_results(
    files: Iterable[str | PathLike[str]] = (), folders: Iterable[str | PathLike[str]] = ()
) -> ResultFiles:
    """Make the table of all files, once."""
    table = ResultFiles({}, {}, [])
    for path in map(Path, files):
        if not path.is_file():
            raise InputError(f"There is no file {path}: check the path.")
        _add(table, path, path.name)
    places = [Path(folder) for folder in folders]
    for folder in places:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}: check the path.")
        # Runs of several folders often have the same names.
        _add_folder(table, folder, above=str(folder) if len(places) > 1 else "")
    return table


def _add_folder(table: ResultFiles, folder: Path, above: str) -> None:
    paths, report = saved_runs(folder), folder / REPORT
    if is_reproduction(folder):
        table.reproductions.append(folder)  # it may have computed its results without runs
        if report.is_file():
            table.reports[_key(report)] = report
    elif not paths:
        raise InputError(
            f"{folder} holds no saved run: give a folder that 'pairgossip reproduce' made, or "
            "one of .npz files."
        )
    for path in paths:
        group = "/".join(filter(None, (above, group_of(path, folder))))
        _add(table, path, path.stem, group)


def _add(table: ResultFiles, path: Path, name: str, group: str = "") -> None:
    key = _key(path)
    if len(table.files) >= _MOST_FILES and key not in table.files:
        raise InputError(f"There are more than {_MOST_FILES:,} saved runs: give fewer at once.")
    file = _ResultFile(key, clean_text(name, _LONGEST_NAME), clean_text(group, _LONGEST_NAME), path)
    table.files.setdefault(key, file)


def _key(path: Path) -> str:
    return hashlib.blake2b(str(path.absolute()).encode(errors="replace"), digest_size=6).hexdigest()


def _result_content(result: Run | Fit) -> dict[str, Any]:
    """Return all that a page needs to draw a result in several ways."""
    charts = make_charts(result, None if result.kind == "fit" else result.known_theory)
    kinds = CHARTS[result.kind]
    return {
        "title": describe(result),
        "facts": _facts(result),
        "axes": {
            name: {
                "label": axis_label(result, name),
                "values": result.axis(name),
                "wall": wall(result, name),
            }
            for name in AGAINST
            if name != "time" or result.times is not None
        },
        "charts": {
            name: _chart_content(chart) | {"title": kinds[name].title}
            for name, chart in charts.items()
        },
    }


def _facts(result: Run | Fit) -> list[tuple[str, Any]]:
    """Return labels and values: the ends of the curves, the length, and the declared facts."""
    declared = [
        (fact.label, clean_text(value, _LONGEST_NAME) if isinstance(value, str) else value)
        for _, fact, value in shown_facts(result, PAGE)
        if value is not None
    ]
    has_rounds = result.kind == "fit" and result.has_rounds
    ran = [
        ("trials", result.trials),
        ("rounds" if has_rounds else "iterations", int(result.iterations[-1])),
        ("messages", float(result.messages[-1])),
        ("schedule", result.schedule) if has_rounds else ("law", name_law(result.law)),
        ("seed", str(result.seed)),
        ("status", result.status),
    ]
    if result.kind == "fit":
        step = [] if has_rounds else [("step", result.step)]
        return [("last objective", float(result.objective[-1])), *declared, *ran, *step]
    facts = [
        ("last mean", float(result.mean[-1])),
        ("exact value", "one per node" if np.ndim(result.target) else float(result.target)),
        ("last error", float(result.error[-1])),
        *ran,
        *declared,
    ]
    if (answer := result.answer) is not None:
        ends = f"{answer.low:.6g} to {answer.high:.6g}" if np.isfinite(answer.error) else "unknown"
        facts.append((f"{100 * answer.level:g} % interval", ends))
    return facts


def _chart_content(chart: Chart) -> dict[str, Any]:
    curves = [
        {
            "label": curve.label or curve.band_label,
            "values": curve.y,
            "dash": _DASHES[curve.style],
            "aside": curve.aside,
            "band": curve.band,
        }
        for curve in chart.curves
    ]
    return {"label": chart.label, "log": chart.log, "curves": curves}


def find_chapters(folders: Sequence[Path]) -> _Chapters | None:
    """Return the maker of the chapters of these reproductions; None without reproductions."""
    if not folders:
        return None
    try:
        from pairgossip.experiments import Store
    except MissingExtra:  # runs can be viewed without the paper's package
        return None
    stores = [Store(folder) for folder in folders]
    plans = [store.saved_plan() for store in stores]  # damaged settings are refused at once

    def make() -> list[dict[str, Any]]:
        from pairgossip.experiments import CATALOG

        return [
            _chapter(experiment, store, plan, is_only=len(stores) == 1)
            for store, plan in zip(stores, plans, strict=True)
            for experiment in CATALOG.values()
            if store.has_begun(experiment)
        ]

    return make


def _chapter(experiment: Experiment, store: Store, plan: Plan, *, is_only: bool) -> dict[str, Any]:
    """Return a chapter; in several reproductions its title has the folder's name."""
    problem, section, place = "", None, clean_text(store.folder, _LONGEST_NAME)
    try:
        results = store.results_of(experiment, plan)
        if results is None:
            problem = "Some of its results are missing: resume the reproduction."
        else:
            section = experiment.report(results)
    except PairgossipError as wrong:  # damaged, or of another plan
        problem = str(wrong)
    return {
        "key": experiment.name if is_only else f"{experiment.name}-{_key(store.folder)}",
        "title": experiment.title if is_only else f"{experiment.title} ({place})",
        "question": experiment.question,
        "problem": problem,
        **_section_content(section),
    }


def _section_content(section: Section | None) -> dict[str, Any]:
    """Return the page's content of a section of the report."""
    if section is None:
        return {"findings": [], "claims": [], "figures": []}
    return {
        "findings": section.findings,
        "claims": [(one.verdict, one.statement, one.evidence) for one in section.claims],
        "figures": [
            {
                "name": picture.name,
                "caption": picture.caption,
                "panels": [_panel_content(one) for one in picture.sheet.panels if one.curves],
            }
            for picture in section.pictures
        ],
    }


def _panel_content(panel: Panel) -> dict[str, Any]:
    placed = [placed for placed in panel.curves if placed.x is None or len(placed.x)]
    places = np.concatenate([one.x for one in placed if one.x is not None])
    ends = np.array([places.min(), places.max()])
    return {
        "title": panel.title,
        "x_label": panel.x_label,
        "y_label": panel.y_label,
        "x_log": panel.x_log,
        "y_log": panel.y_log,
        "x_ticks": list(enumerate(panel.x_names)) or None,
        "y_ticks": list(enumerate(panel.y_names)) or None,
        "curves": [_placed_content(one, ends if one.x is None else one.x) for one in placed],
    }


def _placed_content(placed: PlacedCurve, x: FloatArray) -> dict[str, Any]:
    curve, band = placed.curve, placed.curve.band
    return {
        "label": curve.label,
        "x": x,
        "y": curve.y,
        "color": curve.color,
        "dash": _DASHES[curve.style],
        "points": placed.points,
        "band": None if band is None else {"x": x, "low": band[0], "high": band[1]},
    }


class ResultsView:
    """Answers from a fixed table of files, in which names from requests are looked up."""

    name, title = "results", "Results"

    def __init__(self, table: ResultFiles, chapters: _Chapters | None = None) -> None:
        self._table, self._chapters = table, chapters
        self._reading, self._drawing = threading.Lock(), threading.Lock()
        self._read: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()
        self._figures: list[dict[str, Any]] | None = None
        self._maker: threading.Thread | None = None
        self._problem = ""

    def routes(self) -> list[Route]:
        """Return the paths of this view; none of them changes anything."""
        return [
            make_route("/api/results", self._list),
            make_route("/api/results/figures", self._chapters_so_far),
            make_route("/api/results/runs/{key}", self._result),
            make_route("/api/results/reports/{key}", self._report),
        ]

    def close(self) -> None:
        """Nothing is open."""

    async def _list(self, _: Request) -> Response:
        return json_answer(await run_in_threadpool(self._list_files))

    async def _result(self, request: Request) -> Response:
        file = self._table.files.get(request.path_params["key"])
        if file is None:
            raise LookupError("There is no such saved run: choose one from the list.")
        return json_answer(await run_in_threadpool(self._content, file))

    async def _report(self, request: Request) -> Response:
        path = self._table.reports.get(request.path_params["key"])
        if path is None or not path.is_file():
            raise LookupError("There is no such report.")
        # To be saved and opened separately: this page would refuse its pictures and styles.
        return FileResponse(path, filename=path.name, media_type="text/html; charset=utf-8")

    def _list_files(self) -> dict[str, Any]:
        return {
            "files": [_entry(file) for file in self._table.files.values()],
            "reports": [
                {"key": key, "place": str(path)} for key, path in self._table.reports.items()
            ],
            "has_figures": self._chapters is not None,
        }

    def _content(self, file: _ResultFile) -> dict[str, Any]:
        try:
            changed = file.path.stat().st_mtime
        except OSError:
            raise InputError(f"{file.name} is no longer there: start again.") from None
        with self._reading:  # several viewers would otherwise read the same file at once
            entry = self._read.get(file.key)
            if entry is None or entry[0] != changed:
                entry = self._read[file.key] = (changed, _result_content(file.load()))
                while len(self._read) > _REMEMBERED:
                    self._read.popitem(last=False)
        return entry[1] | {"key": file.key, "name": file.name, "group": file.group}

    async def _chapters_so_far(self, _: Request) -> Response:
        """Return the chapters; null while a thread makes them, without a wait."""
        if self._chapters is None:
            raise LookupError("No reproduction is open: give its folder with --results.")
        with self._drawing:
            if self._maker is None:
                self._maker = threading.Thread(target=self._make, daemon=True)
                self._maker.start()
        if self._problem:
            raise InputError(self._problem)
        return json_answer({"chapters": self._figures})

    def _make(self) -> None:
        assert self._chapters is not None
        try:
            self._figures = self._chapters()
        except PairgossipError as problem:
            self._problem = str(problem)
        except Exception:
            _log.exception("the figures could not be made")
            self._problem = "The figures could not be made: the server's own log says why."


def _entry(file: _ResultFile) -> dict[str, Any]:
    entry: dict[str, Any] = {"key": file.key, "name": file.name, "group": file.group}
    try:
        header = file.header()
        what = header.get("loss") or header.get("kernel") or "mean"
        family = (header.get("graph") or {}).get("family") or "graph"
        is_fit = header.get("kind") == "fit"
        has_rounds = is_fit and header.get("method") == "sketch"
        how = f"sketch, {header.get('schedule')}" if has_rounds else header.get("clock")
        entry |= {"kind": "fit" if is_fit else "run", "about": f"{what}, {how}, {family}"[:200]}
    except (InputError, AttributeError) as problem:
        entry |= {"kind": "damaged", "about": str(problem)[:300]}
    return entry
