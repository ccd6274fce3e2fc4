"""Traces in code of getting at what runs the tests, found in the syntax tree.

What is hidden from a reader of the code (names put together at run time, `exec`) is not found here: the suite runs in a
sandbox and its results are read from a report, which is the defence against that.
"""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["import", "modules", "exit", "skip"]
RUNNERS = frozenset({"pytest", "_pytest", "pluggy"})
EXITS = frozenset({"_exit", "abort"})
SYSTEM = frozenset({"os", "posix"})
IMPORTERS = frozenset({"__import__", "import_module"})


@dataclass(frozen=True)
class Trace:
    """One place in a file."""

    kind: Kind
    what: str
    """The same for the same thing anywhere, such as `import pytest` or `os._exit`."""
    line: int


def traces(text: str) -> list[Trace]:
    """Places in Python code, in the order of lines; none in a text that cannot be parsed, since it cannot run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = _names(tree)
    found = {trace for node in ast.walk(tree) for trace in _of(node, names)}
    return sorted(found, key=lambda trace: (trace.line, trace.what))


def _names(tree: ast.AST) -> dict[str, str]:
    """What names of the file stand for: dotted origin by local name, for imports."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.split(".")[0]: _origin(alias) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _origin(alias: ast.alias) -> str:
    return alias.name if alias.asname else alias.name.split(".")[0]


def _of(node: ast.AST, names: dict[str, str]) -> Iterator[Trace]:
    if isinstance(node, ast.Import):
        yield from _imported([alias.name for alias in node.names], node.lineno)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from _imported([node.module or ""], node.lineno)
        for alias in node.names:
            yield from _named(f"{node.module}.{alias.name}", node.lineno)
    elif isinstance(node, ast.Call):
        yield from _called(node, names)
    elif isinstance(node, ast.Subscript):
        yield from _modules(node.value, [node.slice], node.lineno, names)
    elif isinstance(node, ast.Attribute):
        yield from _named(_dotted(node, names), node.lineno)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _named(names.get(node.id, ""), node.lineno)


def _imported(modules: list[str], line: int) -> Iterator[Trace]:
    for top in (module.split(".")[0] for module in modules):
        if top in RUNNERS:
            yield Trace("import", f"import {top}", line)


def _called(node: ast.Call, names: dict[str, str]) -> Iterator[Trace]:
    called = _dotted(node.func, names)
    last = called.rsplit(".", 1)[-1]
    if last in IMPORTERS:
        yield from _imported([text for text in map(_text, node.args[:1]) if text], node.lineno)
    elif last == "getattr" and len(node.args) > 1:
        yield from _named(f"{_dotted(node.args[0], names)}.{_text(node.args[1])}", node.lineno)
    elif isinstance(node.func, ast.Attribute):
        yield from _modules(node.func.value, node.args, node.lineno, names)


def _modules(holder: ast.expr, keys: list[ast.expr], line: int, names: dict[str, str]) -> Iterator[Trace]:
    """`sys.modules[...]` and its methods, with the name of a runner."""
    if _dotted(holder, names) != "sys.modules":
        return
    for key in map(_text, keys):
        if key.split(".")[0] in RUNNERS:
            yield Trace("modules", f"sys.modules[{key.split('.')[0]!r}]", line)


def _named(dotted: str, line: int) -> list[Trace]:
    first, _, last = dotted.rpartition(".")
    if first in SYSTEM and last in EXITS:
        return [Trace("exit", f"os.{last}", line)]
    return [Trace("skip", "unittest.SkipTest", line)] if last == "SkipTest" and first.startswith("unittest") else []


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`a.b.c` with imported names resolved; empty parts for what is no name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    first = names.get(node.id, node.id) if isinstance(node, ast.Name) else ""
    return ".".join([first, *reversed(parts)])


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
