"""Kind `python`: what can be said of source without running it."""

import ast
from collections.abc import Callable, Iterator, Sequence

from looper.checks.kinds import Python
from looper.checks.reading import lint
from looper.checks.reading.document import Found, Problems
from looper.checks.reading.loaders import load
from looper.checks.reading.parse import PYTHON, unreadable
from looper.checks.reading.parts import Artifact, Piece

Function = ast.FunctionDef | ast.AsyncFunctionDef
Trees = Sequence[tuple[Piece, ast.Module]]
ABSTRACT = ("abstractmethod", "overload")


def read(check: Python, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    """Source that does not compile fails every facet."""
    ran = f"ast of {PYTHON}"
    problems = unreadable(pieces, "python")
    if problems:
        return problems, ran, None
    trees = [(piece, load(piece.text, "python")) for piece in pieces]
    for facet in dict.fromkeys(check.facets):
        problems += FACETS[facet](check, trees) if facet in FACETS else []
    if any(facet in lint.RULES for facet in check.facets):
        problems += lint.lint(check, pieces)
        ran += f" and {lint.name()}"
    return problems, ran, None


def definitions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Qualified names of functions, classes and variables of a module, also those inside `if` and `try`."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for name in ("body", "orelse", "finalbody"):
                yield from definitions(getattr(node, name, []), prefix)
        else:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            yield from ((prefix + one.id, node) for one in targets if isinstance(one, ast.Name))


def functions(check: Python, trees: Trees) -> Problems:
    """Each wanted function is there, with its parameters, and does something."""
    there = {name: (piece, node) for piece, tree in trees for name, node in definitions(tree.body)}
    problems: Problems = []
    for wanted in check.functions:
        name, bracket, rest = wanted.partition("(")
        name = name.strip().removeprefix("def ").strip()
        if name not in there:
            problems.append((0, f"{name} is missing"))
            continue
        piece, node = there[name]
        line = piece.at(node.lineno)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            problems += [(line, text) for text in unlike(name, node, rest if bracket else None)]
        elif bracket and not isinstance(node, ast.ClassDef):
            problems.append((line, f"{name} is no function"))
    if not check.functions and not any(isinstance(node, Function) for _, node in there.values()):
        problems.append((0, "there is no function"))
    return problems


def unlike(name: str, node: Function, wanted: str | None) -> Iterator[str]:
    """How a function differs from what was asked for; further parameters are fine if they have defaults."""
    if stub(node) and not decorated(node, ABSTRACT):
        yield f"{name} has no body but a stub"
    if wanted is None:
        return
    try:
        signature = ast.parse(f"def f({wanted.partition(')')[0]}): pass").body[0]
    except SyntaxError:
        yield f"the check's own signature of {name} cannot be read"
        return
    asked = parameters(signature.args, method=False) if isinstance(signature, ast.FunctionDef) else []
    has = parameters(node.args, method="." in name and not decorated(node, ("staticmethod",)))
    missing = [one for one in asked if one not in has]
    if missing:
        yield f"{name} lacks the parameter {', '.join(missing)}; it has ({', '.join(has)})"
    elif [one for one in has if one in asked] != asked:
        yield f"{name} takes its parameters in another order than ({', '.join(asked)})"
    extra = [one for one in compulsory(node.args) if one in has and one not in asked]
    if extra and not missing:
        yield f"{name} needs a further parameter {', '.join(extra)} that nobody will give"


def parameters(args: ast.arguments, method: bool) -> list[str]:
    """Names in order, without `self` or `cls` of a method."""
    plain = [one.arg for one in [*args.posonlyargs, *args.args]][1 if method else 0 :]
    stars = [one.arg for one in (args.vararg, args.kwarg) if one]
    return [name for name in [*plain, *(one.arg for one in args.kwonlyargs), *stars] if name not in ("self", "cls")]


def compulsory(args: ast.arguments) -> list[str]:
    plain = [one.arg for one in [*args.posonlyargs, *args.args]]
    named = [one.arg for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return plain[: len(plain) - len(args.defaults)] + named


def stub(node: Function) -> bool:
    """Nothing but a docstring, `pass`, `...` or `raise NotImplementedError`."""
    return all(empty(statement) for statement in node.body)


def empty(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def decorated(node: Function, names: Sequence[str]) -> bool:
    found = {getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list}
    return bool(found & set(names))


def types(check: Python, trees: Trees) -> Problems:
    """The share of parameters and results that are annotated."""
    bare: Problems = []
    total = annotated = 0
    for piece, tree in trees:
        for name, node in definitions(tree.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                slots = places_for_types(node, "." in name)
                total, annotated = total + len(slots), annotated + sum(slots.values())
                lacking = [slot for slot, has in slots.items() if not has]
                if lacking:
                    bare.append((piece.at(node.lineno), f"{name} has no type for {', '.join(lacking)}"))
    if not total:
        return []
    return bare if annotated / total < check.min_annotated - 1e-9 else []


def places_for_types(node: Function, method: bool) -> dict[str, bool]:
    """Parameter (and `its result`) -> whether it is annotated."""
    args = node.args
    every = [*args.posonlyargs, *args.args]
    if method and not decorated(node, ("staticmethod",)):
        every = every[1:]
    stars = [one for one in (args.vararg, args.kwarg) if one]
    slots = {one.arg: one.annotation is not None for one in [*every, *args.kwonlyargs, *stars]}
    return slots if node.name == "__init__" else {**slots, "its result": node.returns is not None}


def logging(check: Python, trees: Trees) -> Problems:
    """A logger is used somewhere; ruff looks for prints and misuse."""
    calls = ("debug", "info", "warning", "error", "exception", "critical", "log")
    for _, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in calls:
                owner = ast.unparse(node.func.value).lower()
                if "log" in owner:
                    return []
    return [(0, "nothing is logged; use a logger of the `logging` module")]


FACETS: dict[str, Callable[[Python, Trees], Problems]] = {"functions": functions, "types": types, "logging": logging}
