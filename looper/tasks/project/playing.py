"""A simulated coder: a reference change, handed over whole, in parts or with a planted fault. A simulation."""

import random
from collections.abc import Mapping
from typing import Any

from looper.tasks.project.states import Edit, Edits, Removal, Tree, WholeFile
from looper.tasks.repair.edits import apply_edit, enumerate_edits

PART = 0.5
"""Probability that a mistake is a part of the change; else it has a planted fault."""


def played(reference: Mapping[str, str | None], state: Tree, skill: float, dice: random.Random) -> Edits:
    """With probability `skill` what is left of the reference; else a part of it, or with a fault in it."""
    left = {path: text for path, text in sorted(reference.items()) if state.changed.get(path, "") != text}
    if not left:
        return Edits(done=True, why="simulated: nothing is left")
    if dice.random() < skill:
        return _edits(left, "simulated: the change")
    if len(left) > 1 and dice.random() < PART:
        path = dice.choice(list(left))
        return _edits({path: left[path]}, f"simulated: only {path}")
    path = dice.choice(list(left))
    return _edits({**left, path: _faulty(left[path], dice)}, f"simulated: with a fault in {path}")


def _faulty(text: str | None, dice: random.Random) -> str | None:
    try:
        edits: list[Any] = list(enumerate_edits(text or ""))
    except SyntaxError:
        edits = []
    return apply_edit(text or "", dice.choice(edits)) if edits else text


def _edits(files: Mapping[str, str | None], why: str) -> Edits:
    edits: list[Edit] = [
        Removal(kind="delete", path=path) if text is None else WholeFile(kind="file", path=path, text=text)
        for path, text in files.items()
    ]
    return Edits(edits=edits, why=why, files=[path for path, text in files.items() if text is not None])
