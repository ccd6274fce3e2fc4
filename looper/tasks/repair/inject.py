"""Synthetic faults for programs that have none: the mistakes people make, not the repair's edits backwards.

Most change several tokens or lose information (a guard, an update, a branch), so that no list of edits contains the way
back by construction. Whoever shows such a program labels it synthetic (SPEC 7.2).
"""

import ast
import random
from collections.abc import Callable

from pydantic import BaseModel

from looper.errors import ConfigError
from looper.tasks.repair.forms import compiles, normal_form
from looper.tasks.repair.operators.scene import FUNCTION, LOOP, Scene
from looper.tasks.repair.operators.statements import block, content, row, shifted

FAULTS: dict[str, str] = {
    "guard_lost": "a guard clause is missing",
    "update_lost": "an update in a loop is missing",
    "start_wrong": "a variable starts several off, or not empty",
    "branches_merged": "two branches do the same",
    "function_similar": "a similar but wrong function is called",
    "statements_disordered": "two statements have changed places",
    "window_shifted": "both ends of a slice or range are shifted",
    "order_wrong": "the order of sorting is another",
    "left_early": "a return comes one level too deep",
    "variable_shadowed": "a loop reuses the name of another variable",
    "default_wrong": "an argument has another default",
    "condition_narrowed": "a condition leaves out a case and is strict where it was not",
    "formula_garbled": "a formula has another operator and its operands exchanged",
    "literal_damaged": "a string lost or changed a letter",
    "loop_short": "a loop leaves out its last items",
    "name_mixed_up": "one variable stands for another throughout a statement",
}
SIMILAR = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sum": "max", "len": "max", "sorted": "list", "abs": "int",
    "round": "int", "set": "list", "lower": "title", "upper": "capitalize", "strip": "lstrip", "find": "rfind",
    "startswith": "endswith", "append": "extend", "keys": "values", "isalpha": "isalnum",
    "isdigit": "isalnum", "count": "find", "reversed": "sorted", "ceil": "floor", "floor": "ceil", "int": "float",
}  # fmt: skip
CONDITION = (ast.Compare, ast.BoolOp, ast.UnaryOp)
WEAKER = {ast.LtE: "<", ast.GtE: ">", ast.Lt: "<=", ast.Gt: ">="}


class Fault(BaseModel, frozen=True):
    """A program with one planted fault."""

    source: str
    kind: str
    """A key of FAULTS."""
    line: int
    """Line of the sound program where the fault begins, 1-based."""
    summary: str


Change = tuple[int, int, str]
"""Start, end, and what stands there in the faulty program."""
Maker = Callable[[Scene, ast.AST, random.Random], Change | None]


def inject_fault(source: str, seed: int, function: str | None = None) -> Fault:
    """One fault, chosen by the seed; inside `function` if named. The caller checks that a test notices it.

    Raises ConfigError if the source is not Python, lacks the function, or offers no place for a fault.
    """
    try:
        scene = Scene(source)
    except SyntaxError as error:
        raise ConfigError(f"no fault can be planted: the program is not valid Python (line {error.lineno})") from error
    nodes = _nodes(scene, function)
    draw, original = random.Random(f"{seed} {source}"), normal_form(source)
    kinds = list(MAKERS)
    draw.shuffle(kinds)
    for kind in kinds:
        places = list(nodes)
        draw.shuffle(places)
        for node in places:
            change = MAKERS[kind](scene, node, draw)
            result = change and source[: change[0]] + change[2] + source[change[1] :]
            if change and result and compiles(result) and normal_form(result) != original:
                line = source.count("\n", 0, change[0]) + 1
                return Fault(source=result, kind=kind, line=line, summary=f"line {line}: {FAULTS[kind]}")
    raise ConfigError(f"no fault can be planted in {function or 'the program'}: it has no statement to damage")


def _nodes(scene: Scene, function: str | None) -> list[ast.AST]:
    if function is None:
        return [n for n in scene.nodes if isinstance(scene.function(n), FUNCTION) or isinstance(n, FUNCTION)]
    homes = [n for n in scene.nodes if isinstance(n, FUNCTION) and n.name == function]
    if not homes:
        raise ConfigError(f"no fault can be planted: the program has no function {function!r}")
    return [n for n in scene.nodes if n is homes[0] or homes[0] in scene.ancestors(n)]


def guard_lost(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.body[-1], ast.Return | ast.Continue):
        return None
    line = row(scene, node)
    return (line.start, line.end, "") if line and len(block(scene, node)[1]) > 1 else None


def update_lost(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    changes = isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    if not changes or not isinstance(node, ast.stmt) or len(block(scene, node)[1]) == 1:
        return None
    line = row(scene, node)
    return (line.start, line.end, "") if line and any(isinstance(a, LOOP) for a in scene.ancestors(node)) else None


def start_wrong(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.Assign) or any(isinstance(a, LOOP) for a in scene.ancestors(node)):
        return None
    if isinstance(node.value, ast.Constant) and type(node.value.value) is int:
        return *scene.span(node.value), str(node.value.value + draw.choice([-3, -2, 2, 3, 5]))
    if isinstance(node.value, ast.List) and not node.value.elts:
        return *scene.span(node.value), draw.choice(["[0]", "[None]", "['']"])
    return None


def branches_merged(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if isinstance(node, ast.IfExp):
        return *scene.span(node), scene.fit(node, scene.text(draw.choice([node.body, node.orelse])))
    if not isinstance(node, ast.If) or not node.orelse:
        return None
    ends = [row(scene, s) for s in (node.body[0], node.body[-1], node.orelse[0], node.orelse[-1])]
    first, last, other, end = ends
    if not (first and last and other and end):
        return None
    text = shifted(scene.source[first.start : last.end], first.indent, other.indent)
    return None if text is None else (other.start, end.end, text)


def function_similar(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.Call):
        return None
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    end = scene.span(node.func)[1]
    return (end - len(name), end, SIMILAR[name]) if name in SIMILAR else None


def statements_disordered(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.stmt):
        return None
    peers = block(scene, node)[1]
    here = next(i for i, n in enumerate(peers) if n is node)
    one = row(scene, node)
    two = row(scene, peers[here + draw.choice([1, 1, 2])]) if here + 2 < len(peers) else None
    if not one or not two or isinstance(two.node, ast.Return):
        return None
    return one.start, two.end, content(scene, two) + scene.source[one.end : two.start] + content(scene, one)


def window_shifted(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    by = draw.choice([" + 1", " - 1", " + 2"])
    if isinstance(node, ast.Slice) and not node.step and (node.lower or node.upper):
        sides = [scene.operand(p, 10) + by if p else "1" if side == 0 and by != " - 1" else ""
                 for side, p in enumerate((node.lower, node.upper))]  # fmt: skip
        return *scene.span(node), ":".join(sides)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range" and len(node.args) < 3 and node.args:
        parts = [scene.operand(a, 10) for a in node.args]
        start, end = parts if len(parts) == 2 else ["0", parts[0]]
        return *scene.span(node), f"range({start}{by}, {end}{by})"
    return None


def order_wrong(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) not in SORTS:
        return None
    keywords = {k.arg: k.value for k in node.keywords}
    if "key" in keywords:
        return *scene.span(keywords["key"]), draw.choice(["str", "lambda item: -len(str(item))", "lambda item: 0"])
    parts = [scene.text(a) for a in node.args]
    start = scene.span(node.func)[1]
    return start, scene.span(node)[1], f"({', '.join([*parts, 'key=lambda item: str(item)[::-1]'])})"


SORTS = ("sorted", "sort", "max", "min")


def left_early(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.Return):
        return None
    peers, line = block(scene, node)[1], row(scene, node)
    above = peers[-2] if len(peers) > 1 and peers[-1] is node else None
    inner = row(scene, above.body[-1]) if isinstance(above, LOOP) else None
    text = shifted(content(scene, line), line.indent, inner.indent) if line and inner else None
    return (line.start, line.end, text) if line and text else None


def variable_shadowed(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    """The loop variable takes the name of another local variable, in the whole loop."""
    if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
        return None
    old, own = node.target.id, scene.vocabulary.scope(scene.function(node)).kinds
    others = [n for n in own if n not in (old, "self")]
    start, end = scene.span(node)
    if not others:
        return None
    return start, end, renamed(scene, node, old, draw.choice(others), start, end)


def renamed(scene: Scene, node: ast.AST, old: str, new: str, start: int, end: int) -> str:
    text, at = "", start
    spans = sorted(scene.span(n) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old)
    for left, right in spans:
        if at <= left and right <= end:
            text, at = text + scene.source[at:left] + new, right
    return text + scene.source[at:end]


def default_wrong(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.FunctionDef):
        return None
    values = [v for v in [*node.args.defaults, *node.args.kw_defaults] if isinstance(v, ast.Constant)]
    if not values:
        return None
    value = draw.choice(values)
    plain = value.value
    if isinstance(plain, bool) or plain is None:
        return *scene.span(value), repr(not plain)
    return *scene.span(value), repr(plain * 2 + 3 if isinstance(plain, int | float) else f"{plain} ")


def condition_narrowed(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    """One operand dropped, and the strictness of a comparison in the rest changed."""
    test = getattr(node, "value" if isinstance(node, ast.Return) else "test", None)
    if not isinstance(node, ast.If | ast.While | ast.IfExp | ast.Return) or not isinstance(test, CONDITION):
        return None
    kept = draw.choice(test.values) if isinstance(test, ast.BoolOp) else test
    text = scene.text(kept)
    if isinstance(kept, ast.Compare) and type(kept.ops[0]) in WEAKER and len(kept.ops) == 1:
        left, right = scene.operand(kept.left, 6), scene.operand(kept.comparators[0], 6)
        text = f"{left} {WEAKER[type(kept.ops[0])]} {right} + {draw.choice([1, 2])}"
    return *scene.span(test), text


def formula_garbled(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    """Another operator and the operands exchanged: `a - b` becomes `b + a`."""
    if not isinstance(node, ast.BinOp):
        return None
    left, right = scene.operand(node.right, 12), scene.operand(node.left, 12)
    return *scene.span(node), scene.fit(node, f"{left} {draw.choice(['+', '-', '*', '//'])} {right}")


def literal_damaged(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value.strip():
        return None
    at = draw.randrange(len(node.value))
    new = draw.choice(["", node.value[at].swapcase(), node.value[at] * 2])
    return *scene.span(node), repr(node.value[:at] + new + node.value[at + 1 :])


def loop_short(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.For | ast.comprehension):
        return None
    text = scene.operand(node.iter, 16)
    count = draw.choice([1, 1, 2])
    return *scene.span(node.iter), f"list({scene.text(node.iter)})[:-{count}]" if "(" in text else f"{text}[:-{count}]"


def name_mixed_up(scene: Scene, node: ast.AST, draw: random.Random) -> Change | None:
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.If | ast.While):
        return None
    start, end = scene.unit_span(node)
    names = list(scene.vocabulary.names(node))
    used = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names]
    others = [n for n in names if n not in used]
    if not used or not others:
        return None
    return start, end, renamed(scene, node, draw.choice(sorted(set(used))), draw.choice(others), start, end)


MAKERS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        guard_lost, update_lost, start_wrong, branches_merged, function_similar, statements_disordered, window_shifted,
        order_wrong, left_early, variable_shadowed, default_wrong, condition_narrowed, formula_garbled,
        literal_damaged, loop_short, name_mixed_up,
    )
}  # fmt: skip
