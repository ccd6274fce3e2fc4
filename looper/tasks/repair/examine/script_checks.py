"""What the asserts of a rewritten script call, and what is said of an error; runs inside the sandbox."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .distance import distance
from .instrument import StepsExceeded, TimeExceeded
from .script_tests import CHECK, COMPARE, NEAR, TRUTH

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
LEAST = 1e-3
"""Distance of a comparison that fails although the values look equal (a list and a tuple)."""


class Failed(AssertionError):
    """An assert that did not hold, and by how much."""

    def __init__(self, far: float, text: str):
        super().__init__(text)
        self.far = far


def brief(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # the value is of the candidate's own making: its repr may raise anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


def describe(error: BaseException) -> str:
    """One line: type and text; `steps`, `timeout` and `memory` for the limits."""
    for kind, name in ((StepsExceeded, "steps"), (TimeExceeded, "timeout"), (MemoryError, "memory")):
        if isinstance(error, kind):
            return name
    try:
        text = str(error)
    except Exception:  # as in `brief`
        text = ""
    shown = "AssertionError" if isinstance(error, Failed) else type(error).__name__
    return " ".join(f"{shown}: {text}".split())[:200].rstrip(": ")


def plain(value: Any) -> Any:
    """What pytest.approx wraps."""
    return value.expected if type(value).__name__.startswith("Approx") else value


class Checks:
    """The functions that a rewritten script calls."""

    def __init__(self) -> None:
        self.said = ""

    def names(self) -> dict[str, Any]:
        return {CHECK: self.check, COMPARE: self.compare, NEAR: self.near, TRUTH: self.truth}

    def compare(self, sign: str, left: Any, right: Any) -> float:
        if OPERATORS[sign](left, right):
            return 0.0
        self.said = f"{brief(left)} {sign} {brief(right)} does not hold"
        if sign in ("!=", "is not", "not in"):
            return 1.0
        if sign == "in":
            near = [distance(left, item) for item in list(right)[:50]] if isinstance(right, (list, tuple, set)) else []
            return max(min(near, default=1.0), LEAST)
        return max(distance(plain(left), plain(right)), LEAST)

    def near(self, sign: str, left: Any, right: Any, bound: Any) -> float:
        if OPERATORS[sign](abs(left - right), bound):
            return 0.0
        self.said = f"{brief(left)} is not within {brief(bound)} of {brief(right)}"
        return max(distance(left, right), LEAST)

    def truth(self, value: Any) -> float:
        if value:
            return 0.0
        self.said = f"{brief(value)} is not true"
        return 1.0

    def check(self, far: float) -> None:
        if far:
            raise Failed(far, self.said)
