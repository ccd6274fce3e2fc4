"""Needs in words with the entries of Python's documentation that answer them (see README.md beside this file)."""

import json
from functools import cache
from pathlib import Path

from pydantic import BaseModel

HALVES = ("building", "held_out")
"""`held_out` was not looked at while policies and constants were made."""


class Need(BaseModel, frozen=True):
    """A need and its known answers."""

    id: str
    need: str
    """In words."""
    relevant: frozenset[str]
    """Ids of the entries that answer it, checked by hand."""
    why: str = ""
    """What counts as an answer and what does not."""
    difficulty: str = ""
    half: str = ""


@cache
def shipped() -> dict[str, Need]:
    """All needs by id."""
    found: dict[str, Need] = {}
    for half in HALVES:
        file = Path(__file__).parent / f"{half}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines():
            need = Need.model_validate({**json.loads(line), "half": half})
            found[need.id] = need
    return found
