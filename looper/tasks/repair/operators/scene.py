"""A program as the operators see it: its tree, the exact text of every node, and who contains whom."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from looper.tasks.repair.operators.vocabulary import Vocabulary

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
"""Physical lines as Python counts them; `str.splitlines` also cuts at form feeds."""

COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOP = (ast.For, ast.AsyncFor, ast.While)
BLOCKS = ("body", "orelse", "finalbody")
SKIPPED = {"annotation", "returns", "decorator_list", "type_params", "type_comment"}
ATOM, FREE = 16, 1
BINARY = {
    ast.BitOr: 6, ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10, ast.Mult: 11,
    ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11, ast.MatMult: 11, ast.Pow: 13,
}  # fmt: skip
LOOSE = (ast.Lambda, ast.IfExp, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.GeneratorExp)


class Draft(NamedTuple):
    """A proposed splice of the source, before it is checked."""

    kind: str
    start: int
    end: int
    text: str
    prior: float
    line: int
    unit: ast.stmt | None
    """The one statement (or header of a compound statement) it stays inside; None if it changes statements."""


def precedence(node: ast.AST) -> int:
    """How tightly the expression binds, 1 (loosest) to 16 (atoms); Python reference, operator precedence."""
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op)]
    if isinstance(node, ast.BoolOp):
        return 2 if isinstance(node.op, ast.Or) else 3
    if isinstance(node, ast.UnaryOp):
        return 4 if isinstance(node.op, ast.Not) else 12
    if isinstance(node, ast.Compare):
        return 5
    return FREE if isinstance(node, LOOSE) else ATOM


@lru_cache(maxsize=20_000)
def precedence_of(text: str) -> int:
    """Precedence of an expression given as text; an unparsable text counts as loosest."""
    if text.isidentifier():
        return ATOM
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return FREE
    return FREE if isinstance(tree, ast.Tuple) and not text.startswith("(") else precedence(tree)


def _binary_slot(node: ast.AST, parent: ast.BinOp) -> int:
    level = BINARY[type(parent.op)]
    left_binds = isinstance(parent.op, ast.Pow)
    return level + 1 if (node is parent.left) == left_binds else level


def slot(node: ast.AST, parent: ast.AST | None) -> int:
    """The precedence an expression needs to stand unparenthesised where `node` stands."""
    if isinstance(parent, ast.BinOp):
        return _binary_slot(node, parent)
    if isinstance(parent, ast.BoolOp | ast.UnaryOp):
        return precedence(parent) + (1 if isinstance(parent, ast.BoolOp) else 0)
    if isinstance(parent, ast.Compare | ast.Starred):
        return 6
    if isinstance(parent, ast.Attribute | ast.Await):
        return ATOM
    if isinstance(parent, ast.Subscript):
        return ATOM if node is parent.value else FREE
    if isinstance(parent, ast.Call):
        return ATOM if node is parent.func else 2
    return 2 if isinstance(parent, ast.IfExp | ast.comprehension | ast.Tuple | ast.List | ast.Set | ast.Dict) else FREE


class Scene:
    """One source text, read once; raises SyntaxError if it is not Python."""

    def __init__(self, source: str, support: dict[str, str] | None = None):
        self.source = source
        self.tree = ast.parse(source)
        self.lines = LINE.findall(source)
        self.starts = [0, *accumulate(map(len, self.lines))]
        self.newline = "\r\n" if "\r\n" in source else "\n"
        self.parent: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self._visit(self.tree)
        self.vocabulary = Vocabulary(self.tree, self.parent, source, support or {})

    def _visit(self, node: ast.AST) -> None:
        self.nodes.append(node)
        for name, value in ast.iter_fields(node):
            if name in SKIPPED or (isinstance(node, ast.JoinedStr)):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.parent[child] = node
                    if not is_docstring(child, node):
                        self._visit(child)

    def offset(self, line: int, column: int) -> int:
        """Character offset of a 1-based line and a column in UTF-8 bytes, as `ast` gives them."""
        text = self.lines[line - 1]
        chars = column if text.isascii() else len(text.encode()[:column].decode())
        return self.starts[line - 1] + chars

    def span(self, node: Any) -> tuple[int, int]:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, node: Any) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parent:
            node = self.parent[node]
            yield node

    def function(self, node: ast.AST) -> ast.AST:
        """The function that contains the node, else the module."""
        return next((a for a in self.ancestors(node) if isinstance(a, FUNCTION)), self.tree)

    def in_loop(self, node: ast.AST) -> bool:
        """Whether `break` may stand there."""
        below = node
        for above in self.ancestors(node):
            if isinstance(above, FUNCTION):
                return False
            if isinstance(above, LOOP) and all(n is not below for n in above.orelse):
                return True
            below = above
        return False

    def unit(self, node: ast.AST) -> ast.stmt | None:
        if isinstance(node, ast.stmt):
            return node
        for above in self.ancestors(node):
            if isinstance(above, ast.ExceptHandler | ast.match_case):
                return None
            if isinstance(above, ast.stmt):
                return above
        return None

    def unit_span(self, unit: ast.stmt) -> tuple[int, int]:
        """Span of a simple statement, or of a compound statement's header."""
        start, end = self.span(unit)
        return (start, self.span(unit.body[0])[0]) if isinstance(unit, COMPOUND) else (start, end)

    def fit(self, node: ast.AST, text: str) -> str:
        """The text, parenthesised if it would otherwise bind differently in the place of `node`."""
        if precedence_of(text) >= slot(node, self.parent.get(node)) or self.parenthesised(node):
            return text
        return f"({text})"

    def operand(self, node: ast.AST, level: int) -> str:
        """The node's text, ready to be an operand of an operator of that precedence."""
        text = self.text(node)
        return text if precedence(node) >= level else f"({text})"

    def parenthesised(self, node: ast.AST) -> bool:
        start, end = self.span(node)
        parent = self.parent.get(node)
        if isinstance(parent, ast.Call) and node is not parent.func:
            return False
        return self.source[:start].rstrip().endswith("(") and self.source[end : end + 40].lstrip().startswith(")")

    def swap(self, kind: str, node: Any, text: str, prior: float) -> Draft:
        """The draft that puts an expression in the place of another."""
        start, end = self.span(node)
        return Draft(kind, start, end, self.fit(node, text), prior, node.lineno, self.unit(node))

    def token(self, kind: str, left: ast.AST, right: ast.AST, symbol: str, text: str, prior: float) -> Draft | None:
        """The draft that replaces the operator between two nodes; None if it is not found there."""
        start, end = self.span(left)[1], self.span(right)[0]
        pattern = r"\s+".join(map(re.escape, symbol.split()))
        found = re.search(pattern, self.source[start:end])
        if not found:
            return None
        line = self.source.count("\n", 0, start + found.start()) + 1
        return Draft(kind, start + found.start(), start + found.end(), text, prior, line, self.unit(left))


def is_read(node: ast.AST) -> bool:
    """Whether the expression is read, not assigned or deleted."""
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def is_docstring(child: ast.AST, parent: ast.AST) -> bool:
    """Whether the statement is nothing but a string constant."""
    return (
        isinstance(child, ast.Expr)
        and isinstance(child.value, ast.Constant)
        and isinstance(child.value.value, str)
        and hasattr(parent, "body")
    )
