"""Traces in code of getting at what runs the tests, found in the syntax tree.

What is hidden from a reader of the code (names computed at run time) is not found here: the suite runs in a sandbox and
its results are read from a report, which is the defence against that. Text that is put together from constants is read.
"""

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from looper.tasks.project.guard.constants import text_of
from looper.tasks.project.guard.suspects import (
    INSIDE_ENDS,
    PATCHED,
    RUNNERS,
    Trace,
    always_true,
    defined,
    imported,
    named,
    opened,
    replaced,
    worded,
)  # fmt: skip
from looper.tasks.project.reading.syntax import parsed

IMPORTERS = frozenset({"__import__", "import_module"})
REACHING = frozenset({"getattr", "setattr", "delattr"})
RUNNING = frozenset({"exec", "eval", "compile"})
GATHERING = frozenset({"list", "tuple", "set", "dict", "sorted", "iter", "vars"})
DEEPEST = 3
"""Programs within texts within programs."""


def traces(text: str, depth: int = 0) -> list[Trace]:
    """Places in Python code, in the order of lines; none in a text that cannot be parsed, since it cannot run."""
    found: set[Trace] = set()
    for source in (text, text.encode("utf-8", "surrogatepass")):  # `exec` reads a text, `import` a file with its cookie
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            found |= set(_Reader(parsed(source), depth).read())
    return sorted(found, key=lambda trace: (trace.line, trace.what))


@dataclass
class _Reader:
    """A module, and what its names stand for: dotted origin by local name."""

    tree: ast.Module
    depth: int
    names: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    """Modules whose names are all imported."""

    def __post_init__(self) -> None:
        nodes = list(ast.walk(self.tree))
        for node in nodes:
            if isinstance(node, ast.Import):
                self.names |= {alias.asname or alias.name.split(".")[0]: _origin(alias) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                self.names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                self.stars += [f"{node.module}" for alias in node.names if alias.name == "*"]
        known = {origin.split(".")[0] for origin in self.names.values()} | PATCHED | {"os", "sys"}
        for node in nodes:  # `m = os` is another name of the same module
            if isinstance(node, ast.Assign | ast.NamedExpr):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                origin = self.dotted(node.value)
                if origin.split(".")[0] in known:
                    self.names |= {target.id: origin for target in targets if isinstance(target, ast.Name)}

    def read(self) -> Iterator[Trace]:
        for node in ast.walk(self.tree):
            yield from self.of(node)
        for statement in self.tree.body:
            yield from self.assigned(statement)

    def of(self, node: ast.AST) -> Iterator[Trace]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _import(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from defined(node)
        elif isinstance(node, ast.Assign):
            yield from always_true(node)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from self.through(node.iter)
        elif isinstance(node, ast.expr):
            yield from self.expression(node)

    def expression(self, node: ast.expr) -> Iterator[Trace]:
        if isinstance(node, ast.Attribute):
            yield from self.attribute(node)
        elif isinstance(node, ast.Name):
            yield from self.name(node)
        elif isinstance(node, ast.Call):
            yield from self.called(node)
        elif isinstance(node, ast.Subscript):
            yield from self.modules(node.value, [node.slice], node.lineno)
        elif isinstance(node, ast.Compare):
            yield from self.compared(node)
        yield from worded(text_of(node), node.lineno)

    def attribute(self, node: ast.Attribute) -> Iterator[Trace]:
        dotted = self.dotted(node)
        yield from named(dotted, node.lineno)
        if node.attr in INSIDE_ENDS:
            yield Trace("inside", node.attr, node.lineno)
        if node.attr == "pluginmanager":
            yield Trace("hook", node.attr, node.lineno)
        if not isinstance(node.ctx, ast.Load):
            yield from replaced(dotted, node.lineno)
        elif node.attr in ("values", "items", "copy"):
            yield from self.through(node.value)

    def name(self, node: ast.Name) -> Iterator[Trace]:
        if node.id == "__builtins__":
            yield Trace("patch", node.id, node.lineno)
        if node.id == "pytest_plugins":
            yield Trace("hook", node.id, node.lineno)
        if isinstance(node.ctx, ast.Load):
            for origin in [self.names[node.id]] if node.id in self.names else [f"{m}.{node.id}" for m in self.stars]:
                yield from named(origin, node.lineno)

    def called(self, node: ast.Call) -> Iterator[Trace]:
        called, line = self.dotted(node.func), node.lineno
        last = called.rsplit(".", 1)[-1]
        first, second = ([text_of(argument) for argument in node.args] + ["", ""])[:2]
        if last in IMPORTERS:
            yield from imported([first] if first else [], line)
        elif last in REACHING and second:
            dotted = f"{self.dotted(node.args[0])}.{second}"
            yield from (named if last == "getattr" else replaced)(dotted, line)
        elif last in RUNNING and first and self.depth < DEEPEST:
            yield from (Trace(trace.kind, trace.what, line) for trace in traces(first, self.depth + 1))
        elif last in GATHERING and node.args:
            yield from self.through(node.args[0])
        elif opened(called, node):
            yield Trace("inside", called, line)
        if isinstance(node.func, ast.Attribute):
            yield from self.modules(node.func.value, node.args, line)

    def modules(self, holder: ast.expr, keys: list[ast.expr], line: int) -> Iterator[Trace]:
        """`sys.modules[...]` and its methods, with the name of a runner."""
        if self.dotted(holder) != "sys.modules":
            return
        for key in map(text_of, keys):
            if key.split(".")[0] in RUNNERS:
                yield Trace("modules", f"sys.modules[{key.split('.')[0]!r}]", line)

    def through(self, node: ast.expr) -> Iterator[Trace]:
        """Going through all modules finds the runner without its name."""
        if self.dotted(node) == "sys.modules":
            yield Trace("modules", "all of sys.modules", node.lineno)

    def compared(self, node: ast.Compare) -> Iterator[Trace]:
        """`"pytest" in sys.modules`: whether the code is tested is not its business."""
        if any(self.dotted(one) == "sys.modules" for one in node.comparators) and text_of(node.left) in RUNNERS:
            yield Trace("aware", f"{text_of(node.left)!r} in sys.modules", node.lineno)

    def assigned(self, node: ast.stmt) -> Iterator[Trace]:
        """Where a module is loaded, something imported gets a function of this file in place of its own."""
        own = {one.name for one in self.tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        for target, value in _given(node):
            made = isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in own)
            if made and (root := _root(target)) in self.names:
                yield Trace("swap", f"{self.names[root]} is changed", node.lineno)

    def dotted(self, node: ast.expr) -> str:
        """`a.b.c` with imported names resolved; empty parts for what is no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            first = self.names.get(node.id, node.id)
        elif isinstance(node, ast.Call) and node.args and _last(node.func) in IMPORTERS:
            first = text_of(node.args[0])
        else:
            first = ""
        return ".".join([first, *reversed(parts)])


def _origin(alias: ast.alias) -> str:
    return alias.name if alias.asname else alias.name.split(".")[0]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _import(node: ast.Import | ast.ImportFrom) -> Iterator[Trace]:
    if isinstance(node, ast.Import):
        yield from imported([alias.name for alias in node.names], node.lineno)
    elif not node.level:
        yield from imported([node.module or ""], node.lineno)
        for alias in node.names:
            yield from named(f"{node.module}.{alias.name}", node.lineno)


def _given(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is given a value by a statement, and the value: attributes alone."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets if isinstance(target, ast.Attribute))
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and _last(call.func) == "setattr" and len(call.args) == 3:
        yield call.args[0], call.args[2]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
