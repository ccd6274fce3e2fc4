"""Build strict objects from plain configuration data; nothing but what is allowed is ever instantiated (SAFETY P16)."""

import dataclasses
import difflib
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from looper.errors import ConfigError
from looper.redact import redact


def instantiate(node: Any, where: str, allowed: Sequence[str] = ()) -> Any:
    """The object that a node with `_target_` describes, its children first. Raises ConfigError naming the key.

    `allowed` are module prefixes beside `looper.`, e.g. the user's own package.
    """
    check_targets(node, where, allowed)
    return _make(node, where)


def check_targets(node: Any, where: str, allowed: Sequence[str] = ()) -> None:
    """Refuse any target outside the allowed modules, over the whole tree, before anything is built."""
    if isinstance(node, Mapping):
        target = node.get("_target_")
        if target is not None and not _permitted(str(target), allowed):
            raise ConfigError(
                f"{where}._target_: `{target}` is not allowed; only classes of looper are built, and those of the "
                "packages named in LOOPER_ALLOW (comma-separated)."
            )
        for key, value in node.items():
            check_targets(value, f"{where}.{key}", allowed)
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            check_targets(value, f"{where}.{index}", allowed)


def _permitted(target: str, allowed: Sequence[str]) -> bool:
    return any(target.startswith(f"{prefix.rstrip('.')}.") for prefix in ("looper", *allowed) if prefix)


def _make(node: Any, where: str) -> Any:
    if isinstance(node, list | tuple):
        return [_make(value, f"{where}.{index}") for index, value in enumerate(node)]
    if not isinstance(node, Mapping):
        return node
    for key in node:
        if not isinstance(key, str):
            raise ConfigError(f"{where}: `{key}` is not a name; put quotes around it.")
    values = {key: _make(value, f"{where}.{key}") for key, value in node.items() if key != "_target_"}
    if "_target_" not in node:
        return values
    kind = locate(str(node["_target_"]), where)
    try:
        return kind(**values)
    except ValidationError as error:
        raise ConfigError(explain(error, where, kind)) from error


def locate(target: str, where: str) -> Any:
    """The class of this dotted name; a dataclass or pydantic model, never a function."""
    module, _, name = target.rpartition(".")
    if not target.startswith("looper.") and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # the user's own package lies beside their conf/; as with `python -m`
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{where}._target_: there is no `{target}` ({error}).") from error
    if not (isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "model_fields"))):
        raise ConfigError(f"{where}._target_: `{target}` is not a config class.")
    return kind


def explain(error: ValidationError, where: str, kind: Any) -> str:
    """One line: the key, what is wrong, what was given, the nearest known key."""
    first = error.errors()[0]
    key = ".".join([*([where] if where else []), *(str(part) for part in first["loc"])])
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        known = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
        near = difflib.get_close_matches(str(first["loc"][-1]), known, 1)
        hint = f"did you mean `{where}.{near[0]}`?" if near else f"known here: {', '.join(known)}."
        return f"{key}: there is no such setting; {hint}"
    if first["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return f"{key}: this setting must be given: {key}=..."
    return f"{key}: {first['msg'][0].lower()}{first['msg'][1:]} (given: {redact(repr(first.get('input')))})."
