"""Comparisons, boolean operators and whole conditions."""

import ast
from collections.abc import Iterator
from itertools import permutations

from looper.tasks.repair.operators.scene import Draft, Scene

KINDS = {
    "compare.swap": "another comparison operator",
    "compare.operands": "sides of a comparison exchanged",
    "boolean.swap": "`and` becomes `or` and the other way round",
    "boolean.drop": "one operand of `and`/`or` dropped",
    "boolean.not": "`not` added to or taken from an operand",
    "condition.negate": "a whole condition negated",
    "condition.guard": "a condition extended by `and ...` or `or ...`",
    "condition.replace": "a condition replaced by another one about names in scope",
    "condition.constant": "a condition made always true or false (prone to overfit)",
}

SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
COMPARISONS: dict[str, dict[str, float]] = {
    "<": {"<=": 0.9, ">": 0.6, ">=": 0.5, "!=": 0.35, "==": 0.3},
    "<=": {"<": 0.9, ">=": 0.6, ">": 0.5, "==": 0.35, "!=": 0.3},
    ">": {">=": 0.9, "<": 0.6, "<=": 0.5, "!=": 0.35, "==": 0.3},
    ">=": {">": 0.9, "<=": 0.6, "<": 0.5, "==": 0.35, "!=": 0.3},
    "==": {"!=": 0.7, ">=": 0.45, "<=": 0.45, ">": 0.35, "<": 0.35, "is": 0.15, "in": 0.3, "not in": 0.15},
    "!=": {"==": 0.7, ">": 0.4, "<": 0.4, ">=": 0.3, "<=": 0.3, "not in": 0.25},
    "is": {"is not": 0.6, "==": 0.5},
    "is not": {"is": 0.6, "!=": 0.5},
    "in": {"not in": 0.7, "==": 0.35, "!=": 0.15},
    "not in": {"in": 0.7, "!=": 0.35},
}


def swap_comparison(scene: Scene, node: ast.Compare) -> Iterator[Draft | None]:
    """`<` becomes `<=`, `>`, ...; each operator of a chain on its own."""
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        symbol = SYMBOLS[type(operator)]
        for other, prior in COMPARISONS[symbol].items():
            yield scene.token("compare.swap", left, right, symbol, other, prior)
        left = right


def swap_operands(scene: Scene, node: ast.Compare) -> Iterator[Draft | None]:
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        left, right = scene.operand(node.comparators[0], 6), scene.operand(node.left, 6)
        yield scene.swap("compare.operands", node, f"{left} {SYMBOLS[type(node.ops[0])]} {right}", 0.2)


def boolean(scene: Scene, node: ast.BoolOp) -> Iterator[Draft | None]:
    symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    level = 3 if other == "and" else 2
    parts = [scene.operand(v, 4) for v in node.values]
    yield scene.swap("boolean.swap", node, f" {other} ".join(scene.operand(v, level) for v in node.values), 0.6)
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield scene.token("boolean.swap", left, right, symbol, other, 0.35)
    for drop in range(len(parts)):
        kept = f" {symbol} ".join(p for i, p in enumerate(parts) if i != drop)
        yield scene.swap("boolean.drop", node, kept, 0.4)
    listed = atoms(scene, node)[:12]
    for value in node.values:
        yield negation(scene, value, "boolean.not", 0.35)
        if not isinstance(value, ast.BoolOp):
            for text, prior in listed:
                yield from guards(scene, value, text, 0.6 * prior)


def negation(scene: Scene, node: ast.expr, kind: str, prior: float) -> Draft:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return scene.swap(kind, node, scene.text(node.operand), prior)
    return scene.swap(kind, node, f"not {scene.operand(node, 4)}", prior)


def drop_not(scene: Scene, node: ast.UnaryOp) -> Iterator[Draft | None]:
    if isinstance(node.op, ast.Not):
        yield scene.swap("boolean.not", node, scene.text(node.operand), 0.5)


def tests_of(node: ast.AST) -> list[ast.expr]:
    """The conditions that a node decides by."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    return list(node.ifs) if isinstance(node, ast.comprehension) else []


def condition(scene: Scene, node: ast.AST) -> Iterator[Draft | None]:
    for test in tests_of(node):
        yield negation(scene, test, "condition.negate", 0.5)
        for text in ("True", "False"):
            yield scene.swap("condition.constant", test, text, 0.2 if isinstance(node, ast.While) else 0.1)
        listed = atoms(scene, test)
        for text, prior in listed:
            yield scene.swap("condition.replace", test, text, 0.35 * prior)
            yield from guards(scene, test, text, prior)


def guards(scene: Scene, test: ast.expr, text: str, prior: float) -> Iterator[Draft | None]:
    for symbol, level in (("and", 3), ("or", 2)):
        old = scene.operand(test, level)
        yield scene.swap("condition.guard", test, f"{old} {symbol} {text}", 0.6 * prior)
        if prior >= 0.4 or protects(text, symbol):
            yield scene.swap("condition.guard", test, f"{text} {symbol} {old}", 0.5 * prior)


def protects(text: str, symbol: str) -> bool:
    """Whether the condition has to be asked first, because without it the rest would raise."""
    if symbol == "and":
        return "< len(" in text or text.endswith("is not None") or text.isidentifier()
    return ">= len(" in text or text.endswith("is None") or text.startswith("not ")


def returned_condition(scene: Scene, node: ast.Return | ast.Assign) -> Iterator[Draft | None]:
    """The same for truth values that are returned or stored."""
    value = node.value
    if value is None or (scene.vocabulary.kind(value) != "bool" and not isinstance(value, ast.BoolOp)):
        return
    yield negation(scene, value, "condition.negate", 0.4)
    for text, prior in atoms(scene, value):
        yield from guards(scene, value, text, 0.8 * prior)


UNARY = {
    "bool": (("{0}", 0.35), ("not {0}", 0.35)),
    "num": (
        ("{0} == 0", 0.35), ("{0} > 0", 0.35), ("{0} < 0", 0.3), ("{0} <= 0", 0.25), ("{0} >= 0", 0.25),
        ("{0} == 1", 0.3), ("{0} <= 1", 0.25), ("{0} > 1", 0.25), ("{0} != 0", 0.25), ("{0} % 2 == 0", 0.15),
        ("{0} % 2 == 1", 0.1),
    ),
    "seq": (("not {0}", 0.45), ("{0}", 0.4), ("len({0}) == 1", 0.2), ("len({0}) > 1", 0.15), ("len({0}) < 2", 0.15)),
    "?": (("not {0}", 0.35), ("{0}", 0.35), ("{0} is None", 0.35), ("{0} is not None", 0.3), ("{0} == 0", 0.2),
          ("{0} == 1", 0.15), ("{0} > 0", 0.15), ("{0} < 0", 0.15)),
}  # fmt: skip
LETTERS = tuple((f"{{0}}.{test}()", 0.15) for test in ("isalpha", "isdigit", "isupper", "islower", "isspace"))
UNARY |= {"str": (*UNARY["seq"], *LETTERS), "map": UNARY["seq"][:2], "set": UNARY["seq"][:2], "func": ()}
CONTAINERS = {"seq", "str", "map", "set"}


def atoms(scene: Scene, node: ast.AST) -> list[tuple[str, float]]:
    """Simple conditions about what is in scope at the node, likeliest first, at most 50."""
    words = scene.vocabulary
    names = list(words.names(node).items())[:9]
    found = [*_program_conditions(scene, node), *_unary(names), *_pairs(names), *_places(scene, node)]
    found += [*_predicates(scene, node, names), *((f"{name} < 0", 0.45) for name in words.lowered(node))]
    found += [(form.format(name), 0.5) for name in words.divisors(node) for form in ("not {0}", "{0} == 0", "{0} != 0")]
    best: dict[str, float] = {}
    for text, prior in found:
        best[text] = max(prior, best.get(text, 0.0))
    return sorted(best.items(), key=lambda item: -item[1])[:50]


def _unary(names: list[tuple[str, str]]) -> Iterator[tuple[str, float]]:
    for name, kind in names:
        for form, prior in UNARY[kind]:
            yield form.format(name), prior


def _predicates(scene: Scene, node: ast.AST, names: list[tuple[str, str]]) -> Iterator[tuple[str, float]]:
    """The program's own questions about one value: `is_valid(x)`."""
    home = getattr(scene.function(node), "name", "")
    for function in scene.vocabulary.predicates:
        for name, kind in names if function != home else []:
            if kind not in ("bool", "func"):
                yield from ((f"{function}({name})", 0.45), (f"not {function}({name})", 0.45))


def _program_conditions(scene: Scene, node: ast.AST) -> Iterator[tuple[str, float]]:
    words = scene.vocabulary
    for text, expression in words.expressions(node):
        if words.kind(expression) == "bool" and words.usable(node, expression):
            yield text, 0.35
            yield f"not ({text})" if isinstance(expression, ast.Compare) else f"not {text}", 0.15


def _places(scene: Scene, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Attributes and items that the program reads, asked for truth, None and membership."""
    words = scene.vocabulary
    names = list(words.names(node).items())[:6]
    for text, expression in words.expressions(node)[:12]:
        if not isinstance(expression, ast.Attribute | ast.Subscript) or not words.usable(node, expression):
            continue
        yield from ((text, 0.3), (f"not {text}", 0.35), (f"{text} is None", 0.25), (f"{text} is not None", 0.25))
        for name, kind in names:
            if kind in CONTAINERS | {"?"} and isinstance(expression, ast.Subscript):
                yield from ((f"{text} in {name}", 0.15), (f"{text} not in {name}", 0.2))
            if kind in ("num", "?"):
                yield from ((f"{text} == {name}", 0.15), (f"{text} > {name}", 0.12), (f"{text} < {name}", 0.12))


def _pairs(names: list[tuple[str, str]]) -> Iterator[tuple[str, float]]:
    for (one, kind), (two, other) in permutations(names, 2):
        if other in CONTAINERS:
            if kind in ("num", "?"):
                yield from ((f"{one} < len({two})", 0.3), (f"len({two}) == {one}", 0.12), (f"{one} >= len({two})", 0.2))
            if kind not in CONTAINERS or kind == "str":
                yield from ((f"{one} in {two}", 0.25), (f"{one} not in {two}", 0.3))
        if kind == other or "?" in (kind, other):
            yield f"{one} < {two}", 0.25 if kind == "num" else 0.15
            if one < two:
                yield from ((f"{one} == {two}", 0.25), (f"{one} != {two}", 0.2))


OPERATORS = (
    (ast.Compare, swap_comparison),
    (ast.Compare, swap_operands),
    (ast.BoolOp, boolean),
    (ast.UnaryOp, drop_not),
    ((ast.If, ast.While, ast.IfExp, ast.comprehension), condition),
    ((ast.Return, ast.Assign), returned_condition),
)
