"""Text in a program that is put together from constants, as far as that can be told without running it."""

import ast
import re
from collections.abc import Sequence

DEEPEST = 20
"""Parts within parts."""
UNKNOWN = "{}"
"""Stands in a text for a part that is computed."""
PLACE_OF = re.compile(r"^/proc/[^/]+")
PATHS = frozenset({"Path", "PurePath", "PosixPath", "PurePosixPath"})


def text_of(node: ast.AST, depth: int = 0) -> str:
    """The text of a constant, a sum, an f-string, a joined list or a path; empty for everything else."""
    if depth > DEEPEST:
        return ""
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, ast.BinOp):
        return _joined(node, depth)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, depth + 1) or UNKNOWN for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value, depth + 1)
    if isinstance(node, ast.Subscript):
        return _backwards(node, depth)
    return _called(node, depth) if isinstance(node, ast.Call) else ""


def _constant(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""


def _joined(node: ast.BinOp, depth: int) -> str:
    left, right = (text_of(one, depth + 1) for one in (node.left, node.right))
    if isinstance(node.op, ast.Div):
        return f"{left}/{right or UNKNOWN}" if left else ""
    return left + right if isinstance(node.op, ast.Add) and left and right else ""


def _backwards(node: ast.Subscript, depth: int) -> str:
    """`text[::-1]`"""
    step = node.slice.step if isinstance(node.slice, ast.Slice) else None
    back = isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and getattr(step.operand, "value", 0) == 1
    return text_of(node.value, depth + 1)[::-1] if back else ""


def _called(node: ast.Call, depth: int) -> str:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in PATHS:
        return _all(node.args, "/", depth)
    if name != "join" or not isinstance(node.func, ast.Attribute):
        return ""
    if len(node.args) > 1:  # os.path.join
        return _all(node.args, "/", depth)
    parts = node.args[0] if node.args else None
    if isinstance(parts, ast.List | ast.Tuple) and isinstance(node.func.value, ast.Constant):
        return _all(parts.elts, text_of(node.func.value), depth)
    return ""


def _all(parts: Sequence[ast.expr], between: str, depth: int) -> str:
    return between.join(text_of(part, depth + 1) or UNKNOWN for part in parts)
