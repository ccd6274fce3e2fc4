"""Loads a candidate and the modules it needs from text, inside the sandbox; standard library only."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

from .instrument import Meter, compile_program


class SupportModules(importlib.abc.Loader):
    """An import hook that serves `{relative path: source}`; packages need no `__init__.py`."""

    def __init__(self, files: dict[str, str]):
        self.sources: dict[str, str] = {}
        self.packages: set[str] = set()
        for path, source in files.items():
            self.add(path, source)

    def add(self, path: str, source: str) -> None:
        if not path.endswith(".py"):
            return
        parts = path[:-3].replace("\\", "/").strip("/").split("/")
        if parts[-1] == "__init__":
            parts.pop()
            self.packages.add(".".join(parts))
        self.sources[".".join(parts)] = source
        for length in range(1, len(parts)):
            self.packages.add(".".join(parts[:length]))

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if name not in self.sources and name not in self.packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name in self.packages)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        source = self.sources.get(module.__name__, "")
        exec(compile(source, f"{module.__name__}.py", "exec", dont_inherit=True), module.__dict__)


def placed(name: str) -> ModuleType:
    """An empty module under `name` in `sys.modules`, and packages above it where there are none."""
    module = ModuleType(name)
    module.__file__ = name.replace(".", "/") + ".py"
    module.__package__, _, last = name.rpartition(".")
    parent = module.__package__
    if parent:
        try:
            package = importlib.import_module(parent)
        except ImportError:
            package = placed(parent)
            package.__path__ = []
        setattr(package, last, module)
    sys.modules[name] = module
    return module


def fill_program(source: str, module: ModuleType, meter: Meter, trace: bool) -> None:
    """Runs the candidate in `module`. Raises whatever the candidate raises."""
    code = compile_program(source, "<program>", trace)
    module.__dict__.update(meter.names())
    exec(code, module.__dict__)


def imported(source: str) -> list[str]:
    """Modules that `source` imports anywhere, by their full names; empty when it does not compile."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names


def preload(names: list[str]) -> None:
    """Imports what candidates will import, once, before the forks; what cannot be imported is left to them to miss."""
    for name in names:
        try:
            importlib.import_module(name)
        except (ImportError, AttributeError, ValueError, TypeError, OSError, RuntimeError, SyntaxError, NameError):
            continue
