"""Code that makes a watched run without the page: in Python, and as a command."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any, NamedTuple

from pairgossip.arguments.argument import declared
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arguments.minimize import MinimizeArguments
from pairgossip.datasets import CATALOG
from pairgossip.graphs import FAMILIES
from pairgossip.watch.simulation.observations import TWO_NORMALS, Observations
from pairgossip.watch.simulation.settings import RunChoice, Settings

_WIDEST_CALL = 88
_TWO_NORMALS_CODE = """\
random = np.random.default_rng(0)
label = random.integers(0, 2, {rows}).astype(float)
score = random.normal(size={rows}) + label
shares = np.linspace(1, 7, 24)
site = random.choice(24, {rows}, p=shares / shares.sum())
data = {{"score": score, "class": label, "site": site}}"""
"""The made-up data, which no other command has."""


class Recipe(NamedTuple):
    """The code and the command that make a run without the page."""

    python: str
    command: str | None
    """None if no command can do it."""


def reproduce_code(
    settings: Settings, run: RunChoice, rows: Observations, n: int, last: int
) -> Recipe:
    """Write the code of a run of ``n`` nodes that ends with iteration ``last``."""
    door = declared(MinimizeArguments if settings.loss else EstimateArguments)
    chosen = {name: getattr(run, name) for name in ("method", "clock", "schedule")}
    # Defaults are left out of the code, and so are arguments of other methods.
    how = {
        name: value
        for name, value in {**chosen, **settings.arguments_for(run)}.items()
        if value != door[name].default and door[name].belongs_to in ("", run.method)
    }
    how.pop("iterations", None)
    if settings.ends_alone(run):
        settings = replace(settings, step=None)  # the step of the other run
    else:
        how["iterations"] = last
    how["seed"] = settings.seed
    is_option = all(door[name].help for name in how)
    command = _command(settings, run, rows, how) if is_option else None
    return Recipe(_python(settings, run, rows, n, how), command)


def _python(
    settings: Settings, run: RunChoice, rows: Observations, n: int, how: dict[str, Any]
) -> str:
    is_thin = len(rows.values) < rows.of
    chosen = "[rows]" if is_thin else ""

    def column(name: str) -> str:
        return f"data[{_text(name)}]{chosen}"

    values = column(rows.columns[0])
    if len(rows.columns) > 1:
        values = f"np.column_stack([{', '.join(map(column, rows.columns))}])"
    arguments = [values]
    if settings.label is not None and (settings.loss or settings.kernel):
        arguments.append(f"labels={column(settings.label)}")
        if settings.positive is not None:
            is_text = isinstance(rows.labels, list)
            arguments.append(
                f"positive={_text(settings.positive) if is_text else settings.positive}"
            )
    if settings.loss or settings.kernel:
        name = "loss" if settings.loss else "kernel"
        arguments.append(f"{name}={_text(settings.loss or settings.kernel or '')}")
    arguments.append(f"graph={_graph(run, n, settings.seed)}")
    if settings.group_by is not None:
        arguments.append(f"groups={column(settings.group_by)}")
    arguments += [f"{name}={_text(value)}" for name, value in how.items()]
    if settings.step is not None:
        arguments.append(f"step=pg.steps.inverse_sqrt({settings.step!r})")
    if settings.ball is not None:
        arguments.append(f"constraint=pg.Ball({settings.ball!r})")
    result, function = ("fit", "minimize") if settings.loss else ("run", "estimate")
    lines = [*_data_lines(settings, rows)]
    if is_thin:
        lines.append(f"rows = np.linspace(0, {rows.of - 1}, {len(rows.values)}).astype(int)")
    lines.append(_call(f"{result} = pg.{function}", arguments))
    curve = "objective" if settings.loss else "error"
    lines.append(f"print({result}.{curve}[-1])")
    body = "\n".join(lines)
    imports = ["import numpy as np"] if "np." in body else []
    if "pd." in body:
        imports.append("import pandas as pd")
    return "\n".join([*imports, "import pairgossip as pg", "", body])


def _data_lines(settings: Settings, rows: Observations) -> list[str]:
    if settings.data == TWO_NORMALS:
        return [_TWO_NORMALS_CODE.format(rows=rows.of)]
    if settings.data in CATALOG:
        return [f"data = pg.datasets.{CATALOG[settings.data].__name__}()"]
    if rows.delimiter is None:
        return [f"data = pd.read_parquet({_text(rows.file)})"]
    sep = "" if rows.delimiter == "," else f", sep={_text(rows.delimiter)}"
    return [f"data = pd.read_csv({_text(rows.file)}{sep}, skipinitialspace=True)"]


def _graph(run: RunChoice, n: int, seed: int) -> str:
    if not run.parameters:
        return _text(run.graph)
    parameters = dict(run.parameters) | ({"seed": seed} if FAMILIES[run.graph].is_random else {})
    named = "".join(f", {name}={value!r}" for name, value in parameters.items())
    return f"pg.graphs.build({_text(run.graph)}, {n}{named})"


def _call(function: str, arguments: list[str]) -> str:
    short = f"{function}({', '.join(arguments)})"
    if len(short) <= _WIDEST_CALL:
        return short
    return "\n".join([f"{function}(", *(f"    {argument}," for argument in arguments), ")"])


def _text(value: Any) -> str:
    """Return a value as a program has it; text in double quotes where that is simple."""
    if isinstance(value, str) and value.isprintable() and not set(value) & set("\"'\\"):
        return f'"{value}"'
    return repr(value)


def _command(
    settings: Settings, run: RunChoice, rows: Observations, how: dict[str, Any]
) -> str | None:
    if len(rows.values) < rows.of or settings.data == TWO_NORMALS:
        return None  # only the page draws rows, and makes up data
    if any("," in name for name in rows.columns):
        return None  # a comma separates columns
    compares = settings.loss or settings.kernel
    # Where a model is trained, --radius is the model's.
    spelled = {"radius": "graph-radius"} if settings.loss else {}
    options: dict[str, Any] = {
        "column": ",".join(rows.columns),
        "label": settings.label if compares else None,
        "positive": settings.positive if compares else None,
        "kernel": settings.kernel,
        "loss": settings.loss,
        "graph": run.graph,
        **{
            spelled.get(name, name.replace("_", "-")): value
            for name, value in run.parameters.items()
        },
        "group-by": settings.group_by,
        **how,
        "step": settings.step,
        **({} if settings.ball is None else {"radius": settings.ball}),
        **({"model": "model.json"} if settings.loss else {"trials": 1}),
    }
    is_embedded = settings.data in CATALOG
    file = f"{settings.data}.csv" if is_embedded else rows.file
    words = ["pairgossip", "train" if settings.loss else "estimate", file]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name}", str(value)]
    command = shlex.join(words)
    return f"pairgossip dataset {settings.data} --out {file}\n{command}" if is_embedded else command
