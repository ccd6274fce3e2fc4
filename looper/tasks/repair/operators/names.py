"""Variables, attributes and whole expressions taken for one another."""

import ast
from collections.abc import Iterator
from itertools import combinations

from looper.tasks.repair.operators.scene import Draft, Scene, is_read
from looper.tasks.repair.operators.types import alike

KINDS = {
    "name.variable": "another variable in scope",
    "name.exchange": "two variables exchanged, or one replaced, throughout a statement",
    "name.target": "another variable assigned to",
    "name.attribute": "another attribute that the program knows",
    "name.constant": "a variable replaced by a usual constant",
    "name.expression": "an expression replaced by another expression of the same function",
}

USUAL: dict[str, tuple[str, ...]] = {
    "num": ("0", "1", "-1"),
    "bool": ("True", "False"),
    "str": ('""',),
    "seq": ("[]",),
    "map": ("{}",),
    "?": ("0", "1", "None", "[]"),
}


def variable(scene: Scene, node: ast.Name) -> Iterator[Draft | None]:
    names = scene.vocabulary.names(node)
    if node.id not in names or not isinstance(node.ctx, ast.Load):
        return
    for rank, (name, kind) in enumerate(names.items()):
        if name != node.id and rank < 14:
            yield scene.swap("name.variable", node, name, 0.5 * alike(names[node.id], kind))
    if not isinstance(scene.parent.get(node), ast.Call | ast.Attribute | ast.Subscript | ast.For):
        for text in USUAL.get(names[node.id], ()):
            yield scene.swap("name.constant", node, text, 0.15)


def target(scene: Scene, node: ast.Name) -> Iterator[Draft | None]:
    """The variable an assignment binds."""
    if not isinstance(node.ctx, ast.Store) or isinstance(scene.parent.get(node), ast.comprehension):
        return
    names = scene.vocabulary.names(node)
    for name, kind in list(names.items())[:12]:
        if name != node.id and "self" not in (name, node.id):
            yield scene.swap("name.target", node, name, 0.25 * alike(names.get(node.id, "?"), kind))


def attribute(scene: Scene, node: ast.Attribute) -> Iterator[Draft | None]:
    """Attributes that are read or set; names of methods are taken by the operators on calls."""
    parent = scene.parent.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    called = {n.func.attr for n in scene.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    end = scene.span(node)[1]
    for name in scene.vocabulary.attributes:
        if name != node.attr and name not in called:
            unit = scene.unit(node)
            yield Draft("name.attribute", end - len(node.attr), end, name, 0.4, node.end_lineno or node.lineno, unit)
    if isinstance(node.ctx, ast.Load):
        yield scene.swap("name.attribute", node, scene.text(node.value), 0.25)


def add_attribute(scene: Scene, node: ast.Name) -> Iterator[Draft | None]:
    """`node` becomes `node.next` where the program reads that attribute of that or an unknown variable."""
    if not isinstance(node.ctx, ast.Load) or isinstance(scene.parent.get(node), ast.Attribute | ast.Call):
        return
    owned = {n.attr for n in scene.nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
             and n.value.id == node.id and not isinstance(scene.parent.get(n), ast.Call)}  # fmt: skip
    for name in sorted(owned):
        yield scene.swap("name.attribute", node, f"{node.id}.{name}", 0.3)


def exchange(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """Two variables exchanged throughout a statement or header: `out[key] = value` becomes `out[value] = key`."""
    start, end = scene.unit_span(node)
    places = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n in scene.parent and scene.span(n)[1] <= end]
    names = [n for n in dict.fromkeys(p.id for p in places) if n in scene.vocabulary.names(node)]
    spans = sorted((*scene.span(p), p.id) for p in places)
    for one, two in combinations(names[:6], 2):
        text, at = "", start
        for left, right, name in spans:
            text += scene.source[at:left] + {one: two, two: one}.get(name, name)
            at = right
        yield Draft("name.exchange", start, end, text + scene.source[at:end], 0.25, node.lineno, node)
    for name in names[:6]:
        uses = [span for span in spans if span[2] == name]
        for other in list(scene.vocabulary.names(node))[:10] if len(uses) > 1 else []:
            text = replaced(scene, start, end, uses, other)
            yield Draft("name.exchange", start, end, text, 0.25, node.lineno, node)


def replaced(scene: Scene, start: int, end: int, uses: list[tuple[int, int, str]], name: str) -> str:
    """The piece of source with other text at these places."""
    text, at = "", start
    for left, right, _ in uses:
        text += scene.source[at:left] + name
        at = right
    return text + scene.source[at:end]


def expression(scene: Scene, node: ast.expr) -> Iterator[Draft | None]:
    """Any value replaced by another expression of the same function, of a like kind."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp):
        return
    parent = scene.parent.get(node)
    if not is_read(node) or isinstance(parent, ast.Attribute | ast.Expr):
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    words, kind = scene.vocabulary, scene.vocabulary.kind(node)
    if isinstance(node, ast.Call | ast.BinOp | ast.Subscript):
        for name, other in list(words.names(node).items())[:10]:
            yield scene.swap("name.expression", node, name, 0.2 * alike(kind, other))
    for text, other in words.expressions(node)[:16]:
        likely = alike(kind, words.kind(other))
        if likely > 0.3 and text != scene.text(node) and words.usable(node, other):
            yield scene.swap("name.expression", node, text, 0.17 * likely)


OPERATORS = (
    (ast.Name, variable),
    (ast.Name, target),
    (ast.stmt, exchange),
    (ast.Attribute, attribute),
    (ast.Name, add_attribute),
    (ast.expr, expression),
)
