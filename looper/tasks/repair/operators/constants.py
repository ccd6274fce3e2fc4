"""Numbers, strings and displays written out in the program."""

import ast
from collections.abc import Iterator

from looper.tasks.repair.operators.scene import Draft, Scene, is_read
from looper.tasks.repair.operators.types import alike, of_constant

KINDS = {
    "constant.step": "a number one more, one less, negated or halved",
    "constant.other": "another constant of the program, or a usual one (0, 1, empty, None, True)",
    "constant.name": "a constant replaced by a name in scope",
    "constant.text": "a string with other case, spaces or letters",
    "constant.display": "elements of a list, tuple, set or dict dropped, doubled, swapped or added",
}

VOWELS = "aeiouyAEIOUY"
USUAL: dict[str, tuple[object, ...]] = {
    "num": (0, 1, -1, 2, 10),
    "bool": (True, False, None),
    "str": ("", " "),
    "?": (0, True, False, 1, ""),
}


def number(scene: Scene, node: ast.Constant) -> Iterator[Draft | None]:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    for other in (value + 1, value - 1):
        yield scene.swap("constant.step", node, repr(other), 0.6 if isinstance(value, int) else 0.3)
    yield scene.swap("constant.step", node, repr(-value), 0.3)
    near = (value * 2, value * 10, value // 2, value + 2, value - 2)
    for other in near if isinstance(value, int) else (int(value), value / 10, value * 10):
        yield scene.swap("constant.step", node, repr(other), 0.15)
    if isinstance(value, int) and abs(value) < 10**6:
        yield scene.swap("constant.step", node, f"float('{'-' if value < 0 else ''}inf')", 0.15)
        yield scene.swap("constant.step", node, "float('-inf')", 0.15)


def other_constant(scene: Scene, node: ast.Constant) -> Iterator[Draft | None]:
    kind = of_constant(node.value)
    if node.value is Ellipsis or isinstance(node.value, bytes):
        return
    for rank, value in enumerate([*scene.vocabulary.literals(node), *USUAL[kind]][:30]):
        prior = 0.35 * alike(kind, of_constant(value)) * (1 if rank < 8 else 0.7)
        if repr(value) != repr(node.value):
            yield scene.swap("constant.other", node, repr(value), prior)
    if isinstance(node.value, bool):
        yield scene.swap("constant.other", node, repr(not node.value), 0.7)
    if node.value in (None, "", 0) and not isinstance(node.value, bool):
        for text in ("[]", "{}", "set()"):
            yield scene.swap("constant.other", node, text, 0.15)


def name_for_constant(scene: Scene, node: ast.Constant) -> Iterator[Draft | None]:
    if isinstance(scene.parent.get(node), ast.Expr):
        return
    for name, kind in list(scene.vocabulary.names(node).items())[:10]:
        yield scene.swap("constant.name", node, name, 0.3 * alike(of_constant(node.value), kind))
    if isinstance(node.value, int):
        for name, kind in list(scene.vocabulary.names(node).items())[:6]:
            if kind in ("seq", "str", "map"):
                yield scene.swap("constant.name", node, f"len({name})", 0.15)


def text(scene: Scene, node: ast.Constant) -> Iterator[Draft | None]:
    value = node.value
    if not isinstance(value, str) or "\n" in scene.text(node) or len(value) > 200:
        return
    changed = [value.lower(), value.upper(), value.capitalize(), value.title(), value.swapcase(), value.strip()]
    changed += [value + " ", " " + value, value[1:], value[:-1], value[::-1], value + value.upper(), value + "s"]
    if "\\" not in repr(value):
        changed += [value + "\n"]
    for other in dict.fromkeys(changed):
        if other != value:
            yield scene.swap("constant.text", node, quoted(other, scene.text(node)), 0.25)
    if len(value) > 2:
        yield from letters(scene, node, value)


def letters(scene: Scene, node: ast.Constant, value: str) -> Iterator[Draft | None]:
    """A long string used as a set of letters: one dropped, neighbours swapped, a usual one added."""
    for i in range(1, min(len(value), 30)):
        swapped = value[: i - 1] + value[i] + value[i - 1] + value[i + 1 :]
        yield scene.swap("constant.text", node, quoted(swapped, scene.text(node)), 0.1)
        yield scene.swap("constant.text", node, quoted(value[:i] + value[i + 1 :], scene.text(node)), 0.08)
    for letter in "aeiouyAEIOUY0123456789-_.,":
        if letter not in value and len(value) <= 26:
            yield scene.swap("constant.text", node, quoted(value + letter, scene.text(node)), 0.06)


def quoted(value: str, old: str) -> str:
    """A literal of the value with the old literal's kind of quotes."""
    text = repr(value)
    if old.endswith('"') and text.startswith("'") and '"' not in value:
        return f'"{text[1:-1]}"'
    return text


def sequence(scene: Scene, node: ast.List | ast.Tuple | ast.Set) -> Iterator[Draft | None]:
    if not is_read(node) or isinstance(scene.parent.get(node), ast.Subscript):
        return
    parts = [scene.text(e) for e in node.elts]
    for i in range(len(parts) - 1):
        yield display(scene, node, [*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]], 0.35)
    for i in range(len(parts)):
        yield display(scene, node, [*parts[:i], *parts[i + 1 :]], 0.2)
    if len(parts) > 2:
        yield display(scene, node, parts[::-1], 0.2)
        yield display(scene, node, [*parts[1:], parts[0]], 0.15)
    values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
    if len(parts) > 2 and len(values) == len(parts) and all(isinstance(v, str) and len(v) == 1 for v in values):
        for letter in (c for c in VOWELS if c not in values and c.isupper() == str(values[0]).isupper()):
            place = sum(str(value) < letter for value in values)
            yield display(scene, node, [*parts[:place], quoted(letter, parts[0]), *parts[place:]], 0.25)
    names = scene.vocabulary.names(node)
    for text, prior in [*((name, 0.15) for name in list(names)[:8]), ("0", 0.2), ("1", 0.2), ("[]", 0.15)]:
        yield display(scene, node, [*parts, text], prior if not parts else prior * 0.5)
        if parts:
            yield display(scene, node, [text, *parts], prior * 0.5)


def display(scene: Scene, node: ast.List | ast.Tuple | ast.Set, parts: list[str], prior: float) -> Draft | None:
    bare = isinstance(node, ast.Tuple) and not scene.text(node).startswith("(")
    if isinstance(node, ast.List):
        text = f"[{', '.join(parts)}]"
    elif isinstance(node, ast.Set):
        text = f"{{{', '.join(parts)}}}" if parts else "set()"
    else:
        text = f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        text = text[1:-1] if bare and len(parts) > 1 else text
    start, end = scene.span(node)
    return Draft("constant.display", start, end, text, prior, node.lineno, scene.unit(node))


def mapping(scene: Scene, node: ast.Dict) -> Iterator[Draft | None]:
    """Values of neighbouring entries exchanged, an entry dropped, keys and values exchanged."""
    if not node.keys or len(node.keys) > 30:
        return
    keys = [scene.text(k) if k else "" for k in node.keys]
    values = [scene.text(v) for v in node.values]
    if not all(keys):
        return
    for i in range(len(values) - 1):
        moved = [*values[:i], values[i + 1], values[i], *values[i + 2 :]]
        yield scene.swap("constant.display", node, entries(keys, moved), 0.2)
    for i in range(len(values)):
        yield scene.swap("constant.display", node, entries(keys[:i] + keys[i + 1 :], values[:i] + values[i + 1 :]), 0.1)
    yield scene.swap("constant.display", node, entries(values, keys), 0.2)


def entries(keys: list[str], values: list[str]) -> str:
    return "{" + ", ".join(f"{k}: {v}" for k, v in zip(keys, values, strict=True)) + "}"


OPERATORS = (
    (ast.Constant, number),
    (ast.Constant, other_constant),
    (ast.Constant, name_for_constant),
    (ast.Constant, text),
    ((ast.List, ast.Tuple, ast.Set), sequence),
    (ast.Dict, mapping),
)
