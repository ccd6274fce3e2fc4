"""A program, not a module to import: writes the standard library's documentation to its standard output as JSON Lines.

It runs as `python -I -S collect_stdlib.py`: it imports everything there is, and some of that prints, warns, or changes
the terminal or the process. So it is a process of its own, may use nothing but the standard library, and gives the
modules it imports a standard output that leads nowhere.
"""

import importlib
import inspect
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

WINDOWS_AND_JOKES = "antigravity this idlelib test tkinter turtle turtledemo lib2to3 ensurepip venv pydoc_data"
GONE = """
aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp mailcap msilib nis nntplib ossaudiodev pipes
smtpd sndhdr spwd sunau telnetlib uu xdrlib
"""
"""In 3.12 and 3.13 (PEP 594, PEP 632 and others)."""
INSIDES = "posixpath ntpath genericpath posix nt"
"""Public as os.path and os."""
SKIPPED = frozenset([*WINDOWS_AND_JOKES.split(), *GONE.split(), *INSIDES.split()])
"""Modules that are left out, with all below them; their objects may still be public elsewhere."""
BOILERPLATE = ("An enumeration.", "Deprecated AST node class")
"""How docstrings begin that say nothing, or stand for what is gone in 3.14."""


def public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def skipped(name: str) -> bool:
    parts = name.split(".")
    below = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    character_table = name.startswith("encodings.")
    return bool(below & SKIPPED) or not {"test", "tests"}.isdisjoint(parts) or character_table


def loaded(name: str) -> ModuleType | None:
    """The module, or None where this platform or build does not have it."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError, AttributeError):  # Windows modules, libraries that were not built in
        return None


def modules() -> Iterator[tuple[str, ModuleType]]:
    waiting = [*sorted(name for name in sys.stdlib_module_names if public(name) and not skipped(name)), "os.path"]
    while waiting:
        name = waiting.pop(0)
        module = loaded(name)
        if module is None:
            continue
        yield name, module
        found = [f"{name}.{each.name}" for each in pkgutil.iter_modules(getattr(module, "__path__", []))]
        waiting += sorted(each for each in found if public(each) and not skipped(each))


def owned(name: str, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Its public classes and functions, without those that another public module defines."""
    for key, value in sorted(vars(module).items()):
        home = getattr(value, "__module__", None) or name
        elsewhere = home != name and public(home) and not skipped(home)
        if public(key) and (inspect.isclass(value) or inspect.isroutine(value)) and not elsewhere:
            yield key, value


def preference(name: str, key: str, module: ModuleType, value: Any) -> tuple[bool, bool, bool, int, str, bool, str]:
    """Smallest for where an object of several names belongs: in its own module, or in the one that lists it."""
    home = getattr(value, "__module__", None) or ""
    unlisted = key not in getattr(module, "__all__", ())
    stranger = home.lstrip("_").split(".")[0] != name.split(".")[0]
    alias = getattr(value, "__name__", key) != key
    return (home != name, unlisted, stranger, name.count("."), name, alias, key)


def documented(value: Any) -> str:
    """Its own docstring; never one that it only inherits."""
    text = getattr(value, "__doc__", None)
    if not isinstance(text, str) or text.startswith(BOILERPLATE) or text in (object.__doc__, type.__doc__):
        return ""
    return inspect.cleandoc(text)


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    bases = [base for base in cls.__mro__[1:] if public(base.__module__)]  # what a private base says is said here alone
    inherited = {documented(getattr(base, key, None)) for base in bases for key in vars(cls)}
    for key, value in sorted(vars(cls).items()):
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        original = getattr(plain, "__name__", key)
        alias = original != key and original in vars(cls)
        if public(key) and not alias and inspect.isroutine(plain) and documented(plain) not in inherited:
            yield key, plain


def entry(module: str, qualname: str, kind: str, value: Any) -> dict[str, str] | None:
    text = documented(value)
    identity = f"{module}.{qualname}" if qualname else module
    return {"id": identity, "name": qualname or module, "module": module, "kind": kind, "text": text} if text else None


def members(module: str, key: str, value: Any) -> Iterator[dict[str, str] | None]:
    if not inspect.isclass(value):
        yield entry(module, key, "function", value)
        return
    yield entry(module, key, "class", value)
    for name, method in methods(value):
        yield entry(module, f"{key}.{name}", "method", method)


def entries() -> Iterator[dict[str, str] | None]:
    homes: dict[int, tuple[Any, str, str, Any]] = {}
    for name, module in modules():
        yield entry(name, "", "module", module)
        for key, value in owned(name, module):
            place = (preference(name, key, module, value), name, key, value)
            homes[id(value)] = min(homes.get(id(value), place), place, key=lambda each: each[0])
    for _, name, key, value in homes.values():
        yield from members(name, key, value)


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    warnings.simplefilter("ignore")
    found = {each["id"]: each for each in entries() if each}
    for identity in sorted(found):
        out.write(json.dumps(found[identity]) + "\n")
    out.flush()
    os._exit(0)  # nothing that a module left behind, such as a thread or an exit handler, may hold this up


if __name__ == "__main__":
    main()
