"""Arithmetic and bitwise operators, signs, terms and off-by-one."""

import ast
from collections.abc import Iterator

from looper.tasks.repair.operators.scene import BINARY, Draft, Scene, is_read
from looper.tasks.repair.operators.types import alike

KINDS = {
    "arithmetic.swap": "another arithmetic or bitwise operator",
    "arithmetic.augment": "another augmented assignment, or a plain one",
    "arithmetic.operands": "operands exchanged",
    "arithmetic.drop": "one term dropped",
    "arithmetic.offset": "`+ 1` or `- 1` on a number",
    "arithmetic.sign": "sign or complement changed",
    "arithmetic.term": "a term or factor added from names in scope",
    "arithmetic.group": "parentheses moved",
    "arithmetic.scale": "a number halved, doubled, or wrapped around (`% 10`, `% len(x)`)",
}

SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
CLASSES = {text: kind for kind, text in SYMBOLS.items()}
OTHERS: dict[str, dict[str, float]] = {
    "+": {"-": 0.65, "*": 0.4, "|": 0.1, "%": 0.1, "//": 0.1},
    "-": {"+": 0.65, "*": 0.2, "/": 0.15, "//": 0.15, "%": 0.15},
    "*": {"+": 0.4, "**": 0.35, "/": 0.35, "//": 0.35, "-": 0.15, "%": 0.1},
    "/": {"//": 0.65, "*": 0.4, "%": 0.35, "-": 0.1},
    "//": {"/": 0.65, "%": 0.5, "*": 0.3, "-": 0.1},
    "%": {"//": 0.55, "/": 0.35, "-": 0.15, "*": 0.15},
    "**": {"*": 0.5, "//": 0.1},
    "&": {"|": 0.6, "^": 0.55},
    "|": {"&": 0.6, "^": 0.5, "+": 0.1},
    "^": {"&": 0.6, "|": 0.5, "**": 0.4},
    "<<": {">>": 0.6},
    ">>": {"<<": 0.6},
    "@": {"*": 0.3},
}


def swap_operator(scene: Scene, node: ast.BinOp) -> Iterator[Draft | None]:
    symbol = SYMBOLS[type(node.op)]
    for other, prior in OTHERS[symbol].items():
        level = BINARY[CLASSES[other]]
        left, right = scene.operand(node.left, level), scene.operand(node.right, level + 1)
        yield scene.swap("arithmetic.swap", node, f"{left} {other} {right}", prior)
        if level != BINARY[type(node.op)]:
            yield scene.token("arithmetic.swap", node.left, node.right, symbol, other, prior * 0.4)


def swap_augmented(scene: Scene, node: ast.AugAssign) -> Iterator[Draft | None]:
    symbol = SYMBOLS[type(node.op)]
    for other, prior in OTHERS[symbol].items():
        yield scene.token("arithmetic.augment", node.target, node.value, f"{symbol}=", f"{other}=", prior)
    yield scene.token("arithmetic.augment", node.target, node.value, f"{symbol}=", "=", 0.4)
    if symbol == "+":
        target, value = scene.text(node.target), scene.operand(node.value, 11)
        yield scene.swap("arithmetic.augment", node, f"{target} = {value} + {target}", 0.2)


def to_augmented(scene: Scene, node: ast.Assign) -> Iterator[Draft | None]:
    """`x = e` becomes `x += e`: an accumulation that was lost."""
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name | ast.Subscript | ast.Attribute):
        for symbol, prior in (("+", 0.35), ("-", 0.15), ("*", 0.15), ("|", 0.05)):
            yield scene.token("arithmetic.augment", node.targets[0], node.value, "=", f"{symbol}=", prior)


def operands(scene: Scene, node: ast.BinOp) -> Iterator[Draft | None]:
    symbol, level = SYMBOLS[type(node.op)], BINARY[type(node.op)]
    if symbol not in "*&|^" or symbol == "**":
        left, right = scene.operand(node.right, level), scene.operand(node.left, level + 1)
        prior = 0.15 if symbol == "+" and scene.vocabulary.kind(node) == "num" else 0.35
        yield scene.swap("arithmetic.operands", node, f"{left} {symbol} {right}", prior)
    for kept in (node.left, node.right):
        yield scene.swap("arithmetic.drop", node, scene.text(kept), 0.3)


def group(scene: Scene, node: ast.BinOp) -> Iterator[Draft | None]:
    """`a + b * c` becomes `(a + b) * c`; `a - (b - c)` becomes `a - b - c`."""
    level, symbol = BINARY[type(node.op)], SYMBOLS[type(node.op)]
    if isinstance(node.right, ast.BinOp):
        inner, rest = scene.operand(node.right.left, level + 1), scene.operand(node.right.right, 12)
        first = f"{scene.operand(node.left, level)} {symbol} {inner}"
        deep = SYMBOLS[type(node.right.op)]
        first = first if BINARY[type(node.right.op)] <= level else f"({first})"
        yield scene.swap("arithmetic.group", node, f"{first} {deep} {rest}", 0.3)
    if isinstance(node.left, ast.BinOp):
        inner, rest = scene.operand(node.left.right, level), scene.operand(node.right, level + 1)
        first, deep = scene.operand(node.left.left, BINARY[type(node.left.op)]), SYMBOLS[type(node.left.op)]
        second = f"{inner} {symbol} {rest}"
        second = second if level > BINARY[type(node.left.op)] else f"({second})"
        yield scene.swap("arithmetic.group", node, f"{first} {deep} {second}", 0.3)


def sign(scene: Scene, node: ast.UnaryOp) -> Iterator[Draft | None]:
    if not isinstance(node.op, ast.Not):
        yield scene.swap("arithmetic.sign", node, scene.text(node.operand), 0.4)


def _place(scene: Scene, node: ast.AST) -> tuple[float, float]:
    """Priors of an offset and of a new term where the node stands; 0 where neither makes sense."""
    parent = scene.parent.get(node)
    if isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and node is parent.slice):
        return 0.6, 0.1
    if isinstance(parent, ast.Call) and node is not parent.func:
        if isinstance(parent.func, ast.Name) and parent.func.id == "range":
            return 0.65, 0.12
        again = getattr(parent.func, "id", "") == getattr(scene.function(node), "name", None)
        return (0.5, 0.3) if again and isinstance(node, ast.Name) else (0.45, 0.12)
    if isinstance(parent, ast.Compare):
        return 0.5, 0.1
    if isinstance(parent, ast.Return | ast.Assign | ast.AugAssign):
        return 0.4, 0.2
    return (0.25, 0.08) if isinstance(parent, ast.BinOp | ast.IfExp | ast.Tuple) else (0.0, 0.0)


def offset(scene: Scene, node: ast.expr) -> Iterator[Draft | None]:
    """`+ 1`, `- 1`, a sign and terms of names in scope, wherever a number may stand."""
    step, term = _place(scene, node)
    kind = scene.vocabulary.kind(node)
    if not step or not is_read(node) or isinstance(node, ast.Slice | ast.Tuple):
        return
    likely = alike(kind, "num")
    if likely > 0.2 and not isinstance(node, ast.Constant):
        text = scene.operand(node, 10)
        yield scene.swap("arithmetic.offset", node, f"{text} + 1", step * likely)
        yield scene.swap("arithmetic.offset", node, f"{text} - 1", step * likely)
        if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
            known = 0.4 if isinstance(scene.parent.get(node), ast.Slice) else 0.2
            yield scene.swap("arithmetic.sign", node, f"-{text}", known * likely)
    if likely > 0.2 and not isinstance(node, ast.Constant):
        yield from scaled(scene, node, step * likely)
    if not isinstance(node, ast.Constant) or isinstance(scene.parent.get(node), ast.Return):
        yield from terms(scene, node, term)


SCALES = (("// 2", 0.4), ("/ 2", 0.3), ("* 2", 0.3), ("% 2", 0.15), ("% 10", 0.15), ("// 10", 0.15), ("* 10", 0.1),
          ("** 2", 0.15))  # fmt: skip


def scaled(scene: Scene, node: ast.expr, prior: float) -> Iterator[Draft | None]:
    """`e // 2`, `e * 2`, `e % len(x)` and the like; places of half a number are as usual as those of one more."""
    text = scene.operand(node, 11)
    for form, weight in SCALES:
        yield scene.swap("arithmetic.scale", node, f"{text} {form}", prior * weight)
    for name, kind in list(scene.vocabulary.names(node).items())[:8]:
        if kind in ("seq", "str"):
            yield scene.swap("arithmetic.scale", node, f"{text} % len({name})", prior * 0.2)


def terms(scene: Scene, node: ast.expr, prior: float) -> Iterator[Draft | None]:
    kind = scene.vocabulary.kind(node)
    for name, other in list(scene.vocabulary.names(node).items())[:8]:
        likely = alike(kind, other) * prior
        if likely < 0.03 or scene.text(node) == name:
            continue
        for symbol, weight in (("+", 1.0), ("-", 0.8), ("*", 0.8), ("//", 0.4), ("/", 0.3), ("%", 0.5)):
            if symbol != "+" and "num" not in (kind, other) and {kind, other} != {"?"}:
                continue
            level = BINARY[CLASSES[symbol]]
            yield scene.swap("arithmetic.term", node, f"{scene.operand(node, level)} {symbol} {name}", likely * weight)
            if symbol in "-+":
                text = f"{name} {symbol} {scene.operand(node, level + 1)}"
                yield scene.swap("arithmetic.term", node, text, likely * weight * 0.7)


OPERATORS = (
    (ast.BinOp, swap_operator),
    (ast.AugAssign, swap_augmented),
    (ast.Assign, to_augmented),
    (ast.BinOp, operands),
    (ast.BinOp, group),
    (ast.UnaryOp, sign),
    (ast.expr, offset),
)
