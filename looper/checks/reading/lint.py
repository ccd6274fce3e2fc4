"""Ruff on a piece of Python: rules by facet. The piece cannot switch them off: its `noqa` comments are not heard."""

import json
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from looper.checks.kinds import Python
from looper.checks.reading.document import Problems
from looper.checks.reading.parts import Piece

RULES = {
    "style": ["E", "F", "W", "I", "N", "UP"],
    "complexity": ["C901"],
    "error_handling": ["E722", "BLE001", "S110", "S112", "B904", "B012", "B030", "TRY203"],
    "logging": ["T201", "T203", "LOG", "G"],
    "docstrings": ["D100", "D101", "D102", "D103", "D419"],
    "security": ["S"],
}
"""Rules of ruff by facet: pycodestyle, pyflakes, isort, names, pyupgrade; McCabe; blind and silent excepts; prints and
misused loggers; missing docstrings; bandit."""
IGNORED = ["S101", "N818"]
"""`assert` is no fault of security, and an exception may be called what it is."""


@lru_cache(maxsize=1)
def program() -> str:
    from ruff.__main__ import find_ruff_bin

    return str(find_ruff_bin())


@lru_cache(maxsize=1)
def name() -> str:
    return subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.strip()


def lint(check: Python, pieces: Sequence[Piece]) -> Problems:
    """What ruff finds for the facets of the check."""
    rules = [rule for facet in check.facets for rule in RULES.get(facet, ())]
    found: Problems = []
    for piece in pieces if rules else ():
        for item in violations(piece.text, tuple(rules), check.max_complexity):
            line = int(item["location"]["row"])
            found.append((piece.at(line), f"{item['message']} ({item['code'] or 'syntax'})"))
    return found


@lru_cache(maxsize=16)
def violations(text: str, rules: tuple[str, ...], complexity: int) -> list[dict[str, Any]]:
    options = [
        "check", "--isolated", "--no-cache", "--ignore-noqa", "--exit-zero", "--output-format", "json",
        "--select", ",".join(rules), "--ignore", ",".join(IGNORED), "--target-version", "py311",
        "--line-length", "120", "--config", f"lint.mccabe.max-complexity={complexity}", "--stdin-filename", "module.py",
        "-",
    ]  # fmt: skip
    done = subprocess.run([program(), *options], input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        message = f"ruff could not read it: {said[-1][:200] if said else f'exit code {done.returncode}'}"
        return [{"location": {"row": 1}, "message": message, "code": "ruff"}]
    return json.loads(done.stdout)
