"""What tests may see of a program whose functions run in another process.

Read off the user's own program, never off a candidate: a candidate that defines `abs` or `len` must not change what the
tests compute (SAFETY P12).
"""

import ast
import builtins
from dataclasses import dataclass, field
from typing import Any

from looper.tasks.repair.examine.codec import encode


@dataclass
class Offer:
    """Top-level names of a program by what they are."""

    functions: list[str] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    """Literal values, encoded."""
    exceptions: dict[str, str] = field(default_factory=dict)
    """Exception classes and their base."""
    imports: list[str] = field(default_factory=list)
    """Import statements, which the tests may rely on."""
    live: set[str] = field(default_factory=set)
    """Names that only exist as objects of the program's own process: classes, computed values."""

    def message(self) -> dict[str, Any]:
        return {
            "functions": self.functions,
            "constants": self.constants,
            "exceptions": self.exceptions,
            "imports": self.imports,
        }


def offered(source: str) -> Offer:
    """The offer of a program; one that does not compile offers nothing."""
    offer = Offer()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return offer
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            offer.functions.append(node.name)
        elif isinstance(node, ast.ClassDef):
            add_class(offer, node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if not getattr(node, "level", 0) and getattr(node, "module", "") != "__future__":
                offer.imports.append(ast.unparse(node))
        else:
            add_values(offer, node)
    return offer


def add_class(offer: Offer, node: ast.ClassDef) -> None:
    base = node.bases[0] if len(node.bases) == 1 else None
    name = base.id if isinstance(base, ast.Name) else ""
    known = getattr(builtins, name, None)
    raised = name in offer.exceptions or (isinstance(known, type) and issubclass(known, Exception))
    simple = all(isinstance(part, (ast.Pass, ast.Expr)) for part in node.body)
    if raised and simple:
        offer.exceptions[node.name] = name
    else:
        offer.live.add(node.name)


def add_values(offer: Offer, node: ast.stmt) -> None:
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    names += [part.name for part in ast.walk(node) if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
    try:
        if isinstance(node, ast.Assign) and len(names) == len(node.targets) == 1:
            offer.constants[names[0]] = encode(ast.literal_eval(node.value))
            return
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        offer.live.update(names)
        return
    offer.live.update(names)


def identifiers(text: str) -> set[str]:
    """All names that a test source mentions in any role; empty when it does not compile."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        for name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None)):
            if isinstance(name, str):
                found.add(name)
    return found
