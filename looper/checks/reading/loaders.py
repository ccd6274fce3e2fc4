"""Strict readers of data languages and of Python: no duplicate keys, no number beyond every number."""

import ast
import configparser
import json
import math
import re
import tomllib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from looper.checks.reading.strict_yaml import load_yaml
from looper.checks.reading.unreadable import Unreadable

_ENV_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*')\s*(?:#.*)?""")


def load_json(text: str) -> Any:
    """Raises Unreadable for duplicate keys, NaN and infinities too."""
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise Unreadable(f"no valid JSON: {error.msg} (column {error.colno})", error.lineno) from error
    except RecursionError as error:
        raise Unreadable("the JSON is nested too deeply") from error
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(f"no valid JSON: {error}") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Unreadable(f"the JSON key {key[:80]!r} is given twice in one object")
        found[key] = value
    return found


def _no_number(name: str) -> Any:
    raise Unreadable(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Unreadable(f"the number {digits[:40]} is beyond every number")
    return value


def load_toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        raise Unreadable(f"no valid TOML: {error}", int(at[1]) if at else 0) from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no valid TOML: {error}") from error


class _CaseKept(configparser.ConfigParser):
    """Keys as they are written."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def load_ini(text: str) -> dict[str, dict[str, str | None]]:
    parser = _CaseKept(strict=True, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        at = re.search(r"\[line:?\s*(\d+)\]|lineno: (\d+)", str(error))
        line = getattr(error, "lineno", None) or (int(at[1] or at[2]) if at else 0)
        raise Unreadable(f"no valid INI: {str(error).splitlines()[0]}", line) from error
    return {name: dict(parser.items(name)) for name in parser.sections()}


def load_env(text: str) -> dict[str, str]:
    """A file of `NAME=value` lines."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _ENV_LINE.fullmatch(line)
        if not match:
            raise Unreadable("no line of the form NAME=value", number)
        if match[1] in found:
            raise Unreadable(f"the variable {match[1]} is set twice", number)
        if match[2][:1] in ("'", '"') and not _QUOTED.fullmatch(match[2]):
            raise Unreadable(f"the quotes around the value of {match[1]} do not match", number)
        found[match[1]] = match[2]
    return found


def load_python(text: str) -> ast.Module:
    try:
        tree = ast.parse(text)
        compile(tree, "<artifact>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Unreadable(f"no valid Python: {error.msg}", error.lineno or 0) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise Unreadable(f"no Python that can be compiled: {error or 'too deeply nested'}") from error
    return tree


LANGUAGES: dict[str, Callable[[str], Any]] = {
    "json": load_json,
    "yaml": load_yaml,
    "toml": load_toml,
    "ini": load_ini,
    "env": load_env,
    "python": load_python,
}


@lru_cache(maxsize=16)
def _outcome(text: str, language: str) -> Any:
    try:
        return LANGUAGES[language](text)
    except Unreadable as error:
        return error


def load(text: str, language: str) -> Any:
    """The value of a text; parsed once per process. Raises Unreadable. The value is not to be changed."""
    value = _outcome(text, language)
    if isinstance(value, Unreadable):
        raise value.with_traceback(None)
    return value


def load_one(text: str, language: str) -> Any:
    """The same, with YAML of more than one document refused."""
    value = load(text, language)
    if language != "yaml":
        return value
    if len(value) != 1:
        raise Unreadable(f"the YAML holds {len(value)} documents in place of one")
    return value[0]


def is_language(text: str, language: str) -> bool:
    """Whether a whole text is of a language: it can be read, and it is more than one scalar."""
    try:
        value = load(text, language)
    except Unreadable:
        return False
    if language == "yaml":
        return bool(value) and all(isinstance(document, (dict, list)) and document for document in value)
    return bool(value.body) if isinstance(value, ast.Module) else bool(value) and not isinstance(value, (str, int))
