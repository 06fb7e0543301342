"""Measures of the source: its size, its arrows, and how often it tests types.

``python -m benchmarks.structure [FOLDER]`` measures another checkout's ``src`` in the same way;
``--list`` also lists every type test. Lines and files are reported, but are never goals.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Arrows = dict[str, set[str]]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

PAPER = ("experiments", "theory/errata", "cli/reproduce.py", "cli/paper.py")
"""Present and former paths in the library that serve the paper alone."""
PROBLEM_ENDINGS = ("Pairs", "Sets", "Means", "Averages", "Learning", "Problem", "Sample")
PROBLEM_NAMES = ("PrivateSketch", "Private", "AtSites", "Sketched")
"""Names, besides those with the endings above, of classes whose instances an engine runs."""
PROBLEM_SUBJECTS = ("problem", "pairs")
"""Names of variables and attributes that hold a problem."""
PROTOCOL_CLASSES = (*("State", "Save", "Exchange", "Rounds", "ExchangeRuntime", "SumsProgram"),)
PROTOCOL_CONSTANTS = ("SUMS", "EXCHANGE", "sums", "exchange")
_NOT_COUNTED = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
)


def main() -> None:
    """Print one line per measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).parents[1] / "src"
    parser.add_argument("source", nargs="?", type=Path, default=default, help="folder to measure")
    parser.add_argument("--list", action="store_true", help="name every type test")
    given = parser.parse_args()
    measure(Source(given.source))
    if given.list:
        tests = type_tests(Source(given.source))
        print(*(f"{kind}: {place}" for kind, places in tests.items() for place in places), sep="\n")


@dataclass(frozen=True)
class Source:
    """The Python files below a folder."""

    folder: Path

    @cached_property
    def files(self) -> list[Path]:
        """Return the files in order."""
        return sorted(self.folder.rglob("*.py"))

    @cached_property
    def texts(self) -> dict[Path, str]:
        """Return the text of each file."""
        return {file: file.read_text() for file in self.files}

    @cached_property
    def trees(self) -> dict[Path, ast.Module]:
        """Return the syntax tree of each file."""
        return {file: ast.parse(text) for file, text in self.texts.items()}

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        """Return the syntax trees by the names of modules."""
        return {_module(file, self.folder): tree for file, tree in self.trees.items()}

    @cached_property
    def arrows(self) -> Arrows:
        """Return which of our modules each imports, anywhere in its file."""
        return {name: _imports(tree, set(self.modules)) for name, tree in self.modules.items()}

    @cached_property
    def rooms(self) -> Arrows:
        """Return which rooms each room imports; a file beside the rooms counts as a room."""
        rooms: defaultdict[str, set[str]] = defaultdict(set)
        for module, targets in self.arrows.items():
            rooms[self._room(module)] |= {self._room(target) for target in targets}
        return {room: targets - {room} for room, targets in rooms.items()}

    def _room(self, module: str) -> str:
        is_room = _is_package(module, self.modules) or module.count(".") < 2
        return module if is_room else module.rpartition(".")[0]

    def library_texts(self) -> Iterator[str]:
        """Yield the files of the library itself, without the paper."""
        for file, text in self.texts.items():
            package, _, place = file.relative_to(self.folder).as_posix().partition("/")
            if package == "pairgossip" and not place.startswith(PAPER):
                yield text


def measure(source: Source) -> None:
    """Print the measures of one folder of sources."""
    lengths = [len(text.splitlines()) for text in source.texts.values()]
    lines = sum(lengths)
    room, most = Counter(file.parent for file in source.files).most_common(1)[0]
    importers = Counter(target for targets in source.arrows.values() for target in targets)
    lonely = [m for m in source.modules if importers[m] == 1 and not _is_package(m, source.modules)]
    spans = [
        (node.end_lineno or 0) - node.lineno + 1
        for tree in source.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, DEFINITIONS)
    ]
    inside, across = _circles(source.arrows)
    tests = {kind: len(places) for kind, places in type_tests(source).items()}
    own = statistics.mean(map(len, source.arrows.values()))
    once = len(_private_functions_used_once(source.trees))
    tokens = sum(map(count_tokens, source.library_texts()))
    rows: list[tuple[str, str, str]] = [
        ("source files", f"{len(source.files):,}", "files ending in .py"),
        ("lines", f"{lines:,}", "all lines of these files"),
        ("source tokens", f"{tokens:,}", "library without the paper; no comments or line ends"),
        ("file length", _spread(lengths), "lines of a file"),
        ("function length", _spread(spans), "lines from def to the end, docstring included"),
        ("largest folder", f"{most} ({room.relative_to(source.folder)})", "files in one folder"),
        ("type tests on problems", str(tests["problem"]),
         "isinstance, class patterns, hasattr and getattr with a default, asserts included"),
        ("tests for sums, exchange, privacy", str(tests["protocol"]),
         "is_sums, 'privacy is None', algorithm names compared, types of states and runtimes"),
        ("own imports per file", f"{own:.2f}", "mean number of our modules that a file imports"),
        ("private functions used once", f"{1000 * once / lines:.1f}",
         "per 1,000 lines: at the top of a file, named once beside their definition"),
        ("floors of imports", str(floors(source.rooms)), "rooms in the longest chain of imports"),
        ("circles between files", f"{len(across)} {across or ''}".rstrip(),
         f"groups that reach each other; {len(inside)} more are a package with its own modules"),
        ("files with one importer", str(len(lonely)), "modules that one other module imports"),
        ("public top-level names", f"{sum(map(_public_names, source.trees.values())):,}",
         "functions and classes without an underscore"),
        ("class names defined twice", str(_repeated_classes(source.trees)),
         "public names of more than one class"),
    ]  # fmt: skip
    for name, value, meaning in rows:
        print(f"{name:34} {value:42} {meaning}")


def count_tokens(text: str) -> int:
    """Count names, numbers, operators and strings; an f-string is one token in every version."""
    count = depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        count += depth == 0 and token.type not in _NOT_COUNTED
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")
    return count


def type_tests(source: Source) -> dict[str, list[str]]:
    """Return where the library, without the paper, tests the kind of a problem or a protocol."""
    found: dict[str, list[str]] = {"problem": [], "protocol": []}
    for file, tree in source.trees.items():
        package, _, place = file.relative_to(source.folder).as_posix().partition("/")
        if package != "pairgossip" or place.startswith(PAPER):
            continue
        for node in ast.walk(tree):
            for kind in _kinds(node):
                found[kind].append(f"{place}:{getattr(node, 'lineno', 0)} {ast.unparse(node)[:70]}")
    return found


def _kinds(node: ast.AST) -> Iterator[str]:
    """Yield the kinds of test that a node is."""
    classes, subject = _tested(node)
    if any(_is_problem(name) for name in classes) or subject in PROBLEM_SUBJECTS:
        yield "problem"
    if any(name in PROTOCOL_CLASSES for name in classes) or _asks_for_protocol(node):
        yield "protocol"


def _tested(node: ast.AST) -> tuple[list[str], str]:
    """Return the classes that a node tests for, and the name whose attributes it tests."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            return [_last_name(one) for one in ast.walk(kinds)], ""
        case ast.Call(func=ast.Name(id="hasattr"), args=[subject, _]):
            return [], _last_name(subject)
        case ast.Call(func=ast.Name(id="getattr"), args=[subject, _, _]):
            return [], _last_name(subject)
        case ast.MatchClass(cls=kind):
            return [_last_name(kind)], ""
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[kind]):
            return [_last_name(kind)], ""
        case _:
            return [], ""


def _asks_for_protocol(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="is_sums", ctx=ast.Load()) | ast.Name(id="is_sums", ctx=ast.Load()):
            return True
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(None)]):
            return _last_name(left) in ("privacy", "noise")
        case ast.Compare(left=left, comparators=[right]):
            return _last_name(left) in ("name", "chosen", "algorithm") and (
                _last_name(right) in PROTOCOL_CONSTANTS
                or (isinstance(right, ast.Constant) and right.value in PROTOCOL_CONSTANTS)
            )
        case _:
            return False


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_problem(name: str) -> bool:
    return name.endswith(PROBLEM_ENDINGS) or name in PROBLEM_NAMES


def floors(arrows: Arrows) -> int:
    """Return the length of the longest chain of imports; a cycle is one floor."""
    reached = {module: _reachable(module, arrows) for module in arrows}
    circle = {m: frozenset({m, *(o for o in reached[m] if m in reached[o])}) for m in arrows}
    heights: dict[frozenset[str], int] = {}

    def height(group: frozenset[str]) -> int:
        if group not in heights:
            below = {circle[target] for module in group for target in arrows[module]} - {group}
            heights[group] = 1 + max(map(height, below), default=0)
        return heights[group]

    return max(map(height, circle.values()))


def _private_functions_used_once(trees: dict[Path, ast.Module]) -> list[str]:
    """Return private functions at the top level whose names occur only once besides `def`."""
    found = []
    for tree in trees.values():
        uses = Counter(filter(None, map(_last_name, ast.walk(tree))))
        names = [node.name for node in tree.body if isinstance(node, DEFINITIONS)]
        found += [name for name in names if name.startswith("_") and uses[name] == 1]
    return found


def _repeated_classes(trees: dict[Path, ast.Module]) -> int:
    names = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sum(count > 1 for count in names.values())


def _module(file: Path, source: Path) -> str:
    return ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _is_package(module: str, modules: dict[str, ast.Module]) -> bool:
    return any(other.startswith(f"{module}.") for other in modules)


def _imports(tree: ast.Module, modules: set[str]) -> set[str]:
    """Return the modules that one imports anywhere, except imports for the type checker only."""
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


def _circles(arrows: Arrows) -> tuple[list[list[str]], list[list[str]]]:
    """Return groups that import each other: a package with its own modules, and all others."""
    reached = {module: _reachable(module, arrows) for module in arrows}
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for module, others in reached.items():
        group = {other for other in others if module in reached[other]}
        if group - {module}:
            groups[min(group | {module})] |= group | {module}
    inside: list[list[str]] = []
    across: list[list[str]] = []
    for first, group in groups.items():
        is_inside = all(other == first or other.startswith(f"{first}.") for other in group)
        (inside if is_inside else across).append(sorted(group))
    return inside, across


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
