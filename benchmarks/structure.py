"""Sizes and arrows of the source: files, lines, rooms, importers, circles, functions, names.

``python -m benchmarks.structure [FOLDER]`` measures another checkout's ``src`` in the same way.
"""

from __future__ import annotations

import argparse
import ast
import statistics
from collections import Counter, defaultdict
from pathlib import Path

Arrows = dict[str, set[str]]


def main() -> None:
    """Print one line per measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).parents[1] / "src"
    parser.add_argument("source", nargs="?", type=Path, default=default, help="folder to measure")
    measure(parser.parse_args().source)


def measure(source: Path) -> None:
    """Print the measures of one folder of sources."""
    trees = {_module(file, source): ast.parse(file.read_text()) for file in source.rglob("*.py")}
    files = sorted(source.rglob("*.py"))
    lengths = [len(file.read_text().splitlines()) for file in files]
    room, most = Counter(file.parent for file in files).most_common(1)[0]
    arrows = {module: _imports(tree, set(trees)) for module, tree in trees.items()}
    importers = Counter(target for targets in arrows.values() for target in targets)
    alone = [m for m in trees if importers[m] == 1 and not _is_package(m, trees)]
    functions = [n for tree in trees.values() for n in ast.walk(tree) if isinstance(n, DEFINITIONS)]
    spans = [(node.end_lineno or 0) - node.lineno + 1 for node in functions]
    print(f"source files               {len(files):,}")
    print(f"lines                      {sum(lengths):,}")
    print(f"file length                {_spread(lengths)}")
    print(f"largest folder             {most} files ({room.relative_to(source)})")
    print(f"files with one importer    {len(alone)}")
    print(f"import circles             {len(_circles(arrows))} {_circles(arrows) or ''}")
    print(f"function length            {_spread(spans)}")
    print(f"public top-level names     {sum(map(_public_names, trees.values())):,}")


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _module(file: Path, source: Path) -> str:
    return ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _is_package(module: str, modules: dict[str, ast.Module]) -> bool:
    return any(other.startswith(f"{module}.") for other in modules)


def _imports(tree: ast.Module, modules: set[str]) -> set[str]:
    """Return the modules that one imports anywhere, except for the type checker alone."""
    found = set()
    for node in ast.walk(_without_type_checking(tree)):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name in modules)
    return found


def _without_type_checking(tree: ast.Module) -> ast.Module:
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return ast.Module(body, [])


def _circles(arrows: Arrows) -> list[list[str]]:
    """Return the groups of modules that reach each other."""
    reached = {module: _reachable(module, arrows) for module in arrows}
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for module, others in reached.items():
        group = {other for other in others if module in reached[other]}
        if group - {module}:
            groups[min(group | {module})] |= group | {module}
    return [sorted(group) for group in groups.values()]


def _reachable(start: str, arrows: Arrows) -> set[str]:
    seen: set[str] = set()
    queue = list(arrows[start])
    while queue:
        module = queue.pop()
        if module not in seen:
            seen.add(module)
            queue.extend(arrows[module])
    return seen


def _public_names(tree: ast.Module) -> int:
    kinds = (*DEFINITIONS, ast.ClassDef)
    return sum(isinstance(node, kinds) and not node.name.startswith("_") for node in tree.body)


def _spread(numbers: list[int]) -> str:
    tenth = statistics.quantiles(numbers, n=10)[-1]
    return f"median {statistics.median(numbers):g}, 90 % {tenth:.0f}, largest {max(numbers)}"


if __name__ == "__main__":
    main()
