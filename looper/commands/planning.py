"""The command plan: what a sweep would cost and could find, before a cent is spent."""

import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from looper.console.blocks import columns
from looper.errors import ConfigError
from looper.parts import Parts, build, user_packages
from looper.sweeps.cell import settings_of
from looper.sweeps.names import canonical, cell_name, checked, sweep_name, swept
from looper.sweeps.rows import added

if TYPE_CHECKING:
    from looper.lab.planning.bounds import Amount
    from looper.lab.planning.forecasting import Arm, Forecast

UNKNOWN = "unknown"
TOLD = 100
"""Cells between two lines on standard error: composing one takes some 10 ms."""
FEW = 10
"""Tasks below which an exact test has less power than the t test of a plan (experiments/benchmarks/laboratory.py)."""
HEADS = ("arm", "cells", "", "calls", "tokens", "USD", "time", "detectable", "from")


class Planner:
    """Takes the cells of a sweep as `looper.sweeps.grid` hands them out, and runs none of them."""

    def __init__(self) -> None:
        self.arms: dict[str, Arm] = {}
        self.root = Path("outputs")
        self.cells = self._all = 0
        self._cell: list[str] = []
        self._tasks: dict[str, Any] = {}
        """By their settings."""
        self._swept: list[str] = []
        self._name = "plan"
        self._told: list[str] = []

    # Names, for Hydra

    def run_id(self, *, _root_: Any) -> str:
        return "plan"

    def sweep_id(self) -> str:
        return self._name

    def cell_id(self, *, _root_: Any) -> str:
        return cell_name(list(_root_.hydra.overrides.task))

    # The cells, for looper.sweeps.grid

    def name(self, given: object, overrides: Sequence[str]) -> None:
        self._name = sweep_name(canonical(overrides)) if given is None else checked(given)

    def inspect(self, config: Mapping[str, Any]) -> None:
        """A plan asks for nothing that would have to be refused beforehand."""

    def compare_with(self, rivals: Sequence[str], left_out: str) -> None:
        self._told = added(rivals, left_out)

    @contextmanager
    def sweeping(self, folder: Path, cells: Sequence[Sequence[str]]) -> Iterator[None]:
        self._swept = [key for key in swept(cells) if not key.startswith("task.")]
        self._all = len(cells)
        yield

    def begin(self, overrides: Sequence[str]) -> bool:
        self._cell = [text.lstrip("+") for text in overrides]
        if self.cells and self.cells % TOLD == 0:
            print(f"looper: {self.cells} of {self._all} cells looked at", file=sys.stderr)
        return True

    def refuse(self, error: Exception) -> None:
        raise error

    def take(self, config: Any, _folder: Path) -> None:
        """One cell: its parts, under the arm that it belongs to."""
        from looper.lab.planning.forecasting import Arm, Cell
        from looper.sweeps.grid import settings

        known = settings(config)
        self.root = Path(str(known.get("outputs") or self.root))
        parts = self._sharing(build(settings_of(known), user_packages()))
        values = dict(text.split("=", 1) for text in self._cell if "=" in text)
        told = [f"{key}={values[key]}" for key in self._swept if key in values]
        label = ", ".join([parts.loop.name, *told])
        self.arms.setdefault(label, Arm(label)).cells.append(Cell(parts))
        self.cells += 1

    def _sharing(self, parts: Parts) -> Parts:
        """With the task that another cell of the same task settings has: what it reads and works out is kept in it."""
        task = self._tasks.setdefault(json.dumps(parts.config["task"], sort_keys=True, default=str), parts.task)
        if task is not parts.task:
            release(parts.task)
        return dataclasses.replace(parts, task=task)

    # What is said

    def said(self, *, as_json: bool) -> str:
        """The plan as a table or as JSON. Raises ConfigError if a role cannot be filled."""
        from looper.lab.planning.forecasting import forecast, overall

        try:
            lines = forecast(list(self.arms.values()), self.earlier())
        finally:
            self.close()
        total = overall(lines)
        if as_json:
            told = {"cells": self.cells, "arms": [line.told() for line in lines], "total": total.told()}
            return json.dumps({**told, "tasks": self.tasks()})
        return "\n".join(
            [*columns(HEADS, [row for line in (*lines, total) for row in rows(line)]), "", *self.words(lines)]
        )

    def tasks(self) -> int:
        return len({task for arm in self.arms.values() for task in arm.tasks})

    def earlier(self) -> Any:
        """Earlier runs below the folder of outputs, None if there are none."""
        from looper.lab.data import runs_of

        try:
            return runs_of(self.root)
        except ConfigError:
            return None

    def words(self, lines: Sequence["Forecast"]) -> list[str]:
        """What the numbers rest on."""
        tasks = self.tasks()
        found = [f"{counted(self.cells, 'cell')} on {counted(tasks, 'task')}; nothing was run, nothing was spent."]
        found += self._told
        found += [f"worst: {note}." for note in dict.fromkeys(note for line in lines for note in line.notes)]
        found.append(
            "time: one run after the other. detectable: difference of the score from the first arm that would be"
        )
        found.append("found four times out of five (two-sided 5 %, Holm over the arms), at the spread of those runs.")
        if 1 < tasks < FEW and any(line.detectable is not None for line in lines):
            found.append(
                f"with fewer than {FEW} tasks the exact test finds less than that: in 73 % of cases at 8 tasks."
            )
        return found

    def close(self) -> None:
        for task in self._tasks.values():
            release(task)


def release(task: Any) -> None:
    """Give back what a task holds that was built and not run."""
    getattr(task, "close", lambda: None)()


def rows(line: "Forecast") -> list[list[str]]:
    """Two lines of the table: the worst case and what is to be expected."""
    first = [line.label, str(line.cells), "worst", *amounts(line.worst), "", ""]
    return [first, ["", "", "expected", *amounts(line.expected), smallest(line), line.source]]


def smallest(line: "Forecast") -> str:
    """The difference that could be found, in a word."""
    if line.rank != "other":
        return "" if line.rank == "total" else "(first)"
    if line.detectable is None:
        return UNKNOWN
    return f"{line.detectable:.3f}" if math.isfinite(line.detectable) else "none: one task"


def amounts(amount: "Amount") -> list[str]:
    values = {"calls": amount.calls, "tokens": amount.tokens, "usd": amount.usd}
    told = [UNKNOWN if value is None else f"{value:,.4g}" if name == "usd" else f"{value:,.0f}"
            for name, value in values.items()]  # fmt: skip
    return [*told, UNKNOWN if amount.seconds is None else clock(amount.seconds)]


def clock(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
