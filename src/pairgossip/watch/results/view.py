"""The results view: saved runs to look into, and the figures of a reproduction."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from pairgossip.errors import InputError, PairgossipError
from pairgossip.watch.results.content import Chapters, result_content
from pairgossip.watch.results.files import Found, ResultFile
from pairgossip.watch.server.requests import answering, json_answer

REMEMBERED = 64
"""How many results are kept as they were read."""
log = logging.getLogger(__name__)


class ResultsView:
    """Answers from a fixed table of files; what a request names is looked up in it."""

    name, title = "results", "Results"

    def __init__(self, found: Found, chapters: Chapters | None = None) -> None:
        self._found, self._chapters = found, chapters
        self._reading, self._drawing = threading.Lock(), threading.Lock()
        self._read: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()
        self._figures: list[dict[str, Any]] | None = None
        self._maker: threading.Thread | None = None
        self._problem = ""

    def routes(self) -> list[Route]:
        """The paths this view answers on; none changes anything."""
        answers = {
            "/api/results": self._list,
            "/api/results/figures": self._report_figures,
            "/api/results/runs/{key}": self._result,
            "/api/results/reports/{key}": self._report,
        }
        return [Route(path, answering(one), methods=["GET"]) for path, one in answers.items()]

    def close(self) -> None:
        """Nothing is open."""

    async def _list(self, _: Request) -> Response:
        return json_answer(await run_in_threadpool(self._list_files))

    async def _result(self, request: Request) -> Response:
        file = self._found.files.get(request.path_params["key"])
        if file is None:
            raise LookupError("There is no such saved run: choose one from the list.")
        return json_answer(await run_in_threadpool(self._content, file))

    async def _report(self, request: Request) -> Response:
        path = self._found.reports.get(request.path_params["key"])
        if path is None or not path.is_file():
            raise LookupError("There is no such report.")
        # To be kept and opened by itself: here its own pictures and styles would be refused.
        return FileResponse(path, filename=path.name, media_type="text/html; charset=utf-8")

    async def _report_figures(self, _: Request) -> Response:
        return json_answer(self._chapters_so_far())

    def _list_files(self) -> dict[str, Any]:
        return {
            "files": [_entry(file) for file in self._found.files.values()],
            "reports": [
                {"key": key, "place": str(path)} for key, path in self._found.reports.items()
            ],
            "has_figures": self._chapters is not None,
        }

    def _content(self, file: ResultFile) -> dict[str, Any]:
        try:
            changed = file.path.stat().st_mtime
        except OSError:
            raise InputError(f"{file.name} is no longer there: start again.") from None
        with self._reading:  # several viewers would else read the same file at once
            known = self._read.get(file.key)
            if known is None or known[0] != changed:
                known = self._read[file.key] = (changed, result_content(file.load()))
                while len(self._read) > REMEMBERED:
                    self._read.popitem(last=False)
        return known[1] | {"key": file.key, "name": file.name, "group": file.group}

    def _chapters_so_far(self) -> dict[str, Any]:
        """Return the chapters; null while they are made, in a thread that holds nobody up."""
        if self._chapters is None:
            raise LookupError("No reproduction is open: give its folder with --results.")
        with self._drawing:
            if self._maker is None:
                self._maker = threading.Thread(target=self._make, daemon=True)
                self._maker.start()
        if self._problem:
            raise InputError(self._problem)
        return {"chapters": self._figures}

    def _make(self) -> None:
        assert self._chapters is not None
        try:
            self._figures = self._chapters()
        except PairgossipError as problem:
            self._problem = str(problem)
        except Exception:
            log.exception("the figures could not be made")
            self._problem = "The figures could not be made: the server's own log says why."


def _entry(file: ResultFile) -> dict[str, Any]:
    entry: dict[str, Any] = {"key": file.key, "name": file.name, "group": file.group}
    try:
        header = file.header()
        what = header.get("loss") or header.get("kernel") or "mean"
        family = (header.get("graph") or {}).get("family") or "graph"
        entry |= {
            "kind": "fit" if header.get("kind") == "fit" else "run",
            "about": f"{what}, {header.get('clock')}, {family}"[:200],
        }
    except (InputError, AttributeError) as problem:
        entry |= {"kind": "damaged", "about": str(problem)[:300]}
    return entry
