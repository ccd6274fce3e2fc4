"""Which files of a project a file imports."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from looper.tasks.project.desk.outline import parsed

ROOTS = ("src", "lib", "python")
"""Folders that modules are usually imported from, beside the project's own."""


def modules(paths: Iterable[str]) -> dict[str, str]:
    """Paths of Python files by the dotted names that they may be imported by; the shorter path wins."""
    found: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        if path.endswith(".py"):
            for name in names(path):
                found.setdefault(name, path)
    return found


def names(path: str) -> list[str]:
    """The dotted names of a file: from the project's folder, and from a usual root below it."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return [".".join(some) for some in (parts, parts[1:] if parts[:1] and parts[0] in ROOTS else ()) if some]


def imported(path: str, text: str, known: Mapping[str, str]) -> list[str]:
    """Files of the project that a Python file imports, in its order; none if it cannot be parsed."""
    if not path.endswith(".py"):
        return []
    folder = PurePosixPath(path).parent.parts
    found = []
    for level, name in _imports(text):
        above = folder[: len(folder) - level + 1] if level else ()
        if level > len(folder) + 1:
            continue
        dotted = ".".join([*above, *([name] if name else [])])
        target = _longest(dotted, known)
        if target and target != path:
            found.append(target)
    return list(dict.fromkeys(found))


def _longest(dotted: str, known: Mapping[str, str]) -> str:
    """The file of the module, or of the package that holds the name; a package of the project's path has several."""
    while dotted:
        if dotted in known:
            return known[dotted]
        dotted = dotted.rpartition(".")[0]
    return ""


@lru_cache(maxsize=12_000)
def _imports(text: str) -> tuple[tuple[int, str], ...]:
    """Level and dotted name of everything that is imported; a name from a module may be a module itself."""
    try:
        return tuple(_walk(parsed(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _walk(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.level, ".".join(word for word in (node.module, alias.name) if word and word != "*")
