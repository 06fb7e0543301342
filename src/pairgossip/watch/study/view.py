"""The paths of the operator's page of a study."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pairgossip.watch.server.requests import json_answer, read_json
from pairgossip.watch.study.desk import Decision, Desk
from pairgossip.watch.study.door import Door

PAGE = "study/index.html"
"""The file of the page."""
_KINDS = {"html": "text/html; charset=utf-8", "json": "application/json"}


class _Draft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The text of a question that may be asked."""

    text: str
    is_fresh: bool = False


class StudyView:
    """The page's requests, answered from a member's folder to those who have the token."""

    name, title = "study", "Study"

    def __init__(self, desk: Desk, door: Door) -> None:
        self._desk, self._door = desk, door

    def routes(self) -> list[Route]:
        """Return the paths of this view; those by POST record the operator's decisions."""
        question = "/api/study/questions/{number}"
        route = self._door.make_route
        return [
            route("/api/study", self._look),
            route(question, self._question),
            route(f"{question}/result", self._result),
            *(route(f"{question}/result.{kind}", self._result_file) for kind in _KINDS),
            route("/api/study/record", self._record),
            route("/api/study/preview", self._preview, "POST"),
            route("/api/study/requests", self._decide, "POST"),
        ]

    def close(self) -> None:
        """Nothing is held open."""

    async def _look(self, _: Request) -> Response:
        return json_answer(await run_in_threadpool(self._desk.look))

    async def _question(self, request: Request) -> Response:
        return json_answer(await run_in_threadpool(self._desk.question, _number(request)))

    async def _result(self, request: Request) -> Response:
        return json_answer(await run_in_threadpool(self._desk.result, _number(request)))

    async def _result_file(self, request: Request) -> Response:
        kind = request.url.path.rpartition(".")[2]
        content = await run_in_threadpool(self._desk.result_file, _number(request), kind)
        saved = {"Content-Disposition": "attachment"}
        return Response(content, headers=saved, media_type=_KINDS[kind])

    async def _record(self, _: Request) -> Response:
        return json_answer({"sentence": await run_in_threadpool(self._desk.check_record)})

    async def _preview(self, request: Request) -> Response:
        draft = await read_json(request, _Draft)
        preview = await run_in_threadpool(self._desk.preview, draft.text, is_fresh=draft.is_fresh)
        return json_answer(msgspec.to_builtins(preview))

    async def _decide(self, request: Request) -> Response:
        decision: Any = await read_json(request, Decision)  # type: ignore[arg-type]
        reply = await run_in_threadpool(self._desk.decide, decision)
        return json_answer(msgspec.to_builtins(reply))


def _number(request: Request) -> str:
    return str(request.path_params["number"])
