"""Rewrites a test script so that each assert is a test of its own with a distance (SPEC 7.2).

Runs inside the sandbox: standard library only. An assert in a loop is one test, which passes if it held each time and
was reached at all. `if`, `try` and `with raises(...)` around asserts, and calls of helpers that assert, are one test
each, because which of their asserts are reached depends on the outcome.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

CHECK, BEGIN, HELD, FAILED = "__looper_check__", "__looper_begin__", "__looper_held__", "__looper_failed__"
COMPARE, NEAR, TRUTH = "__looper_compare__", "__looper_near__", "__looper_truth__"
ERROR = "__looper_error__"
MODULE = "module"
BRANCHES = (ast.If, ast.Try, getattr(ast, "Match", ast.If), getattr(ast, "TryStar", ast.Try))
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
OPERATORS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass
class Unit:
    """One function of the script (or its top level) and the lines of its tests."""

    name: str
    lines: list[int] = field(default_factory=list)
    tops: list[tuple[int, int]] = field(default_factory=list)
    """First and last line of each statement of the body."""


@dataclass
class Plan:
    """A rewritten script."""

    code: Any
    units: dict[str, Unit]

    def ids(self) -> list[str]:
        """The tests it has before any parameters are known."""
        return [test for unit in self.units.values() for test in test_ids(unit, unit.name)]


def test_ids(unit: Unit, shown: str) -> list[str]:
    if not unit.lines:
        return [] if unit.name == MODULE else [shown]
    return [f"{shown}::{number}" for number in range(len(unit.lines))]


def invoke(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(arguments), keywords=[])


def verdict(test: ast.expr) -> ast.expr:
    """An expression whose value is how far `test` is from holding, 0.0 when it holds; order of evaluation is kept."""
    if isinstance(test, ast.BoolOp):
        swapped = ast.Or() if isinstance(test.op, ast.And) else ast.And()
        return ast.BoolOp(op=swapped, values=[verdict(part) for part in test.values])
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator = OPERATORS[type(test.ops[0])]
        left, right = test.left, test.comparators[0]
        apart = difference(left)
        if operator in ("<", "<=") and apart is not None:
            return invoke(NEAR, ast.Constant(value=operator), apart.left, apart.right, right)
        return invoke(COMPARE, ast.Constant(value=operator), left, right)
    return invoke(TRUTH, test)


def difference(node: ast.expr) -> ast.BinOp | None:
    """`a - b` out of `abs(a - b)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "abs" and len(node.args) == 1:
        inside = node.args[0]
        if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub):
            return inside
    return None


def asserts(node: ast.AST) -> bool:
    """Whether there is an assert, a unittest assertion or a `raises` in it."""
    return any(isinstance(part, ast.Assert) or assertion_call(part) for part in ast.walk(node))


def called(node: Any) -> str:
    """Last name of what is called: `raises` of `pytest.raises(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def assertion_call(node: ast.AST) -> bool:
    name = called(node)
    return name in ("raises", "warns", "fail") or (name.startswith("assert") and name != "assert")


class Strict(ast.NodeTransformer):
    """Asserts that raise with a distance, for what runs inside one test."""

    def visit_Assert(self, node: ast.Assert) -> Any:
        return located(ast.Expr(value=invoke(CHECK, verdict(node.test))), node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """The commonest two assertions of unittest get a distance like an assert."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not call.keywords:
            if call.func.attr in ("assertEqual", "assertEquals") and len(call.args) >= 2:
                test = ast.Compare(left=call.args[0], ops=[ast.Eq()], comparators=[call.args[1]])
                return located(ast.Expr(value=invoke(CHECK, verdict(test))), node)
            if call.func.attr == "assertTrue" and call.args:
                return located(ast.Expr(value=invoke(CHECK, verdict(call.args[0]))), node)
        return self.generic_visit(node)


def located(made: Any, like: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(made, like))


class Rewriter:
    """Finds the tests of a script and makes each report for itself."""

    def __init__(self, entry: str | None):
        self.entry = entry
        self.units: dict[str, Unit] = {}
        self.asserting: set[str] = set()

    def rewrite(self, text: str) -> Plan:
        tree = ast.parse(text, "<tests>")
        named = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
        self.asserting = {node.name for node in named if asserts(node)}
        module = Unit(MODULE, tops=extents(tree.body))
        body = [self.definition(node) if isinstance(node, DEFINITIONS) else node for node in tree.body]
        tree.body = self.statements(body, module)
        units = {MODULE: module, **self.units} if module.lines else self.units
        return Plan(compile(ast.fix_missing_locations(tree), "<tests>", "exec", dont_inherit=True), units)

    def definition(self, node: Any) -> Any:
        if isinstance(node, ast.ClassDef):
            if self.entry is None and test_class(node):
                node.body = [self.method(node.name, item) for item in node.body]
                return node
        elif self.is_test(node.name):
            return self.function(node.name, node)
        return Strict().visit(node)

    def is_test(self, name: str) -> bool:
        return name == "check" if self.entry else name.startswith("test")

    def method(self, owner: str, node: ast.stmt) -> ast.stmt:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            return self.function(f"{owner}.{node.name}", node)
        return Strict().visit(node)

    def function(self, name: str, node: Any) -> Any:
        unit = self.units[name] = Unit(name, tops=extents(node.body))
        node.body = self.statements(node.body, unit)
        return node

    def statements(self, body: list[ast.stmt], unit: Unit) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in body:
            made.extend(self.statement(node, unit))
        return made

    def statement(self, node: ast.stmt, unit: Unit) -> list[ast.stmt]:
        if isinstance(node, DEFINITIONS):
            return [node if unit.name == MODULE else Strict().visit(node)]
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and node.test.value:
            return []
        if self.entry and unit.name == MODULE and isinstance(node, ast.Expr) and called(node.value) == "check":
            return []
        if self.one_test(node):
            return [self.guarded(node, unit)]
        for name in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.For, ast.While, ast.With, ast.Try)) and getattr(node, name, None):
                setattr(node, name, self.statements(getattr(node, name), unit) or [located(ast.Pass(), node)])
        return [node]

    def one_test(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Expr):
            return assertion_call(node.value) or called(node.value) in self.asserting
        if isinstance(node, ast.With):
            return any(assertion_call(item.context_expr) for item in node.items)
        if isinstance(node, ast.Try) and not node.handlers:
            return False
        return isinstance(node, BRANCHES) and asserts(node)

    @staticmethod
    def guarded(node: ast.stmt, unit: Unit) -> ast.stmt:
        number = ast.Constant(value=len(unit.lines))
        unit.lines.append(node.lineno)
        inside = Strict().visit(node)
        failed = ast.Expr(value=invoke(FAILED, number, ast.Name(id=ERROR, ctx=ast.Load())))
        catch = ast.Name(id="BaseException", ctx=ast.Load())
        begin, held = (ast.Expr(value=invoke(name, number)) for name in (BEGIN, HELD))
        handler = ast.ExceptHandler(type=catch, name=ERROR, body=[failed])
        return located(ast.Try(body=[begin, inside, held], handlers=[handler], orelse=[], finalbody=[]), node)


def extents(body: list[ast.stmt]) -> list[tuple[int, int]]:
    return [(node.lineno, node.end_lineno or node.lineno) for node in body]


def test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any("TestCase" in ast.dump(base) for base in node.bases)


def plan(text: str, entry: str | None) -> Plan:
    """The script rewritten. Raises SyntaxError or ValueError when it is no Python."""
    return Rewriter(entry).rewrite(text)
