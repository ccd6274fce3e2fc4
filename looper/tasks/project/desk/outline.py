"""What a file defines, in lines: signatures of Python files, headings of Markdown; once per text."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from looper.tasks.project.reading.syntax import parsed

LONGEST = 160
"""Characters of one line of an outline; a longer signature is cut and ends with an ellipsis."""
CLOSED = re.compile(r"(?:async )?def \w+(?:\[.*\])?\([^()]*(?:\([^()]*\)[^()]*)*\)(?: *->[^:]*)?:")
"""A signature on one line of its own; most are, and taking them as they stand is ten times faster than unparsing."""
LINE_END = re.compile(r"\r\n?|\n")
"""What Python counts as the end of a line; a form feed is none."""
HEADING = re.compile(r"#{1,6} +\S.*")
FENCE = re.compile(r" {0,3}(```|~~~)")
SHOWN = ("__init__", "__call__")
"""Methods with underscores that are part of a class's signature."""


@dataclass(frozen=True)
class Outline:
    """A file at two levels of detail."""

    lines: int
    full: tuple[str, ...] = ()
    """Signatures with the first line of their docstrings."""
    bare: tuple[str, ...] = ()
    """Signatures."""
    names: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Entry:
    """One line of an outline."""

    signature: str
    name: str
    doc: str = ""
    depth: int = 0


def outline(path: str, text: str) -> Outline:
    """The outline of a file by its kind."""
    kind = PurePosixPath(path).suffix.lower()
    if kind in (".py", ".pyi"):
        return _python(text)
    if kind in (".md", ".markdown"):
        return _markdown(text)
    return Outline(lines=count(text))


def count(text: str) -> int:
    """Lines of a text."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


@lru_cache(maxsize=12_000)
def _markdown(text: str) -> Outline:
    headings, fenced = [], False
    for line in text.splitlines():
        fenced ^= FENCE.match(line) is not None
        if not fenced and HEADING.fullmatch(line.rstrip()):
            headings.append(_short(line.rstrip()))
    return Outline(count(text), tuple(headings), tuple(headings), tuple(line.lstrip("# ") for line in headings))


@lru_cache(maxsize=12_000)
def _python(text: str) -> Outline:
    try:
        module = parsed(text)
    except SyntaxError as error:
        return Outline(count(text), problem=f"cannot be parsed: line {error.lineno or 1}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Outline(count(text), problem=f"cannot be parsed: {error}")
    entries = list(_entries(module.body, LINE_END.split(text), 0, ""))
    return Outline(
        lines=count(text),
        full=tuple("  " * entry.depth + _short(entry.signature + entry.doc) for entry in entries),
        bare=tuple("  " * entry.depth + _short(entry.signature) for entry in entries),
        names=tuple(entry.name for entry in entries),
    )


def _entries(body: Sequence[ast.stmt], lines: Sequence[str], depth: int, owner: str) -> Iterator[Entry]:
    for node in _visible(body):
        if isinstance(node, ast.ClassDef):
            if _public(node.name):
                name = f"{owner}{node.name}"
                yield Entry(_class(node), name, _doc(node), depth)
                yield from _entries(node.body, lines, depth + 1, f"{name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if _public(node.name):
                yield Entry(_signature(node, lines), f"{owner}{node.name}", _doc(node), depth)
        elif not owner:
            yield from _constants(node, lines)


def _visible(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, also those under a condition or in a `try`."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _visible([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _visible([*node.body, *(line for way in node.handlers for line in way.body), *node.orelse])
        else:
            yield node


def _public(name: str) -> bool:
    return not name.startswith("_") or name in SHOWN


def _class(node: ast.ClassDef) -> str:
    bases = [ast.unparse(base) for base in node.bases]
    bases += [f"{word.arg}={ast.unparse(word.value)}" if word.arg else "**" for word in node.keywords]
    return f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> str:
    line = lines[node.lineno - 1].strip() if node.lineno <= len(lines) else ""
    if CLOSED.fullmatch(line) and node.body[0].lineno > node.lineno:
        return line[:-1]
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{word} {node.name}({ast.unparse(node.args)}){returned}"


def _doc(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    first = node.body[0]
    if not (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ):
        return ""
    said = first.value.value.strip().partition("\n")[0].strip()
    return f"  # {said}" if said else ""


def _constants(node: ast.stmt, lines: Sequence[str]) -> Iterator[Entry]:
    """Names in capitals of a module, with their value where it stands on the same line."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return
    for target in targets:
        if isinstance(target, ast.Name) and target.id.isupper() and not target.id.startswith("_"):
            whole = node.end_lineno == node.lineno <= len(lines) and len(targets) == 1
            line = lines[node.lineno - 1].strip() if whole else target.id
            yield Entry(line if len(line) <= LONGEST // 2 else target.id, target.id)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "\u2026"
