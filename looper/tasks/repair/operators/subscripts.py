"""Indices, slices, ranges and what a loop runs over."""

import ast
from collections.abc import Iterator

from looper.tasks.repair.operators.scene import Draft, Scene, is_read

KINDS = {
    "index.slice": "a sequence cut: first or last element left out, reversed, a bound moved",
    "index.item": "an item taken instead of the whole, or the whole instead of an item",
    "index.swap": "two indices or bounds exchanged",
    "index.get": "`d[k]` becomes `d.get(k, ...)` and the other way round",
    "range.bounds": "start, end, step or direction of a range",
    "loop.iterable": "a loop over something else",
    "loop.filter": "the filter of a comprehension added, dropped or changed",
}

CUTS = (("{0}[1:]", 0.4), ("{0}[:-1]", 0.4), ("{0}[::-1]", 0.35), ("{0}[:]", 0.15), ("{0}[2:]", 0.08))
SEQUENCES = ("seq", "str", "?")


def cut(scene: Scene, node: ast.expr) -> Iterator[Draft | None]:
    """`x` becomes `x[1:]`, `x[:-1]`, `x[k:]`, `x[0]`, ... where a whole sequence is used."""
    parent = scene.parent.get(node)
    places = (ast.Call, ast.For, ast.comprehension, ast.Return, ast.Assign, ast.AugAssign, ast.BinOp, ast.Compare,
              ast.Yield, ast.YieldFrom, ast.Tuple, ast.List, ast.Starred, ast.IfExp)  # fmt: skip
    if not isinstance(parent, places) or getattr(parent, "func", None) is node:
        return
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return
    kind = scene.vocabulary.kind(node)
    if kind not in SEQUENCES or not is_read(node):
        return
    text, weight = scene.text(node), 0.4 if kind == "?" else 0.8
    for form, prior in CUTS:
        yield scene.swap("index.slice", node, form.format(text), prior * weight)
    for form, prior in (("{0}[0]", 0.25), ("{0}[-1]", 0.25), ("{0}[1]", 0.15)):
        yield scene.swap("index.item", node, form.format(text), prior * weight)
    for name, other in list(scene.vocabulary.names(node).items())[:10]:
        if other in ("num", "?") and name != text:
            known = 1.0 if other == "num" else 0.5
            yield scene.swap("index.slice", node, f"{text}[{name}:]", 0.25 * weight * known)
            yield scene.swap("index.slice", node, f"{text}[:{name}]", 0.25 * weight * known)
            yield scene.swap("index.item", node, f"{text}[{name}]", 0.2 * weight * known)
            yield scene.swap("index.slice", node, f"{text}[{name} + 1:]", 0.12 * weight * known)


def item(scene: Scene, node: ast.Subscript) -> Iterator[Draft | None]:
    base = scene.text(node.value)
    if isinstance(node.ctx, ast.Load):
        yield scene.swap("index.item", node, base, 0.2)
        if not isinstance(node.slice, ast.Slice | ast.Tuple):
            key = scene.text(node.slice)
            yield scene.swap("index.item", node, key, 0.15)
            for default, prior in (("", 0.15), (", 0", 0.25), (", []", 0.1)):
                if scene.vocabulary.kind(node.value) not in ("str",):
                    yield scene.swap("index.get", node, f"{base}.get({key}{default})", prior)
    if isinstance(node.value, ast.Subscript):
        inner = node.value
        text = f"{scene.text(inner.value)}[{scene.text(node.slice)}][{scene.text(inner.slice)}]"
        yield scene.swap("index.swap", node, text, 0.35)
    if not isinstance(node.slice, ast.Slice):
        for text, prior in (("0", 0.25), ("-1", 0.3), ("1", 0.15), ("-2", 0.1)):
            yield scene.swap("index.item", node.slice, text, prior)
        if scene.vocabulary.kind(node.slice) == "num":
            yield scene.swap("index.item", node.slice, f"-{scene.operand(node.slice, 12)}", 0.15)
            yield scene.swap("index.item", node.slice, f"{scene.operand(node.slice, 11)} % len({base})", 0.12)


def pair(scene: Scene, node: ast.Subscript) -> Iterator[Draft | None]:
    """`x[i, j]` becomes `x[j, i]`; another item of the function is assigned to."""
    if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        first, second = map(scene.text, node.slice.elts)
        start, end = scene.span(node.slice.elts[0])[0], scene.span(node.slice.elts[1])[1]
        yield Draft("index.swap", start, end, f"{second}, {first}", 0.35, node.lineno, scene.unit(node))
    if isinstance(node.ctx, ast.Store):
        for text, other in scene.vocabulary.expressions(node)[:16]:
            if isinstance(other, ast.Subscript) and scene.vocabulary.usable(node, other):
                yield scene.swap("index.item", node, text, 0.2)


def bounds(scene: Scene, node: ast.Slice) -> Iterator[Draft | None]:
    lower, upper, step = (scene.text(p) if p else "" for p in (node.lower, node.upper, node.step))
    tail = f":{step}" if step else ""
    changes: list[tuple[str, float]] = [(f"{upper}:{lower}{tail}", 0.3), (f":{upper}{tail}", 0.25)]
    changes += [(f"{lower}:{tail}", 0.25), (f"{lower}:{upper}", 0.2), (f"{lower}:{upper}:-1", 0.12)]
    changes += [(f"{lower}:{upper}:2", 0.08)]
    for name, kind in list(scene.vocabulary.names(node).items())[:8]:
        known = {"num": 1.0, "?": 0.5}.get(kind, 0.0)
        changes += [] if lower or not known else [(f"{name}:{upper}{tail}", 0.25 * known)]
        changes += [] if upper or not known else [(f"{lower}:{name}{tail}", 0.25 * known)]
        changes += [] if upper or not known else [(f"{lower}:{name} + 1{tail}", 0.2 * known)]
        if lower and not upper:
            changes += [(f"{lower}:{lower} + {name}{tail}", 0.2 * known)]
    changes += [] if lower else [(f"{n}:{upper}{tail}", 0.25) for n in ("1", "-1", "2")]
    changes += [] if upper else [(f"{lower}:{n}{tail}", 0.25) for n in ("-1", "1")]
    for text, prior in changes:
        yield scene.swap("index.slice", node, text, prior)


def reach(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    """`range(n)` becomes `range(1, n)`, `range(n + 1)`, a range backwards, ..."""
    if not isinstance(node.func, ast.Name) or node.func.id != "range" or not 1 <= len(node.args) <= 3 or node.keywords:
        return
    parts = [scene.text(a) for a in node.args]
    start, end = (["0", *parts] if len(parts) == 1 else parts)[:2]
    step = parts[2] if len(parts) == 3 else "1"
    plus, minus = (f"{scene.operand(node.args[min(1, len(parts) - 1)], 10)} {s} 1" for s in "+-")
    changes = [
        (f"{start}, {plus}", 0.5), (f"{start}, {minus}", 0.45), (f"1, {end}", 0.45), (f"1, {plus}", 0.4),
        (f"{end}", 0.3), (f"2, {end}", 0.2), (f"2, {plus}", 0.2), (f"{minus}, {start} - 1, -1", 0.2),
        (f"{end}, {start}, -1", 0.2), (f"{end}, {start} - 1, -1", 0.12), (f"{start}, {end}, -1", 0.15),
        (f"{start}, {end}, 2", 0.2), (f"{start}, {end}", 0.2), (f"{minus}, -1, -1", 0.2), (f"0, {end}, {step}", 0.15),
    ]  # fmt: skip
    for name, kind in list(scene.vocabulary.names(node).items())[:8]:
        known = {"num": 1.0, "?": 0.5, "seq": 0.0}.get(kind, 0.0)
        if known and len(parts) == 1:
            changes += [(f"{name}, {end}", 0.3 * known), (f"{name} + 1, {end}", 0.3 * known)]
        if known and len(parts) < 3:
            changes += [(f"{start}, {end}, {name}", 0.15 * known)]
        if kind in ("seq", "str"):
            changes += [(f"{start if len(parts) > 1 else 0}, len({name})", 0.25), (f"len({name})", 0.25)]
    begin, finish = scene.span(node.func)[1], scene.span(node)[1]
    for text, prior in changes:
        yield Draft("range.bounds", begin, finish, f"({text})", prior, node.lineno, scene.unit(node))
    yield scene.swap("range.bounds", node, f"reversed({scene.text(node)})", 0.2)


def iterable(scene: Scene, node: ast.For | ast.comprehension) -> Iterator[Draft | None]:
    text, wide = scene.text(node.iter), isinstance(node.target, ast.Tuple)
    forms = [("reversed({0})", 0.3), ("sorted({0})", 0.3), ("range(len({0}))", 0.25), ("set({0})", 0.2),
             ("range({0})", 0.15), ("list({0})", 0.2), ("{0}.values()", 0.15), ("{0}.keys()", 0.1),
             ("{0}.items()", 0.3 if wide else 0.1), ("enumerate({0})", 0.35 if wide else 0.1)]  # fmt: skip
    for form, prior in forms:
        yield scene.swap("loop.iterable", node.iter, form.format(text), prior)
    for name, kind in list(scene.vocabulary.names(node.iter).items())[:10]:
        if name == text or kind == "num":
            continue
        known = 1.0 if kind != "?" else 0.6
        yield scene.swap("loop.iterable", node.iter, name, 0.3 * known)
        yield scene.swap("loop.iterable", node.iter, f"enumerate({name})", (0.25 if wide else 0.08) * known)
        yield scene.swap("loop.iterable", node.iter, f"range(len({name}))", 0.15 * known)
        yield scene.swap("loop.iterable", node.iter, f"zip({text}, {name})", (0.2 if wide else 0.04) * known)


FILTERS = (("{0}", 0.25), ("not {0}", 0.15), ("{0} > 0", 0.2), ("{0} % 2 == 0", 0.15), ("{0} is not None", 0.2),
           ("{0} != 0", 0.15), ("{0} >= 0", 0.15), ("{0} % 2 == 1", 0.12), ("{0}.isalpha()", 0.1),
           ("{0}.isdigit()", 0.1), ("isinstance({0}, int)", 0.12))  # fmt: skip


def filters(scene: Scene, node: ast.comprehension) -> Iterator[Draft | None]:
    end = scene.span(node.ifs[-1] if node.ifs else node.iter)[1]
    while node.ifs and scene.source[end : end + 1] == ")" and scene.parenthesised(node.ifs[-1]):
        end += 1
        break
    unit, line = scene.unit(node), node.iter.lineno
    if node.ifs:
        start = scene.span(node.iter)[1]
        start += 1 if scene.parenthesised(node.iter) else 0
        yield Draft("loop.filter", start, end, "", 0.25, line, unit)
        return
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    others = [n for n, k in scene.vocabulary.names(node.iter).items() if n not in names][:6]
    forms = [(form.format(name), prior) for name in names for form, prior in FILTERS]
    for name in names:
        for other in others:
            forms += [(f"{other} % {name} == 0", 0.12), (f"{name} % {other} == 0", 0.12)]
            forms += [(f"{name} {op} {other}", 0.12) for op in ("!=", "==", "<", ">", "in", "not in", "<=", ">=")]
    for text, prior in forms:
        yield Draft("loop.filter", end, end, f" if {text}", prior, line, unit)


def getter(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "index") and node.args:
        text = f"{scene.text(node.func.value)}[{scene.text(node.args[0])}]"
        yield scene.swap("index.get", node, text, 0.2)


OPERATORS = (
    (ast.expr, cut),
    (ast.Subscript, item),
    (ast.Subscript, pair),
    (ast.Slice, bounds),
    (ast.Call, reach),
    ((ast.For, ast.comprehension), iterable),
    (ast.comprehension, filters),
    (ast.Call, getter),
)
