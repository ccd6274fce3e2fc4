"""The words a repair can be made of: names in scope, functions, constants, conditions and expressions of the program.

Most fixes reuse what the program already contains (the plastic surgery hypothesis; Barr et al., FSE 2014).
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from looper.tasks.repair.operators.types import UNKNOWN, element, guess, of_annotation, usage

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTION, ast.ClassDef, ast.Lambda)
COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOP = (ast.For, ast.AsyncFor, ast.While)
BUILTINS = set(dir(builtins))
FILLING = {"append", "extend", "insert", "add", "update", "appendleft", "extendleft", "setdefault", "heappush"}
"""Methods that put something into a container; one that is only emptied lacks such a line."""
QUOTED = re.compile(r"""(?<!\w)(["'])([^"'\n]{1,20})\1(?!\w)""")


@dataclass
class Scope:
    """The names one function binds: kind and first line of each."""

    kinds: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def bind(self, name: str, kind: str, line: int) -> None:
        if self.kinds.get(name, UNKNOWN) == UNKNOWN:
            self.kinds[name] = kind
        self.lines[name] = min(line, self.lines.get(name, line))


def own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without the insides of nested functions and classes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from own(child)


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    spec = node.args
    rest = [a for a in (spec.vararg, spec.kwarg) if a]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *rest]


def targets(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def scope_of(node: ast.AST) -> Scope:
    scope = Scope()
    if isinstance(node, FUNCTION):
        for arg in arguments(node):
            scope.bind(arg.arg, of_annotation(arg.annotation), node.lineno)
    hidden = {name for c in own(node) if isinstance(c, ast.comprehension) for name in targets(c.target)}
    bound = {n.id for n in own(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - hidden
    for child in own(node):
        _bind(child, scope, bound)
    for child in own(node):
        found = usage(child, scope.kinds)
        if found and found[0] in scope.kinds and scope.kinds[found[0]] == UNKNOWN:
            scope.kinds[found[0]] = found[1]
    return scope


def _bind(child: ast.AST, scope: Scope, bound: set[str]) -> None:
    if isinstance(child, ast.Assign) and len(child.targets) == 1 and isinstance(child.targets[0], ast.Name):
        scope.bind(child.targets[0].id, guess(child.value, scope.kinds), child.lineno)
    elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
        scope.bind(child.target.id, of_annotation(child.annotation), child.lineno)
    elif isinstance(child, ast.For) and isinstance(child.target, ast.Name):
        scope.bind(child.target.id, element(child.iter, scope.kinds), child.lineno)
    elif isinstance(child, ast.For) and isinstance(child.iter, ast.Call) and isinstance(child.iter.func, ast.Name):
        names = targets(child.target)
        if names and child.iter.func.id in {"range", "enumerate"}:
            scope.bind(names[0], "num", child.lineno)
    if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store) and child.id in bound:
        scope.bind(child.id, UNKNOWN, child.lineno)


class Vocabulary:
    """What the program offers; `names(node)` in order of nearness: the function's own first."""

    def __init__(self, tree: ast.Module, parent: Mapping[ast.AST, ast.AST], source: str, support: Mapping[str, str]):
        self.tree, self.parent, self.source = tree, parent, source
        self.scopes: dict[ast.AST, Scope] = {}
        self.functions = dict(self._functions(support))
        self.attributes = list(dict.fromkeys(n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)))
        self.parameters = {n.name: [a.arg for a in arguments(n)] for n in tree.body if isinstance(n, FUNCTION)}
        self._starved: dict[ast.AST, set[str]] = {}
        self.modules = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        self._names: dict[object, dict[str, str]] = {}
        self._expressions: dict[ast.AST, list[tuple[str, ast.expr]]] = {}
        self._literals: dict[ast.AST, list[object]] = {}

    def _functions(self, support: Mapping[str, str]) -> Iterator[tuple[str, int]]:
        for node in self.tree.body:
            if isinstance(node, FUNCTION):
                yield node.name, len(arguments(node))
                yield from ((n.name, len(arguments(n))) for n in own(node) if isinstance(n, FUNCTION))
        known = {n.name: len(arguments(n)) for text in support.values() for n in _definitions(text)}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield alias.asname or alias.name, known.get(alias.name, -1)

    def scope(self, node: ast.AST) -> Scope:
        if node not in self.scopes:
            self.scopes[node] = scope_of(node)
        return self.scopes[node]

    def names(self, node: ast.AST) -> dict[str, str]:
        """Variables visible and probably bound at the node, with their guessed kinds."""
        line = getattr(node, "lineno", 0)
        chain = [a for a in self._ancestors(node) if isinstance(a, (*SCOPES, *COMPREHENSION, *LOOP))]
        key = (line, *map(id, chain))
        if key not in self._names:
            self._names[key] = self._collect(line, chain)
        return self._names[key]

    def _collect(self, line: int, chain: Sequence[ast.AST]) -> dict[str, str]:
        found: dict[str, str] = {}
        until = line
        for above in chain:
            if isinstance(above, COMPREHENSION):
                found |= self._within(above)
            elif isinstance(above, ast.Lambda):
                found |= {a.arg: UNKNOWN for a in arguments(above)}
            elif isinstance(above, LOOP):
                until = max(until, above.end_lineno or 0)
            elif isinstance(above, FUNCTION):
                scope = self.scope(above)
                found |= {n: k for n, k in scope.kinds.items() if n not in found and scope.lines[n] <= until}
                until = above.end_lineno or until
        outer = self.scope(self.tree)
        skip = set(self.functions) | self.modules
        return found | {n: k for n, k in outer.kinds.items() if n not in found and n not in skip and _plain(n)}

    def _within(self, comprehension: ast.AST) -> dict[str, str]:
        """Variables of a comprehension with the kinds that their source and use suggest."""
        outer = self.scope(self.function(comprehension)).kinds
        found: dict[str, str] = {}
        for part in getattr(comprehension, "generators", []):
            found |= dict.fromkeys(targets(part.target), element(part.iter, outer))
        for child in ast.walk(comprehension):
            seen = usage(child, found)
            if seen and found.get(seen[0]) == UNKNOWN:
                found[seen[0]] = seen[1]
        return found

    def _ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parent:
            node = self.parent[node]
            yield node

    def function(self, node: ast.AST) -> ast.AST:
        if isinstance(node, FUNCTION):
            return node
        return next((a for a in self._ancestors(node) if isinstance(a, FUNCTION)), self.tree)

    def kind(self, node: ast.AST) -> str:
        return guess(node, self.names(node))

    def expressions(self, node: ast.AST) -> list[tuple[str, ast.expr]]:
        """Distinct short compound expressions of the same function, in order of appearance."""
        home = self.function(node)
        if home not in self._expressions:
            kinds = (ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.Compare)
            found: dict[str, ast.expr] = {}
            for child in own(home):
                if isinstance(child, kinds) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
                    text = ast.unparse(child)
                    if len(text) <= 40 and not self._is_function_name(child):
                        found.setdefault(text, child)
            self._expressions[home] = list(found.items())
        return self._expressions[home]

    def _is_function_name(self, node: ast.AST) -> bool:
        parent = self.parent.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def usable(self, node: ast.AST, expression: ast.expr) -> bool:
        """Whether all variables of the expression are visible at the node."""
        names, parts = self.names(node), list(ast.walk(expression))
        inner = {name for p in parts if isinstance(p, ast.comprehension) for name in targets(p.target)}
        loads = {p.id for p in parts if isinstance(p, ast.Name)}
        return loads - inner - names.keys() <= self.globals

    def unused(self) -> list[tuple[int, int, set[str]]]:
        """First and last line of each function, and the names it binds but never reads."""
        found = []
        for home in (n for n in ast.walk(self.tree) if isinstance(n, FUNCTION)):
            read = {n.id for n in ast.walk(home) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
            names = {n for n in self.scope(home).kinds if n not in read and not n.startswith("_")}
            if names:
                found.append((home.lineno, home.end_lineno or home.lineno, names))
        return found

    def starved(self, node: ast.AST) -> set[str]:
        """Local names of the function that are given one first value, read, and never changed or filled again."""
        home = self.function(node)
        if home not in self._starved:
            names = [n for n in own(home) if isinstance(n, ast.Name)]
            stores = Counter(n.id for n in names if isinstance(n.ctx, ast.Store))
            first = {t.id for s in own(home) if isinstance(s, ast.Assign) and _empty(s.value) for t in s.targets
                     if isinstance(t, ast.Name)}  # fmt: skip
            touched = {n.value.id for n in own(home) if isinstance(n, ast.Attribute | ast.Subscript)
                       and isinstance(n.value, ast.Name) and self._changes(n)}  # fmt: skip
            self._starved[home] = {name for name in first if stores[name] == 1} - touched
        return self._starved[home]

    def _changes(self, node: ast.AST) -> bool:
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        return stored or (isinstance(node, ast.Attribute) and node.attr in FILLING and self._is_function_name(node))

    @cached_property
    def predicates(self) -> list[str]:
        """Functions of the program with one argument whose answers are truth values."""
        found = []
        for home in (n for n in ast.walk(self.tree) if isinstance(n, FUNCTION) and len(arguments(n)) == 1):
            values = [n.value for n in own(home) if isinstance(n, ast.Return) and n.value]
            if values and all(guess(v, {}) == "bool" or isinstance(v, ast.BoolOp) for v in values):
                found.append(home.name)
        return [name for name in found if name in self.functions]

    def lowered(self, node: ast.AST) -> list[str]:
        """Names that the function counts down."""
        changes = [n for n in own(self.function(node)) if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Sub)]
        visible = self.names(node)
        return [n.target.id for n in changes if isinstance(n.target, ast.Name) and n.target.id in visible]

    def divisors(self, node: ast.AST) -> list[str]:
        """Names by which the function divides."""
        divided = [n.right for n in own(self.function(node)) if isinstance(n, ast.BinOp)
                   and isinstance(n.op, ast.Div | ast.FloorDiv | ast.Mod)]  # fmt: skip
        return list(dict.fromkeys(n.id for n in divided if isinstance(n, ast.Name) and n.id in self.names(node)))

    def initial(self, node: ast.AST) -> dict[str, str]:
        """The constant or empty display that a local name is given first in its function."""
        found: dict[str, str] = {}
        for child in own(self.function(node)):
            if isinstance(child, ast.Assign) and _empty(child.value):
                for target in child.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, ast.unparse(child.value))
        return found

    @property
    def globals(self) -> set[str]:
        return BUILTINS | self.functions.keys() | self.modules

    def literals(self, node: ast.AST) -> list[object]:
        """Constants of the function, then of the rest of the program, then those quoted in its docstring."""
        home = self.function(node)
        if home not in self._literals:
            trees = [home, self.tree]
            found = [c.value for t in trees for c in ast.walk(t) if isinstance(c, ast.Constant) and _short(c.value)]
            text = ast.get_docstring(home) if isinstance(home, FUNCTION) else None
            quoted = [match.group(2) for match in QUOTED.finditer(text or "")]
            self._literals[home] = list({repr(v): v for v in [*found, *quoted]}.values())
        return self._literals[home]


def _short(value: object) -> bool:
    return isinstance(value, int | float | None) or (isinstance(value, str) and len(value) <= 40 and "\n" not in value)


def _empty(value: ast.expr) -> bool:
    """Whether it is a first value: a constant, an empty display, or a call without arguments such as `set()`."""
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return True
    return isinstance(value, ast.Constant | ast.Dict) or (isinstance(value, ast.Call) and not value.args)


def _plain(name: str) -> bool:
    return not name.startswith("__")


def _definitions(text: str) -> list[ast.FunctionDef]:
    try:
        return [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    except SyntaxError:
        return []
