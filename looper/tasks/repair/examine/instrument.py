"""Counts the steps of a program and notes the lines it runs, by calls woven into its syntax tree.

Runs inside the sandbox: standard library only. A step is one iteration of a loop or comprehension, or one call.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

STEP, HIT = "__looper_step__", "__looper_hit__"


class Stopped(BaseException):
    """Ends a test from within; not an Exception, so that the program's own handlers do not catch it."""


class StepsExceeded(Stopped):
    """The test took more steps than it may."""


class TimeExceeded(Stopped):
    """The candidate took more time than it may."""


class Meter:
    """Counts steps down and raises at the end of them, again and again if a bare `except` swallowed it."""

    def __init__(self, limit: int):
        self.limit = limit
        self.left = limit
        self.late = False
        self.lines: set[int] = set()

    def step(self) -> bool:
        self.left -= 1
        if self.left < 0:
            self.check()
        return True

    def check(self) -> None:
        """Raises if a limit was passed at any time since the start, also if the program swallowed that."""
        if self.left < 0:
            raise (TimeExceeded if self.late else StepsExceeded)()

    def restart(self) -> None:
        if self.late:
            raise TimeExceeded
        self.left = self.limit

    @property
    def used(self) -> int:
        return min(self.limit - self.left, self.limit)

    def expire(self, *_signal: Any) -> None:
        """Signal handler: time is up."""
        self.late, self.left = True, -1
        raise TimeExceeded

    def names(self) -> dict[str, Any]:
        """What an instrumented program must find among its globals."""
        return {STEP: self.step, HIT: self.lines.add}


def call(name: str, node: ast.AST, *arguments: ast.expr) -> ast.Call:
    made = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(arguments), keywords=[])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def statement(expression: ast.expr) -> ast.Expr:
    return ast.copy_location(ast.Expr(value=expression), expression)


def hit(node: Any) -> ast.Expr:
    return statement(call(HIT, node, ast.Constant(value=node.lineno)))


def preamble(body: list[ast.stmt]) -> int:
    """How many statements must stay first: a docstring and imports from `__future__`."""
    count = 0
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        count = 1
    while count < len(body):
        node = body[count]
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        count += 1
    return count


class Weaver(ast.NodeTransformer):
    """Puts the calls in; line numbers stay those of the source."""

    def __init__(self, trace: bool):
        self.trace = trace

    def block(self, body: list[ast.stmt], first: list[ast.stmt], keep: int = 0) -> list[ast.stmt]:
        woven = list(body[:keep])
        woven.extend(first)
        for node in body[keep:]:
            if self.trace:
                woven.append(hit(node))
            woven.append(self.visit(node))
        return woven

    def function(self, node: Any) -> Any:
        step = statement(call(STEP, node))
        node.body = self.block(node.body, [step], preamble(node.body))
        node.args = self.visit(node.args)
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = function

    def loop(self, node: Any) -> Any:
        node.body = self.block(node.body, [statement(call(STEP, node))])
        node.orelse = self.block(node.orelse, [])
        for name in ("test", "iter"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        return node

    visit_For = visit_AsyncFor = visit_While = loop

    def branches(self, node: Any) -> Any:
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody"):
                setattr(node, name, self.block(value, [], preamble(value) if isinstance(node, ast.ClassDef) else 0))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(item) for item in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    visit_If = visit_With = visit_AsyncWith = visit_Try = visit_TryStar = visit_ClassDef = branches

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        node.body = self.block(node.body, [hit(node)] if self.trace else [])
        return node

    def visit_match_case(self, node: Any) -> Any:
        node.body = self.block(node.body, [])
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        node.ifs.insert(0, call(STEP, node.iter))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.generic_visit(node)
        both = ast.BoolOp(op=ast.And(), values=[call(STEP, node.body), node.body])
        node.body = ast.copy_location(both, node.body)
        return node


def compile_program(source: str, path: str, trace: bool) -> CodeType:
    """The program with step counts, and with `trace` its lines too. Raises SyntaxError or ValueError (NUL bytes)."""
    tree = ast.parse(source, path)
    weaver = Weaver(trace)
    tree.body = weaver.block(tree.body, [], preamble(tree.body))
    return compile(tree, path, "exec", dont_inherit=True)
