"""Statements that are missing: updates, guards, jumps and returns made of names in scope."""

import ast
import heapq
import re
from collections.abc import Iterable, Iterator

from looper.tasks.repair.operators.conditions import atoms
from looper.tasks.repair.operators.scene import FUNCTION, LOOP, Draft, Scene, is_docstring
from looper.tasks.repair.operators.statements import block, row, unit_of

KINDS = {
    "insert.update": "a missing update or assignment (`x += 1`, `x = y`, `d[k] = v`)",
    "insert.collect": "a missing `append`, `add`, `extend` or similar",
    "insert.guard": "a missing `if condition: return value`",
    "insert.jump": "a missing `if condition: break` or `continue`",
    "insert.similar": "a neighbouring statement repeated about another variable",
    "insert.return": "a missing return",
}

TERMINAL = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def put(
    scene: Scene, kind: str, node: ast.stmt, lines: list[str], prior: float, *, after: bool = False
) -> Draft | None:
    """New lines in front of (or behind) a statement, at its indentation."""
    place = row(scene, node)
    if place is None:
        return None
    text = "".join(place.indent + line + scene.newline for line in lines)
    at = place.end if after else place.start
    if after and not scene.source[:at].endswith(("\n", "\r")):
        text = scene.newline + text
    return Draft(kind, at, at, text, prior, (node.end_lineno or node.lineno) if after else node.lineno, None)


def everywhere(scene: Scene, kind: str, node: ast.stmt, line: str, prior: float) -> Iterator[Draft | None]:
    """In front of the statement; behind it too where it ends its block."""
    yield put(scene, kind, node, [line], prior)
    last = block(scene, node)[1][-1] is node and not isinstance(node, TERMINAL)
    if last:
        yield put(scene, kind, node, [line], prior * 1.1, after=True)


def best(drafts: Iterable[Draft | None], count: int) -> list[Draft]:
    """The likeliest drafts; missing logic has too many forms to try them all."""
    return heapq.nlargest(count, filter(None, drafts), key=lambda draft: draft.prior)


def inside(scene: Scene, node: ast.stmt) -> bool:
    """Whether the statement belongs to a function's body (nothing is inserted elsewhere)."""
    return isinstance(scene.function(node), FUNCTION) and not isinstance(node, (*FUNCTION, ast.ClassDef))


def update(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    if not inside(scene, node):
        return
    names = {n: k for n, k in scene.vocabulary.names(node).items() if n != "self"}
    bound = scene.vocabulary.scope(scene.function(node)).kinds
    weight = 1.0 if scene.in_loop(node) else 0.7
    for name, value in scene.vocabulary.initial(node).items() if scene.in_loop(node) else ():
        yield from everywhere(scene, "insert.update", node, f"{name} = {value}", 0.22)
    for name, kind in [(n, k) for n, k in names.items() if n in bound][:7]:
        if kind in ("num", "?"):
            for form, prior in (("{0} += 1", 0.3), ("{0} -= 1", 0.2), ("{0} = 0", 0.12), ("{0} = 1", 0.05)):
                yield from everywhere(scene, "insert.update", node, form.format(name), prior * weight)
        for empty in {"seq": ("[]",), "str": ('""',), "map": ("{}",), "?": ("[]", "None")}.get(kind, ()):
            yield from everywhere(scene, "insert.update", node, f"{name} = {empty}", 0.1 * weight)
        if kind in ("num", "str", "?") and name in scene.vocabulary.starved(node):
            weight *= 1.8
        yield from transfers(scene, node, name, kind, weight)


def transfers(scene: Scene, node: ast.stmt, name: str, kind: str, weight: float) -> Iterator[Draft | None]:
    names = scene.vocabulary.names(node)
    for other, same in list(names.items())[:7]:
        if other == name or other == "self":
            continue
        likely = 1.0 if same == kind else 0.5 if "?" in (kind, same) else 0.0
        if likely:
            yield from everywhere(scene, "insert.update", node, f"{name} = {other}", 0.2 * weight * likely)
            if kind in ("num", "str", "?"):
                yield from everywhere(scene, "insert.update", node, f"{name} += {other}", 0.15 * weight * likely)
            if kind == "num" and weight > 1:
                for symbol in "*-":
                    yield from everywhere(scene, "insert.update", node, f"{name} {symbol}= {other}", 0.14 * likely)
    for text, value in scene.vocabulary.expressions(node)[:10]:
        if scene.vocabulary.usable(node, value) and scene.vocabulary.kind(value) in (kind, "?") and len(text) < 30:
            yield from everywhere(scene, "insert.update", node, f"{name} = {text}", 0.1 * weight)


COLLECT = {"seq": (("{0}.append({1})", 0.3), ("{0}.extend({1})", 0.1), ("{0}.insert(0, {1})", 0.06)),
           "set": (("{0}.add({1})", 0.4), ("{0}.discard({1})", 0.1)),
           "map": (("{0}[{1}] = True", 0.1), ("{0}[{1}] = 1", 0.12), ("{0}[{1}] = []", 0.05)),
           "?": (("{0}.append({1})", 0.12), ("{0}.add({1})", 0.15))}  # fmt: skip
ALONE = {"seq": (("{0}.pop()", 0.12), ("{0}.sort()", 0.2), ("{0} = {0}[1:]", 0.08), ("{0}.reverse()", 0.15),
                 ("{0} = sorted({0})", 0.2), ("{0}.pop(0)", 0.06)),
         "str": (("{0} = {0}.lower()", 0.2), ("{0} = {0}.strip()", 0.12), ("{0} = {0}[1:]", 0.06)),
         "num": (("{0} = abs({0})", 0.15), ("{0} //= 2", 0.06), ("{0} //= 10", 0.08)),
         "?": (("{0} = {0}.lower()", 0.04), ("{0}.sort()", 0.05))}  # fmt: skip


def collect(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    if not inside(scene, node):
        return
    names, words = dict(list(scene.vocabulary.names(node).items())[:10]), scene.vocabulary
    values = [n for n in names if n != "self"]
    values += [t for t, e in words.expressions(node) if not isinstance(e, ast.Compare) and words.usable(node, e)][:8]
    for name, kind in names.items():
        boost = 2.0 if name in words.starved(node) else 1.0
        for form, prior in COLLECT.get(kind, ()):
            for value in values:
                if value != name:
                    weight = boost * (1.0 if value in names else 0.6)
                    yield from everywhere(scene, "insert.collect", node, form.format(name, value), prior * weight)
                    yield from under(scene, node, value, form.format(name, value), prior * weight * 0.6)
        for form, prior in ALONE.get(kind, ()):
            yield from everywhere(scene, "insert.update", node, form.format(name), prior)
        if kind == "map":
            for key, value in [(k, v) for k in names for v in names if name not in (k, v) and k != v][:12]:
                yield from everywhere(scene, "insert.collect", node, f"{name}[{key}] = {value}", 0.15)


def under(scene: Scene, node: ast.stmt, value: str, line: str, prior: float) -> Iterator[Draft | None]:
    """What a loop left over, collected after it: `if current: out.append(current)`."""
    peers = block(scene, node)[1]
    here = next(i for i, n in enumerate(peers) if n is node)
    if here and isinstance(peers[here - 1], LOOP):
        yield put(scene, "insert.collect", node, [f"if {value}:", unit_of(scene) + line], prior)


def results(scene: Scene, node: ast.stmt) -> list[tuple[str, float]]:
    """Values worth returning at the node: those returned elsewhere first, then usual ones, then names."""
    home, words = scene.function(node), scene.vocabulary
    found = [n.value for n in scene.nodes if isinstance(n, ast.Return) and n.value and scene.function(n) is home]
    texts = [(scene.text(v), 0.9) for v in found if words.usable(node, v) and "\n" not in scene.text(v)]
    texts += [(c, 0.9) for c in _usual({words.kind(v) for v in found})]
    texts += [(t, 0.4) for t, e in words.expressions(node)[:9]
              if isinstance(e, ast.Subscript | ast.Attribute) and words.usable(node, e)]  # fmt: skip
    texts += [(n, 0.7) for n in words.names(node) if n != "self"][:7]
    best: dict[str, float] = {}
    for text, prior in texts:
        best.setdefault(text, prior)
    return list(best.items())[:18]


def _usual(kinds: set[str]) -> list[str]:
    table = {"num": ["0", "1", "-1", "None"], "bool": ["False", "True"], "str": ['""', "None"], "seq": ["[]", "None"]}
    listed = [c for kind in sorted(kinds) for c in table.get(kind, [])]
    return list(dict.fromkeys([*listed, "None", "0", "[]", "False", "True", "1", "-1", '""']))[:8]


def guard(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """`if condition: return value`: a missing base or special case."""
    if not inside(scene, node):
        return
    first = isinstance(scene.parent[node], FUNCTION)
    values = results(scene, node)[: 18 if first else 8]
    for condition, likely in atoms(scene, node)[: 40 if first else 20]:
        for value, prior in values:
            lines = [f"if {condition}:", f"{unit_of(scene)}return {value}"]
            yield put(scene, "insert.guard", node, lines, 0.6 * likely * prior * (1.0 if first else 0.6))
            if ends_loop(scene, node):
                yield put(scene, "insert.guard", node, lines, 0.4 * likely * prior, after=True)


def ends_loop(scene: Scene, node: ast.stmt) -> bool:
    owner, peers = block(scene, node)
    return isinstance(owner, LOOP) and peers[-1] is node and not isinstance(node, TERMINAL)


def jump(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    if not inside(scene, node) or not scene.in_loop(node):
        return
    for condition, likely in atoms(scene, node)[:40]:
        for word in ("continue", "break"):
            yield put(scene, "insert.jump", node, [f"if {condition}:", unit_of(scene) + word], 0.4 * likely)
    last = block(scene, node)[1][-1] is node and not isinstance(node, TERMINAL)
    if last and not isinstance(scene.parent[node], LOOP):
        for word in ("break", "continue"):
            yield put(scene, "insert.jump", node, [word], 0.3, after=True)


def finish(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """A return at the end of a block or function that lacks one."""
    if not inside(scene, node) or block(scene, node)[1][-1] is not node or isinstance(node, TERMINAL):
        return
    prior = 0.5 if isinstance(scene.parent[node], FUNCTION) else 0.15
    for value, likely in results(scene, node):
        yield put(scene, "insert.return", node, [f"return {value}"], prior * likely, after=True)
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Yield | ast.YieldFrom):
        start = scene.span(node)[0]
        yield Draft("insert.return", start, start, "return ", 0.4, node.lineno, None)


def similar(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """A short statement once more behind itself, about another variable: the other half of a pair that was lost."""
    if not inside(scene, node) or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If):
        return
    place, (start, end) = row(scene, node), scene.span(node)
    text, names = scene.source[start:end], scene.vocabulary.names(node)
    used = [n for n in dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)) if n in names]
    if place is None or text.count("\n") > 2 or getattr(node, "orelse", None):
        return
    for name in used[:4]:
        for other, kind in list(names.items())[:8]:
            if other != name and (kind == names[name] or "?" in (kind, names[name])):
                new = place.indent + re.sub(rf"(?<![\w.]){re.escape(name)}\b", other, text) + scene.newline
                for at, line in ((place.start, node.lineno), (place.end, node.end_lineno or node.lineno)):
                    if scene.source[:at].endswith(("\n", "\r")) or at == 0:
                        yield Draft("insert.similar", at, at, new, 0.15, line, None)


def likeliest(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """Insertions at one place, so many of each kind."""
    first = isinstance(scene.parent[node], FUNCTION)
    peers = [n for n in block(scene, node)[1] if not is_docstring(n, scene.parent[node])]
    opening = first and (peers[0] is node or peers[-1] is node)
    yield from best(update(scene, node), 30)
    yield from best(collect(scene, node), 30)
    yield from best(guard(scene, node), 120 if opening else 60 if first else 25)
    yield from best(jump(scene, node), 30)
    yield from best(similar(scene, node), 16)


OPERATORS = (
    (ast.stmt, likeliest),
    (ast.stmt, finish),
)
