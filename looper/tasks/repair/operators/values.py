"""What a function returns and what an assignment stores."""

import ast
from collections.abc import Iterator

from looper.tasks.repair.operators.conditions import atoms
from looper.tasks.repair.operators.scene import Draft, Scene
from looper.tasks.repair.operators.types import alike

KINDS = {
    "return.value": "another value returned",
    "return.condition": "a condition returned, or a value only under a condition",
    "return.shape": "a returned value put into or taken out of a list or tuple",
    "assign.value": "another value stored",
    "assign.order": "values of a multiple assignment exchanged, or made one after the other",
    "value.choice": "the branches of a conditional expression exchanged or reduced to one",
}


def returned(scene: Scene, node: ast.Return) -> Iterator[Draft | None]:
    home = scene.function(node)
    names = scene.vocabulary.names(node)
    others = [n.value for n in scene.nodes if isinstance(n, ast.Return) and n.value and scene.function(n) is home]
    texts = [(scene.text(v), 0.25) for v in others if "\n" not in scene.text(v) and scene.vocabulary.usable(node, v)]
    texts += [(t, 0.2) for t in ("True", "False", "None", "0", "1", "-1", "[]", '""')]
    if node.value is None:
        start, end = scene.span(node)
        for text, prior in [(n, 0.4) for n in names] + texts:
            yield Draft("return.value", start, end, f"return {text}", prior, node.lineno, node)
        return
    for text, prior in [(n, 0.4 * alike(k, scene.vocabulary.kind(node.value))) for n, k in names.items()] + texts:
        yield scene.swap("return.value", node.value, text, prior)
    yield from shapes(scene, node.value)


def shapes(scene: Scene, value: ast.expr) -> Iterator[Draft | None]:
    text = scene.text(value)
    if isinstance(value, ast.Tuple):
        text = text if text.startswith("(") else f"({text})"
        for part in value.elts:
            yield scene.swap("return.shape", value, scene.text(part), 0.2)
    yield scene.swap("return.shape", value, f"[{text}]", 0.25)
    yield scene.swap("return.shape", value, f"[[{text}]]", 0.05)
    yield scene.swap("return.shape", value, f"({text},)", 0.05)
    if scene.vocabulary.kind(value) not in ("bool", "str", "num"):
        yield scene.swap("return.shape", value, f"{scene.operand(value, 2)} or None", 0.05)
    if isinstance(value, ast.List) and len(value.elts) == 1:
        yield scene.swap("return.shape", value, scene.text(value.elts[0]), 0.3)
    for name, kind in list(scene.vocabulary.names(value).items())[:8]:
        if kind in ("seq", "?") and name != text:
            yield scene.swap("return.shape", value, f"{scene.operand(value, 10)} + [{name}]", 0.12)
            yield scene.swap("return.shape", value, f"[{name}] + {scene.operand(value, 11)}", 0.12)


def conditional(scene: Scene, node: ast.Return) -> Iterator[Draft | None]:
    """`return a` becomes `return a if condition else b`."""
    if node.value is None or isinstance(node.value, ast.IfExp | ast.Constant):
        return
    text = scene.operand(node.value, 2)
    defaults = {"num": ("0", "-1", "1"), "str": ('""',), "seq": ("[]", "None"), "bool": ("False",)}
    for fallback in defaults.get(scene.vocabulary.kind(node.value), ("None", "0", "[]")):
        for condition, prior in atoms(scene, node)[:14]:
            yield scene.swap("return.condition", node.value, f"{fallback} if {condition} else {text}", 0.3 * prior)
            yield scene.swap("return.condition", node.value, f"{text} if {condition} else {fallback}", 0.25 * prior)


def comparison_returned(scene: Scene, node: ast.Return) -> Iterator[Draft | None]:
    if node.value is not None and scene.vocabulary.kind(node.value) in ("bool", "?"):
        weight = 0.6 if isinstance(node.value, ast.Constant) else 0.35
        for condition, prior in atoms(scene, node)[:40]:
            yield scene.swap("return.condition", node.value, condition, weight * prior)


def stored(scene: Scene, node: ast.Assign | ast.AugAssign) -> Iterator[Draft | None]:
    """Initial values and updates: names, usual constants, shapes."""
    if isinstance(node.value, ast.Tuple):
        return
    kind, text = scene.vocabulary.kind(node.value), scene.text(node.value)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    for name, other in list(scene.vocabulary.names(node).items())[:12]:
        if name != scene.text(target):
            yield scene.swap("assign.value", node.value, name, 0.3 * alike(kind, other))
            if kind == "num" and other in ("seq", "str", "?"):
                yield scene.swap("assign.value", node.value, f"len({name})", 0.15)
            if kind in ("num", "?") and other in ("seq", "?"):
                yield scene.swap("assign.value", node.value, f"{name}[0]", 0.2)
    for value in ("[]", "{}", "set()", "0", "1", '""', "None", "float('inf')", "float('-inf')"):
        if value != text:
            yield scene.swap("assign.value", node.value, value, 0.15)
    if isinstance(node, ast.AugAssign) and kind != "num":
        yield scene.swap("assign.value", node.value, f"[{text}]", 0.25)


def listed(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    """`x.append(e)` stores another shape: `[e]`, a copy, or the items of `e`."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("append", "add", "extend") or not node.args:
        return
    text = scene.text(node.args[0])
    copied = 0.35 if scene.vocabulary.kind(node.args[0]) == "seq" else 0.2
    for form, prior in (("[{0}]", 0.25), ("{0}[:]", copied), ("({0},)", 0.08), ("list({0})", 0.2)):
        yield scene.swap("assign.value", node.args[0], form.format(text), prior)
    for name in list(scene.vocabulary.names(node))[:8]:
        yield scene.swap("assign.value", node.args[0], f"({text}, {name})", 0.08)
        yield scene.swap("assign.value", node.args[0], f"({name}, {text})", 0.08)


def order(scene: Scene, node: ast.Assign) -> Iterator[Draft | None]:
    """`a, b = b, c` with targets exchanged; or one statement after the other."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or len(node.targets) > 1:
        return
    parts = [scene.text(t) for t in target.elts]
    start, end = scene.span(target)
    for i in range(len(parts) - 1):
        swapped = [*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]]
        yield Draft("assign.order", start, end, ", ".join(swapped), 0.35, node.lineno, node)
    if isinstance(value, ast.Tuple) and len(value.elts) == len(parts):
        pairs = list(zip(parts, map(scene.text, value.elts), strict=True))
        begin, finish = scene.span(node)
        for line in (pairs, pairs[::-1]):
            text = "; ".join(f"{name} = {val}" for name, val in line)
            yield Draft("assign.order", begin, finish, text, 0.12, node.lineno, None)


def choice(scene: Scene, node: ast.IfExp) -> Iterator[Draft | None]:
    yes, test, no = (scene.text(p) for p in (node.body, node.test, node.orelse))
    yield scene.swap("value.choice", node, f"{no} if {test} else {yes}", 0.4)
    yield scene.swap("value.choice", node, yes, 0.25)
    yield scene.swap("value.choice", node, no, 0.25)


OPERATORS = (
    (ast.Return, returned),
    (ast.Return, conditional),
    (ast.Return, comparison_returned),
    ((ast.Assign, ast.AugAssign), stored),
    (ast.Call, listed),
    (ast.Assign, order),
    (ast.IfExp, choice),
)
