"""The same change made at several places at once: a wrong idea is often written down more than once."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from looper.tasks.repair.operators.conditions import tests_of
from looper.tasks.repair.operators.scene import FUNCTION, Draft, Scene, is_read

KINDS = {
    "repeat.all": "one edit made at every place where the same expression stands",
    "repeat.shift": "all indices of a statement moved by one",
    "repeat.mirror": "a condition joined with its counterpart (other direction, other variable)",
}

REPEATED = (ast.Subscript, ast.Compare, ast.BinOp, ast.Call)
WITHIN, ACROSS = 0.4, 0.2
"""Share of an edit's prior when it is made throughout a statement, and throughout a function."""
LEAST, LEAST_ACROSS = 0.25, 0.4
"""Priors below which an edit is not repeated; there would be too many."""
FAR = 12
"""Lines between the first and the last place at most."""
MIRRORED = {ast.Lt: ">", ast.Gt: "<", ast.LtE: ">=", ast.GtE: "<="}

Span = tuple[int, int]


def everywhere(scene: Scene, drafts: Sequence[Draft]) -> Iterator[Draft]:
    """Each likely draft made at all places of its statement or function where the same expression stands."""
    near, far = _groups(scene)
    for draft in drafts:
        if draft.unit is not None and draft.start < draft.end:
            if draft.prior >= LEAST:
                yield from _repeated(scene, draft, near.get(draft.unit, ()), WITHIN)
            if draft.prior >= LEAST_ACROSS:
                yield from _repeated(scene, draft, far.get(scene.function(draft.unit), ()), ACROSS)


def _groups(scene: Scene) -> tuple[dict[ast.AST, list[list[Span]]], dict[ast.AST, list[list[Span]]]]:
    """Places of equal expressions by statement, and of equal compound ones in several statements by function."""
    by_unit: dict[tuple[ast.AST, str], list[Span]] = defaultdict(list)
    by_home: dict[tuple[ast.AST, str], dict[ast.AST, Span]] = defaultdict(dict)
    for node in scene.nodes:
        unit = scene.unit(node) if isinstance(node, (*REPEATED, ast.Constant)) else None
        if unit is not None:
            by_unit[unit, scene.text(node)].append(scene.span(node))
            if isinstance(node, REPEATED):
                by_home[scene.function(node), scene.text(node)].setdefault(unit, scene.span(node))
    near: dict[ast.AST, list[list[Span]]] = defaultdict(list)
    for (unit, _), spans in by_unit.items():
        near[unit] += [sorted(spans)] if len(spans) > 1 else []
    far: dict[ast.AST, list[list[Span]]] = defaultdict(list)
    for (home, _), places in by_home.items():
        spans = sorted(places.values())
        lines = scene.source.count("\n", spans[0][0], spans[-1][1])
        far[home] += [spans] if isinstance(home, FUNCTION) and len(spans) > 1 and lines <= FAR else []
    return near, far


def _repeated(scene: Scene, draft: Draft, groups: Sequence[list[Span]], share: float) -> Iterator[Draft]:
    holding = [g for g in groups if any(start <= draft.start and draft.end <= end for start, end in g)]
    if not holding:
        return
    spans = min(holding, key=lambda g: g[0][1] - g[0][0])
    own = next((start, end) for start, end in spans if start <= draft.start and draft.end <= end)
    old = scene.source[slice(*own)]
    if draft.start == own[0] == spans[0][0] or own == spans[0]:
        new = old[: draft.start - own[0]] + draft.text + old[draft.end - own[0] :]
        text, at = "", spans[0][0]
        for start, end in spans:
            if start < at or scene.source[start:end] != old:
                return
            text += scene.source[at:start] + new
            at = end
        unit = draft.unit if share == WITHIN else None
        yield Draft("repeat.all", spans[0][0], at, text, share * draft.prior, draft.line, unit)


def shift(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """`a[i] + a[i + 1]` becomes `a[i - 1] + a[i + 1 - 1]`."""
    end = scene.unit_span(node)[1]
    inside = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and n in scene.parent]
    found = [n for n in inside if scene.span(n)[1] <= end]
    indices = [n.slice for n in found if not isinstance(n.slice, ast.Slice | ast.Tuple) and _counts(scene, n.slice)]
    if len(indices) < 2 or len({ast.dump(n.value) for n in found}) != 1 or not all(is_read(n) for n in found):
        return
    places = sorted(scene.span(i) for i in indices)
    for sign in "-+":
        text, at = "", places[0][0]
        for start, stop in places:
            text += scene.source[at:start] + f"{scene.source[start:stop]} {sign} 1"
            at = stop
        yield Draft("repeat.shift", places[0][0], at, text, 0.25, node.lineno, node)


def _counts(scene: Scene, index: ast.expr) -> bool:
    return scene.vocabulary.kind(index) == "num" and not isinstance(index, ast.IfExp | ast.Constant)


def mirror(scene: Scene, node: ast.AST) -> Iterator[Draft | None]:
    """`x == sorted(x)` becomes `x == sorted(x) or x == sorted(x, reverse=True)`, and the like."""
    tests = [node.value] if isinstance(node, ast.Return) and node.value else tests_of(node)
    for test in tests:
        parts = [part for part in (test.values if isinstance(test, ast.BoolOp) else [test]) if _plain(part)]
        for part in parts:
            for text, prior in _counterparts(scene, part):
                for symbol, level in (("or", 2), ("and", 3)):
                    yield scene.swap("repeat.mirror", part, f"{scene.operand(part, level)} {symbol} {text}", prior)


def _plain(part: ast.expr) -> bool:
    return isinstance(part, ast.Compare) and len(part.ops) == 1


def _counterparts(scene: Scene, part: ast.expr) -> Iterator[tuple[str, float]]:
    """The comparison in the other direction, or about another variable."""
    source, (start, end) = scene.source, scene.span(part)
    for call in (n for n in ast.walk(part) if isinstance(n, ast.Call) and n in scene.parent):
        if getattr(call.func, "id", "") == "sorted" and len(call.args) == 1 and not call.keywords:
            left, right = scene.span(call)
            yield f"{source[start : right - 1]}, reverse=True{source[right - 1 : end]}", 0.3
            yield f"{source[start:left]}{scene.text(call.args[0])}[::-1]{source[right:end]}", 0.1
    names = scene.vocabulary.names(part)
    for used in [n for n in ast.walk(part) if isinstance(n, ast.Name) and n.id in names and n in scene.parent][:3]:
        left, right = scene.span(used)
        for other, kind in list(names.items())[:8]:
            if other != used.id and kind == names[used.id] and other not in source[start:end]:
                yield f"{source[start:left]}{other}{source[right:end]}", 0.15


OPERATORS = (
    (ast.stmt, shift),
    ((ast.If, ast.While, ast.IfExp, ast.comprehension, ast.Return), mirror),
)
