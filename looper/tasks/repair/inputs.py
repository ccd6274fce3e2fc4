"""Inputs for comparing plausible patches: those of the visible tests, and small variations of them."""

import ast
import random
from typing import Any

from looper.tasks.repair.problem import Cases, Script, Tests

SEED = 20_240
"""Variations are thrown from a fixed seed: the same tests give the same inputs."""


def calls(tests: Tests, function: str) -> list[list[Any]]:
    """Argument lists with which the visible tests call the function, as far as they are literals."""
    if isinstance(tests, Cases):
        return [list(case.args) for case in tests.cases]
    if not isinstance(tests, Script):
        return []
    found: list[list[Any]] = []
    for node in ast.walk(ast.parse(tests.text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (function, "candidate"):
            try:
                found.append([ast.literal_eval(arg) for arg in node.args])
            except ValueError:
                continue
    return found


def generated(tests: Tests, function: str, count: int = 60) -> list[list[Any]]:
    """Up to `count` argument lists near those of the tests; the tests' own first."""
    known = calls(tests, function)
    if not known:
        return []
    dice = random.Random(SEED)
    found, seen = list(known), {repr(args) for args in known}
    for _ in range(count * 10):
        if len(found) >= count:
            break
        args = [vary(value, dice) if dice.random() < 0.7 else value for value in dice.choice(known)]
        if repr(args) not in seen:
            seen.add(repr(args))
            found.append(args)
    return found[: max(count, len(known))]


def vary(value: Any, dice: random.Random) -> Any:
    """A value of the same type, near the given one."""
    if isinstance(value, bool) or value is None:
        return value if value is None else not value
    if isinstance(value, int):
        return dice.choice([value + 1, value - 1, value * 2, value // 2, 0, 1, -value, dice.randint(0, 20)])
    if isinstance(value, float):
        return dice.choice([value + 0.5, value - 0.5, value * 2, -value, 0.0])
    if isinstance(value, str):
        return _text(value, dice)
    if isinstance(value, list | tuple):
        return type(value)(_items(list(value), dice))
    if isinstance(value, dict) and value:
        key = dice.choice(sorted(value, key=repr))
        return {k: vary(v, dice) if k == key else v for k, v in value.items() if k != key or dice.random() < 0.8}
    return value


def _text(value: str, dice: random.Random) -> str:
    if not value:
        return dice.choice(["a", "ab", " "])
    at = dice.randrange(len(value))
    return dice.choice(
        [value[:at] + value[at + 1 :], value + value[at], value[::-1],
         value[:at] + value[at].swapcase() + value[at + 1 :], value[:at] + dice.choice(value) + value[at + 1 :],
         value + value, ""]
    )  # fmt: skip


def _items(value: list[Any], dice: random.Random) -> list[Any]:
    if not value:
        return value
    at = dice.randrange(len(value))
    choice = dice.randrange(6)
    if choice == 0:
        return value[:at] + value[at + 1 :]
    if choice == 1:
        return [*value, value[at]]
    if choice == 2:
        return value[::-1]
    if choice == 3:
        return dice.sample(value, len(value))
    if choice == 4:
        return value[: at + 1]
    return [vary(item, dice) if i == at else item for i, item in enumerate(value)]
