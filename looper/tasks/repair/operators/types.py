"""A guess of what a name or expression holds, good enough to order edits; never used to forbid one for certain."""

import ast
from collections.abc import Mapping

UNKNOWN = "?"
CALLS = {
    "num": "len sum abs int float round ord pow hash divmod",
    "seq": "range list sorted reversed tuple enumerate zip map filter",
    "str": "str chr input repr format bin hex oct",
    "set": "set frozenset",
    "map": "dict Counter defaultdict OrderedDict",
    "bool": "bool any all isinstance callable hasattr",
}
METHODS = {
    "num": "count index find rfind bit_length floor ceil sqrt gcd",
    "seq": "split splitlines keys values items rsplit partition",
    "str": "join lower upper strip lstrip rstrip replace title capitalize swapcase zfill format",
    "bool": "startswith endswith isdigit isalpha isupper islower isspace isalnum issubset issuperset",
}
OWNERS = {
    "seq": "append extend insert pop sort reverse appendleft popleft",
    "set": "add discard union intersection difference issubset issuperset",
    "map": "items keys values get setdefault update",
    "str": METHODS["str"] + " split startswith endswith isdigit isalpha isupper islower isspace isalnum",
}
ANNOTATIONS = {
    "int": "num", "float": "num", "str": "str", "bool": "bool", "list": "seq", "List": "seq", "Sequence": "seq",
    "tuple": "seq", "Tuple": "seq", "Iterable": "seq", "dict": "map", "Dict": "map", "set": "set", "Set": "set",
}  # fmt: skip


def _table(groups: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in groups.items() for name in names.split()}


CALLED, METHOD, OWNER = _table(CALLS), _table(METHODS), _table(OWNERS)
DISPLAYS: dict[type, str] = {
    ast.List: "seq", ast.ListComp: "seq", ast.Tuple: "seq", ast.GeneratorExp: "seq", ast.Dict: "map",
    ast.DictComp: "map", ast.Set: "set", ast.SetComp: "set", ast.Compare: "bool", ast.JoinedStr: "str",
    ast.Lambda: "func",
}  # fmt: skip


def of_constant(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float | complex):
        return "num"
    return "str" if isinstance(value, str | bytes) else UNKNOWN


def guess(node: ast.AST | None, names: Mapping[str, str]) -> str:
    """`num`, `bool`, `str`, `seq`, `map`, `set`, `func` or `?`."""
    if type(node) in DISPLAYS:
        return DISPLAYS[type(node)]
    if isinstance(node, ast.Constant):
        return of_constant(node.value)
    if isinstance(node, ast.Name):
        return names.get(node.id, UNKNOWN)
    if isinstance(node, ast.UnaryOp):
        return "bool" if isinstance(node.op, ast.Not) else "num"
    if isinstance(node, ast.BinOp):
        return _of_binary(node, names)
    if isinstance(node, ast.Call):
        return _of_call(node)
    if isinstance(node, ast.Subscript):
        base = guess(node.value, names)
        return base if isinstance(node.slice, ast.Slice) or base == "str" else UNKNOWN
    return guess(node.body, names) if isinstance(node, ast.IfExp) else UNKNOWN


def _of_binary(node: ast.BinOp, names: Mapping[str, str]) -> str:
    sides = {guess(node.left, names), guess(node.right, names)}
    for kind in ("str", "seq", "set"):
        if kind in sides and isinstance(node.op, ast.Add | ast.Mult | ast.Mod | ast.Sub | ast.BitOr | ast.BitAnd):
            return kind
    if isinstance(node.op, ast.Add) and "num" not in sides:
        return UNKNOWN
    return "num"


def _of_call(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return CALLED.get(node.func.id, UNKNOWN)
    return METHOD.get(node.func.attr, UNKNOWN) if isinstance(node.func, ast.Attribute) else UNKNOWN


def element(source: ast.AST, names: Mapping[str, str]) -> str:
    """The kind of what a loop over `source` gives: letters of a text, numbers of a range, else unknown."""
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
        return "num"
    return "str" if guess(source, names) == "str" else UNKNOWN


def of_annotation(node: ast.AST | None) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return ANNOTATIONS.get(node.attr, UNKNOWN)
    return ANNOTATIONS.get(node.id, UNKNOWN) if isinstance(node, ast.Name) else UNKNOWN


def usage(node: ast.AST, names: Mapping[str, str]) -> tuple[str, str] | None:
    """A name and the kind that this use of it suggests, if any."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id, "seq"
    if isinstance(node, ast.Slice):
        return next(((b.id, "num") for b in (node.lower, node.upper) if isinstance(b, ast.Name)), None)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in OWNER:
        return node.value.id, OWNER[node.attr]
    if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Name):
        return node.iter.id, "seq"
    if isinstance(node, ast.Call):
        return _call_usage(node)
    return _text_usage(node) or _number_usage(node, names)


def _text_usage(node: ast.AST) -> tuple[str, str] | None:
    """A name that is compared with text, or looked up in a list of texts."""
    if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name) or len(node.ops) > 1:
        return None
    other = node.comparators[0]
    listed = isinstance(other, ast.List | ast.Tuple | ast.Set) and isinstance(node.ops[0], ast.In | ast.NotIn)
    values = other.elts if listed and isinstance(other, ast.List | ast.Tuple | ast.Set) else [other]
    texts = values and all(isinstance(v, ast.Constant) and isinstance(v.value, str) for v in values)
    return (node.left.id, "str") if texts else None


def _call_usage(node: ast.Call) -> tuple[str, str] | None:
    if not isinstance(node.func, ast.Name):
        return None
    if node.func.id == "range":
        return next(((a.id, "num") for a in node.args if isinstance(a, ast.Name)), None)
    if node.args and isinstance(node.args[0], ast.Name):
        if node.func.id in {"len", "sorted", "sum", "min", "max", "reversed", "enumerate"}:
            return node.args[0].id, "seq"
        if node.func.id in {"abs", "str"}:
            return node.args[0].id, "num"
    return None


def _number_usage(node: ast.AST, names: Mapping[str, str]) -> tuple[str, str] | None:
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
        sides: list[ast.expr] = [node.left, node.right]
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        sides = [node.left, node.comparators[0]]
    else:
        return None
    if isinstance(sides[0], ast.Name) and guess(sides[1], names) == "num":
        return sides[0].id, "num"
    return (sides[1].id, "num") if isinstance(sides[1], ast.Name) and guess(sides[0], names) == "num" else None


def alike(one: str, other: str) -> float:
    """How likely two kinds can stand for each other: 1 same, 0.6 unknown, 0.15 different."""
    if one == other:
        return 1.0 if one != UNKNOWN else 0.8
    if UNKNOWN in (one, other):
        return 0.6
    return 0.35 if {one, other} <= {"seq", "str", "set", "map"} else 0.15
