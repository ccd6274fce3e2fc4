"""Runs of the smallest task, for tests: a configuration as plain data, a launch of it, and runs that break off."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from looper.journal import Event
from looper.launch import Audience, launch
from looper.parts import build
from looper.types import Outcome

PRICES = {
    "plan": {"outer": 2.0}, "replan": {"outer": 2.0}, "evaluate": {"outer": 2.0}, "probe": {"inner": 0.05},
    "decide": {"inner": 0.1}, "apply": {"inner": 0.01}, "act": {"outer": 2.0},
}  # fmt: skip


class Killed(BaseException):
    """Stands for a death of the process: nothing of looper catches it."""


def config(outputs: Path, **parts: Any) -> dict[str, Any]:
    """A configuration of a dial run; `loop`, `model`, `task` and `budget` can be given."""
    loop = parts.get("loop", "adaptive")
    price = {"_target_": "looper.budget.Price"}
    budget = {"_target_": "looper.budget.Budget", "prices": {step: price | units for step, units in PRICES.items()}}
    return {
        "task": {"_target_": "looper.tasks.dial.Dial", **parts.get("task", {})},
        "loop": {"_target_": f"looper.loops.{loop}.{loop.capitalize()}", **parts.get("loop_settings", {})},
        "budget": {**budget, **parts.get("budget", {})},
        "model": {"name": "offline"} | parts.get("model", {}),
        "tracking": {}, "sandbox": {}, "outputs": str(outputs), "seed": 0,
    }  # fmt: skip


def play(
    path: Path, audience: Audience | None = None, answers: Mapping[str, str] | None = None, **parts: Any
) -> Outcome:
    """A run of the dial in the folder `path`, below its outputs folder."""
    return launch(build(config(path.parent, **parts)), path, audience=audience, answers=answers, sync=False)


def break_off(path: Path, when: Callable[[Event], bool], **parts: Any) -> None:
    """A run whose process dies at the first event for which `when` holds."""

    def listener(event: Event) -> None:
        if when(event):
            raise Killed

    try:
        play(path, Audience(listeners=[listener]), **parts)
    except Killed:
        return
    raise AssertionError("the run came to its end")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True
