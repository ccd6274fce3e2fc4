"""What both designs of document 004 write down of a step (SPEC 1.8)."""

from collections.abc import Sequence
from typing import Any

from looper.budget import ControlBudget
from looper.types import Signal


def readings(signals: Sequence[Signal]) -> dict[str, dict[str, Any]]:
    """What the probes said, by name, for the log (SPEC 1.8)."""
    return {"signals": {s.name: s.value for s in signals}, "passed": {s.name: s.passed for s in signals}}


def left(control: ControlBudget) -> dict[str, float | None]:
    """Units left in both accounts, for the log; None without a cap."""
    amounts = {"inner_left": control.inner.remaining, "outer_left": control.outer.remaining}
    return {name: None if amount == float("inf") else round(amount, 6) for name, amount in amounts.items()}
