"""Whole statements: deleted, moved, doubled, put in or taken out of blocks; and the flow between them."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from looper.tasks.repair.operators.conditions import atoms
from looper.tasks.repair.operators.scene import BLOCKS, COMPOUND, FUNCTION, Draft, Scene

KINDS = {
    "statement.delete": "a statement or block deleted (prone to overfit)",
    "statement.swap": "two neighbouring statements exchanged",
    "statement.move": "a statement moved into or out of a block, or further up or down",
    "statement.copy": "a statement doubled at another place",
    "statement.unwrap": "a block kept without its condition or loop",
    "statement.wrap": "a statement made conditional",
    "flow.keyword": "`if`, `elif` and `while`; `break`, `continue` and `return` exchanged",
    "flow.else": "an `else` branch joined or exchanged with the other",
}


SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Break, ast.Continue, ast.AnnAssign, ast.Raise)


class Row(NamedTuple):
    """A statement that has its lines to itself."""

    node: ast.stmt
    start: int
    end: int
    """Offsets of whole lines, the line break included."""
    indent: str


def row(scene: Scene, node: ast.stmt) -> Row | None:
    """The whole lines of a statement; None if it shares a line (`if x: y`, `a; b`, `elif`)."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    start, begin = scene.starts[first - 1], scene.span(node)[0]
    end = scene.starts[node.end_lineno or node.lineno]
    head = scene.source[start : begin if first == node.lineno else start]
    tail = scene.source[scene.span(node)[1] : end].strip()
    if head.strip() or (tail and not tail.startswith("#")) or scene.source.startswith("elif", begin):
        return None
    line = scene.lines[first - 1]
    return Row(node, start, end, line[: len(line) - len(line.lstrip())])


def block(scene: Scene, node: ast.stmt) -> tuple[ast.AST, list[ast.stmt]]:
    """The statement that owns the block of `node`, and that block."""
    parent = scene.parent[node]
    for name in (*BLOCKS, "handlers"):
        listed = getattr(parent, name, None)
        if isinstance(listed, list) and any(n is node for n in listed):
            return parent, listed
    return parent, [node]


def content(scene: Scene, line: Row) -> str:
    text = scene.source[line.start : line.end]
    return text if text.endswith(("\n", "\r")) else text + scene.newline


def shifted(text: str, old: str, new: str) -> str | None:
    """A block with another indentation; None if a string or an odd line would be changed by it."""
    if '"""' in text or "'''" in text:
        return None
    lines = text.splitlines(keepends=True)
    if any(line.strip() and not line.startswith(old) for line in lines):
        return None
    return "".join(new + line[len(old) :] if line.strip() else line for line in lines)


def unit_of(scene: Scene) -> str:
    """One step of the program's indentation."""
    found = re.search(r"^([ \t]+)\S", scene.source, re.MULTILINE)
    return "\t" if found and found.group(1).startswith("\t") else " " * min(4, len(found.group(1)) if found else 4)


def splice(kind: str, start: int, end: int, text: str, prior: float, line: int) -> Draft:
    return Draft(kind, start, end, text, prior, line, None)


def delete(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    if isinstance(node, (*FUNCTION, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return
    line, prior = row(scene, node), 0.1 if isinstance(node, COMPOUND) else 0.25
    _, peers = block(scene, node)
    if line is None or len(peers) == 1:
        start, end = scene.span(node)
        if not scene.source.startswith("elif", start) and not isinstance(node, ast.Pass):
            yield splice("statement.delete", start, end, "pass", prior, node.lineno)
    else:
        yield splice("statement.delete", line.start, line.end, "", prior, node.lineno)


def swap(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """Exchanged with the next statement, or with one further down the block."""
    _, peers = block(scene, node)
    here, line = next(i for i, n in enumerate(peers) if n is node), row(scene, node)
    for distance, other in enumerate(peers[here + 1 : here + 4]):
        below = row(scene, other)
        if line is None or below is None or isinstance(other, FUNCTION):
            return
        between = scene.source[line.end : below.start]
        text = content(scene, below) + between + content(scene, line)
        yield splice("statement.swap", line.start, below.end, text, (0.35, 0.15, 0.1)[distance], node.lineno)
        if distance:
            text = between + content(scene, below) + content(scene, line)
            yield splice("statement.move", line.start, below.end, text, 0.15, node.lineno)
            text = content(scene, below) + content(scene, line) + between
            yield splice("statement.move", line.start, below.end, text, 0.15, other.lineno)


def leave(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """The last statement of a block moved behind it, any one in front of it (a return that left a loop too early)."""
    owner, peers = block(scene, node)
    line = row(scene, node)
    outer = row(scene, owner) if isinstance(owner, ast.stmt) else None
    if line is None or outer is None or isinstance(owner, (*FUNCTION, ast.ClassDef)) or len(peers) == 1:
        return
    text = shifted(content(scene, line), line.indent, outer.indent)
    if text is None:
        return
    rest = scene.source[line.end : outer.end]
    rest = rest if not rest or rest.endswith(("\n", "\r")) else rest + scene.newline
    if rest.lstrip().startswith(("else", "elif", "except", "finally")) or peers[-1] is not node:
        yield splice("statement.move", line.start, outer.end, rest + text, 0.2, node.lineno)
    else:
        yield splice("statement.move", line.start, outer.end, text + rest, 0.4, node.lineno)
    before = scene.source[outer.start : line.start]
    yield splice("statement.move", outer.start, line.end, text + before, 0.25, node.lineno)
    yield from leave_together(scene, node, line, outer)


def leave_together(scene: Scene, node: ast.stmt, line: Row, outer: Row) -> Iterator[Draft | None]:
    """A statement and all after it in its block moved behind the block."""
    owner, peers = outer.node, block(scene, node)[1]
    trailing = [row(scene, n) for n in peers[next(i for i, n in enumerate(peers) if n is node) :]]
    if len(trailing) > 1 and peers[-1].end_lineno == owner.end_lineno and peers[0] is not node and trailing[-1]:
        block_text = shifted(scene.source[line.start : trailing[-1].end], line.indent, outer.indent)
        if block_text is not None:
            yield splice("statement.move", line.start, trailing[-1].end, block_text, 0.2, node.lineno)


def enter(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """The statement after or before a block moved into it, at its end or its start."""
    line, peers = row(scene, node), block(scene, node)[1]
    here = next(i for i, n in enumerate(peers) if n is node)
    if line is None or isinstance(node, (*FUNCTION, ast.ClassDef)):
        return
    above = peers[here - 1] if here else None
    while isinstance(above, COMPOUND) and not isinstance(above, (*FUNCTION, ast.ClassDef)):
        last = (getattr(above, "orelse", []) or above.body)[-1]
        inner = row(scene, last)
        if inner and (text := shifted(content(scene, line), line.indent, inner.indent)):
            yield splice("statement.move", line.start, line.end, text, 0.35, node.lineno)
        above = last
    below = peers[here + 1] if here + 1 < len(peers) else None
    if isinstance(below, COMPOUND) and not isinstance(below, (*FUNCTION, ast.ClassDef)):
        inner = row(scene, below.body[0])
        if inner and (text := shifted(content(scene, line), line.indent, inner.indent)):
            header = scene.source[line.end : inner.start]
            yield splice("statement.move", line.start, inner.start, header + text, 0.3, node.lineno)


def copy(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    """Another simple statement of the same function once more, in front of this one, or behind the last of a block."""
    home, place = scene.function(node), row(scene, node)
    if place is None or not isinstance(home, FUNCTION):
        return
    last = block(scene, node)[1][-1] is node
    for other in scene.nodes[scene.nodes.index(home) :]:
        if not isinstance(other, SIMPLE) or other is node or scene.function(other) is not home:
            continue
        line = row(scene, other) if scene.in_loop(node) or not isinstance(other, ast.Break | ast.Continue) else None
        text = shifted(content(scene, line), line.indent, place.indent) if line else None
        if text:
            yield splice("statement.copy", place.start, place.start, text, 0.12, node.lineno)
        if text and last:
            text = scene.newline * (not scene.source[: place.end].endswith(("\n", "\r"))) + text
            yield splice("statement.copy", place.end, place.end, text, 0.12, node.end_lineno or node.lineno)


def unwrap(scene: Scene, node: ast.If | ast.For | ast.While | ast.With) -> Iterator[Draft | None]:
    line, inner = row(scene, node), row(scene, node.body[0])
    if line is None or inner is None:
        return
    prior = 0.2 if isinstance(node, ast.If) else 0.05
    for part in (node.body, getattr(node, "orelse", [])):
        first, last = (row(scene, part[0]), row(scene, part[-1])) if part else (None, None)
        if first and last:
            text = scene.source[first.start : last.end]
            text = shifted(text, first.indent, line.indent)
            if text is not None:
                yield splice("statement.unwrap", line.start, line.end, text, prior, node.lineno)


def wrap(scene: Scene, node: ast.stmt) -> Iterator[Draft | None]:
    if isinstance(node, (*FUNCTION, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)):
        return
    line = row(scene, node)
    step = unit_of(scene)
    text = shifted(content(scene, line), line.indent, line.indent + step) if line else None
    if line and text:
        for condition, prior in atoms(scene, node)[:15]:
            header = f"{line.indent}if {condition}:{scene.newline}"
            yield splice("statement.wrap", line.start, line.end, header + text, 0.35 * prior, node.lineno)
        if not scene.in_loop(node) and isinstance(node, ast.If):
            return


JUMPS = (
    ("break", 0.5), ("continue", 0.5), ("return", 0.2), ("pass", 0.25), ("return False", 0.2), ("return True", 0.2),
)  # fmt: skip


def jump(scene: Scene, node: ast.Break | ast.Continue | ast.Pass | ast.Return) -> Iterator[Draft | None]:
    if isinstance(node, ast.Return) and not scene.in_loop(node):
        return
    start, end = scene.span(node)
    for text, prior in JUMPS:
        weight = 0.4 if isinstance(node, ast.Return) else 1.0
        yield splice("flow.keyword", start, end, text, prior * weight, node.lineno)
    if isinstance(node, ast.Return) and node.value is not None:
        yield splice("flow.keyword", start, end, f"yield {scene.text(node.value)}", 0.05, node.lineno)


def keyword(scene: Scene, node: ast.If | ast.While) -> Iterator[Draft | None]:
    start = scene.span(node)[0]
    old = "elif" if scene.source.startswith("elif", start) else "if" if isinstance(node, ast.If) else "while"
    new = {"elif": (("if", 0.35),), "if": (("while", 0.35), ("elif", 0.35)), "while": (("if", 0.2),)}[old]
    for text, prior in new:
        line = getattr(scene.parent[node], "lineno", node.lineno) if old == "elif" else node.lineno
        yield splice("flow.keyword", start, start + len(old), text, prior, line)


def alternative(scene: Scene, node: ast.If) -> Iterator[Draft | None]:
    """Branches exchanged; the `else` branch run always."""
    first, last = row(scene, node.body[0]), row(scene, node.body[-1])
    if not node.orelse or not first or not last:
        return
    other, end = row(scene, node.orelse[0]), row(scene, node.orelse[-1])
    if not other or not end or other.indent != first.indent:
        return
    yes, no = scene.source[first.start : last.end], scene.source[other.start : end.end]
    no = no if no.endswith(("\n", "\r")) else no + scene.newline
    middle = scene.source[last.end : other.start]
    yield splice("flow.else", first.start, end.end, no + middle + yes, 0.35, node.lineno)
    outer = first.indent[: len(scene.lines[node.lineno - 1]) - len(scene.lines[node.lineno - 1].lstrip())]
    text = shifted(no, other.indent, outer)
    if text is not None:
        yield splice("flow.else", last.end, end.end, text, 0.25, other.node.lineno)


OPERATORS = (
    (ast.stmt, delete),
    (ast.stmt, swap),
    (ast.stmt, leave),
    (ast.stmt, enter),
    (ast.stmt, copy),
    ((ast.If, ast.For, ast.While, ast.With), unwrap),
    (ast.stmt, wrap),
    ((ast.Break, ast.Continue, ast.Pass, ast.Return), jump),
    ((ast.If, ast.While), keyword),
    (ast.If, alternative),
)
