"""Which function is called, with what, and whether at all."""

import ast
from collections.abc import Iterator
from typing import Any

from looper.tasks.repair.operators.scene import Draft, Scene, is_read
from looper.tasks.repair.operators.types import alike

KINDS = {
    "call.function": "another function or method of the same family",
    "call.arguments": "arguments exchanged, dropped, doubled or added",
    "call.wrap": "an expression wrapped in a call",
    "call.unwrap": "a call replaced by one of its arguments",
    "call.bound": "a value bounded or compared by `max` or `min`",
    "call.flag": "keyword arguments such as `reverse` or `key` added, dropped or changed",
    "call.yield": "`yield` becomes `yield from` and the other way round",
}

FAMILIES = [
    "min max sum sorted", "any all sum", "sum len max", "sorted reversed list set tuple",
    "int float round abs str bool",
    "append extend insert add remove appendleft", "lower upper title capitalize swapcase casefold",
    "strip lstrip rstrip", "floor ceil trunc round sqrt", "startswith endswith", "find rfind index rindex count",
    "split rsplit splitlines partition", "isdigit isalpha isalnum isnumeric isdecimal isspace isupper islower",
    "union intersection difference symmetric_difference issubset issuperset", "keys values items",
    "pop popleft remove discard get", "enumerate range len zip", "ord chr str int", "update add setdefault",
    "heappush heappop heapify", "permutations combinations product combinations_with_replacement",
    "ljust rjust center zfill", "sort reverse", "bin hex oct str", "get setdefault pop", "list set tuple dict",
]  # fmt: skip
SIBLINGS: dict[str, list[str]] = {}
for _family in map(str.split, FAMILIES):
    for _name in _family:
        SIBLINGS.setdefault(_name, []).extend(n for n in _family if n != _name and n not in SIBLINGS.get(_name, []))

WRAPPERS: dict[str, tuple[tuple[str, float], ...]] = {
    "num": (("abs({0})", 0.45), ("int({0})", 0.3), ("str({0})", 0.3), ("round({0})", 0.2), ("float({0})", 0.12),
            ("max({0}, 0)", 0.25), ("range({0})", 0.1), ("bool({0})", 0.1), ("min({0}, 0)", 0.05)),
    "seq": (("len({0})", 0.35), ("list({0})", 0.35), ("sorted({0})", 0.4), ("set({0})", 0.3), ("tuple({0})", 0.2),
            ("sum({0})", 0.25), ("max({0})", 0.2), ("min({0})", 0.2), ("reversed({0})", 0.15), ("enumerate({0})", 0.1),
            ("sorted({0}, reverse=True)", 0.2), ("sorted(set({0}))", 0.15), ("list(set({0}))", 0.1), ("any({0})", 0.1),
            ("list(reversed({0}))", 0.12), ("''.join({0})", 0.3), ("' '.join({0})", 0.15), ("bool({0})", 0.1)),
    "str": (("{0}.lower()", 0.4), ("{0}.strip()", 0.25), ("{0}.upper()", 0.25), ("len({0})", 0.3), ("int({0})", 0.25),
            ("list({0})", 0.15), ("{0}.split()", 0.2), ("sorted({0})", 0.15), ("set({0})", 0.2), ("ord({0})", 0.15),
            ("''.join(sorted({0}))", 0.12), ("''.join({0})", 0.1), ("{0}.swapcase()", 0.06)),
    "map": (("len({0})", 0.25), ("sorted({0})", 0.25), ("dict({0})", 0.2), ("list({0})", 0.2), ("{0}.items()", 0.25),
            ("{0}.values()", 0.25), ("{0}.keys()", 0.2), ("{0}.copy()", 0.2)),
    "set": (("len({0})", 0.3), ("sorted({0})", 0.35), ("list({0})", 0.3), ("{0}.copy()", 0.15)),
    "bool": (("int({0})", 0.15), ("str({0})", 0.05)),
    "func": (),
    "?": (("abs({0})", 0.15), ("len({0})", 0.2), ("list({0})", 0.2), ("str({0})", 0.25), ("int({0})", 0.25),
          ("sorted({0})", 0.15), ("{0}.lower()", 0.15), ("set({0})", 0.15), ("sum({0})", 0.12), ("ord({0})", 0.12),
          ("max({0}, 0)", 0.1), ("''.join({0})", 0.1), ("{0}.copy()", 0.12), ("tuple({0})", 0.1), ("float({0})", 0.1)),
}  # fmt: skip


def function(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    """Another of the program's functions, or a sibling of the built-in one."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    end = scene.span(node.func)[1]
    begin, line = end - len(name), node.func.end_lineno or node.lineno
    others = [(s, 0.45) for s in SIBLINGS.get(name, [])]
    if isinstance(node.func, ast.Name):
        arity = scene.vocabulary.functions
        count = len(node.args)
        others += [(f, 0.45 if n in (count, -1) else 0.15) for f, n in arity.items() if f != name]
        others += [(n, 0.3) for n, k in scene.vocabulary.names(node).items() if k == "func" and n != name]
    else:
        others += [(a, 0.15) for a in methods(scene) if a != name]
    if name:
        for other, prior in others:
            yield Draft("call.function", begin, end, other, prior, line, scene.unit(node))
    yield from builtin_for_method(scene, node)


def builtin_for_method(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    """`x.sort()` used as a value, and the like."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("sort", "reverse") and not node.args:
        base = scene.text(node.func.value)
        call = f"sorted({base})" if node.func.attr == "sort" else f"{base}[::-1]"
        yield scene.swap("call.function", node, call, 0.4)
        if isinstance(scene.parent.get(node), ast.Expr):
            yield scene.swap("call.function", node, f"{base} = {call}", 0.1)


def methods(scene: Scene) -> list[str]:
    """Names of methods that the program calls or defines."""
    called = (n.func.attr for n in scene.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    defined = (f.name for c in scene.nodes if isinstance(c, ast.ClassDef) for f in c.body
               if isinstance(f, ast.FunctionDef) and not f.name.startswith("__"))  # fmt: skip
    return list(dict.fromkeys([*defined, *called]))


def call(scene: Scene, node: ast.Call, parts: list[str], kind: str, prior: float) -> Draft:
    """The same call with another argument list."""
    keywords = [scene.source[slice(*scene.span(k))] for k in node.keywords]
    start, end = scene.span(node.func)[1], scene.span(node)[1]
    return Draft(kind, start, end, f"({', '.join([*parts, *keywords])})", prior, node.lineno, scene.unit(node))


def arguments(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        return
    parts = [scene.text(a) for a in node.args]
    for i in range(len(parts)):
        for j in range(i + 1, len(parts)):
            swapped = [*parts]
            swapped[i], swapped[j] = parts[j], parts[i]
            yield call(scene, node, swapped, "call.arguments", 0.45)
        if len(parts) > 1:
            yield call(scene, node, [*parts[:i], *parts[i + 1 :]], "call.arguments", 0.25)
            yield call(scene, node, [*parts[:i], parts[i], *parts[i:]], "call.arguments", 0.05)
    yield from added(scene, node, parts)
    names = scene.vocabulary.names(node)
    wanted = scene.vocabulary.parameters.get(getattr(node.func, "id", ""), [])
    for argument, parameter in zip(node.args, wanted, strict=False):
        if parameter in names:
            yield scene.swap("call.arguments", argument, parameter, 0.5)


def added(scene: Scene, node: ast.Call, parts: list[str]) -> Iterator[Draft | None]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    wanted = scene.vocabulary.functions.get(name, -1)
    prior = 0.35 if wanted > len(parts) else 0.08
    if name in ("range", "len", "abs", "sorted", "int", "str", "lower", "upper", "append", "strip"):
        return
    for variable in list(scene.vocabulary.names(node))[:8]:
        yield call(scene, node, [*parts, variable], "call.arguments", prior)
        if prior > 0.1 or name in ("max", "min", "gcd"):
            yield call(scene, node, [variable, *parts], "call.arguments", prior * 0.7)
    for constant in ("0", "1", "[]") if name in ("max", "min", "sum", "get", "pop", "round") or prior > 0.1 else ():
        yield call(scene, node, [*parts, constant], "call.arguments", 0.25)


def unwrap(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    if isinstance(scene.parent.get(node), ast.Expr):
        return
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            yield scene.swap("call.unwrap", node, scene.text(argument), 0.35 if len(node.args) == 1 else 0.25)
    if isinstance(node.func, ast.Attribute):
        owner = scene.text(node.func.value)
        if owner not in scene.vocabulary.modules:
            yield scene.swap("call.unwrap", node, owner, 0.3)


def wrap(scene: Scene, node: ast.expr) -> Iterator[Draft | None]:
    """An expression that is returned, stored, iterated, compared or passed on, wrapped in a call."""
    parent = scene.parent.get(node)
    places = (ast.Return, ast.Assign, ast.AugAssign, ast.Call, ast.For, ast.comprehension, ast.Compare, ast.BinOp,
              ast.IfExp, ast.Yield, ast.ListComp, ast.GeneratorExp, ast.Tuple, ast.Subscript, ast.List)  # fmt: skip
    if not isinstance(parent, places) or not is_read(node):
        return
    if getattr(parent, "func", None) is node or isinstance(node, ast.Constant | ast.Slice | ast.Starred):
        return
    text, kind, weight = scene.text(node), scene.vocabulary.kind(node), _weight(parent)
    bare = isinstance(node, ast.Tuple) and not text.startswith("(")
    for form, prior in WRAPPERS[kind]:
        inner = scene.operand(node, 16) if form.startswith("{0}.") else f"({text})" if bare else text
        yield scene.swap("call.wrap", node, form.format(inner), prior * weight)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield scene.swap("call.wrap", node, f"abs({text})", 0.45)
    for method in {c.func.attr: c for c in calls_without_arguments(scene, node)}:
        yield scene.swap("call.wrap", node, f"{scene.operand(node, 16)}.{method}()", 0.3 * weight)
    for name, count in scene.vocabulary.functions.items():
        if count == 1 and not bare:
            yield scene.swap("call.wrap", node, f"{name}({text})", 0.25 * weight)


def calls_without_arguments(scene: Scene, node: ast.AST) -> list[Any]:
    """Calls such as `x.lower()` in the same function."""
    calls = [c for _, c in scene.vocabulary.expressions(node) if isinstance(c, ast.Call)]
    return [c for c in calls if not c.args and not c.keywords and isinstance(c.func, ast.Attribute)]


def _weight(parent: ast.AST) -> float:
    inner = (ast.BinOp, ast.Compare, ast.Call, ast.IfExp, ast.Tuple, ast.Subscript)
    return 0.5 if isinstance(parent, inner) else 0.8


def bound(scene: Scene, node: ast.expr) -> Iterator[Draft | None]:
    """`max(e, name)`, `min(e, name)` where a number is stored or returned."""
    if not isinstance(scene.parent.get(node), ast.Assign | ast.Return | ast.BinOp | ast.Call | ast.Slice | ast.IfExp):
        return
    parent = scene.parent[node]
    if not is_read(node) or getattr(parent, "func", None) is node:
        return
    kind = scene.vocabulary.kind(node)
    if alike(kind, "num") < 0.5 or isinstance(node, ast.Constant):
        return
    weight = 0.25 if isinstance(parent, ast.Assign | ast.Return) else 0.1
    others = [(n, alike(k, "num")) for n, k in scene.vocabulary.names(node).items()]
    others += [(f"len({n})", 0.4) for n, k in scene.vocabulary.names(node).items() if k in ("seq", "str")]
    assigned = parent.targets[0] if isinstance(parent, ast.Assign) else None
    for name, likely in others[:10]:
        own = 2.0 if assigned is not None and scene.text(assigned) == name else 1.0
        if likely >= 0.4 and scene.text(node) != name:
            for form in ("max({0}, {1})", "min({0}, {1})"):
                yield scene.swap("call.bound", node, form.format(name, scene.text(node)), weight * likely * own)


KEYS = ("len", "abs", "str", "str.lower", "sum", "lambda item: item[0]", "lambda item: item[1]", "lambda item: -item",
        "lambda item: item[-1]")  # fmt: skip


SORTING = ("sorted", "sort", "max", "min")


def flag(scene: Scene, node: ast.Call) -> Iterator[Draft | None]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    parts = [scene.text(a) for a in node.args]
    keywords = {k.arg: scene.text(k.value) for k in node.keywords if k.arg}
    start, end, unit = scene.span(node.func)[1], scene.span(node)[1], scene.unit(node)

    def changed(words: dict[str, str], prior: float) -> Draft:
        listed = [*parts, *(f"{k}={v}" for k, v in words.items())]
        return Draft("call.flag", start, end, f"({', '.join(listed)})", prior, node.lineno, unit)

    if len(keywords) != len(node.keywords) or (name not in SORTING and not keywords):
        return
    for gone in keywords:
        yield changed({k: v for k, v in keywords.items() if k != gone}, 0.3)
    if name in ("sorted", "sort") and "reverse" not in keywords:
        yield changed({**keywords, "reverse": "True"}, 0.45)
    if name in SORTING and not any(isinstance(a, ast.GeneratorExp) for a in node.args):
        for key in (*KEYS, *scene.vocabulary.functions):
            yield changed({**keywords, "key": key}, 0.2 if "key" in keywords else 0.15)
        for table in [n for n, kind in scene.vocabulary.names(node).items() if kind == "map"][:3]:
            yield changed({**keywords, "key": f"lambda item: {table}[item]"}, 0.3)


def lambda_body(scene: Scene, node: ast.Lambda) -> Iterator[Draft | None]:
    body = node.body
    yield scene.swap("call.flag", body, f"-{scene.operand(body, 12)}", 0.25)
    if node.args.args:
        first = node.args.args[0].arg
        for text in (f"{first}[0]", f"{first}[1]", f"{first}[-1]", f"len({first})", f"abs({first})", first):
            yield scene.swap("call.flag", body, text, 0.25)
            yield scene.swap("call.flag", body, f"({scene.text(body)}, {text})", 0.2)
            yield scene.swap("call.flag", body, f"({text}, {scene.text(body)})", 0.15)


def produce(scene: Scene, node: ast.Yield | ast.YieldFrom) -> Iterator[Draft | None]:
    if node.value is not None:
        word = "yield" if isinstance(node, ast.YieldFrom) else "yield from"
        yield scene.swap("call.yield", node, f"{word} {scene.text(node.value)}", 0.5)


OPERATORS = (
    (ast.Call, function),
    (ast.Call, arguments),
    (ast.Call, unwrap),
    (ast.expr, wrap),
    (ast.expr, bound),
    (ast.Call, flag),
    (ast.Lambda, lambda_body),
    ((ast.Yield, ast.YieldFrom), produce),
)
